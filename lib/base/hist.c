/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_hist.h"

uint64_t tg_hist_low_ns(unsigned int i)
{
	unsigned int row = i / TG_HIST_SUB;

	/* row 0 is linear; row r > 0 is octave r - 1, of steps 2^(r-1) from TG_HIST_SUB << (r-1) */
	if (row == 0)
		return i;
	return (uint64_t)(TG_HIST_SUB + i % TG_HIST_SUB) << (row - 1);
}

uint64_t tg_hist_mid_ns(unsigned int i)
{
	uint64_t low = tg_hist_low_ns(i);

	return low + (tg_hist_low_ns(i + 1) - low) / 2;
}

void tg_hist_add(struct tg_hist *total, const struct tg_hist *from)
{
	uint64_t max = __atomic_load_n(&from->max_ns, __ATOMIC_RELAXED);

	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++)
		total->bucket[i] += __atomic_load_n(&from->bucket[i], __ATOMIC_RELAXED);
	total->count += __atomic_load_n(&from->count, __ATOMIC_RELAXED);
	total->sum_ns += __atomic_load_n(&from->sum_ns, __ATOMIC_RELAXED);
	if (max > total->max_ns)
		total->max_ns = max;
}

void tg_hist_sub(const struct tg_hist *now, const struct tg_hist *before, struct tg_hist *out)
{
	uint64_t max = 0;

	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++) {
		out->bucket[i] = now->bucket[i] - before->bucket[i];
		if (out->bucket[i] != 0)
			max = tg_hist_low_ns(i + 1) - 1;
	}
	/* the last bucket has no upper edge */
	if (out->bucket[TG_HIST_BUCKETS - 1] != 0 || max > now->max_ns)
		max = now->max_ns;
	out->count = now->count - before->count;
	out->sum_ns = now->sum_ns - before->sum_ns;
	out->max_ns = max;
}

/* Nearest rank: the least whole number, 1..total, at or above p % of total. */
static uint64_t rank_of(double p, uint64_t total)
{
	double exact = p / 100.0 * (double)total;
	uint64_t rank;

	if (!(exact > 1.0))
		return 1;
	if (exact >= (double)total)
		return total;
	rank = (uint64_t)exact;
	return (double)rank < exact ? rank + 1 : rank;
}

/* The k-th of the n samples in bucket i, which are taken to lie evenly in it. */
static uint64_t inside(unsigned int i, uint64_t k, uint64_t n)
{
	uint64_t low = tg_hist_low_ns(i), width = tg_hist_low_ns(i + 1) - low;

	return low + (uint64_t)((double)width * ((double)k - 0.5) / n);
}

uint64_t tg_hist_percentile_ns(const struct tg_hist *h, double p)
{
	uint64_t total = 0, rank, v;

	/* not h->count, which a live writer may have moved on */
	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++)
		total += h->bucket[i];
	if (total == 0)
		return 0;
	rank = rank_of(p, total);
	for (unsigned int i = 0; i < TG_HIST_BUCKETS - 1; i++) {
		if (rank <= h->bucket[i]) {
			v = inside(i, rank, h->bucket[i]);
			return v < h->max_ns ? v : h->max_ns;
		}
		rank -= h->bucket[i];
	}
	return h->max_ns; /* among those too long for a bucket of their own */
}

uint64_t tg_hist_mean_ns(const struct tg_hist *h)
{
	return h->count == 0 ? 0 : h->sum_ns / h->count;
}
