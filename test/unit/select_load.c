/* SPDX-License-Identifier: BSD-3-Clause */
/* Policies by turns, by chance and by load. */
#include "select_rig.h"

START_TEST(round_robin_cycles)
{
	struct tg_select_server s[6];
	struct tg_select_local l = local(0, 1);
	struct tg_select_group *g;
	uint16_t first[5];
	unsigned int seen = 0;

	for (uint16_t i = 0; i < 6; i++)
		s[i] = server(i, (uint16_t)(10 * i)); /* 0 is none; weights do not count */
	g = group(TG_POLICY_ROUND_ROBIN, s, 6);
	for (unsigned int i = 0; i < 5; i++) {
		first[i] = tg_select_pick(g, &l, &view, i);
		seen |= 1u << first[i];
	}
	ck_assert_uint_eq(seen, 0x3e);
	for (unsigned int i = 0; i < 50; i++)
		ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), first[i % 5]);
	tg_select_group_free(g);
}
END_TEST

/* Four workers over eight servers start two apart. */
START_TEST(round_robin_workers_apart)
{
	struct tg_select_group *g = equals(TG_POLICY_ROUND_ROBIN, 8);
	struct tg_select_local one = local(0, 1);
	uint16_t order[8];

	for (unsigned int i = 0; i < 8; i++)
		order[i] = tg_select_pick(g, &one, &view, 0);
	for (unsigned int w = 0; w < 4; w++) {
		struct tg_select_local l = local(w, 4);

		for (unsigned int i = 0; i < 16; i++)
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), order[(2 * w + i) % 8]);
	}
	tg_select_group_free(g);
}
END_TEST

/* The cursor outlives a reload that takes servers away, or brings more. */
START_TEST(round_robin_over_reloads)
{
	struct tg_select_group *many = equals(TG_POLICY_ROUND_ROBIN, 8),
			       *few = equals(TG_POLICY_ROUND_ROBIN, 3);

	for (unsigned int at = 0; at < 8; at++) {
		struct tg_select_local l = local(0, 1);
		unsigned int count[8] = {0};

		for (unsigned int i = 0; i < at; i++)
			tg_select_pick(many, &l, &view, 0);
		for (unsigned int i = 0; i < 30; i++)
			count[tg_select_pick(few, &l, &view, 0)]++;
		for (unsigned int i = 0; i < 8; i++)
			ck_assert_uint_eq(count[i], i < 3 ? 10 : 0);
		for (unsigned int i = 0; i < 80; i++)
			count[tg_select_pick(many, &l, &view, 0)]++;
		for (unsigned int i = 0; i < 8; i++)
			ck_assert_uint_eq(count[i], i < 3 ? 20 : 10);
	}
	tg_select_group_free(many);
	tg_select_group_free(few);
}
END_TEST

/* A round of the sum of the weights has every server exactly as often as its weight says. */
START_TEST(weighted_round_robin_is_exact)
{
	static const uint16_t weights[][5] = {{1, 1, 1, 1, 1},
					      {5, 1, 1, 0, 0},
					      {1, 2, 3, 4, 10},
					      {1000, 1, 7, 65535, 3}};

	for (size_t k = 0; k < N_OF(weights); k++) {
		struct tg_select_local l = local(1, 2);
		struct tg_select_server s[5];
		struct tg_select_group *g;
		unsigned int count[5] = {0}, sum = 0;

		memset(tally, 0, sizeof(tally));
		for (uint16_t i = 0; i < 5; i++) {
			s[i] = server(i, weights[k][i]);
			sum += weights[k][i];
		}
		g = group(TG_POLICY_WEIGHTED_ROUND_ROBIN, s, 5);
		for (unsigned int i = 0; i < 3 * sum; i++)
			count[tg_select_pick(g, &l, &view, 0)]++;
		for (unsigned int i = 0; i < 5; i++)
			ck_assert_double_eq_tol(count[i], 3.0 * weights[k][i], 1);
		tg_select_group_free(g);
	}
}
END_TEST

