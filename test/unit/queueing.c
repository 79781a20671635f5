/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "tg_queueing.h"
#include "unit.h"

#define EXACT    1e-9
#define N_RANDOM 20000

/* In loops plain tests stand for ck_assert: check makes a note to its parent each time. */
#define NEAR(got, want, relative)                                                  \
	do {                                                                       \
		double got_ = (got), want_ = (want);                               \
		if (!(fabs(got_ - want_) <= (relative)*fmax(fabs(want_), 1e-300))) \
			ck_abort_msg("%s is %.12g, not %.12g", #got, got_, want_); \
	} while (0)
#define HOLDS(condition, x)                                                             \
	do {                                                                            \
		if (!(condition))                                                       \
			ck_abort_msg("%s does not hold for %s = %.12g", #condition, #x, \
				     (double)(x));                                      \
	} while (0)

static uint64_t state;

static double uniform(double low, double high)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

static uint32_t some_workers(void)
{
	return (uint32_t)exp2(uniform(0, 7.99));
}

/* M/M/c */

/* a^c/c! over the sum of a^k/k!, as it is defined */
static double erlang_b_by_sum(uint32_t c, double a)
{
	double term = 1, sum = 1;

	for (uint32_t k = 1; k <= c; k++) {
		term *= a / k;
		sum += term;
	}
	return term / sum;
}

START_TEST(erlang_b_is_its_sum)
{
	state = 1;
	for (int i = 0; i < N_RANDOM; i++) {
		uint32_t c = 1 + (uint32_t)uniform(0, 40);
		double a = uniform(0.001, 80);

		NEAR(tg_erlang_b(c, a), erlang_b_by_sum(c, a), 1e-12);
	}
}
END_TEST

/* Published tables: the load that loses 1 % */
START_TEST(erlang_b_published)
{
	NEAR(tg_erlang_b(5, 1.361), .01, .002);
	NEAR(tg_erlang_b(10, 4.461), .01, .002);
	NEAR(tg_erlang_b(20, 12.03), .01, .002);
	NEAR(tg_erlang_b(100, 84.06), .01, .002);
	NEAR(tg_erlang_b(1, 1), .5, EXACT);
	NEAR(tg_erlang_b(2, 1), .2, EXACT);
}
END_TEST

static const struct {
	uint32_t c;
	double rho, must_wait, wait;
} published[] = {
	{1, .9, .900000, 9.000000},  {2, .8, .711111, 1.777778}, {4, .9, .787753, 1.969383},
	{8, .95, .844169, 2.110422}, {16, .5, .009019, .001127},
};

START_TEST(erlang_c_table)
{
	for (unsigned int i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		double number = published[i].c * published[i].rho *
				(1 + tg_mmc_wait(published[i].c, published[i].rho));

		ck_assert_double_eq_tol(tg_erlang_c(published[i].c, published[i].rho),
					published[i].must_wait, 5e-7);
		ck_assert_double_eq_tol(tg_mmc_wait(published[i].c, published[i].rho),
					published[i].wait, 5e-7);
		/* Little's law */
		NEAR(tg_mmc_number(published[i].c, published[i].rho), number, EXACT);
	}
}
END_TEST

START_TEST(one_and_two_workers)
{
	for (double rho = .01; rho < 1; rho += .01) {
		NEAR(tg_erlang_c(1, rho), rho, EXACT);
		NEAR(tg_mmc_wait(1, rho), rho / (1 - rho), EXACT);
		NEAR(tg_mmc_number(1, rho), rho / (1 - rho), EXACT);
		NEAR(tg_erlang_c(2, rho), 2 * rho * rho / (1 + rho), EXACT);
		NEAR(tg_mmc_wait(2, rho), rho * rho / (1 - rho * rho), EXACT);
		NEAR(tg_mmc_number(2, rho), 2 * rho / (1 - rho * rho), EXACT);
	}
}
END_TEST

START_TEST(erlang_is_monotonic)
{
	state = 2;
	for (int i = 0; i < N_RANDOM; i++) {
		uint32_t c = some_workers();
		double rho = uniform(0, .999), more = rho + uniform(0, .999 - rho);

		HOLDS(tg_erlang_c(c, more) >= tg_erlang_c(c, rho) * (1 - 1e-12), rho);
		HOLDS(tg_erlang_c(c + 1, rho) <= tg_erlang_c(c, rho), rho);
		HOLDS(tg_erlang_b(c, c * rho) <= tg_erlang_c(c, rho), rho);
		HOLDS(tg_mmc_wait(c, more) >= tg_mmc_wait(c, rho) * (1 - 1e-12), rho);
	}
}
END_TEST

START_TEST(erlang_edges)
{
	ck_assert_double_eq(tg_erlang_b(0, 1), 1);
	ck_assert_double_eq(tg_erlang_b(3, 0), 0);
	ck_assert_double_eq(tg_erlang_b(3, -1), 0);
	ck_assert_double_eq(tg_erlang_b(3, NAN), 0);
	ck_assert_double_eq(tg_erlang_b(3, INFINITY), 1);
	ck_assert_double_eq(tg_erlang_b(4096, 1e-300), 0);
	ck_assert_double_eq(tg_erlang_c(0, .5), 1);
	ck_assert_double_eq(tg_erlang_c(4, 1), 1);
	ck_assert_double_eq(tg_erlang_c(4, INFINITY), 1);
	ck_assert_double_eq(tg_erlang_c(4, -1), 0);
	ck_assert_double_eq(tg_erlang_c(4, NAN), 0);
	ck_assert_double_eq(tg_mmc_wait(4, 0), 0);
	ck_assert_double_infinite(tg_mmc_wait(4, 1));
	ck_assert_double_infinite(tg_mmc_wait(0, .1));
	ck_assert_double_infinite(tg_mmc_number(4, 2));
	ck_assert_double_eq(tg_mmc_number(4, 0), 0);
	/* continuous up to 1, and for as many workers as the loop goes */
	NEAR(tg_erlang_c(4, 1 - 1e-9), 1, 1e-8);
	NEAR(tg_erlang_c(TG_ERLANG_WORKERS_MAX, 1 - 1e-9), 1, 1e-5);
	/* more of them: at the same rho, so bounded in time and an upper bound */
	NEAR(tg_erlang_c(UINT32_MAX, .999), tg_erlang_c(TG_ERLANG_WORKERS_MAX, .999), EXACT);
	NEAR(tg_rho(1e4, 1e6, 20), .5, EXACT);
	ck_assert_double_eq(tg_rho(NAN, 1e6, 20), 0);
	ck_assert_double_eq(tg_rho(0, 1e6, 0), 0);
	ck_assert_double_infinite(tg_rho(1, 1e6, 0));
}
END_TEST

/* G/G/c */

START_TEST(allen_cunneen_exact_cases)
{
	state = 3;
	for (int i = 0; i < N_RANDOM; i++) {
		uint32_t c = some_workers();
		double rho = uniform(0.01, .99), cs2 = uniform(0, 20);

		NEAR(tg_allen_cunneen(c, rho, 1, 1), tg_mmc_wait(c, rho), EXACT);
		/* Pollaczek-Khinchine */
		NEAR(tg_allen_cunneen(1, rho, 1, cs2), rho * (1 + cs2) / 2 / (1 - rho), EXACT);
	}
}
END_TEST

START_TEST(allen_cunneen_pareto_values)
{
	ck_assert_double_eq_tol(tg_allen_cunneen(4, .5, 1, tg_pareto_cs2(2.5)), .0783, 5e-5);
	ck_assert_double_eq_tol(tg_allen_cunneen(4, .9, 1, tg_pareto_cs2(2.5)), 1.772, 5e-4);
	ck_assert_double_eq_tol(tg_allen_cunneen(8, .9, 1, tg_pareto_cs2(3)), .585, 5e-3);
}
END_TEST

START_TEST(allen_cunneen_edges)
{
	ck_assert_double_infinite(tg_allen_cunneen(4, 1, 1, 1));
	ck_assert_double_infinite(tg_allen_cunneen(4, 1, 0, 0));
	ck_assert_double_infinite(tg_allen_cunneen(0, .5, 1, 1));
	ck_assert_double_eq(tg_allen_cunneen(4, .9, 0, 0), 0);
	ck_assert_double_eq(tg_allen_cunneen(4, 0, INFINITY, INFINITY), 0);
	NEAR(tg_allen_cunneen(4, .9, NAN, -1), tg_mmc_wait(4, .9), EXACT);
	NEAR(tg_allen_cunneen(4, .9, TG_CV2_MAX, INFINITY), TG_CV2_MAX * tg_mmc_wait(4, .9), EXACT);
}
END_TEST

START_TEST(implied_rho_inverts)
{
	state = 4;
	for (int i = 0; i < N_RANDOM; i++) {
		uint32_t c = some_workers();
		double rho = uniform(0.02, TG_RHO_MAX), ca2 = uniform(0, 4), cs2 = uniform(0, 20);
		double wait = tg_allen_cunneen(c, rho, ca2, cs2);

		NEAR(tg_implied_rho(c, wait, ca2, cs2), rho, 1e-8);
		NEAR(tg_allen_cunneen(c, tg_implied_rho(c, wait, ca2, cs2), ca2, cs2), wait, 1e-7);
		HOLDS(tg_implied_rho(c, wait * 1.01, ca2, cs2) > rho || rho > .989, rho);
	}
	/* one worker: w / (1 + w) */
	for (double w = .01; w < 90; w *= 1.1)
		NEAR(tg_implied_rho(1, w, 1, 1), w / (1 + w), EXACT);
	for (double rho = .95; rho < .99; rho += .005)
		NEAR(tg_implied_rho(4096, tg_mmc_wait(4096, rho), 1, 1), rho, 1e-8);
}
END_TEST

/* Each mean wait of the published table, and of the closed forms for one and two workers and for
 * M/G/1, says which rho it is of. */
START_TEST(implied_rho_of_the_table)
{
	for (unsigned int i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		NEAR(tg_implied_rho(published[i].c, published[i].wait, 1, 1), published[i].rho,
		     1e-4);
	for (double rho = .02; rho < .98; rho += .02) {
		NEAR(tg_implied_rho(1, rho / (1 - rho), 1, 1), rho, EXACT);
		NEAR(tg_implied_rho(2, rho * rho / (1 - rho * rho), 1, 1), rho, EXACT);
		/* Pollaczek-Khinchine: constant service, and Pareto of shape 2.5 */
		NEAR(tg_implied_rho(1, rho / (1 - rho) / 2, 1, 0), rho, EXACT);
		NEAR(tg_implied_rho(1, rho / (1 - rho) * 1.8 / 2, 1, tg_pareto_cs2(2.5)), rho,
		     EXACT);
	}
	/* Allen-Cunneen's own of Pareto, as printed */
	NEAR(tg_implied_rho(4, .0783, 1, tg_pareto_cs2(2.5)), .5, 1e-3);
	NEAR(tg_implied_rho(4, 1.772, 1, tg_pareto_cs2(2.5)), .9, 1e-3);
	NEAR(tg_implied_rho(8, .585, 1, tg_pareto_cs2(3)), .9, 1e-3);
}
END_TEST

START_TEST(implied_rho_edges)
{
	ck_assert_double_eq(tg_implied_rho(4, 0, 1, 1), 0);
	ck_assert_double_eq(tg_implied_rho(4, -1, 1, 1), 0);
	ck_assert_double_eq(tg_implied_rho(4, NAN, 1, 1), 0);
	ck_assert_double_eq(tg_implied_rho(0, 1, 1, 1), 0);
	ck_assert_double_eq(tg_implied_rho(4, INFINITY, 1, 1), TG_RHO_MAX);
	ck_assert_double_eq(tg_implied_rho(4, 1e6, 1, 1), TG_RHO_MAX);
	ck_assert_double_eq(tg_implied_rho(4, 1, 0, 0), TG_RHO_MAX);
	/* a wait next to nothing still has a rho, however many workers */
	for (uint32_t c = 1; c <= 8192; c *= 2) {
		double rho = tg_implied_rho(c, 5e-324, 100, 100);

		HOLDS(rho >= 0 && rho < .9, c);
	}
}
END_TEST

START_TEST(marginal_wait_is_the_slope)
{
	/* one worker: d/drho rho/(1 - rho) = 1/(1 - rho)^2 */
	NEAR(tg_marginal_wait(1, .5, 1e-6, 1, 1) / 1e-6, 4, 1e-5);
	NEAR(tg_marginal_wait(4, .5, .2, 1, 3), 2 * (tg_mmc_wait(4, .7) - tg_mmc_wait(4, .5)),
	     EXACT);
	state = 5;
	for (int i = 0; i < N_RANDOM; i++) {
		uint32_t c = some_workers();
		double rho = uniform(0, 1.2), more = rho + uniform(0, .3), flow = uniform(0, .2);
		double now = tg_marginal_wait(c, rho, flow, 1, 2);

		HOLDS(now >= 0 && isfinite(now), rho);
		HOLDS(tg_marginal_wait(c, more, flow, 1, 2) >= now * (1 - 1e-9) - 1e-15, rho);
		HOLDS(tg_marginal_wait(c, rho, flow * 1.5, 1, 2) >= now, rho);
	}
	/* a saturated server is not free */
	ck_assert_double_gt(tg_marginal_wait(4, 5, .01, 1, 1), 1);
	ck_assert_double_eq(tg_marginal_wait(4, .5, NAN, 1, 1), 0);
	ck_assert_double_infinite(tg_marginal_wait(0, .5, .1, 1, 1));
	NEAR(tg_marginal_wait(4, .5, 7, 1, 1), tg_mmc_wait(4, TG_RHO_MAX), EXACT);
}
END_TEST

/* Pareto */

START_TEST(pareto_values)
{
	NEAR(tg_pareto_cs2(1 + sqrt(2)), 1, EXACT);
	NEAR(tg_pareto_cs2(2.5), .8, EXACT);
	NEAR(tg_pareto_cs2(3), 1. / 3, EXACT);
	ck_assert_double_infinite(tg_pareto_cs2(2));
	ck_assert_double_infinite(tg_pareto_cs2(-3));
	ck_assert_double_eq(tg_pareto_cs2(INFINITY), 0);
	ck_assert_double_eq(tg_pareto_cs2(NAN), 1);
}
END_TEST

/* The moments by the midpoint rule over ln x */
static void bounded_pareto_by_sum(double alpha, double ratio, double *mean, double *cs2)
{
	const int n = 20000;
	double step = log(ratio) / n, m0 = 0, m1 = 0, m2 = 0;

	for (int i = 0; i < n; i++) {
		double x = exp((i + .5) * step), density = pow(x, -alpha);

		m0 += density;
		m1 += density * x;
		m2 += density * x * x;
	}
	*mean = m1 / m0;
	*cs2 = m2 / m0 / (*mean * *mean) - 1;
}

START_TEST(bounded_pareto_is_its_integral)
{
	/* 1 and 2 are where the closed form has its logarithms */
	static const double alpha[] = {.5, 1, 1 + 1e-9, 1.5, 2, 2.5, 4};
	static const double ratio[] = {1.5, 10, 1000};
	double mean, cs2;

	for (unsigned int i = 0; i < sizeof(alpha) / sizeof(alpha[0]); i++) {
		for (unsigned int k = 0; k < sizeof(ratio) / sizeof(ratio[0]); k++) {
			bounded_pareto_by_sum(alpha[i], ratio[k], &mean, &cs2);
			NEAR(tg_bounded_pareto_mean(alpha[i], ratio[k]), mean, 1e-6);
			NEAR(tg_bounded_pareto_cs2(alpha[i], ratio[k]), cs2, 1e-5);
		}
	}
}
END_TEST

START_TEST(bounded_pareto_edges)
{
	static const double odd[] = {NAN, -1, 0, 1e-9, 1, 2, 3, 1e7, INFINITY};

	/* unbounded in the limit */
	NEAR(tg_bounded_pareto_cs2(4, 1e9), tg_pareto_cs2(4), 1e-6);
	NEAR(tg_bounded_pareto_mean(4, 1e9), 4. / 3, 1e-6);
	ck_assert_double_eq(tg_bounded_pareto_cs2(2.5, 1), 0);
	ck_assert_double_eq(tg_bounded_pareto_mean(2.5, .1), 1);
	for (unsigned int i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (unsigned int k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
			double cs2 = tg_bounded_pareto_cs2(odd[i], odd[k]);
			double mean = tg_bounded_pareto_mean(odd[i], odd[k]);

			HOLDS(cs2 >= 0 && isfinite(cs2), odd[i]);
			HOLDS(mean >= 1 - 1e-9 && isfinite(mean), odd[i]);
		}
	}
}
END_TEST

/* Percentiles, headroom */

START_TEST(percentile_and_headroom)
{
	NEAR(tg_mm1_percentile_ns(.95, 100), log(20) / 100 * 1e9, EXACT);
	ck_assert_double_eq_tol(tg_mm1_percentile_ratio(.99999, .95), 3.843, 5e-4);
	NEAR(tg_headroom_of_percentile_hz(.95, 1e9), log(20), EXACT);
	NEAR(tg_headroom_hz(4, 1e7, .75), 100, EXACT);
	state = 6;
	for (int i = 0; i < N_RANDOM; i++) {
		double p = uniform(.001, .99999), h = exp(uniform(-3, 14)), rho = uniform(0, .999);
		double t = tg_mm1_percentile_ns(p, h);

		NEAR(tg_mm1_share(t, h), p, EXACT);
		NEAR(tg_headroom_of_percentile_hz(p, t), h, EXACT);
		/* one worker: both headrooms are mu - lambda */
		NEAR(tg_headroom_of_percentile_hz(p, tg_mm1_percentile_ns(p, tg_headroom_hz(1, 1e6,
											    rho))),
		     1e3 * (1 - rho), EXACT);
	}
}
END_TEST

START_TEST(headroom_edges)
{
	ck_assert_double_eq(tg_headroom_hz(4, 1e6, 1), 0);
	ck_assert_double_eq(tg_headroom_hz(4, 1e6, 7), 0);
	ck_assert_double_eq(tg_headroom_hz(4, 0, .5), 0);
	ck_assert_double_eq(tg_headroom_hz(4, NAN, .5), 0);
	ck_assert_double_eq(tg_headroom_hz(4, 1e6, NAN), 0);
	ck_assert_double_eq(tg_headroom_hz(0, 1e6, .5), 0);
	ck_assert(isfinite(tg_headroom_hz(4, 5e-324, .5)));
	ck_assert_double_eq(tg_headroom_of_percentile_hz(.95, 0), 0);
	ck_assert_double_eq(tg_headroom_of_percentile_hz(.95, NAN), 0);
	ck_assert_double_eq(tg_headroom_of_percentile_hz(2, INFINITY), 0);
	ck_assert_double_infinite(tg_headroom_of_percentile_hz(1, 1));
	ck_assert_double_infinite(tg_mm1_percentile_ns(.5, 0));
	ck_assert_double_infinite(tg_mm1_percentile_ns(1, 5));
	ck_assert_double_eq(tg_mm1_percentile_ns(0, 0), 0);
	ck_assert_double_eq(tg_mm1_percentile_ns(NAN, 5), 0);
	ck_assert_double_eq(tg_mm1_share(1e9, 0), 0);
	ck_assert_double_eq(tg_mm1_share(NAN, 5), 0);
	ck_assert_double_eq(tg_mm1_share(INFINITY, INFINITY), 1);
	ck_assert_double_eq(tg_mm1_percentile_ratio(1, 1), 1);
	ck_assert_double_eq(tg_mm1_percentile_ratio(0, 0), 1);
	ck_assert_double_infinite(tg_mm1_percentile_ratio(.5, 0));
}
END_TEST

/* What was observed */

START_TEST(observed)
{
	/* 89 open flows, a ninth of each exchange at the server: 9.9 */
	NEAR(tg_in_system(89, 1e6, 8e6), 89. / 9, EXACT);
	NEAR(tg_sharing(7, 4), 2, EXACT);
	ck_assert_double_eq(tg_sharing(3, 4), 1);
	ck_assert_double_eq(tg_sharing(0, 4), 1);
	NEAR(tg_fade(5e6, 5e8), exp(-.01), EXACT);
	NEAR(tg_service_ns(3e6, 1.5), 2e6, EXACT);
	/* requests of 1 ms sharing workers at q = 0..7 and c = 2, faded on the way: still 1 ms */
	{
		double s = 0, f = 0;

		for (int q = 0; q < 8; q++) {
			double share = tg_sharing(q, 2), left = tg_fade(5e6, 5e8);

			s = s * left + 1e6 * share;
			f = f * left + share;
		}
		NEAR(tg_service_ns(s, f), 1e6, EXACT);
	}
}
END_TEST

START_TEST(observed_edges)
{
	ck_assert_double_eq(tg_in_system(9, 0, 0), 9);
	ck_assert_double_eq(tg_in_system(9, NAN, NAN), 9);
	ck_assert_double_eq(tg_in_system(9, 0, 5), 0);
	ck_assert_double_eq(tg_in_system(9, 5, -1), 9);
	ck_assert_double_eq(tg_in_system(-9, 5, 5), 0);
	ck_assert_double_eq(tg_in_system(0, INFINITY, INFINITY), 0);
	ck_assert_double_eq(tg_sharing(4, 0), 5);
	ck_assert_double_eq(tg_sharing(NAN, 4), 1);
	ck_assert_double_eq(tg_service_ns(0, 0), 0);
	ck_assert_double_eq(tg_service_ns(5, NAN), 0);
	ck_assert_double_eq(tg_service_ns(NAN, 5), 0);
	ck_assert(isfinite(tg_service_ns(INFINITY, INFINITY)));
	ck_assert_double_eq(tg_fade(0, 5), 1);
	ck_assert_double_eq(tg_fade(-3, 5), 1);
	ck_assert_double_eq(tg_fade(5, 0), 0);
	ck_assert_double_eq(tg_fade(5, NAN), 0);
	ck_assert_double_eq(tg_fade(INFINITY, INFINITY), 1);
}
END_TEST

/* Parts of the hybrid */

START_TEST(waits_by_queue)
{
	NEAR(tg_wait_by_queue(6, 4), 1.5, EXACT);
	ck_assert_double_eq(tg_wait_by_queue(6, 0), 6);
	ck_assert_double_eq(tg_wait_by_queue(6, .5), 6);
	ck_assert_double_eq(tg_wait_by_queue(NAN, NAN), 0);
	ck_assert(isfinite(tg_wait_by_queue(INFINITY, INFINITY)));
	/* with all busy, (waiting + 1) / c */
	NEAR(tg_wait_by_system(10, 4), 7. / 4, EXACT);
	NEAR(tg_wait_by_system(4, 4), 1. / 4, EXACT);
	ck_assert_double_eq(tg_wait_by_system(3, 4), 0);
	ck_assert_double_eq(tg_wait_by_system(0, 1), 0);
	ck_assert_double_eq(tg_wait_by_system(3, 0), 3);
}
END_TEST

/* M/M/c: its mean wait is the mean of the conditional one over the states an arrival finds. */
START_TEST(conditional_wait_averages_to_the_mean)
{
	const uint32_t c = 4;
	const double rho = .8;
	double p = 1, all = 1, mean = 0;

	for (uint32_t q = 1; q < 2000; q++) {
		p *= c * rho / (q < c ? q : c);
		all += p;
		mean += p * tg_wait_by_system(q, c);
	}
	NEAR(mean / all, tg_mmc_wait(c, rho), EXACT);
}
END_TEST

START_TEST(blend_is_continuous)
{
	ck_assert_double_eq(tg_blend_weight(0, 4), 0);
	NEAR(tg_blend_weight(1, 4), .25, EXACT);
	NEAR(tg_blend_weight(4 - 1e-9, 4), 1, 1e-9);
	ck_assert_double_eq(tg_blend_weight(4, 4), 1);
	ck_assert_double_eq(tg_blend_weight(1e30, 4), 1);
	ck_assert_double_eq(tg_blend_weight(NAN, 4), 0);
	ck_assert_double_eq(tg_blend_weight(0, 0), 1);
	NEAR(tg_blend(.25, 8, 4), 7, EXACT);
	ck_assert_double_eq(tg_blend(-1, 8, 4), 8);
	ck_assert_double_eq(tg_blend(2, 8, 4), 4);
	ck_assert(isfinite(tg_blend(0, 8, INFINITY)));
}
END_TEST

START_TEST(penalty_is_continuous)
{
	ck_assert_double_eq(tg_penalty(.5), 1);
	ck_assert_double_eq(tg_penalty(TG_RHO_PENALTY), 1);
	NEAR(tg_penalty(TG_RHO_PENALTY + 1e-9), 1, 2e-8);
	ck_assert_double_gt(tg_penalty(TG_RHO_PENALTY + .01), 1.05);
	NEAR(tg_penalty(1), 2, EXACT);
	NEAR(tg_penalty(1 - 1e-9), 2, 1e-8);
	ck_assert_double_eq(tg_penalty(7), tg_penalty(1));
	ck_assert_double_eq(tg_penalty(INFINITY), tg_penalty(1));
	ck_assert_double_eq(tg_penalty(NAN), 1);
	for (double rho = 0; rho < 1.5; rho += .001)
		HOLDS(tg_penalty(rho + .001) >= tg_penalty(rho), rho);
}
END_TEST

/* The laws */

typedef struct tg_predicted law(const struct tg_queueing_input *in);

static law *const laws[] = {tg_predict_model, tg_predict_queue, tg_predict_hybrid_seed,
			    tg_predict_hybrid, tg_predict_completion};
#define N_LAWS (sizeof(laws) / sizeof(laws[0]))

/* rho .8, 10 ms, c = 4 */
static struct tg_queueing_input some_input(void)
{
	return (struct tg_queueing_input){
		.lambda_hz = 320,
		.ca2 = 1,
		.cs2 = 3,
		.service_ns = 1e7,
		.in_system = 3,
		.delay_ns = 2e6,
		.workers = 4,
	};
}

static struct tg_queueing_input random_input(void)
{
	return (struct tg_queueing_input){
		.lambda_hz = exp(uniform(0, 9)),
		.ca2 = uniform(0, 5),
		.cs2 = uniform(0, 20),
		.service_ns = exp(uniform(10, 18)),
		.in_system = uniform(0, 300),
		.delay_ns = uniform(0, 1e8),
		.workers = some_workers(),
	};
}

START_TEST(laws_by_hand)
{
	struct tg_queueing_input in = some_input();
	double model = 2 * tg_mmc_wait(4, .8);
	struct tg_predicted p = tg_predict_model(&in);

	NEAR(p.wait_ns, model * 1e7, EXACT);
	NEAR(p.completion_ns, model * 1e7 + 1.2e7, EXACT);
	NEAR(p.score_ns, p.completion_ns, EXACT);
	NEAR(tg_predict_queue(&in).completion_ns, 1.2e7, EXACT); /* none waiting */
	NEAR(tg_predict_hybrid_seed(&in).wait_ns, model * 1e7, EXACT);
	NEAR(tg_predict_hybrid(&in).wait_ns, model / 4 * 1e7, EXACT); /* beta 3/4, queue 0 */
	p = tg_predict_completion(&in);
	NEAR(p.completion_ns, 1.2e7, EXACT);
	NEAR(p.score_ns, 1e7 * (1 + .375) + 2e6, EXACT);

	in.in_system = 6; /* two wait */
	NEAR(tg_predict_queue(&in).wait_ns, .5e7, EXACT);
	NEAR(tg_predict_hybrid_seed(&in).wait_ns, (model / 2 + .5 / 2) * 1e7, EXACT);
	NEAR(tg_predict_hybrid(&in).wait_ns, .75e7, EXACT);
	p = tg_predict_completion(&in);
	NEAR(p.completion_ns, 1e7 * 7 / 4 + 2e6, EXACT);
	NEAR(p.score_ns, 1e7 * (1 + .75 + .5) + 2e6, EXACT);

	in.lambda_hz = 380; /* rho .95 */
	p = tg_predict_hybrid(&in);
	NEAR(p.score_ns - 1.2e7, 1.5 * p.wait_ns, EXACT);
	NEAR(p.completion_ns - 1.2e7, p.wait_ns, EXACT);
}
END_TEST

/* Where the blend and the penalty change form, nothing jumps. */
START_TEST(laws_are_continuous)
{
	struct tg_queueing_input in = some_input(), next = in;

	for (unsigned int l = 0; l < N_LAWS; l++) {
		for (in.in_system = 0; in.in_system < 12; in.in_system += .125) {
			next = in;
			next.in_system += 1e-6;
			NEAR(laws[l](&next).score_ns, laws[l](&in).score_ns, 1e-5);
		}
		in = some_input();
		for (in.lambda_hz = 0; in.lambda_hz < 500; in.lambda_hz += 1) {
			next = in;
			next.lambda_hz += 1e-6;
			NEAR(laws[l](&next).score_ns, laws[l](&in).score_ns, 1e-5);
		}
	}
}
END_TEST

static bool no_less(const struct tg_predicted *more, const struct tg_predicted *less)
{
	const double rounding = 1 - 1e-12;

	return more->completion_ns >= less->completion_ns * rounding &&
	       more->score_ns >= less->score_ns * rounding;
}

START_TEST(laws_are_monotonic)
{
	state = 7;
	for (int i = 0; i < N_RANDOM; i++) {
		struct tg_queueing_input in = random_input(), more[5];
		double up = uniform(1, 2);

		for (int k = 0; k < 5; k++)
			more[k] = in;
		more[0].lambda_hz *= up;
		more[1].ca2 *= up;
		more[2].cs2 *= up;
		more[3].service_ns *= up;
		more[4].delay_ns *= up;
		for (unsigned int l = 0; l < N_LAWS; l++) {
			struct tg_predicted p = laws[l](&in);

			HOLDS(p.score_ns >= p.completion_ns * (1 - 1e-12) ||
				      laws[l] == tg_predict_completion,
			      l);
			for (int k = 0; k < 5; k++) {
				struct tg_predicted m = laws[l](&more[k]);

				HOLDS(no_less(&m, &p), l * 10 + (unsigned int)k);
			}
		}
	}
}
END_TEST

START_TEST(more_queue_is_no_less_wait)
{
	state = 8;
	for (int i = 0; i < N_RANDOM; i++) {
		struct tg_queueing_input in = random_input(), more = in;

		more.in_system *= uniform(1, 2);
		for (unsigned int l = 0; l < N_LAWS; l++) {
			struct tg_predicted p = laws[l](&in), m = laws[l](&more);
			double from = laws[l] == tg_predict_hybrid        ? in.workers
				      : laws[l] == tg_predict_hybrid_seed ? 2 * in.workers
									  : 0;

			HOLDS(in.in_system < from || no_less(&m, &p), l);
		}
	}
}
END_TEST

/* The hybrids lie between what they are made of. */
START_TEST(hybrids_lie_between)
{
	state = 9;
	for (int i = 0; i < N_RANDOM; i++) {
		struct tg_queueing_input in = random_input();
		double model = tg_predict_model(&in).wait_ns, queue = tg_predict_queue(&in).wait_ns;
		double seed = tg_predict_hybrid_seed(&in).wait_ns;
		double repaired = tg_predict_hybrid(&in).wait_ns;
		double system = tg_wait_by_system(in.in_system, in.workers) * in.service_ns;

		HOLDS(seed >= fmin(model, queue) * (1 - 1e-12), i);
		HOLDS(seed <= fmax(model, queue) * (1 + 1e-12), i);
		HOLDS(repaired >= fmin(model, system) * (1 - 1e-12), i);
		HOLDS(repaired <= fmax(model, system) * (1 + 1e-12), i);
	}
}
END_TEST

START_TEST(laws_edges)
{
	for (unsigned int l = 0; l < N_LAWS; l++) {
		struct tg_queueing_input in = some_input(),
					 idle = {.service_ns = 1e7, .workers = 1};
		struct tg_predicted p;

		in.service_ns = 0; /* no sample yet */
		p = laws[l](&in);
		ck_assert_double_eq(p.wait_ns + p.completion_ns + p.score_ns, 0);
		in.workers = 0; /* down, sample or not */
		ck_assert_double_eq(laws[l](&in).score_ns, TG_PREDICTED_NS_MAX);
		in.service_ns = 1e7;
		ck_assert_double_eq(laws[l](&in).completion_ns, TG_PREDICTED_NS_MAX);
		p = laws[l](&idle);
		ck_assert_double_eq(p.wait_ns, 0);
		ck_assert_double_eq(p.score_ns, 1e7);
	}
	/* rho >= 1 is as TG_RHO_MAX, however far */
	{
		struct tg_queueing_input in = some_input(), worse = in;

		in.lambda_hz = 400;
		worse.lambda_hz = 1e9;
		NEAR(tg_predict_model(&in).wait_ns, 2e7 * tg_mmc_wait(4, TG_RHO_MAX), EXACT);
		NEAR(tg_predict_model(&worse).score_ns, tg_predict_model(&in).score_ns, EXACT);
	}
}
END_TEST

/* Every field takes every odd value: all results are numbers in the promised range. */
START_TEST(laws_take_anything)
{
	static const double odd[] = {NAN, -INFINITY, -1, 0, 5e-324, .5, 1, 1e9, 1e308, INFINITY};
	static const uint32_t workers[] = {0, 1, 3, 5000, UINT32_MAX};
	const unsigned int n = sizeof(odd) / sizeof(odd[0]);

	state = 10;
	for (int i = 0; i < 50000; i++) {
		struct tg_queueing_input in = {
			.lambda_hz = odd[(unsigned int)uniform(0, n)],
			.ca2 = odd[(unsigned int)uniform(0, n)],
			.cs2 = odd[(unsigned int)uniform(0, n)],
			.service_ns = odd[(unsigned int)uniform(0, n)],
			.in_system = odd[(unsigned int)uniform(0, n)],
			.delay_ns = odd[(unsigned int)uniform(0, n)],
			.workers = workers[(unsigned int)uniform(0, 5)],
		};

		for (unsigned int l = 0; l < N_LAWS; l++) {
			struct tg_predicted p = laws[l](&in);

			HOLDS(p.wait_ns >= 0 && p.wait_ns <= TG_PREDICTED_NS_MAX, l);
			HOLDS(p.completion_ns >= p.wait_ns, l);
			HOLDS(p.completion_ns <= TG_PREDICTED_NS_MAX, l);
			HOLDS(p.score_ns >= 0 && p.score_ns <= TG_PREDICTED_NS_MAX, l);
		}
	}
}
END_TEST

START_TEST(as_integers)
{
	ck_assert_uint_eq(tg_predicted_ns32(0), 0);
	ck_assert_uint_eq(tg_predicted_ns32(-1), 0);
	ck_assert_uint_eq(tg_predicted_ns32(NAN), 0);
	ck_assert_uint_eq(tg_predicted_ns32(1e-9), 1);
	ck_assert_uint_eq(tg_predicted_ns32(1234.6), 1235);
	ck_assert_uint_eq(tg_predicted_ns32(4294967294.), UINT32_MAX - 1);
	ck_assert_uint_eq(tg_predicted_ns32(4294967296.), UINT32_MAX);
	ck_assert_uint_eq(tg_predicted_ns32(INFINITY), UINT32_MAX);
	ck_assert_uint_eq(tg_predicted_ns64(1e10), UINT64_C(10000000000));
	ck_assert_uint_eq(tg_predicted_ns64(INFINITY), UINT64_C(1000000000000000000));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("queueing");

	UNIT_CASE(s, "erlang", erlang_b_is_its_sum, erlang_b_published, erlang_c_table,
		  one_and_two_workers, erlang_is_monotonic, erlang_edges);
	UNIT_CASE(s, "wait", allen_cunneen_exact_cases, allen_cunneen_pareto_values,
		  allen_cunneen_edges, implied_rho_inverts, implied_rho_of_the_table,
		  implied_rho_edges, marginal_wait_is_the_slope);
	UNIT_CASE(s, "pareto", pareto_values, bounded_pareto_is_its_integral, bounded_pareto_edges);
	UNIT_CASE(s, "percentile", percentile_and_headroom, headroom_edges);
	UNIT_CASE(s, "observed", observed, observed_edges);
	UNIT_CASE(s, "parts", waits_by_queue, conditional_wait_averages_to_the_mean,
		  blend_is_continuous, penalty_is_continuous);
	UNIT_CASE(s, "laws", laws_by_hand, laws_are_continuous, laws_are_monotonic,
		  more_queue_is_no_less_wait, hybrids_lie_between, laws_edges, laws_take_anything,
		  as_integers);
	return s;
}

UNIT_MAIN(suite)
