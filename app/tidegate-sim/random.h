/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random streams and distributions. A stream depends on (seed, replication, purpose, index) and on
 * nothing else, so two runs that differ in one respect (another policy) draw the same numbers for
 * everything else: common random numbers. How many numbers a sample takes depends on the kind of
 * distribution alone (none: constant, trace; two: normal, lognormal; one: the others).
 *
 * Thread-safety: a stream belongs to one owner; distributions are only read.
 * Source: xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
 * ACM TOMS 2021), seeded by splitmix64 (Steele, Lea and Flood, OOPSLA 2014); tg_random_below is
 * Lemire's, "Fast random integer generation in an interval" (ACM TOMACS 2019).
 */
#ifndef TG_RANDOM_H
#define TG_RANDOM_H

#include <stdint.h>

struct tg_random {
	uint64_t s[4];
};

void tg_random_init(struct tg_random *r, uint64_t seed, uint64_t replication, const char *purpose,
		    uint64_t index);
uint64_t tg_random_next(struct tg_random *r);
double tg_random_uniform(struct tg_random *r);             /* (0, 1), 52 bits */
uint64_t tg_random_below(struct tg_random *r, uint64_t n); /* 0..n-1, n > 0; without bias */

enum tg_dist_kind {
	TG_DIST_CONSTANT,       /* mean */
	TG_DIST_EXPONENTIAL,    /* mean */
	TG_DIST_UNIFORM,        /* low..high */
	TG_DIST_NORMAL,         /* mean, sd > 0; what falls below 0 is 0 (and raises the mean) */
	TG_DIST_LOGNORMAL,      /* mean > 0, sd of the variable itself */
	TG_DIST_PARETO,         /* shape alpha > 1, by mean: from mean (alpha - 1) / alpha up */
	TG_DIST_BOUNDED_PARETO, /* shape alpha > 0, 0 < low <= high */
	TG_DIST_TRACE,          /* values in order, again from the start */
};

/* Only the fields its kind names count. The unit is the owner's. */
struct tg_dist {
	enum tg_dist_kind kind;
	double mean, sd, alpha, low, high;
	const double *trace;
	uint32_t n_trace; /* a trace has values: >= 1 */
};

/* *place: the next value of a trace, the owner's; ignored by other kinds. */
double tg_dist_sample(const struct tg_dist *d, struct tg_random *r, uint32_t *place);
/* Of what is sampled: the cut of a normal and the bounds of a Pareto are in it. */
double tg_dist_mean(const struct tg_dist *d);
/* Squared coefficient of variation; INFINITY where there is none (Pareto, alpha <= 2); 0 at mean 0. */
double tg_dist_scv(const struct tg_dist *d);

#endif
