/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How absurd numbers become usable ones. Every comparison is written so that NaN fails it.
 */
#ifndef TG_QUEUEING_NUMBER_H
#define TG_QUEUEING_NUMBER_H

#include "tg_queueing.h"

#define NS_A_SECOND 1e9
#define HUGE_VALUE  1e15 /* above this no rate, time or count is looked at */

/* Below 0 and NaN: 0. */
static inline double at_least_0(double x)
{
	return x > 0 ? x : 0;
}

static inline double at_most(double x, double most)
{
	return x < most ? x : most;
}

/* 0..HUGE_VALUE: sums and products of a few of these are finite. */
static inline double sane(double x)
{
	return at_most(at_least_0(x), HUGE_VALUE);
}

/* 1..: formulas that divide by the workers, for whom none are as one. */
static inline double divisor(uint32_t workers)
{
	return workers > 0 ? workers : 1;
}

static inline double max_of(double a, double b)
{
	return a > b ? a : b;
}

#endif
