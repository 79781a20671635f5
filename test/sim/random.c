/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers: the generator against the published algorithm worked by hand, distributions
 * against their distribution function (Kolmogorov and Smirnov) and their moments. Seeds are fixed:
 * a test passes or fails for good. Bounds are those of chance at about one in 10^4.
 */
#include <math.h>
#include <string.h>

#include "random.h"
#include "unit.h"

#define SAMPLES 200000

/* xoshiro256++ from s = {1, 2, 3, 4}: rotl(s0 + s3, 23) + s0 first, then the published steps; worked
 * out with big integers, apart from this code. */
START_TEST(generator)
{
	static const uint64_t answers[] = {
		41943041,
		58720359,
		3588806011781223,
		3591011842654386,
		9228616714210784205u,
		9973669472204895162u,
	};
	struct tg_random r = {{1, 2, 3, 4}};

	for (unsigned int i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		ck_assert_uint_eq(tg_random_next(&r), answers[i]);
}
END_TEST

static struct tg_random stream(uint64_t seed, uint64_t replication, const char *purpose,
			       uint64_t index)
{
	struct tg_random r;

	tg_random_init(&r, seed, replication, purpose, index);
	return r;
}

static double correlation(struct tg_random a, struct tg_random b)
{
	double sum = 0;

	for (int i = 0; i < SAMPLES; i++)
		sum += (tg_random_uniform(&a) - 0.5) * (tg_random_uniform(&b) - 0.5);
	return sum / SAMPLES * 12;
}

START_TEST(streams)
{
	struct tg_random one = stream(1, 2, "work", 3), again = stream(1, 2, "work", 3);
	const struct tg_random others[] = {
		stream(2, 2, "work", 3), stream(1, 3, "work", 3), stream(1, 2, "think", 3),
		stream(1, 2, "work", 4), stream(2, 1, "work", 3), stream(1, 2, "wor", 3),
		stream(3, 2, "work", 1), stream(1, 2, "", 3),     stream(0, 0, "", 0),
	};

	ck_assert_mem_eq(&one, &again, sizeof(one));
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ck_assert_int_ne(memcmp(&one, &others[i], sizeof(one)), 0);
		/* its standard deviation is 1/sqrt(SAMPLES) */
		ck_assert_double_lt(fabs(correlation(one, others[i])), 4 / sqrt(SAMPLES));
	}
	/* each stream against its neighbours by index: what clients 0, 1, 2, ... draw */
	for (uint64_t i = 0; i < 20; i++)
		ck_assert_double_lt(fabs(correlation(stream(7, 0, "c", i),
						     stream(7, 0, "c", i + 1))),
				    4 / sqrt(SAMPLES));
}
END_TEST

/* One number of each of many streams: as good as many numbers of one stream. */
START_TEST(first_numbers)
{
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < SAMPLES; i++) {
		struct tg_random r = stream(1, i % 10, "first", i / 10);
		double u = tg_random_uniform(&r) - 0.5;

		sum += u;
		squares += u * u;
	}
	ck_assert_double_lt(fabs(sum / SAMPLES), 4 * sqrt(1.0 / 12 / SAMPLES));
	ck_assert_double_lt(fabs(squares / SAMPLES - 1.0 / 12), 4 * sqrt(1.0 / 180 / SAMPLES));
}
END_TEST

START_TEST(below)
{
	static const uint64_t n[] = {1, 2, 3, 10, 1000};
	struct tg_random r = stream(1, 0, "below", 0);
	uint64_t third = 0;

	for (unsigned int k = 0; k < sizeof(n) / sizeof(n[0]); k++) {
		uint32_t count[1000] = {0};
		double chi = 0, expected = (double)SAMPLES / n[k];

		for (int i = 0; i < SAMPLES; i++)
			count[tg_random_below(&r, n[k])]++;
		for (uint64_t i = 0; i < n[k]; i++)
			chi += (count[i] - expected) * (count[i] - expected) / expected;
		/* chi square has mean n - 1, variance 2 (n - 1) */
		ck_assert_double_le(chi, (double)n[k] - 1 + 5 * sqrt(2.0 * (double)n[k]));
	}
	/* 3/4 of all values: a plain product would give every third value half of the draws */
	for (int i = 0; i < SAMPLES; i++)
		third += tg_random_below(&r, 3u * (UINT64_MAX / 4 + 1)) % 3 == 0;
	ck_assert_double_lt(fabs((double)third / SAMPLES - 1.0 / 3), 4 * sqrt(0.25 / SAMPLES));
}
END_TEST

static double phi(double z)
{
	return erfc(-z * M_SQRT1_2) / 2;
}

