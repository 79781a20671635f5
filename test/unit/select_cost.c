/* SPDX-License-Identifier: BSD-3-Clause */
/* Policies by cost: what they do with what control knows, and with what it cannot know yet. */
#include "select_rig.h"

static const enum tg_policy over_all[] = {TG_POLICY_MODEL, TG_POLICY_QUEUE, TG_POLICY_HYBRID_SEED};
static const enum tg_policy of_candidates[] = {TG_POLICY_COMPLETION, TG_POLICY_LATENCY};
static const enum tg_policy by_cost[] = {TG_POLICY_MODEL,       TG_POLICY_QUEUE,
					 TG_POLICY_HYBRID_SEED, TG_POLICY_TWO_CHOICES,
					 TG_POLICY_COMPLETION,  TG_POLICY_LATENCY};

/* The cheapest, but for one pick in twenty that is anybody's. */
START_TEST(least_cost_explores_uniformly)
{
	for (size_t p = 0; p < N_OF(over_all); p++) {
		struct tg_select_group *g = equals(over_all[p], 5);

		memcpy(cost, (const uint32_t[]){500, 100, UINT32_MAX, 101, 200},
		       5 * sizeof(cost[0]));
		check_shares(g, (const double[]){.01, .96, .01, .01, .01}, 5);
		tg_select_group_free(g);
	}
}
END_TEST

START_TEST(least_cost_ties_by_weight)
{
	struct tg_select_server s[3] = {server(0, 1), server(1, 3), server(2, 60)};
	struct tg_select_group *g = group(TG_POLICY_MODEL, s, 3);

	cost[0] = cost[1] = 50;
	cost[2] = 51;
	/* of those drawn as 2 the search finds the first cheaper one: by the order of names */
	check_shares(g,
		     g->server[0].id == 0 || (g->server[0].id == 2 && g->server[1].id == 0)
			     ? (const double[]){.95 * 61 / 64 + .05 / 3, .95 * 3 / 64 + .05 / 3,
						.05 / 3}
			     : (const double[]){.95 * 1 / 64 + .05 / 3, .95 * 63 / 64 + .05 / 3,
						.05 / 3},
		     3);
	tg_select_group_free(g);
}
END_TEST

static uint16_t cheapest(const uint16_t *id, unsigned int n)
{
	uint16_t best = id[0];

	for (unsigned int i = 1; i < n; i++) {
		if (cost[id[i]] < cost[best])
			best = id[i];
	}
	return best;
}

/* Of the first three; all twelve, when the first nine are slow; never more. */
START_TEST(redraw_is_bounded)
{
	for (size_t p = 0; p < N_OF(of_candidates); p++) {
		struct tg_select_group *g = equals(of_candidates[p], 100);
		struct tg_select_local l = local(0, 1);
		uint64_t r = 41;

		for (unsigned int i = 0; i < 100; i++)
			cost[i] = 10000 + (i * 37) % 100;
		for (unsigned int k = 0; k < 5000; k++) {
			uint64_t hash = next_random(&r);
			uint16_t id[TG_SELECT_CANDIDATES_MAX];

			tg_select_candidates(g, hash, id, N_OF(id));
			for (unsigned int i = 0; i < 100; i++)
				median[i] = 6000; /* 12000 is not slow */
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash), cheapest(id, 3));
			for (unsigned int i = 0; i < 100; i++)
				median[i] = 4000; /* 8000: everybody is */
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash), cheapest(id, 12));
			cost[id[4]] -= 9000; /* the second round finds it, so there is no third */
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash), id[4]);
			cost[id[4]] += 9000;
		}
		tg_select_group_free(g);
	}
}
END_TEST

/* 30 of 100 are slow: without redraw 2.7 % of the flows would have no other candidate. */
START_TEST(redraw_leaves_the_slow)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 100);
	unsigned int count[IDS], slow = 0;

	for (unsigned int i = 0; i < 100; i++)
		cost[i] = i < 30 ? 5000 : 1000;
	draw(g, count);
	for (unsigned int i = 0; i < 30; i++)
		slow += count[i];
	ck_assert_double_eq_tol(slow, DRAWS * .3 * 29 / 99 * 28 / 98, 350);
	for (unsigned int i = 0; i < 100; i++)
		median[i] = 1000;
	draw(g, count);
	for (unsigned int i = 0; i < 30; i++)
		ck_assert_uint_eq(count[i], 0);
	tg_select_group_free(g);
}
END_TEST

