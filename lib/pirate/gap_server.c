/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From flows to a server, where headers are hidden.
 */
#include "gap_server.h"

#include <stdlib.h>

#include "bucket.h"
#include "log2.h"

#define MANY_FLOWS 8  /* fewer: their median */
#define AGREE      3  /* upper and lower quartile differ by no more than this */
#define PEAK_SHARE 20 /* one sample in so many makes a peak */
#define STEP       9  /* 2^9 steps of log2.h are a quarter of an octave */

void tg_gap_pool_add(struct tg_gap_pool *pool, const struct tg_envelope_near *n,
		     const struct tg_envelope_far *f)
{
	for (unsigned int i = 0; i < n->used; i++) {
		unsigned int log = (f->gaps.centre[i] & (TG_ENVELOPE_KIND_G - 1u)) << 1;

		pool->count[log >> STEP] += f->gaps.count[i];
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* A peak: not lower than its neighbours, and with them one sample in twenty. */
static bool lowest_peak(const struct tg_pirate_config *c, const struct tg_gap_pool *pool,
			uint64_t *latency)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < TG_GAP_POOL; i++)
		all += pool->count[i];
	for (unsigned int i = 0; i < TG_GAP_POOL; i++) {
		uint64_t here = pool->count[i];
		uint64_t left = i > 0 ? pool->count[i - 1] : 0;
		uint64_t right = i + 1 < TG_GAP_POOL ? pool->count[i + 1] : 0;

		if (here == 0 || here < left || here < right ||
		    (left + here + right) * PEAK_SHARE < all)
			continue;
		*latency = tg_log2_ticks((uint16_t)((i << STEP) + (1 << STEP) / 2), c->gap_shift);
		return true;
	}
	return false;
}

bool tg_gap_server(const struct tg_pirate_config *c, uint64_t *good, unsigned int n_good,
		   unsigned int flows, const struct tg_gap_pool *pool, uint64_t *latency)
{
	if (n_good != 0)
		qsort(good, n_good, sizeof(good[0]), by_size);
	if (flows < MANY_FLOWS) {
		if (n_good == 0)
			return false;
		*latency = good[n_good / 2];
		return true;
	}
	if (n_good != 0 && good[n_good * 3 / 4] <= AGREE * good[n_good / 4]) {
		*latency = good[n_good / 4];
		return true;
	}
	return lowest_peak(c, pool, latency);
}
