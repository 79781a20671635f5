/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The histogram of a flow's gaps: at most ten buckets, sorted, that come up where the gaps are. A
 * gap joins the nearest bucket if its ratio to the centre is at most 1.3, else it opens one; when there
 * are ten, the two that are nearest in the logarithm become one first (Pirate's dynamic buckets; the
 * ratio, the resolution and the arithmetic mean are ours). Counts are in sixteenths of a gap, so that
 * they can be halved a few times without bias. A part of gap.c, in line because it runs a packet.
 */
#ifndef TG_PIRATE_HISTOGRAM_H
#define TG_PIRATE_HISTOGRAM_H

#include <stdlib.h>

#include "log2.h"
#include "state.h"

#define BUCKET_JOIN 775 /* log2(1.3) */
#define ONE         16  /* a gap, in the counts' sixteenths */
#define COUNT_MAX   (UINT16_MAX - ONE)
#define MEAN_OF     64 /* a bucket's mean follows the last so many gaps */

/* 65536/n: the weight of a mean's newest sample. */
#define W(n)  (65536 / (n))
#define W8(n) W(n), W(n + 1), W(n + 2), W(n + 3), W(n + 4), W(n + 5), W(n + 6), W(n + 7)
static const uint16_t weight[MEAN_OF + 1] = {
	W(2),   W(2),   W(2),  W(3),  W(4),  W(5),  W(6),  W(7),  W8(8), W8(16), W8(24), W8(32),
	W8(40), W8(48), W(56), W(57), W(58), W(59), W(60), W(61), W(62), W(63),  W(64),
};

/*
 * How far a bucket's centre moves so that it stays the log of the *arithmetic* mean m of its gaps
 * (their mean logarithm would read low: 0.5 % at CV 0.1). The mean grows by w (g/m - 1), w = 1/n; with
 * x = ln(g/m), |x| <= 0.26, that is w x + (w - w^2) x^2 / 2 in ln m, to the second order: the third is
 * odd and cancels. Rounded by dither, 0..65535, so that many small moves add up to what they should.
 */
static inline int32_t centre_move(int32_t apart, unsigned int n, uint32_t dither)
{
	int32_t w = weight[n];
	int32_t bow = apart * apart * 1420 >> 19; /* ln 2 / 2 / 2048 of it, in 16ths */
	int32_t less = w * (65536 - w) >> 16;

	return (apart * w + (bow * less >> 4) + (int32_t)dither) >> 16;
}

static inline void join(struct tg_gap_far *f, unsigned int i, uint16_t log, uint32_t dither)
{
	unsigned int n;

	if (f->count[i] < COUNT_MAX)
		f->count[i] += ONE;
	n = f->count[i] / ONE; /* 0 and 1: an old gap, faded; weight[] takes it for one */
	if (n > MEAN_OF)
		n = MEAN_OF;
	f->centre[i] = (uint16_t)(f->centre[i] + centre_move(log - f->centre[i], n, dither));
}

static inline void remove_bucket(struct tg_gap_near *n, struct tg_gap_far *f, unsigned int i)
{
	n->used--;
	for (; i < n->used; i++) {
		f->centre[i] = f->centre[i + 1];
		f->count[i] = f->count[i + 1];
	}
	f->centre[i] = UINT16_MAX;
	f->count[i] = 0;
}

/* Bucket i + 1 into bucket i, at their common mean. Divides; off the steady path. */
static inline void merge(const struct tg_pirate_config *c, struct tg_gap_near *n,
			 struct tg_gap_far *f, unsigned int i)
{
	uint32_t count = (uint32_t)f->count[i] + f->count[i + 1];
	uint64_t time = f->count[i] * tg_log2_ticks(f->centre[i], c->gap_shift) +
			f->count[i + 1] * tg_log2_ticks(f->centre[i + 1], c->gap_shift);

	f->centre[i] = tg_log2_of(time / count, c->gap_shift);
	f->count[i] = (uint16_t)(count < COUNT_MAX ? count : COUNT_MAX);
	remove_bucket(n, f, i + 1);
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

static inline void open_bucket(const struct tg_pirate_config *c, struct tg_gap_near *n,
			       struct tg_gap_far *f, uint16_t log)
{
	unsigned int at = 0;

	if (n->used == TG_GAP_BUCKETS)
		merge_nearest(c, n, f);
	while (at < n->used && f->centre[at] < log)
		at++;
	for (unsigned int i = n->used; i > at; i--) {
		f->centre[i] = f->centre[i - 1];
		f->count[i] = f->count[i - 1];
	}
	f->centre[at] = log;
	f->count[at] = ONE;
	n->used++;
}

/* Spreads what the centres' rounding depends on: consecutive arrivals give unrelated values. */
static inline uint32_t dither_of(uint64_t arrival)
{
	return (uint32_t)arrival * 2654435761u >> 16;
}

/* A gap of log, ended by a packet at arrival, goes into the histogram. */
static inline void record(const struct tg_pirate_config *c, struct tg_gap_near *n,
			  struct tg_gap_far *f, uint16_t log, uint64_t arrival)
{
	unsigned int near = 0;

	/* Between near and near + 1 (at the ends: beyond one of them). Which one is nearer is a coin's
	 * toss: no branch hangs on it. */
	for (unsigned int i = 1; i + 1 < TG_GAP_BUCKETS; i++)
		near += f->centre[i] < log;
	near += 2 * log > f->centre[near] + f->centre[near + 1];
	if (abs(log - f->centre[near]) <= BUCKET_JOIN)
		join(f, near, log, dither_of(arrival));
	else
		open_bucket(c, n, f, log);
	if (n->since < UINT16_MAX)
		n->since++;
}

/* Half its weight. Nothing is left of what was a single gap two halvings ago. */
static inline void fade(struct tg_gap_near *n, struct tg_gap_far *f)
{
	for (unsigned int i = n->used; i-- > 0;) {
		f->count[i] /= 2;
		if (f->count[i] < ONE / 4)
			remove_bucket(n, f, i);
	}
}

#endif
