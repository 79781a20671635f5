/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log-linear histogram of durations in nanoseconds, finer than the gateway's (lib/base/tg_hist.h):
 * 1024 linear steps an octave, so the middle of a bucket is within 1/2048 (0.05 %) of what lies in
 * it; below 2048 ns exact. 0 ns .. 2^45 ns (about 9.7 h), longer ones in the last bucket. The sum
 * is exact. 280 KiB each, whatever is recorded.
 *
 * Thread-safety: one simulation, one thread. Source: the layout of HdrHistogram (G. Tene).
 */
#ifndef TG_RESULTS_HIST_H
#define TG_RESULTS_HIST_H

#include <stdint.h>

#define TG_FINE_SUB_BITS 10
#define TG_FINE_SUB      (1u << TG_FINE_SUB_BITS)
#define TG_FINE_BUCKETS  (35u * TG_FINE_SUB)

struct tg_fine_hist {
	uint64_t count, min_ns, max_ns, sum_ns;
	double sum2;
	uint64_t bucket[TG_FINE_BUCKETS];
};

void tg_fine_record(struct tg_fine_hist *h, uint64_t ns);
void tg_fine_reset(struct tg_fine_hist *h);
/* 0 when empty. */
double tg_fine_mean_ns(const struct tg_fine_hist *h);
/* Value below which a share p of 0..1 lies: nearest rank, linear inside the bucket, within what was
 * recorded. 0 when empty. */
double tg_fine_quantile_ns(const struct tg_fine_hist *h, double p);

#endif
