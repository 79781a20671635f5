/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows that are placed for another reason than the least cost: probes of servers that nobody
 * measured for long, and the share of servers that came up a short while ago. */
#include "select_rig.h"

#define REQUESTS 10 /* a flow */

/* Places a flow and plays its requests; how many of them were a probe's. */
static unsigned int play(const struct tg_select_group *g, struct tg_select_local *l, uint64_t hash)
{
	bool probe;

	tg_select_pick(g, l, &view, hash);
	probe = l->probe;
	for (unsigned int i = 0; i < REQUESTS; i++)
		tg_select_request(l, probe);
	return probe ? REQUESTS : 0;
}

/* Probes are always due, at every server: the budget alone holds them back. */
START_TEST(budget_of_exploration)
{
	static const enum tg_policy probing[] = {TG_POLICY_TWO_CHOICES, TG_POLICY_COMPLETION,
						 TG_POLICY_LATENCY};

	for (size_t p = 0; p < N_OF(probing); p++) {
		struct tg_select_group *g = equals(probing[p], 10);
		struct tg_select_local l[4] = {local(0, 4), local(1, 4), local(2, 4), local(3, 4)};
		unsigned int total = 0, probes = 0;
		uint64_t r = 9;

		while (total < 1000000) {
			for (unsigned int i = 0; i < 10; i++)
				stale[i] = 1;
			probes += play(g, &l[total / REQUESTS % 4], next_random(&r));
			total += REQUESTS;
		}
		/* each worker may owe its floor, and the flow that went over */
		ck_assert_uint_le(probes, total * 3 / 1000 + 4 * (1 + REQUESTS));
		/* a probe is paid for once more at its pick, so a tenth less */
		ck_assert_uint_ge(probes, total * 3 / 1000 * 9 / 10);
		tg_select_group_free(g);
	}
}
END_TEST

START_TEST(no_requests_one_probe)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 3);
	struct tg_select_local l = local(0, 1);

	stale[0] = stale[1] = stale[2] = 1;
	tg_select_pick(g, &l, &view, 1);
	ck_assert(l.probe);
	for (unsigned int i = 0; i < 1000; i++) {
		tg_select_pick(g, &l, &view, i);
		ck_assert(!l.probe);
	}
	ck_assert_uint_eq(stale[0] + stale[1] + stale[2], 2);
	tg_select_group_free(g);
}
END_TEST

/* The slow server, and it alone, is probed; by one worker; and never without its mark. */
START_TEST(the_mark_is_taken_once)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 3);
	struct tg_select_local a = local(0, 2), b = local(1, 2);

	cost[0] = cost[1] = 1000;
	cost[2] = 1000000;
	for (unsigned int i = 0; i < 1000; i++) {
		ck_assert_uint_ne(tg_select_pick(g, &a, &view, (uint64_t)i << 54), 2);
		ck_assert(!a.probe);
	}
	stale[2] = 1;
	ck_assert_uint_eq(tg_select_pick(g, &a, &view, 0), 2);
	ck_assert(a.probe);
	ck_assert_uint_eq(stale[2], 0);
	ck_assert_uint_ne(tg_select_pick(g, &b, &view, 0), 2);
	ck_assert(!b.probe && b.debt_milli == 0 && a.debt_milli == 1000);
	tg_select_group_free(g);
}
END_TEST

START_TEST(debt_stays_in_range)
{
	struct tg_select_local l = local(0, 1);

	for (unsigned int i = 0; i < 1000; i++)
		tg_select_request(&l, false);
	ck_assert_int_eq(l.debt_milli, TG_SELECT_DEBT_FLOOR_MILLI);
	tg_select_request(&l, true);
	ck_assert_int_eq(l.debt_milli, 0);
	l.debt_milli = TG_SELECT_DEBT_MAX_MILLI - 1;
	for (unsigned int i = 0; i < 10; i++)
		tg_select_request(&l, true);
	ck_assert_int_ge(l.debt_milli, TG_SELECT_DEBT_MAX_MILLI);
	ck_assert_int_lt(l.debt_milli, TG_SELECT_DEBT_MAX_MILLI + 1000);
}
END_TEST

