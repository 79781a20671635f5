/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published rule's histogram: a gap joins the nearest bucket if its ratio to the centre is at most
 * 1.3, else it opens one; when there are ten, the two that are nearest in the logarithm become one
 * first (the ratio, the resolution and the arithmetic mean are ours). A part of gap.c.
 */
#ifndef TG_PIRATE_HISTOGRAM_H
#define TG_PIRATE_HISTOGRAM_H

#include "bucket.h"
#include "log2.h"

#define BUCKET_JOIN 775 /* log2(1.3) */

/* Bucket i + 1 into bucket i, at their common mean. Divides; off the steady path. */
static inline void merge(const struct tg_pirate_config *c, struct tg_gap_near *n,
			 struct tg_gap_far *f, unsigned int i)
{
	uint32_t count = (uint32_t)f->count[i] + f->count[i + 1];
	uint64_t time = f->count[i] * tg_log2_ticks(f->centre[i], c->gap_shift) +
			f->count[i + 1] * tg_log2_ticks(f->centre[i + 1], c->gap_shift);

	f->centre[i] = tg_log2_of(time / count, c->gap_shift);
	f->count[i] = (uint16_t)(count < COUNT_MAX ? count : COUNT_MAX);
	remove_bucket(&n->used, f, i + 1);
}

static inline void merge_nearest(const struct tg_pirate_config *c, struct tg_gap_near *n,
				 struct tg_gap_far *f)
{
	unsigned int best = 0, least = UINT32_MAX;

	for (unsigned int i = 0; i + 1 < n->used; i++) {
		unsigned int apart = (unsigned int)(f->centre[i + 1] - f->centre[i]);

		if (apart < least) {
			least = apart;
			best = i;
		}
	}
	merge(c, n, f, best);
}

/* A gap of log, ended by a packet at arrival, goes into the histogram. */
static inline void record(const struct tg_pirate_config *c, struct tg_gap_near *n,
			  struct tg_gap_far *f, uint16_t log, uint64_t arrival)
{
	unsigned int near = nearest(f, log);

	if (abs(log - f->centre[near]) <= BUCKET_JOIN) {
		join(f, near, log, 0, dither_of(arrival));
	} else {
		if (n->used == TG_GAP_BUCKETS)
			merge_nearest(c, n, f);
		open_bucket(&n->used, f, log);
	}
	if (n->since < UINT16_MAX)
		n->since++;
}

#endif