static double distribution(const struct tg_dist *d, double x)
{
	double least = d->mean * (d->alpha - 1) / d->alpha, v;

	switch (d->kind) {
	case TG_DIST_EXPONENTIAL:
		return 1 - exp(-x / d->mean);
	case TG_DIST_UNIFORM:
		return (x - d->low) / (d->high - d->low);
	case TG_DIST_NORMAL:
		return phi((x - d->mean) / d->sd);
	case TG_DIST_LOGNORMAL:
		v = log(1 + d->sd * d->sd / d->mean / d->mean);
		return phi((log(x / d->mean) + v / 2) / sqrt(v));
	case TG_DIST_PARETO:
		return x < least ? 0 : 1 - pow(least / x, d->alpha);
	case TG_DIST_BOUNDED_PARETO:
		return (1 - pow(d->low / x, d->alpha)) / (1 - pow(d->low / d->high, d->alpha));
	case TG_DIST_CONSTANT:
	case TG_DIST_TRACE:
		break;
	}
	return NAN;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const struct tg_dist smooth[] = {
	{.kind = TG_DIST_EXPONENTIAL, .mean = 3},
	{.kind = TG_DIST_UNIFORM, .low = 2, .high = 5},
	{.kind = TG_DIST_NORMAL, .mean = 10, .sd = 1.5},
	{.kind = TG_DIST_LOGNORMAL, .mean = 4, .sd = 6},
	{.kind = TG_DIST_PARETO, .mean = 5, .alpha = 1.5},
	{.kind = TG_DIST_PARETO, .mean = 5, .alpha = 4.5},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 0.8, .low = 1, .high = 1000},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 1, .low = 1, .high = 100},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 2, .low = 1, .high = 100},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 2.5, .low = 0.5, .high = 50},
};

START_TEST(kolmogorov_smirnov)
{
	const struct tg_dist *d = &smooth[_i];
	struct tg_random r = stream(42, 0, "ks", (uint64_t)_i);
	double *x = calloc(SAMPLES, sizeof(*x)), most = 0;

	for (int i = 0; i < SAMPLES; i++)
		x[i] = tg_dist_sample(d, &r, NULL);
	qsort(x, SAMPLES, sizeof(*x), by_value);
	ck_assert_double_ge(x[0], 0);
	for (int i = 0; i < SAMPLES; i++) {
		double f = distribution(d, x[i]);

		most = fmax(most, fmax(f - (double)i / SAMPLES, (i + 1.0) / SAMPLES - f));
	}
	/* P(sqrt(n) D > 2.2) = 2 e^(-2 * 2.2^2) = 1.3e-4 */
	ck_assert_msg(most * sqrt(SAMPLES) < 2.2, "kind %d: D = %g", d->kind, most);
	free(x);
}
END_TEST

static const struct tg_dist with_moments[] = {
	{.kind = TG_DIST_CONSTANT, .mean = 3},
	{.kind = TG_DIST_EXPONENTIAL, .mean = 3},
	{.kind = TG_DIST_UNIFORM, .low = 2, .high = 5},
	{.kind = TG_DIST_NORMAL, .mean = 10, .sd = 1.5},
	{.kind = TG_DIST_NORMAL, .mean = 1, .sd = 2}, /* a third is cut */
	{.kind = TG_DIST_NORMAL, .mean = -1, .sd = 2},
	{.kind = TG_DIST_LOGNORMAL, .mean = 4, .sd = 3},
	{.kind = TG_DIST_PARETO, .mean = 5, .alpha = 9},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 0.5, .low = 1, .high = 30},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 1, .low = 1, .high = 100},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 2, .low = 1, .high = 100},
	{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 2.5, .low = 0.5, .high = 50},
};

/* Mean and second moment of the sample, within 4 standard errors that the sample itself shows. */
START_TEST(moments)
{
	const struct tg_dist *d = &with_moments[_i];
	struct tg_random r = stream(43, 0, "moments", (uint64_t)_i);
	double m = tg_dist_mean(d), second = (tg_dist_scv(d) + 1) * m * m;
	double sum[4] = {0}, e1, e2;

	for (int i = 0; i < SAMPLES; i++) {
		double x = tg_dist_sample(d, &r, NULL), power = 1;

		for (int k = 0; k < 4; k++)
			sum[k] += (power *= x) / SAMPLES;
	}
	e1 = sqrt(fmax(0, sum[1] - sum[0] * sum[0]) / SAMPLES);
	e2 = sqrt(fmax(0, sum[3] - sum[1] * sum[1]) / SAMPLES);
	ck_assert_msg(fabs(sum[0] - m) <= 4 * e1 + 1e-9 * m, "case %d: mean %g, not %g", _i, sum[0],
		      m);
	ck_assert_msg(fabs(sum[1] - second) <= 4 * e2 + 1e-9 * second,
		      "case %d: second moment %g, not %g", _i, sum[1], second);
}
END_TEST

static void check_near(double got, double expected)
{
	ck_assert_msg(fabs(got - expected) <= 1e-9 * fabs(expected), "%.12g, not %.12g", got,
		      expected);
}