START_TEST(ramp)
{
	uint32_t last = 255;

	ck_assert_uint_eq(tg_select_withheld_256(0), 255);
	ck_assert_uint_eq(tg_select_withheld_256(TG_SELECT_RAMP_MS / 2), 128);
	ck_assert_uint_eq(tg_select_withheld_256(TG_SELECT_RAMP_MS), 0);
	ck_assert_uint_eq(tg_select_withheld_256(UINT64_MAX), 0);
	for (uint64_t ms = 0; ms <= TG_SELECT_RAMP_MS; ms++) {
		uint32_t now = tg_select_withheld_256(ms);

		ck_assert(now == last || now + 1 == last);
		last = now;
	}
}
END_TEST

/* Flows that the last of ten equals gets, of DRAWS, while `hold` of 256 are withheld from it. */
static double share_of_new(enum tg_policy policy, uint32_t hold)
{
	struct tg_select_group *g = equals(policy, 10);
	struct tg_select_local l = local(0, 1);
	unsigned int got = 0;
	uint64_t r = 55;

	tick++;
	memset(own, 0, sizeof(own));
	withheld[9] = hold;
	for (unsigned int i = 0; i < DRAWS; i++) {
		uint16_t id = tg_select_pick(g, &l, &view, next_random(&r));

		own[id] += policy == TG_POLICY_LEAST_CONNECTIONS;
		got += id == 9;
	}
	tg_select_group_free(g);
	return (double)got / DRAWS;
}

/*
 * A server in slow start gets s of what it would get: s/10 where its flows go to the others by
 * chance, s/(9 + s) where its weight is less (that is more by up to a ninth). The policies over all
 * servers explore it as any other besides.
 */
START_TEST(slow_start_of_every_policy)
{
	static const uint32_t hold[] = {255, 192, 64, 0};

	for (int p = 0; p < TG_POLICY_COUNT; p++) {
		for (size_t k = 0; k < N_OF(hold); k++) {
			double s = (256 - hold[k]) / 256.0, got, explored = 0;

			if (p == TG_POLICY_MODEL || p == TG_POLICY_QUEUE ||
			    p == TG_POLICY_HYBRID_SEED)
				explored = .005;
			got = share_of_new((enum tg_policy)p, hold[k]) - explored;
			ck_assert_double_ge(got, s / 10 * .93 - explored * s - .0015);
			ck_assert_double_le(got, s / (9 + s) * 1.07 + .0015);
		}
	}
}
END_TEST

/* Whatever share it has now, it keeps when its share grows. */
START_TEST(slow_start_by_hash_only_adds)
{
	static const enum tg_policy by_hash[] = {TG_POLICY_MAGLEV, TG_POLICY_RENDEZVOUS,
						 TG_POLICY_LATENCY};

	for (size_t p = 0; p < N_OF(by_hash); p++) {
		struct tg_select_group *g = equals(by_hash[p], 10);
		struct tg_select_local l = local(0, 1);
		uint64_t r = 7;

		for (unsigned int i = 0; i < 1000; i++) {
			uint64_t hash = next_random(&r);
			uint16_t was = 0;

			for (uint32_t hold = 256; hold-- > 0;) {
				uint16_t now;

				withheld[9] = hold;
				now = tg_select_pick(g, &l, &view, hash);
				ck_assert(was != 9 || now == 9);
				was = now;
			}
		}
		tg_select_group_free(g);
	}
}
END_TEST

/* A whole service that just came up, and words that control would not write. */
START_TEST(all_in_slow_start)
{
	uint64_t r = 3;

	for (unsigned int n = 1; n <= 4; n++) {
		for (int p = 0; p < TG_POLICY_COUNT; p++) {
			struct tg_select_group *g = equals((enum tg_policy)p, n);
			struct tg_select_local l = local(0, 1);
			unsigned int seen = 0;

			tick++;
			memset(own, 0, sizeof(own));
			for (unsigned int i = 0; i < n; i++)
				withheld[i] = i % 2 == 0 ? 255 : UINT32_MAX;
			for (unsigned int i = 0; i < 2000; i++) {
				uint16_t id = tg_select_pick(g, &l, &view, next_random(&r));

				ck_assert_uint_lt(id, n);
				own[id]++;
				seen |= 1u << id;
			}
			ck_assert_uint_eq(seen, (1u << n) - 1);
			tg_select_group_free(g);
		}
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("select, exploration and slow start");

	UNIT_CASE(s, "exploration", budget_of_exploration, no_requests_one_probe,
		  the_mark_is_taken_once, debt_stays_in_range);
	UNIT_CASE(s, "slow start", ramp, slow_start_of_every_policy, slow_start_by_hash_only_adds,
		  all_in_slow_start);
	return s;
}

UNIT_MAIN_EAL(suite)
