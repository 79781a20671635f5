/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "random.h"

/* Box and Muller, one of the pair: the stream stays free of hidden state. */
static double standard_normal(struct tg_random *r)
{
	double u = tg_random_uniform(r), v = tg_random_uniform(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Variance of the logarithm of a lognormal. */
static double log_variance(const struct tg_dist *d)
{
	return log1p((d->sd / d->mean) * (d->sd / d->mean));
}

static double lognormal(const struct tg_dist *d, struct tg_random *r)
{
	double v = log_variance(d);

	return d->mean * exp(sqrt(v) * standard_normal(r) - v / 2);
}

static double pareto(const struct tg_dist *d, struct tg_random *r)
{
	return d->mean * (d->alpha - 1) / d->alpha * pow(tg_random_uniform(r), -1 / d->alpha);
}

/* 1 - (low/high)^alpha: what the bound leaves of the probability. */
static double kept(const struct tg_dist *d)
{
	return -expm1(d->alpha * log(d->low / d->high));
}

static double bounded_pareto(const struct tg_dist *d, struct tg_random *r)
{
	double u = tg_random_uniform(r);

	return d->low * pow(1 - u * kept(d), -1 / d->alpha);
}

static double from_trace(const struct tg_dist *d, uint32_t *place)
{
	uint32_t i = *place < d->n_trace ? *place : 0;

	*place = i + 1;
	return d->trace[i];
}

double tg_dist_sample(const struct tg_dist *d, struct tg_random *r, uint32_t *place)
{
	switch (d->kind) {
	case TG_DIST_CONSTANT:
		break;
	case TG_DIST_EXPONENTIAL:
		return -d->mean * log(tg_random_uniform(r));
	case TG_DIST_UNIFORM:
		return d->low + (d->high - d->low) * tg_random_uniform(r);
	case TG_DIST_NORMAL:
		return fmax(0, d->mean + d->sd * standard_normal(r));
	case TG_DIST_LOGNORMAL:
		return lognormal(d, r);
	case TG_DIST_PARETO:
		return pareto(d, r);
	case TG_DIST_BOUNDED_PARETO:
		return bounded_pareto(d, r);
	case TG_DIST_TRACE:
		return from_trace(d, place);
	}
	return d->mean;
}

/* Moments of max(0, X), X normal, by m = mean/sd: E = sd (m P + p), E2 = sd^2 ((m^2 + 1) P + m p),
 * P and p the standard normal's distribution and density at m. */
static double cut_normal_moment(const struct tg_dist *d, int n)
{
	double m = d->mean / d->sd;
	double below = erfc(-m * M_SQRT1_2) / 2, density = exp(-m * m / 2) / sqrt(2 * M_PI);

	if (n == 1)
		return d->sd * (m * below + density);
	return d->sd * d->sd * ((m * m + 1) * below + m * density);
}

/* E[X^n] = alpha low^alpha / kept * integral of x^(n-1-alpha) from low to high. The integral is
 * low^k (e^(k w) - 1) / k, k = n - alpha, w = ln(high/low), and w at k = 0: alpha = 1 has a mean,
 * alpha = 2 a second moment of its own. */
static double bounded_pareto_moment(const struct tg_dist *d, int n)
{
	double k = n - d->alpha, w = log(d->high / d->low), integral;

	if (w <= 0)
		return pow(d->low, n);
	integral = fabs(k * w) < 1e-12 ? w : expm1(k * w) / k;
	return d->alpha * pow(d->low, n) * integral / kept(d);
}

static double trace_moment(const struct tg_dist *d, int n)
{
	double sum = 0;

	for (uint32_t i = 0; i < d->n_trace; i++)
		sum += n == 1 ? d->trace[i] : d->trace[i] * d->trace[i];
	return sum / d->n_trace;
}

double tg_dist_mean(const struct tg_dist *d)
{
	switch (d->kind) {
	case TG_DIST_UNIFORM:
		return (d->low + d->high) / 2;
	case TG_DIST_NORMAL:
		return d->sd > 0 ? cut_normal_moment(d, 1) : fmax(0, d->mean);
	case TG_DIST_BOUNDED_PARETO:
		return bounded_pareto_moment(d, 1);
	case TG_DIST_TRACE:
		return trace_moment(d, 1);
	case TG_DIST_CONSTANT:
	case TG_DIST_EXPONENTIAL:
	case TG_DIST_LOGNORMAL:
	case TG_DIST_PARETO:
		break;
	}
	return d->mean;
}

static double scv_of(double mean, double second)
{
	return mean > 0 ? fmax(0, second / (mean * mean) - 1) : 0;
}

double tg_dist_scv(const struct tg_dist *d)
{
	double mean = tg_dist_mean(d), width = d->high - d->low;

	switch (d->kind) {
	case TG_DIST_CONSTANT:
		break;
	case TG_DIST_EXPONENTIAL:
		return 1;
	case TG_DIST_UNIFORM:
		return mean > 0 ? width * width / 12 / (mean * mean) : 0;
	case TG_DIST_NORMAL:
		return d->sd > 0 ? scv_of(mean, cut_normal_moment(d, 2)) : 0;
	case TG_DIST_LOGNORMAL:
		return mean > 0 ? (d->sd / mean) * (d->sd / mean) : 0;
	case TG_DIST_PARETO:
		return d->alpha > 2 ? 1 / (d->alpha * (d->alpha - 2)) : INFINITY;
	case TG_DIST_BOUNDED_PARETO:
		return scv_of(mean, bounded_pareto_moment(d, 2));
	case TG_DIST_TRACE:
		return scv_of(mean, trace_moment(d, 2));
	}
	return 0;
}