/* Costs as a service of far servers has them, near the end of the range. */
START_TEST(scores_do_not_wrap)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 2);
	struct tg_select_local l = local(0, 1);

	cost[0] = marginal[0] = median[0] = median[1] = UINT32_MAX;
	cost[1] = 4000000000u;
	ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), 1);
	tally[0].picked = tally[1].picked = TG_SELECT_PICKED_MAX;
	marginal[1] = UINT32_MAX - 1;
	ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), 1);
	tg_select_group_free(g);
}
END_TEST

START_TEST(the_unknown_counts_as_the_median)
{
	for (size_t p = 0; p < N_OF(of_candidates); p++) {
		struct tg_select_group *g = equals(of_candidates[p], 3);
		struct tg_select_local l = local(0, 1);
		uint64_t r = 6;

		for (unsigned int k = 0; k < 100; k++) {
			uint64_t hash = next_random(&r);

			median[0] = median[1] = median[2] = 200;
			memcpy(cost, (const uint32_t[]){100, 0, 300}, 3 * sizeof(cost[0]));
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash), 0);
			cost[0] = 300;
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash), 1);
			/* nobody is known: the hash decides */
			memset(cost, 0, sizeof(cost));
			memset(median, 0, sizeof(median));
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash),
					  tg_select_consistent(g, hash));
		}
		tg_select_group_free(g);
	}
}
END_TEST

/* As offline, and in a worker that control has not reached yet. */
START_TEST(a_view_of_nothing)
{
	static const struct tg_select_view nothing;
	uint64_t r = 12;

	for (int p = 0; p < TG_POLICY_COUNT; p++) {
		struct tg_select_group *g = equals((enum tg_policy)p, 7);
		struct tg_select_local l = local(0, 1);
		unsigned int seen = 0;

		for (unsigned int i = 0; i < 1000; i++) {
			uint16_t id = tg_select_pick(g, &l, &nothing, next_random(&r));

			ck_assert_uint_lt(id, 7);
			seen |= 1u << id;
		}
		ck_assert_uint_eq(seen, 0x7f);
		tg_select_group_free(g);
	}
}
END_TEST

/*
 * A thousand flows between two ticks; one server is better by what twenty flows add. All that
 * compare all servers end level: 113 for the best, 93 for the others, and what epsilon adds. Those
 * of few candidates come near.
 */
START_TEST(no_herd_between_ticks)
{
	for (size_t p = 0; p < N_OF(by_cost); p++) {
		struct tg_select_group *g = equals(by_cost[p], 10);
		struct tg_select_local l = local(0, 1);
		unsigned int count[10] = {0}, again = 0;
		uint64_t r = 5;

		tick++;
		for (unsigned int i = 0; i < 10; i++) {
			cost[i] = i == 4 ? 1000000 : 1200000;
			marginal[i] = 10000;
			median[i] = 1200000;
		}
		for (unsigned int i = 0; i < 1000; i++)
			count[tg_select_pick(g, &l, &view, next_random(&r))]++;
		for (unsigned int i = 0; i < 10; i++) {
			ck_assert_uint_ge(count[i], 75);
			ck_assert_uint_le(count[i], i == 4 ? 140 : 115);
			ck_assert_uint_eq(tally[i].picked, count[i]);
		}
		tick++; /* control has them in its costs now (it says the same as before) */
		for (unsigned int i = 0; i < 15; i++)
			again += tg_select_pick(g, &l, &view, next_random(&r)) == 4;
		ck_assert_uint_eq(tally[4].picked, again);
		ck_assert(by_cost[p] == TG_POLICY_TWO_CHOICES || again >= 2);
		tg_select_group_free(g);
	}
}
END_TEST

/*
 * The same thousand, spread over eight workers that see none of each other's picks: still level, by
 * what each takes the others to have done. Left to its own picks each would give the best what it is
 * better by, 244 together.
 */