/* Closed forms written out another way. */
START_TEST(closed_forms)
{
	struct tg_dist d = {.kind = TG_DIST_PARETO, .mean = 2, .alpha = 2.5};

	check_near(tg_dist_mean(&d), 2);
	check_near(tg_dist_scv(&d), 0.8);
	d.alpha = 3;
	check_near(tg_dist_scv(&d), 1.0 / 3);
	d.alpha = 2;
	ck_assert(isinf(tg_dist_scv(&d)));
	d = (struct tg_dist){.kind = TG_DIST_BOUNDED_PARETO, .alpha = 1, .low = 1, .high = 100};
	check_near(tg_dist_mean(&d), 100 / 99.0 * log(100));                  /* LH/(H-L) ln(H/L) */
	check_near(tg_dist_scv(&d), 100 / pow(100 / 99.0 * log(100), 2) - 1); /* E2 = LH */
	d.alpha = 2;
	check_near(tg_dist_mean(&d), 200 / 101.0); /* 2LH/(L+H) */
	check_near(tg_dist_scv(&d), 2 * 1e4 / 9999 * log(100) / pow(200 / 101.0, 2) - 1);
	d.alpha = 3; /* E = 3/2 (1 - 1e-4)/(1 - 1e-6), E2 = 3 (1 - 1e-2)/(1 - 1e-6) */
	check_near(tg_dist_mean(&d), 1.5 * 0.9999 / 0.999999);
	check_near(tg_dist_scv(&d), 3 * 0.99 / 0.999999 / pow(1.5 * 0.9999 / 0.999999, 2) - 1);
	/* next to a special case it is nearly that case */
	d.alpha = 1 + 1e-9;
	ck_assert_double_lt(fabs(tg_dist_mean(&d) / (100 / 99.0 * log(100)) - 1), 1e-8);
	d.high = d.low = 7;
	check_near(tg_dist_mean(&d), 7);
	ck_assert_double_eq(tg_dist_scv(&d), 0);
	d = (struct tg_dist){.kind = TG_DIST_UNIFORM, .low = 0, .high = 6};
	check_near(tg_dist_scv(&d), 1.0 / 3);
	d = (struct tg_dist){.kind = TG_DIST_NORMAL, .mean = 4, .sd = 0};
	check_near(tg_dist_mean(&d), 4);
	ck_assert_double_eq(tg_dist_scv(&d), 0);
	d = (struct tg_dist){.kind = TG_DIST_CONSTANT};
	ck_assert_double_eq(tg_dist_mean(&d), 0);
	ck_assert_double_eq(tg_dist_scv(&d), 0);
}
END_TEST

START_TEST(bounds)
{
	const struct tg_dist d = {.kind = TG_DIST_BOUNDED_PARETO, .alpha = 0.3, .low = 2, .high = 3};
	struct tg_random r = stream(5, 0, "bounds", 0);
	double least[2] = {9, 9}, most[2] = {0, 0};

	for (int i = 0; i < SAMPLES; i++) {
		double x = tg_dist_sample(&d, &r, NULL), u = tg_random_uniform(&r);

		least[0] = fmin(least[0], x);
		most[0] = fmax(most[0], x);
		least[1] = fmin(least[1], u);
		most[1] = fmax(most[1], u);
	}
	ck_assert(least[0] >= 2 && most[0] <= 3 * (1 + 1e-15));
	ck_assert(least[1] > 0 && most[1] < 1);
}
END_TEST

START_TEST(trace)
{
	static const double values[] = {5, 1, 3};
	const struct tg_dist d = {.kind = TG_DIST_TRACE, .trace = values, .n_trace = 3};
	uint32_t place = 0;

	for (int i = 0; i < 10; i++)
		ck_assert_double_eq(tg_dist_sample(&d, NULL, &place), values[i % 3]);
	check_near(tg_dist_mean(&d), 3);
	check_near(tg_dist_scv(&d), 35 / 27.0 - 1);
}
END_TEST

/* A kind takes as many numbers whatever its parameters: common random numbers rest on it. */
START_TEST(numbers_taken)
{
	static const struct {
		struct tg_dist d;
		int takes;
	} kinds[] = {
		{{.kind = TG_DIST_CONSTANT, .mean = 1}, 0},
		{{.kind = TG_DIST_EXPONENTIAL, .mean = 1}, 1},
		{{.kind = TG_DIST_NORMAL, .mean = -5, .sd = 1}, 2},
		{{.kind = TG_DIST_LOGNORMAL, .mean = 1, .sd = 1}, 2},
		{{.kind = TG_DIST_BOUNDED_PARETO, .alpha = 1, .low = 1, .high = 1}, 1},
	};

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct tg_random a = stream(1, 0, "n", i), b = a;

		tg_dist_sample(&kinds[i].d, &a, NULL);
		for (int k = 0; k < kinds[i].takes; k++)
			tg_random_next(&b);
		ck_assert_mem_eq(&a, &b, sizeof(a));
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sim random");
	TCase *tc = tcase_create("distributions");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_loop_test(tc, kolmogorov_smirnov, 0, sizeof(smooth) / sizeof(smooth[0]));
	tcase_add_loop_test(tc, moments, 0, sizeof(with_moments) / sizeof(with_moments[0]));
	suite_add_tcase(s, tc);
	UNIT_CASE(s, "generator", generator, streams, first_numbers, below);
	UNIT_CASE(s, "exact", closed_forms, bounds, trace, numbers_taken);
	return s;
}
UNIT_MAIN(suite)
