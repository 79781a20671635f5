/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens, classes, caps, segments: closed forms and edge cases. Invariants: admit_properties.c. */
#include <errno.h>
#include <string.h>

#include "admit_rig.h"
#include "unit.h"

START_TEST(a_pool_gives_what_it_is_due)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);

	/* 1000 an interval of 10 ms, 200 of them auxiliary, and at its start those and the first one */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 0), 201);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, INTERVAL / 2), 399);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, INTERVAL - 1), 400);
	/* the next one is as this one was, whatever was not taken */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 2 * INTERVAL - 1), 1000);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 9 * INTERVAL - 1), 1000);
	tg_admit_free(p);
}
END_TEST

START_TEST(bursts_never_get_auxiliary_tokens)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);

	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_BURST, INTERVAL - 1), 800);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, INTERVAL - 1), 200);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->admitted[TG_ADMIT_BURST], 800);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->auxiliary, 200);
	tg_admit_free(p);
}
END_TEST

START_TEST(work_conserving_lends_what_is_past)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p;
	struct tg_admit_segment s;

	a.variant = TG_ADMIT_WORK_CONSERVING;
	p = pool(&a, 1);
	s = segment(p, 1);
	/* half of the interval: half of the base, and half of the auxiliary ones */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_BURST, INTERVAL / 2), 400 + 100);
	/* the other half of these is still calm segments' */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, INTERVAL / 2), 100);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->auxiliary_burst, 100);
	tg_admit_free(p);
}
END_TEST

START_TEST(a_burst_is_known_at_once_and_forgotten_slowly)
{
	struct tg_admit_params a = calm_params(100000); /* hi 12500 a second: 125; lo 62 */
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);

	for (unsigned int i = 0; i < 125; i++)
		ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_CALM);
	ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	/* ten intervals below lo, and one request in each to look: still in burst */
	for (unsigned int k = 1; k <= 10; k++) {
		tg_admit_tick(p, 0, k * INTERVAL);
		ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	}
	tg_admit_tick(p, 0, 11 * INTERVAL);
	ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_CALM);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->bursts, 1);
	tg_admit_free(p);
}
END_TEST

START_TEST(between_lo_and_hi_nothing_changes)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);

	for (unsigned int i = 0; i < 126; i++)
		ask(p, 0, s, 1);
	for (unsigned int k = 1; k < 50; k++) {
		tg_admit_tick(p, 0, k * INTERVAL);
		for (unsigned int i = 0; i < 70; i++)
			ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	}
	/* a calm one at the same rate stays calm */
	s = segment(p, 2);
	for (unsigned int i = 0; i < 70; i++)
		ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_CALM);
	tg_admit_free(p);
}
END_TEST

START_TEST(thresholds_are_of_all_lcores)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 4);
	struct tg_admit_segment s = segment(p, 1);

	for (unsigned int i = 0; i < 125; i++)
		ck_assert_int_eq(ask(p, i % 4, s, 1), TG_ADMIT_CALM);
	ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	ck_assert_int_eq(ask(p, 3, s, 1), TG_ADMIT_BURST);
	tg_admit_free(p);
}
END_TEST

/* Its turn began before the interval did in which another lcore saw a burst begin. */
START_TEST(an_lcore_that_is_behind_forgets_no_burst)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p;
	struct tg_admit_segment s;

	a.hi_per_s = 1000;
	p = pool(&a, 2);
	s = segment(p, 1);
	tg_admit_tick(p, 1, INTERVAL);
	for (unsigned int i = 0; i < 11; i++)
		ask(p, 1, s, 1);
	ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	ck_assert_int_eq(ask(p, 1, s, 1), TG_ADMIT_BURST);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 1)->bursts, 1);
	tg_admit_free(p);
}
END_TEST

START_TEST(the_first_interval_has_extra_tokens_and_pays_for_them)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);
	struct tg_admit_view v;

	tg_admit_set(p, 100000, 30000);
	for (unsigned int i = 0; i < 200; i++)
		ask(p, 0, s, 1);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_BURST, INTERVAL - 1), 800 + 300);
	/* it goes on: no extra tokens any more, and 300 to pay: auxiliary first, 500 are left for base */
	tg_admit_tick(p, 0, INTERVAL);
	tg_admit_look(p, &v);
	ck_assert_uint_eq(v.debt, 300);
	ck_assert_uint_eq(v.auxiliary, 200);
	ck_assert_uint_eq(v.base, 500);
	ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_BURST, 2 * INTERVAL - 1), 500);
	tg_admit_tick(p, 0, 2 * INTERVAL);
	tg_admit_look(p, &v);
	ck_assert_uint_eq(v.debt, 0);
	ck_assert_uint_eq(v.base, 800);
	tg_admit_free(p);
}
END_TEST

