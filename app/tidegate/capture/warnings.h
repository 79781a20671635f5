/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a report on a capture must be taken with: sentences, for stderr and for the JSON report.
 *
 * Thread-safety: one thread.
 */
#ifndef TG_WARNINGS_H
#define TG_WARNINGS_H

#include "capture.h"
#include "discover.h"
#include "feed.h"

#define TG_WARNINGS_MAX 16

struct tg_warnings {
	unsigned int n;
	char text[TG_WARNINGS_MAX][TG_CAPTURE_TEXT + 64];
	const char *list[TG_WARNINGS_MAX]; /**< text[0..n), as an array of strings */
};

/** Collects them once the capture was read. discovery: NULL with a configuration. */
void tg_warnings_collect(struct tg_warnings *w, const struct tg_capture *cap,
			 const struct tg_feed *feed, const struct tg_discovery *discovery,
			 bool interrupted);

#endif
