/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modes of a flow's samples: neighbouring buckets near each other, and what carries weight.
 */
#include "gap_modes.h"

#include <stdlib.h>

#include "bucket.h"
#include "log2.h"

#define MODE_LEAST   3    /* samples of a mode that carries weight */
#define MODE_JOIN    1389 /* log2(1.6): neighbouring buckets this near are one mode */
#define MODE_SHARE   10 /* one sample in so many, of its kind's and of both kinds', carries weight */
#define BUCKET_REACH 539   /* log2(1.2): a bucket holds samples this near its centre */
#define KEPT         4096  /* log2(4): so far above the mode's centre a sample still counts */
#define APART        3247  /* log2(3): a rest this near to what was kept is more of the same .. */
#define SLICE        10    /* .. where it is one sample in so many */
#define WHOLE_LEAST  96    /* samples of one wide thing; .. */
#define WHOLE_CUT    6144  /* log2(8): more than so many times its mean is a pause */
#define WHOLE_PAUSES 96    /* one in so many may be a pause */
#define WHOLE_SOON   413   /* log2(1.15): by so much a handshake may be slower than an answer */
#define WHOLE_VARIES 150   /* percent: of the squared mean, its variance at most */
#define WHOLE_FAR    12288 /* log2(64): so far above the handshake every exchange may hold a pause */
#define FEW          32    /* one in so many of a kind's samples */
#define FLOOR_SOFT   1024  /* log2(1.4): by so much a handshake may be slower than the path */

static uint32_t sum_counts(const uint16_t *count, unsigned int n)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += count[i];
	return sum;
}

/* Keeps the order: of two kinds one comes after the other. */
static void add_bucket(struct tg_gap_view *v, uint16_t centre, uint16_t count)
{
	unsigned int at = v->used++;

	for (; at > 0 && v->centre[at - 1] > centre; at--) {
		v->centre[at] = v->centre[at - 1];
		v->count[at] = v->count[at - 1];
	}
	v->centre[at] = centre;
	v->count[at] = count;
	v->all += count;
}

void tg_gap_look(const struct tg_envelope_near *n, const struct tg_envelope_far *f,
		 unsigned int kind, struct tg_gap_view *v)
{
	const unsigned int bit = kind == TG_ENVELOPE_G ? TG_ENVELOPE_KIND_G : 0;

	v->from = v->used = 0;
	v->all = v->aside = 0;
	for (unsigned int i = 0; i < n->used; i++) {
		if (kind != TG_ENVELOPE_KINDS && (f->gaps.centre[i] & TG_ENVELOPE_KIND_G) != bit)
			continue;
		add_bucket(v, (uint16_t)((f->gaps.centre[i] & ~TG_ENVELOPE_KIND_G) << 1),
			   f->gaps.count[i]);
	}
}

void tg_gap_cut_below(struct tg_gap_view *v, uint16_t least)
{
	unsigned int i = 0;
	uint32_t rest;

	while (i < v->used && v->centre[i] < least)
		i++;
	rest = sum_counts(v->count + i, v->used - i);
	if (rest < MODE_LEAST * ONE)
		return;
	v->from = i;
	v->aside = v->all - rest;
	v->all = rest;
}

static uint16_t root(uint32_t x)
{
	uint32_t r = 0;

	for (uint32_t bit = 1u << 15; bit != 0; bit >>= 1) {
		if ((r + bit) * (r + bit) <= x)
			r += bit;
	}
	return (uint16_t)r;
}

static uint16_t mean_log(const struct tg_gap_view *v, unsigned int first, unsigned int last)
{
	uint64_t sum = 0;

	for (unsigned int i = first; i <= last; i++)
		sum += (uint64_t)v->count[i] * v->centre[i];
	return (uint16_t)(sum / sum_counts(v->count + first, last - first + 1));
}

static uint16_t spread_of(const struct tg_gap_view *v, const struct tg_gap_kept *k)
{
	uint16_t mean = mean_log(v, k->first, k->last);
	uint64_t sum = 0;

	for (unsigned int i = k->first; i <= k->last; i++) {
		int64_t d = v->centre[i] - mean;

		sum += (uint64_t)(d * d) * v->count[i];
	}
	return root((uint32_t)(sum / k->count));
}

/* The next mode from bucket `first` on that carries weight. */
static bool next_mode(const struct tg_gap_view *v, unsigned int first, uint32_t least,
		      struct tg_gap_kept *k)
{
	uint32_t count = 0;

	for (unsigned int i = first; i < v->used; i++) {
		count += v->count[i];
		if (i + 1 < v->used && v->centre[i + 1] - v->centre[i] <= MODE_JOIN)
			continue;
		if (count >= least) {
			k->first = first;
			k->last = i;
			k->mode = count;
			k->centre = mean_log(v, first, i);
			return true;
		}
		count = 0;
		first = i + 1;
	}
	return false;
}

bool tg_gap_find_kept(const struct tg_gap_view *v, uint32_t all, uint16_t floor,
		      struct tg_gap_kept *k)
{
	uint32_t least = (v->all > all ? v->all : all) / MODE_SHARE;
	struct tg_gap_kept next;