/* Of weights 5, 5 and 2 nobody has two flows in a row. */
START_TEST(weighted_round_robin_is_smooth)
{
	struct tg_select_server s[3] = {server(0, 5), server(1, 5), server(2, 2)};
	struct tg_select_group *g = group(TG_POLICY_WEIGHTED_ROUND_ROBIN, s, 3);
	struct tg_select_local l = local(0, 1);
	uint16_t last = NOBODY;

	for (unsigned int i = 0; i < 120; i++) {
		uint16_t id = tg_select_pick(g, &l, &view, 0);

		ck_assert_uint_ne(id, last);
		last = id;
	}
	tg_select_group_free(g);
}
END_TEST

/* Credit that was earned when flows were dear buys no flood when they are cheap. */
START_TEST(weighted_round_robin_over_reloads)
{
	struct tg_select_server dear[2] = {server(0, 65535), server(1, 32768)},
				cheap[2] = {server(0, 100), server(1, 1)};
	struct tg_select_group *before = group(TG_POLICY_WEIGHTED_ROUND_ROBIN, dear, 2),
			       *after = group(TG_POLICY_WEIGHTED_ROUND_ROBIN, cheap, 2);
	struct tg_select_local l = local(0, 1);
	unsigned int count[2] = {0};

	do
		tg_select_pick(before, &l, &view, 0);
	while (tally[1].credit == 0);
	ck_assert_int_eq(tally[1].credit, 32768 * 256);
	for (unsigned int i = 0; i < 1010; i++)
		count[tg_select_pick(after, &l, &view, 0)]++;
	ck_assert_uint_ge(count[1], 10);
	ck_assert_uint_le(count[1], 13);
	tg_select_group_free(before);
	tg_select_group_free(after);
}
END_TEST

/* However many servers are in slow start, credits stay in range. */
START_TEST(weighted_round_robin_all_in_slow_start)
{
	struct tg_select_server s[3] = {server(0, 65535), server(1, 65535), server(2, 1)};
	struct tg_select_group *g = group(TG_POLICY_WEIGHTED_ROUND_ROBIN, s, 3);
	struct tg_select_local l = local(0, 1);
	unsigned int count[IDS] = {0};

	withheld[0] = withheld[1] = 255;
	for (unsigned int i = 0; i < DRAWS; i++) {
		count[tg_select_pick(g, &l, &view, 0)]++;
		for (unsigned int k = 0; k < 3; k++)
			ck_assert(tally[k].credit >= 0 && tally[k].credit < 1 << 25);
	}
	ck_assert_double_eq_tol(count[0], count[1], 2);
	ck_assert_uint_gt(count[0], DRAWS * 4 / 10);
	tg_select_group_free(g);
}
END_TEST

START_TEST(random_by_weight)
{
	struct tg_select_server s[5];
	struct tg_select_group *g;
	double share[5];

	for (uint16_t i = 0; i < 5; i++) {
		s[i] = server(i, (uint16_t)(i + 1));
		share[i] = (i + 1) / 15.0;
	}
	g = group(TG_POLICY_RANDOM, s, 5);
	check_shares(g, share, 5);
	tg_select_group_free(g);
}
END_TEST

/* Workers of one seed do not draw the same. */
START_TEST(random_workers_apart)
{
	struct tg_select_group *g = equals(TG_POLICY_RANDOM, 100);
	struct tg_select_local a = local(0, 2), b = local(1, 2);
	unsigned int same = 0;

	for (unsigned int i = 0; i < 10000; i++)
		same += tg_select_pick(g, &a, &view, 5) == tg_select_pick(g, &b, &view, 5);
	ck_assert_double_eq_tol(same, 100, 50);
	tg_select_group_free(g);
}
END_TEST

/* Own picks count at once: a whole tick's flows fill the queues up evenly. */
START_TEST(jsq_levels)
{
	struct tg_select_group *g = equals(TG_POLICY_JSQ, 4);
	struct tg_select_local l = local(0, 1);
	unsigned int count[4] = {0};

	memcpy(load, (const uint32_t[]){100 * 256, 0, 50 * 256 + 128, 10 * 256},
	       4 * sizeof(load[0]));
	for (unsigned int i = 0; i < 240; i++)
		count[tg_select_pick(g, &l, &view, i)]++;
	/* 400.5 in all, so 100.1 each */
	ck_assert_uint_eq(count[0], 0);
	ck_assert_double_eq_tol(count[1], 100, 1);
	ck_assert_double_eq_tol(count[2], 50, 1);
	ck_assert_double_eq_tol(count[3], 90, 1);
	tick++; /* control knows of them now */
	ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), 1);
	tg_select_group_free(g);
}
END_TEST