START_TEST(a_debt_above_an_interval_takes_several)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);
	struct tg_admit_view v;

	tg_admit_set(p, 100000, 250000);
	for (unsigned int i = 0; i < 200; i++)
		ask(p, 0, s, 1);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_BURST, INTERVAL - 1), 800 + 2500);
	for (unsigned int k = 1; k <= 3; k++) {
		static const uint64_t budget[] = {0, 0, 500};

		tg_admit_tick(p, 0, k * INTERVAL);
		tg_admit_look(p, &v);
		ck_assert_uint_eq(v.base + v.auxiliary, budget[k - 1]);
	}
	/* auxiliary tokens are filled first */
	ck_assert_uint_eq(v.auxiliary, 200);
	tg_admit_free(p);
}
END_TEST

START_TEST(a_cap_holds_whatever_is_free)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p;

	a.max_per_s = 5000;
	p = pool(&a, 2);
	ck_assert_uint_eq(take_all(p, 0, segment(p, 1), TG_ADMIT_CALM, INTERVAL - 1), 50);
	ck_assert_uint_eq(take_all(p, 1, segment(p, 1), TG_ADMIT_CALM, INTERVAL - 1), 0);
	ck_assert_uint_eq(take_all(p, 1, segment(p, 2), TG_ADMIT_CALM, INTERVAL - 1), 50);
	tg_admit_free(p);
}
END_TEST

START_TEST(no_threshold_is_above_the_rate)
{
	struct tg_admit_params a = calm_params(0);
	struct tg_admit_pool *p;
	struct tg_admit_segment s;

	a.hi_per_s = 100000;
	p = pool(&a, 1);
	s = segment(p, 1);
	tg_admit_set(p, 10000, 0); /* derived: 100 an interval */
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_CALM);
	ck_assert_int_eq(ask(p, 0, s, 1), TG_ADMIT_BURST);
	tg_admit_free(p);
}
END_TEST

START_TEST(a_cost_above_what_is_left_is_debt)
{
	struct tg_admit_params a = calm_params(1000000); /* bytes: 10000 an interval */
	struct tg_admit_pool *p;
	struct tg_admit_segment s;
	struct tg_admit_view v;
	unsigned int n = 0;

	a.cost = TG_ADMIT_BYTE;
	a.auxiliary_percent = 0;
	p = pool(&a, 1);
	s = segment(p, 1);
	tg_admit_tick(p, 0, INTERVAL - 1);
	while (tg_admit_take(p, 0, s, TG_ADMIT_CALM, 1500, INTERVAL - 1))
		n++;
	ck_assert_uint_eq(n, 7); /* 10500 */
	tg_admit_tick(p, 0, INTERVAL);
	tg_admit_look(p, &v);
	ck_assert_uint_eq(v.base, 9500);
	tg_admit_free(p);
}
END_TEST

START_TEST(rate_zero_admits_everything)
{
	struct tg_admit_params a = calm_params(0);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);

	for (unsigned int i = 0; i < 100000; i++)
		if (ask(p, 0, s, 1) != TG_ADMIT_CALM ||
		    !tg_admit_take(p, 0, s, TG_ADMIT_CALM, 1, 0))
			ck_abort_msg("request %u was not admitted", i);
	/* known later: what came before its first interval still goes on */
	tg_admit_set(p, 1000, 0);
	for (unsigned int i = 0; i < 1000; i++)
		ck_assert(tg_admit_take(p, 0, s, TG_ADMIT_CALM, 1, INTERVAL - 1));
	tg_admit_tick(p, 0, INTERVAL);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 2 * INTERVAL - 1), 10);
	tg_admit_free(p);
}
END_TEST