	if (least < MODE_LEAST * ONE)
		least = MODE_LEAST * ONE;
	if (!next_mode(v, v->from, least, k))
		return false;
	next = *k;
	while (k->centre + FLOOR_SOFT < floor && next_mode(v, next.last + 1, least, &next)) {
		if (next.mode >= k->mode && next.centre <= floor + TG_GAP_FAR)
			*k = next;
	}
	while (k->last + 1 < v->used && v->centre[k->last + 1] <= k->centre + KEPT)
		k->last++;
	k->count = sum_counts(v->count + k->first, k->last - k->first + 1);
	k->spread = spread_of(v, k);
	return true;
}

/* Percent of the squared mean (ticks): the variance of the kept. */
static uint64_t variance_of(const struct tg_gap_view *v, const struct tg_gap_kept *k, uint64_t mean,
			    unsigned int shift)
{
	uint64_t sum = 0;

	for (unsigned int i = k->first; i <= k->last; i++) {
		uint64_t part = tg_log2_ticks(v->centre[i], shift) * 64 /
				mean; /* at most 8 * 64: kept */

		sum += part * part * v->count[i];
	}
	sum = sum * 100 / k->count / (64 * 64);
	return sum > 100 ? sum - 100 : 0;
}

static uint32_t count_below(const struct tg_gap_view *v, uint16_t least)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < v->used && v->centre[i] < least; i++)
		n += v->count[i];
	return n;
}

bool tg_gap_find_whole(const struct tg_gap_view *v, uint16_t floor, unsigned int shift,
		       struct tg_gap_kept *k)
{
	uint32_t mine = v->all + v->aside;
	uint64_t mean;
	uint32_t count;

	if (v->all < WHOLE_LEAST * ONE || floor <= WHOLE_SOON ||
	    count_below(v, floor - WHOLE_SOON) > mine / FEW)
		return false;
	k->first = v->from;
	k->last = v->used - 1;
	k->count = v->all;
	k->centre = tg_gap_median(v, k);
	do { /* from below: what is above no longer draws the mean up to itself */
		count = k->count;
		k->last = k->first;
		while (k->last + 1 < v->used && v->centre[k->last + 1] <= k->centre + WHOLE_CUT)
			k->last++;
		k->count = sum_counts(v->count + k->first, k->last - k->first + 1);
		mean = tg_gap_mean(v, k, shift);
		k->centre = tg_log2_of(mean, shift);
	} while (k->count != count);
	k->mode = k->count;
	k->spread = spread_of(v, k);
	return k->count >= v->all - v->all / WHOLE_PAUSES && k->centre <= floor + WHOLE_FAR &&
	       variance_of(v, k, mean, shift) <= WHOLE_VARIES;
}

/* Half of the way to bucket j, but no further than a sample may be that joined bucket i. */
static uint32_t reach(const struct tg_gap_view *v, unsigned int i, unsigned int j)
{
	uint32_t half = (uint32_t)abs(v->centre[i] - v->centre[j]) / 2;

	return half < BUCKET_REACH ? half : BUCKET_REACH;
}

uint16_t tg_gap_median(const struct tg_gap_view *v, const struct tg_gap_kept *k)
{
	uint32_t below = 0, half = k->count / 2, left, right;
	unsigned int i = k->first;

	while (i < k->last && below + v->count[i] <= half)
		below += v->count[i++];
	left = reach(v, i, i > k->first ? i - 1 : i < k->last ? i + 1 : i);
	right = reach(v, i, i < k->last ? i + 1 : i > k->first ? i - 1 : i);
	return (uint16_t)(v->centre[i] - left + (left + right) * (half - below) / v->count[i]);
}

bool tg_gap_stands_apart(const struct tg_gap_view *v, const struct tg_gap_kept *k)
{
	unsigned int last = k->last;
	uint32_t near = 0;

	while (last > k->first && v->count[last] * FEW < v->all) /* a few stragglers are no edge */
		last--;
	for (unsigned int i = 0; i < v->used; i++) {
		if (i < k->first && v->centre[i] + APART >= v->centre[k->first])
			near += v->count[i];
		if (i > k->last && v->centre[i] <= v->centre[last] + APART)
			near += v->count[i];
	}
	return near * SLICE < v->all;
}

static uint64_t time_of(const struct tg_gap_view *v, unsigned int from, unsigned int to,
			unsigned int shift)
{
	uint64_t time = 0;

	for (unsigned int i = from; i < to; i++)
		time += v->count[i] * tg_log2_ticks(v->centre[i], shift);
	return time;
}

uint64_t tg_gap_mean(const struct tg_gap_view *v, const struct tg_gap_kept *k, unsigned int shift)
{
	return time_of(v, k->first, k->last + 1, shift) / k->count;
}

uint64_t tg_gap_before(const struct tg_gap_view *v, const struct tg_gap_kept *k, unsigned int shift)
{
	return time_of(v, 0, v->from, shift) / k->count;
}
