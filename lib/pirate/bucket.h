/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The histogram that both gap rules keep: at most ten buckets {centre, count}, sorted, that come up
 * where the gaps are (Pirate's dynamic buckets). Centres are logarithms, kept at the arithmetic mean
 * of their gaps. When two become one, and how near is near, is each rule's own. In line because it runs
 * a packet: no division, and no branch on the data.
 */
#ifndef TG_PIRATE_BUCKET_H
#define TG_PIRATE_BUCKET_H

#include <stdlib.h>

#include "state.h"

#define ONE       16 /* a gap, in the counts' sixteenths: they can be halved a few times without bias */
#define COUNT_MAX (UINT16_MAX - ONE)
#define MEAN_OF   64 /* a bucket's mean follows the last so many gaps */

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
 * odd and cancels. apart and the result are in 2^-11 octaves, the result in 2^16ths of one.
 */
static inline int32_t centre_move(int32_t apart, unsigned int n)
{
	int32_t w = weight[n];
	int32_t bow = apart * apart * 1420 >> 19; /* ln 2 / 2 / 2048 of it, in 16ths */
	int32_t less = w * (65536 - w) >> 16;

	return apart * w + (bow * less >> 4);
}

/* Spreads what the centres' rounding depends on, 0..65535: consecutive arrivals give unrelated
 * values. */
static inline uint32_t dither_of(uint64_t arrival)
{
	return (uint32_t)arrival * 2654435761u >> 16;
}

static inline void clear_buckets(uint8_t *used, struct tg_gap_far *f)
{
	*used = 0;
	for (unsigned int i = 0; i < TG_GAP_BUCKETS; i++) {
		f->centre[i] = UINT16_MAX;
		f->count[i] = 0;
	}
}

/* Between two buckets (at the ends: beyond one of them). Which one is nearer is a coin's toss: no
 * branch hangs on it. */
static inline unsigned int nearest(const struct tg_gap_far *f, uint16_t log)
{
	unsigned int near = 0;

	for (unsigned int i = 1; i + 1 < TG_GAP_BUCKETS; i++)
		near += f->centre[i] < log;
	return near + (2 * log > f->centre[near] + f->centre[near + 1]);
}

/*
 * log joins bucket i. Steps of the centres are 2^-(11 - coarse) octaves; dither rounds the move, so
 * that many small ones add up to what they should.
 */
static inline void join(struct tg_gap_far *f, unsigned int i, uint16_t log, unsigned int coarse,
			uint32_t dither)
{
	int32_t apart = (log - f->centre[i]) * (1 << coarse);
	unsigned int n;

	if (f->count[i] < COUNT_MAX)
		f->count[i] += ONE;
	n = f->count[i] / ONE; /* 0 and 1: an old gap, faded; weight[] takes it for one */
	if (n > MEAN_OF)
		n = MEAN_OF;
	f->centre[i] = (uint16_t)(f->centre[i] +
				  ((centre_move(apart, n) + (int32_t)(dither << coarse)) >>
				   (16 + coarse)));
}

static inline void remove_bucket(uint8_t *used, struct tg_gap_far *f, unsigned int i)
{
	--*used;
	for (; i < *used; i++) {
		f->centre[i] = f->centre[i + 1];
		f->count[i] = f->count[i + 1];
	}
	f->centre[i] = UINT16_MAX;
	f->count[i] = 0;
}

/* A bucket of one gap; there is room. */
static inline void open_bucket(uint8_t *used, struct tg_gap_far *f, uint16_t log)
{
	unsigned int at = *used;

	for (; at > 0 && f->centre[at - 1] >= log; at--) {
		f->centre[at] = f->centre[at - 1];
		f->count[at] = f->count[at - 1];
	}
	f->centre[at] = log;
	f->count[at] = ONE;
	++*used;
}

/* All weigh half of what they did. Nothing is left of what was a single gap three halvings ago. */
static inline void fade(uint8_t *used, struct tg_gap_far *f)
{
	for (unsigned int i = *used; i-- > 0;) {
		f->count[i] /= 2;
		if (f->count[i] < ONE / 4)
			remove_bucket(used, f, i);
	}
}

#endif
