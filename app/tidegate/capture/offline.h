/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A capture in, a report out: the production pipeline over a capture, on the capture's time.
 *
 * Without a configuration the services are found in a first reading (discover.h), and only what
 * clients sent enters the pipeline; the rest counts as `not_ours`. With one, every frame enters, and
 * a flow's server is the one the capture shows (true_server.h), else the policy's pick, which the
 * report marks `would_pick`.
 *
 * A tick is a nanosecond here. A packet departs when it arrives: the capture knows nothing of the
 * time inside a gateway, so the gate passes everything.
 *
 * Thread-safety: call it once, from the main thread. It starts and ends DPDK's environment,
 * without huge pages, devices or privileges.
 */
#ifndef TG_OFFLINE_H
#define TG_OFFLINE_H

#include <stdbool.h>

struct tg_config;

struct tg_offline_options {
	const char *program;     /**< argv[0] */
	const char *capture;     /**< path */
	const char *report;      /**< path of the JSON report; NULL: none */
	const char *picture;     /**< path of the SVG of a replay; NULL: none */
	const char *config_path; /**< of `config`, for a replay; NULL without one */
	double replay; /**< speed of a replay (replay.h), or, where the configuration knows no link
			*   rate: capture seconds a second; 0: neither */
	struct tg_config *config;  /**< owned from here on; NULL: find the services */
	const volatile bool *quit; /**< true ends the reading; what was read is reported */
};

/**
 * Read, measure, print the report to stdout; warnings, faults and progress go to stderr.
 *
 * @return the process's exit code: 0, also if the capture was read in part; 1 if nothing was, or
 *         if the JSON report could not be written
 */
int tg_offline(const struct tg_offline_options *options);

#endif