START_TEST(fractions_of_a_token_add_up)
{
	struct tg_admit_params a = calm_params(150); /* 1.5 an interval */
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);
	unsigned int n = 0;

	for (unsigned int k = 0; k < 1000; k++)
		n += take_all(p, 0, s, TG_ADMIT_CALM, (k + 1) * INTERVAL - 1);
	ck_assert_uint_eq(n, 1500);
	tg_admit_free(p);
}
END_TEST

START_TEST(clocks_that_jump_give_nothing_extra)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment s = segment(p, 1);

	const uint64_t ahead = UINT64_C(100000000000) * INTERVAL - 1;

	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, INTERVAL - 1), 1000);
	/* years ahead: one interval's, once */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, ahead), 1000);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->overrun, 1);
	/* and back: a new interval begins then, it does not stand still for years */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 5), 201);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->clock_back, 1);
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 5 + 2 * INTERVAL - 1), 1000);
	/* another lcore's clock is a little behind: nothing happens */
	ck_assert_uint_eq(take_all(p, 0, s, TG_ADMIT_CALM, 3 + INTERVAL), 0);
	ck_assert_uint_eq(tg_admit_lcore_stats(p, 0)->clock_back, 1);
	tg_admit_free(p);
}
END_TEST

START_TEST(segments_are_networks)
{
	struct tg_admit_params a = calm_params(1000);
	struct tg_admit_pool *p = pool(&a, 1);

	ck_assert(same_segment(p, "198.51.100.1", "198.51.100.254"));
	ck_assert(!same_segment(p, "198.51.100.1", "198.51.101.1"));
	ck_assert(same_segment(p, "2001:db8:1::1", "2001:db8:1:ffff::2"));
	ck_assert(!same_segment(p, "2001:db8:1::1", "2001:db8:2::1"));
	tg_admit_free(p);
	a.by = TG_ADMIT_BY_SERVICE;
	p = pool(&a, 1);
	ck_assert(same_segment(p, "198.51.100.1", "2001:db8:2::1"));
	tg_admit_free(p);
}
END_TEST

START_TEST(the_longest_rule_decides)
{
	struct tg_admit_params a = calm_params(1000);
	struct tg_admit_pool *p;

	a.n_rules = 3;
	a.rule[0] = rule("10.0.0.0/8", "all", TG_ADMIT_BRONZE);
	a.rule[1] = rule("10.1.0.0/16", "", TG_ADMIT_GOLD);
	a.rule[2] = rule("2001:db8::/32", "all", TG_ADMIT_PLATINUM);
	p = pool(&a, 1);
	ck_assert(same_segment(p, "10.0.0.1", "10.200.0.1"));
	ck_assert(same_segment(p, "10.0.0.1", "2001:db8::1"));
	ck_assert(!same_segment(p, "10.1.0.1", "10.1.1.1"));
	ck_assert_uint_eq(of(p, "10.1.1.1").value, TG_ADMIT_GOLD);
	ck_assert_uint_eq(of(p, "10.2.1.1").value, TG_ADMIT_BRONZE);
	ck_assert_uint_eq(of(p, "2001:db8::9").value, TG_ADMIT_PLATINUM);
	ck_assert_uint_eq(of(p, "192.0.2.1").value, TG_ADMIT_SILVER);
	tg_admit_free(p);
	a.by = TG_ADMIT_BY_MATCH;
	p = pool(&a, 1);
	ck_assert(same_segment(p, "192.0.2.1", "10.1.0.1")); /* without a name: the others */
	ck_assert(!same_segment(p, "192.0.2.1", "10.0.0.1"));
	tg_admit_free(p);
}
END_TEST

