/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What is found for single flows of a capture. The pipeline forgets a flow when it ends; a report
 * on a capture wants it still.
 *
 * Bounded: TG_FLOW_RESULTS_MAX flows are listed, further ones are counted.
 *
 * Units: nanoseconds (offline a tick is one). Thread-safety: one thread.
 */
#ifndef TG_FLOW_RESULTS_H
#define TG_FLOW_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"
#include "tg_flow.h"

#define TG_FLOW_RESULTS_MAX 8192u

struct tg_flow_result {
	struct tg_key key;
	uint16_t server; /**< id */
	bool would_pick; /**< the policy's choice: the capture does not show the server */
	uint64_t exchanges[TG_ESTIMATOR_COUNT];
	uint64_t setup, unsure;
	double grain2; /**< ns^2: sum over exchanges that timestamps alone tell, of their period */
	struct tg_hist *latency, *service; /**< L, S; NULL while there is no sample */
};

struct tg_flow_results;

struct tg_flow_results *tg_flow_results_create(void);
void tg_flow_results_free(struct tg_flow_results *r);

/** A flow was placed on a server; calling it again for the same flow changes nothing. */
void tg_flow_results_placed(struct tg_flow_results *r, const struct tg_key *key, uint16_t server,
			    bool would_pick);

/** A tg_sample_fn; ctx is a struct tg_flow_results. */
void tg_flow_results_sample(void *ctx, const struct tg_flow *f, const struct tg_sample *s);

uint32_t tg_flow_results_count(const struct tg_flow_results *r);
const struct tg_flow_result *tg_flow_results_at(const struct tg_flow_results *r, uint32_t i);

/** Flows placed beyond the limit; one that comes again after ageing counts again. */
uint64_t tg_flow_results_left_out(const struct tg_flow_results *r);

#endif
