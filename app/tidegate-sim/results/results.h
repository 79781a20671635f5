/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run showed: latency of requests by group, waits and load by server, the gateways' own
 * report, conservation. Latency goes to a log-linear histogram whose relative error is below 0.1 %,
 * sums are kept exactly; replications give confidence intervals (Student t).
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_RESULTS_H
#define TG_RESULTS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct tg_sim;
struct tg_request;
struct tg_results;
struct tg_scenario;

/* NULL without memory. */
struct tg_results *tg_results_create(struct tg_sim *s);
void tg_results_free(struct tg_results *r);
/* By q->class, which is the index of its group; its connection is not looked at.
 * A request was answered (answered - created, answered - sent, wait and service at the station) or failed. */
void tg_results_answered(struct tg_results *r, const struct tg_request *q);
void tg_results_failed(struct tg_results *r, const struct tg_request *q);
/* Forgets what was counted: the warm-up ends. */
void tg_results_begin(struct tg_results *r, uint64_t now);
/* One replication's results; the caller's reference. */
json_t *tg_results_json(const struct tg_results *r, const struct tg_sim *s, uint64_t now);

/* All replications: means, half-widths of 95 % intervals; and as a table. */
json_t *tg_results_join(const struct tg_scenario *sc, json_t *const *runs, unsigned int n);
void tg_results_table(const json_t *joined, FILE *to);

#endif
