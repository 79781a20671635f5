/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One latency for a server from the flows whose headers are hidden. Few flows: the median of those that
 * can be trusted. From eight on: their lower quartile, if they agree; else the lowest peak of all
 * flows' samples together. Not the mode that most flows share: that is where delayed
 * acknowledgements meet.
 *
 * Units: ticks. Thread-safety: one thread; runs in control, once a tick, and sorts.
 */
#ifndef TG_GAP_SERVER_H
#define TG_GAP_SERVER_H

#include "gap_envelope.h"

#define TG_GAP_POOL 128 /* quarters of an octave */

/* All samples of a server's flows. All zero at first. */
struct tg_gap_pool {
	uint32_t count[TG_GAP_POOL];
};

void tg_gap_pool_add(struct tg_gap_pool *pool, const struct tg_envelope_near *n,
		     const struct tg_envelope_far *f);

/*
 * good: latencies of the n_good flows of confidence TG_CONFIDENCE_GOOD, sorted here. flows: all of them.
 * false: nothing can be said.
 */
bool tg_gap_server(const struct tg_pirate_config *c, uint64_t *good, unsigned int n_good,
		   unsigned int flows, const struct tg_gap_pool *pool, uint64_t *latency);

#endif
