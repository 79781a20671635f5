/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log-linear histogram of durations in nanoseconds: 32 linear steps an octave, so a value is
 * known to 1/64 of itself (half a step) or to 1 ns, whichever is larger; 0 ns .. about 1100 s,
 * longer ones land in the last bucket. Counts are cumulative and only grow: a reader that wants
 * a window subtracts two snapshots.
 *
 * Thread-safety: one writer (its lcore). Readers on other threads use relaxed loads through
 * tg_hist_add, and may see a sample in count before they see it in its bucket.
 * Source: the layout of HdrHistogram (G. Tene), without its auto-resizing.
 */
#ifndef TG_HIST_H
#define TG_HIST_H

#include <stdint.h>

#define TG_HIST_SUB_BITS 5
#define TG_HIST_SUB      (1u << TG_HIST_SUB_BITS)
#define TG_HIST_OCTAVES  36 /* 2^40 ns is about 1100 s */
#define TG_HIST_BUCKETS  (TG_HIST_OCTAVES * TG_HIST_SUB)

struct tg_hist {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t bucket[TG_HIST_BUCKETS]; /* every packet's sojourn lands in one: 32 bits would wrap */
};

/* Bucket of a duration: 0..TG_HIST_BUCKETS-1, monotonic. */
static inline unsigned int tg_hist_index(uint64_t ns)
{
	unsigned int octave, i;

	if (ns < TG_HIST_SUB)
		return (unsigned int)ns;
	octave = 63 - (unsigned int)__builtin_clzll(ns) - TG_HIST_SUB_BITS;
	i = (octave + 1) * TG_HIST_SUB + (unsigned int)((ns >> octave) & (TG_HIST_SUB - 1));
	return i < TG_HIST_BUCKETS ? i : TG_HIST_BUCKETS - 1;
}

/* n equal samples. Writer only. */
static inline void tg_hist_record(struct tg_hist *h, uint64_t ns, uint32_t n)
{
	unsigned int i = tg_hist_index(ns);

	__atomic_store_n(&h->bucket[i], h->bucket[i] + n, __ATOMIC_RELAXED);
	__atomic_store_n(&h->count, h->count + n, __ATOMIC_RELAXED);
	__atomic_store_n(&h->sum_ns, h->sum_ns + ns * n, __ATOMIC_RELAXED);
	if (ns > h->max_ns)
		__atomic_store_n(&h->max_ns, ns, __ATOMIC_RELAXED);
}

/* Lower edge of bucket i, and its middle. */
uint64_t tg_hist_low_ns(unsigned int i);
uint64_t tg_hist_mid_ns(unsigned int i);

/* total += from. from may have a live writer; total must not. */
void tg_hist_add(struct tg_hist *total, const struct tg_hist *from);

/* out = now - before, the window between two snapshots of one cumulative histogram. max_ns of
 * the window is not known exactly: the upper edge of its last used bucket, at most now's. */
void tg_hist_sub(const struct tg_hist *now, const struct tg_hist *before, struct tg_hist *out);

/* Percentile p in 0..100 (nearest rank, linear inside the bucket, never above max_ns); 0 when
 * empty. Smooth samples: well within 1/64 of the truth; never more than a step, 1/32, off. */
uint64_t tg_hist_percentile_ns(const struct tg_hist *h, double p);

/* sum/count, exact; 0 when empty. */
uint64_t tg_hist_mean_ns(const struct tg_hist *h);

#endif
