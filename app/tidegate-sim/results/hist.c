/* SPDX-License-Identifier: BSD-3-Clause */
#include "results/hist.h"

#include <math.h>
#include <string.h>

static unsigned int index_of(uint64_t ns)
{
	unsigned int octave, i;

	if (ns < TG_FINE_SUB)
		return (unsigned int)ns;
	octave = 63 - (unsigned int)__builtin_clzll(ns) - TG_FINE_SUB_BITS;
	i = (octave + 1) * TG_FINE_SUB + (unsigned int)((ns >> octave) & (TG_FINE_SUB - 1));
	return i < TG_FINE_BUCKETS ? i : TG_FINE_BUCKETS - 1;
}

static uint64_t low_of(unsigned int i)
{
	unsigned int octave = i / TG_FINE_SUB;

	if (octave == 0)
		return i;
	return (uint64_t)(TG_FINE_SUB + i % TG_FINE_SUB) << (octave - 1);
}

void tg_fine_record(struct tg_fine_hist *h, uint64_t ns)
{
	h->bucket[index_of(ns)]++;
	h->min_ns = h->count == 0 || ns < h->min_ns ? ns : h->min_ns;
	h->max_ns = ns > h->max_ns ? ns : h->max_ns;
	h->count++;
	h->sum_ns += ns;
	h->sum2 += (double)ns * (double)ns;
}

void tg_fine_reset(struct tg_fine_hist *h)
{
	if (h->count > 0) {
		unsigned int first = index_of(h->min_ns), last = index_of(h->max_ns);

		memset(&h->bucket[first], 0, (last - first + 1) * sizeof(h->bucket[0]));
	}
	h->count = h->min_ns = h->max_ns = h->sum_ns = 0;
	h->sum2 = 0;
}

double tg_fine_mean_ns(const struct tg_fine_hist *h)
{
	return h->count > 0 ? (double)h->sum_ns / (double)h->count : 0;
}

double tg_fine_quantile_ns(const struct tg_fine_hist *h, double p)
{
	double rank = ceil(p * (double)h->count), before = 0, value;

	if (h->count == 0)
		return 0;
	rank = fmin(fmax(rank, 1), (double)h->count);
	for (unsigned int i = index_of(h->min_ns); i <= index_of(h->max_ns); i++) {
		double here = (double)h->bucket[i];

		if (before + here < rank) {
			before += here;
			continue;
		}
		/* values of a bucket of one nanosecond are known */
		value = (double)low_of(i);
		if (low_of(i + 1) - low_of(i) > 1)
			value += (rank - before - 0.5) / here * (double)(low_of(i + 1) - low_of(i));
		return fmin(fmax(value, (double)h->min_ns), (double)h->max_ns);
	}
	return (double)h->max_ns;
}