START_TEST(people_see_whose_slot_it_is)
{
	struct tg_admit_params a = calm_params(1000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_slot_view v;
	struct tg_addr c;
	char text[TG_ADDR_STRLEN];

	ck_assert_int_eq(tg_addr_parse("198.51.100.77", &c), 0);
	for (unsigned int i = 0; i < 20; i++)
		tg_admit_ask(p, 0, tg_admit_segment(p, &c, 3), &c, 3, 2);
	tg_admit_slot(p, tg_admit_segment(p, &c, 3).slot, &v);
	ck_assert(v.used && v.burst && v.service == 3 && v.total == 40);
	ck_assert_str_eq(tg_addr_format(&v.address.addr, text, sizeof(text)), "198.51.100.0");
	ck_assert_uint_eq(v.address.len, 120);
	tg_admit_free(p);
}
END_TEST

/* A million networks, each below hi, ten times the rate: together they are a burst. Memory stays, all is counted, they
 * get no more than the tokens there are, and who has been there before them gets all he asks for, though he pauses for
 * longer than a burst is remembered. */
START_TEST(a_million_spoofed_networks)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 1);
	struct tg_admit_segment calm = segment(p, 0xfffffff);
	const struct tg_admit_stats *stats = tg_admit_lcore_stats(p, 0);
	unsigned int rounds = 100, served = 0;
	struct tg_admit_view v;
	uint64_t flood;

	ask_take(p, calm, 0);
	for (unsigned int k = 0; k < rounds; k++) {
		uint64_t now = (k + 1) * INTERVAL - 1;

		tg_admit_tick(p, 0, now);
		for (uint32_t i = 0; i < 10000; i++)
			ask_take(p, segment(p, k * 10000 + i), now);
		for (unsigned int i = 0; k % 20 == 19 && i < 20; i++) {
			ck_assert_int_eq(ask(p, 0, calm, 1), TG_ADMIT_CALM);
			served += tg_admit_take(p, 0, calm, TG_ADMIT_CALM, 1, now);
		}
	}
	ck_assert_uint_eq(served, 100);
	ck_assert_uint_gt(stats->collisions, 0);
	/* what came until an interval's strangers were too many, the first of whom was not of the flood */
	flood = stats->asked[TG_ADMIT_CALM] - 1 - served;
	ck_assert_uint_eq(flood, 1000 - 1);
	ck_assert_uint_eq(stats->asked[TG_ADMIT_BURST], rounds * 10000u - flood);
	ck_assert_uint_le(stats->admitted[TG_ADMIT_CALM] + stats->admitted[TG_ADMIT_BURST],
			  rounds * 1000u + 1);
	ck_assert_uint_gt(stats->admitted[TG_ADMIT_BURST], 0);
	tg_admit_look(p, &v);
	ck_assert(v.strangers_burst);
	for (unsigned int k = 0; k <= a.calm_intervals; k++)
		tg_admit_tick(p, 0, (rounds + 1 + k) * INTERVAL);
	tg_admit_look(p, &v);
	ck_assert(!v.strangers_burst);
	tg_admit_free(p);
}
END_TEST

START_TEST(bad_parameters)
{
	struct tg_admit_params a = calm_params(1000);
	struct tg_clock clock = tg_clock_init(1000000000);
	const int socket[TG_ADMIT_LCORES_MAX + 1] = {0};
	struct tg_admit_pool *p;

	a.slots = 100; /* no power of two */
	ck_assert_int_eq(tg_admit_create(&a, &clock, secret, 1, socket, 0, &p), -EINVAL);
	a = calm_params(1000);
	a.interval_us = 0;
	ck_assert_int_eq(tg_admit_create(&a, &clock, secret, 1, socket, 0, &p), -EINVAL);
	a = calm_params(1000);
	ck_assert_int_eq(tg_admit_create(&a, &clock, secret, TG_ADMIT_LCORES_MAX + 1, socket, 0,
					 &p),
			 -EINVAL);
	ck_assert_int_eq(tg_admit_create(&a, &clock, secret, 0, socket, 0, &p), -EINVAL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admit");

	UNIT_CASE(s, "tokens", a_pool_gives_what_it_is_due, bursts_never_get_auxiliary_tokens,
		  work_conserving_lends_what_is_past,
		  the_first_interval_has_extra_tokens_and_pays_for_them,
		  a_debt_above_an_interval_takes_several, a_cost_above_what_is_left_is_debt,
		  rate_zero_admits_everything, fractions_of_a_token_add_up);
	UNIT_CASE(s, "classes", a_burst_is_known_at_once_and_forgotten_slowly,
		  between_lo_and_hi_nothing_changes, an_lcore_that_is_behind_forgets_no_burst,
		  thresholds_are_of_all_lcores, a_cap_holds_whatever_is_free,
		  no_threshold_is_above_the_rate);
	UNIT_CASE(s, "segments", segments_are_networks, the_longest_rule_decides,
		  people_see_whose_slot_it_is);
	UNIT_CASE(s, "bad input", clocks_that_jump_give_nothing_extra, a_million_spoofed_networks,
		  bad_parameters);
	return s;
}

UNIT_MAIN_EAL(suite)
