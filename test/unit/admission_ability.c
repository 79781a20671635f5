/* SPDX-License-Identifier: BSD-3-Clause */
/* What servers can do, from looks every 5 ms: dips pass by, changes that last do not. */
#include <string.h>

#include "admission/ability.h"
#include "unit.h"

#define TICK_NS UINT64_C(5000000)

static struct tg_ability ability;
static uint64_t now;

static void fresh(void)
{
	memset(&ability, 0, sizeof(ability));
	now = 0;
}

/* Looks for so many ms at servers that seem to do this much; what is known at the end, and the least and the most. */
static double least, most;

static double look(double capacity, unsigned int ms)
{
	double got = 0;

	least = 1e30;
	most = 0;
	for (unsigned int i = 0; i < ms / 5; i++, now += TICK_NS) {
		got = tg_ability_look(&ability, capacity, now);
		least = got < least ? got : least;
		most = got > most ? got : most;
	}
	return got;
}

START_TEST(known_from_the_first_look)
{
	fresh();
	ck_assert_double_eq(tg_ability_look(&ability, 3200, 7), 3200);
	ck_assert_double_eq_tol(look(3200, 20000), 3200, 1e-6);
	ck_assert_double_eq_tol(least, 3200, 1e-6);
}
END_TEST

START_TEST(a_derived_budget_does_not_follow_dips)
{
	fresh();
	look(3200, 3000);
	for (unsigned int i = 0; i < 20;
	     i++) { /* requests were sent again: tau is twice and four times too long */
		look(i % 2 != 0 ? 800 : 1600, 3000);
		ck_assert_double_ge(least, 3199);
		look(3200, 1500 + 500);
		ck_assert_double_ge(least, 2399); /* a mean that was half a dip, at the worst */
		ck_assert_double_le(most, 3201);
	}
}
END_TEST

START_TEST(servers_that_got_slower_lower_it)
{
	fresh();
	look(3200, 8000);
	ck_assert_double_ge(look(1600, 4500), 3199);
	ck_assert_double_le(look(1600, 2100), 1601);
}
END_TEST

START_TEST(servers_that_got_faster_raise_it)
{
	fresh();
	look(1600, 8000);
	ck_assert_double_ge(look(3200, 2100), 3199);
}
END_TEST

START_TEST(a_look_that_comes_late_is_one_look)
{
	fresh();
	look(3200, 2000);
	now += UINT64_C(3600000000000);
	ck_assert_double_ge(look(3200, 100), 3199);
	ck_assert_double_ge(least, 3199);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admission_ability");

	UNIT_CASE(s, "means", known_from_the_first_look, a_derived_budget_does_not_follow_dips,
		  servers_that_got_slower_lower_it, servers_that_got_faster_raise_it,
		  a_look_that_comes_late_is_one_look);
	return s;
}

UNIT_MAIN(suite)
