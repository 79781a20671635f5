/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The report: what the gateway measured, for people and for programs, of a capture or of a running
 * gateway alike.
 *
 * The JSON form is a contract: one object, `version` 1; keys may be added, never changed. Times
 * that are not known (no exchange seen) are null.
 *
 * Units: nanoseconds where a name ends in _ns. Thread-safety: the caller's own copies.
 */
#ifndef TG_REPORT_H
#define TG_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "api/totals.h"
#include "capture.h"
#include "conversation.h"
#include "flow_results.h"
#include "link.h"
#include "replay.h"

/** What only a report on a capture has. */
struct tg_report_capture {
	const char *file;
	const struct tg_capture_info *info;
	const struct tg_link_stats *link;
	uint64_t first_ns, last_ns; /**< of frames that were used */
	const struct tg_flow_results *results;
	const enum tg_found *found; /**< by index of service; NULL with a configuration */
	const char *const *warnings;
	unsigned int n_warnings;
	const struct tg_replay *replay; /**< NULL: there was none */
};

struct tg_report {
	const struct tg_totals *totals;
	const struct tg_report_capture *capture; /**< NULL live */
};

/** The report as a JSON object; NULL without memory. The caller releases it. */
json_t *tg_report_json(const struct tg_report *r);

/** The same into a file. 0, or -errno and a sentence. */
int tg_report_write(const struct tg_report *r, const char *path, char *text, size_t room);

/** The report as text. Of very many servers the first ones are shown, and how many are not. */
void tg_report_text(const struct tg_report *r, FILE *to);

#endif