static void check_workers(enum tg_policy policy)
{
	static struct tg_select_tally of[8][10];
	struct tg_select_group *g = equals(policy, 10);
	struct tg_select_local l[8];
	struct tg_select_view seen = view;
	unsigned int count[10] = {0};
	uint64_t r = 5;

	tick++;
	seen.workers = 8;
	for (unsigned int w = 0; w < 8; w++)
		l[w] = local(w, 8);
	for (unsigned int i = 0; i < 10; i++) {
		cost[i] = i == 4 ? 1000000 : 1200000;
		load[i] = i == 4 ? 100 * 256 : 120 * 256;
		marginal[i] = 10000;
		median[i] = 1200000;
	}
	for (unsigned int i = 0; i < 1000; i++) {
		seen.tally = of[i % 8];
		count[tg_select_pick(g, &l[i % 8], &seen, next_random(&r))]++;
	}
	for (unsigned int i = 0; i < 10; i++) {
		ck_assert_uint_ge(count[i], 70);
		ck_assert_uint_le(count[i], 140);
	}
	tg_select_group_free(g);
}

START_TEST(no_herd_of_workers_between_ticks)
{
	for (size_t p = 0; p < N_OF(by_cost); p++)
		check_workers(by_cost[p]);
	check_workers(TG_POLICY_JSQ);
}
END_TEST

/* Sixteen workers (or gateways) that know the same and nothing of each other: the best server can
 * get the flows that have it as a candidate, three in a hundred, and no more. */
START_TEST(no_herd_of_workers)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 100);
	unsigned int best = 0;
	uint64_t r = 5;

	for (unsigned int i = 0; i < 100; i++) {
		cost[i] = i == 4 ? 100000 : 1200000;
		median[i] = 1200000;
	}
	for (unsigned int w = 0; w < 16; w++) {
		struct tg_select_local l = local(w, 16);

		tick++; /* as if the tally were the worker's own */
		for (unsigned int i = 0; i < 1000; i++)
			best += tg_select_pick(g, &l, &view, next_random(&r)) == 4;
	}
	ck_assert_double_eq_tol(best, 16000 * 3 / 100.0, 80);
	tg_select_group_free(g);
}
END_TEST

/* The better of two different ones of n: the share of rank r (0 the best). */
static void check_ranks(const struct tg_select_group *g, const unsigned int *rank, unsigned int n)
{
	double share[10];
	unsigned int count[IDS];

	for (unsigned int i = 0; i < n; i++)
		share[i] = 2.0 * (n - 1 - rank[i]) / (n * (n - 1));
	draw(g, count);
	for (unsigned int i = 0; i < n; i++) {
		if (share[i] > 0)
			continue;
		ck_assert_uint_eq(count[i], 0);
		share[i] = 1; /* 1 expected of 0 must not divide */
		count[i] = DRAWS;
	}
	ck_assert_double_lt(chi_square(count, share, n), chi_square_limit[n - 1]);
}

START_TEST(two_choices_prefers_the_cheaper)
{
	struct tg_select_group *two = equals(TG_POLICY_TWO_CHOICES, 2),
			       *five = equals(TG_POLICY_TWO_CHOICES, 5);

	cost[0] = 200;
	cost[1] = 199;
	check_ranks(two, (const unsigned int[]){1, 0}, 2);
	memcpy(cost, (const uint32_t[]){500, 100, UINT32_MAX, 300, 200}, 5 * sizeof(cost[0]));
	own[1] = 1000; /* flows do not count where costs differ */
	check_ranks(five, (const unsigned int[]){3, 0, 4, 2, 1}, 5);
	memset(cost, 0, sizeof(cost));
	memcpy(own, (const uint32_t[]){3, 0, 1, 0, 5}, 5 * sizeof(own[0]));
	others[1] = 4;
	others[3] = 2;
	check_ranks(five, (const unsigned int[]){2, 3, 0, 1, 4}, 5);
	tg_select_group_free(two);
	tg_select_group_free(five);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("select by cost");

	UNIT_CASE(s, "least cost", least_cost_explores_uniformly, least_cost_ties_by_weight);
	UNIT_CASE(s, "candidates", redraw_is_bounded, redraw_leaves_the_slow, scores_do_not_wrap,
		  the_unknown_counts_as_the_median, a_view_of_nothing);
	UNIT_CASE(s, "herds", no_herd_between_ticks, no_herd_of_workers_between_ticks,
		  no_herd_of_workers);
	UNIT_CASE(s, "two-choices", two_choices_prefers_the_cheaper);
	return s;
}

UNIT_MAIN_EAL(suite)