/* Twice as fast, twice the queue. And nothing overflows. */
START_TEST(jsq_by_weight)
{
	struct tg_select_server s[3] = {server(0, 2), server(1, 1), server(2, 65535)};
	struct tg_select_group *g = group(TG_POLICY_JSQ, s, 2), *heavy = group(TG_POLICY_JSQ, s, 3);
	struct tg_select_local l = local(0, 1);
	unsigned int count[3] = {0};

	for (unsigned int i = 0; i < 3000; i++)
		count[tg_select_pick(g, &l, &view, i)]++;
	ck_assert_double_eq_tol(count[0], 2000, 1);
	load[0] = load[1] = load[2] = UINT32_MAX;
	tally[2].tick = tick;
	tally[2].picked = TG_SELECT_PICKED_MAX;
	ck_assert_uint_eq(tg_select_pick(heavy, &l, &view, 0), 2);
	ck_assert_uint_eq(tally[2].picked, TG_SELECT_PICKED_MAX);
	tg_select_group_free(g);
	tg_select_group_free(heavy);
}
END_TEST

/* (a + 1) / weight against (b + 1) / weight, in exact integers. */
static bool less_loaded(const struct tg_select_server *a, const struct tg_select_server *b)
{
	unsigned __int128 x = (unsigned __int128)((uint64_t)own[a->id] + others[a->id] + 1) *
			      b->weight;
	unsigned __int128 y = (unsigned __int128)((uint64_t)own[b->id] + others[b->id] + 1) *
			      a->weight;

	return x < y;
}
START_TEST(least_connections_takes_the_least)
{
	uint64_t r = 5;

	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int n = 1 + (unsigned int)(next_random(&r) >> 32) % 8;
		uint32_t range = round % 2 == 0 ? 6 : UINT32_MAX;
		struct tg_select_local l = local(round % 4, 4);
		struct tg_select_server s[8];
		struct tg_select_group *g;

		for (uint16_t i = 0; i < n; i++) {
			s[i] = server(i,
				      (uint16_t)(1 + (next_random(&r) >> 33) % (range & 0xfffe)));
			own[i] = (uint32_t)(next_random(&r) >> 32) % range;
			others[i] = (uint32_t)(next_random(&r) >> 32) % range;
		}
		g = group(TG_POLICY_LEAST_CONNECTIONS, s, n);
		for (unsigned int k = 0; k < 4; k++) {
			uint16_t id = tg_select_pick(g, &l, &view, next_random(&r));

			ck_assert_uint_lt(id, n);
			for (unsigned int i = 0; i < n; i++)
				ck_assert(!less_loaded(&s[i], &s[id]));
		}
		tg_select_group_free(g);
	}
}
END_TEST

START_TEST(least_connections_spreads_ties)
{
	struct tg_select_group *g = equals(TG_POLICY_LEAST_CONNECTIONS, 4);

	for (unsigned int i = 0; i < 4; i++) {
		own[i] = i;
		others[i] = 10 - i; /* alike in sum */
	}
	check_even(g, 4);
	tg_select_group_free(g);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("select by turns and load");

	UNIT_CASE(s, "round-robin", round_robin_cycles, round_robin_workers_apart,
		  round_robin_over_reloads);
	UNIT_CASE(s, "weighted-round-robin", weighted_round_robin_is_exact,
		  weighted_round_robin_is_smooth, weighted_round_robin_over_reloads,
		  weighted_round_robin_all_in_slow_start);
	UNIT_CASE(s, "random", random_by_weight, random_workers_apart);
	UNIT_CASE(s, "jsq", jsq_levels, jsq_by_weight);
	UNIT_CASE(s, "least-connections", least_connections_takes_the_least,
		  least_connections_spreads_ties);
	return s;
}

UNIT_MAIN_EAL(suite)
