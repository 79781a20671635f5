/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "number.h"

#define RATIO_MAX 1e12
#define SHAPE_MIN 1e-3
#define SHAPE_MAX 1e6

double tg_pareto_cs2(double alpha)
{
	if (isnan(alpha))
		return 1;
	if (alpha <= 2)
		return INFINITY;
	return 1 / (alpha * (alpha - 2));
}

/* (ratio^d - 1) / d, continuous at d = 0, where it is ln ratio */
static double power_integral(double d, double ln_ratio)
{
	return fabs(d) < 1e-12 ? ln_ratio : expm1(d * ln_ratio) / d;
}

static double shape(double alpha)
{
	return isnan(alpha) ? 1 : at_most(max_of(alpha, SHAPE_MIN), SHAPE_MAX);
}

/* E[X^k] with the lower end at 1: alpha / (1 - ratio^-alpha) times the integral of x^(k-alpha-1) */
static double moment(double k, double alpha, double ratio)
{
	double ln_ratio = log(at_most(ratio, RATIO_MAX));

	return alpha * power_integral(k - alpha, ln_ratio) / -expm1(-alpha * ln_ratio);
}

double tg_bounded_pareto_mean(double alpha, double ratio)
{
	return ratio > 1 ? moment(1, shape(alpha), ratio) : 1;
}

double tg_bounded_pareto_cs2(double alpha, double ratio)
{
	double mean;

	if (!(ratio > 1))
		return 0;
	mean = moment(1, shape(alpha), ratio);
	return at_least_0(moment(2, shape(alpha), ratio) / (mean * mean) - 1);
}
