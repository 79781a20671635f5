/* SPDX-License-Identifier: BSD-3-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tg_guard.h"
#include "unit.h"

static struct tg_guard_params params;
static struct tg_guard guard;

static void rule(const char *prefix, bool deny)
{
	struct tg_guard_rule *r = &params.rules[params.n_rules++];

	ck_assert_int_eq(tg_prefix_parse(prefix, &r->prefix), 0);
	r->deny = deny;
}

static void compile(unsigned int workers)
{
	struct tg_clock c = tg_clock_init(1000000000);

	tg_guard_compile(&params, &c, workers, &guard);
}

static bool may(const char *address)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(address, &a), 0);
	return tg_guard_allows(&guard, &a);
}

START_TEST(longest_prefix_decides)
{
	memset(&params, 0, sizeof(params));
	rule("10.0.0.0/8", true);
	rule("10.1.0.0/16", false);
	rule("10.1.2.0/24", true);
	rule("10.1.2.3/32", false);
	rule("2001:db8::/32", true);
	rule("2001:db8:1::/48", false);
	compile(1);
	ck_assert(may("9.255.255.255") && may("11.0.0.0") && may("::1"));
	ck_assert(!may("10.0.0.0") && !may("10.255.255.255") && !may("10.2.0.0"));
	ck_assert(may("10.1.0.0") && may("10.1.255.255"));
	ck_assert(!may("10.1.2.0") && !may("10.1.2.255") && may("10.1.2.3") && !may("10.1.2.4"));
	ck_assert(!may("2001:db8::") && may("2001:db8:1:ffff::") && !may("2001:db8:2::"));
	ck_assert(may("2001:db9::") && may("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"));
}
END_TEST

START_TEST(everybody_but)
{
	memset(&params, 0, sizeof(params));
	compile(1);
	ck_assert(may("1.2.3.4") && !tg_guard_wanted(&params));
	rule("0.0.0.0/0", true);
	rule("::/0", true);
	rule("192.0.2.0/24", false);
	rule("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", false);
	compile(1);
	ck_assert(tg_guard_wanted(&params));
	ck_assert(!may("1.2.3.4") && !may("255.255.255.255") && !may("::") && may("192.0.2.9"));
	ck_assert(may("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
	ck_assert(!may("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"));
}
END_TEST

/* Against the definition, on many small random sets: addresses beside every edge. */
START_TEST(as_a_linear_search)
{
	srandom(7);
	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int n = 1 + (unsigned int)random() % TG_GUARD_RULES_MAX;

		memset(&params, 0, sizeof(params));
		for (unsigned int i = 0; i < n; i++) {
			struct tg_guard_rule *r = &params.rules[params.n_rules++];

			/* few bits differ: prefixes overlap often */
			for (unsigned int b = 0; b < 16; b++)
				r->prefix.addr.b[b] = random() % 3 == 0 ? (uint8_t)random() : 0;
			r->prefix.len = (uint8_t)(random() % 129);
			r->deny = (uint32_t)random() & 1;
		}
		compile(1);
		ck_assert_uint_le(guard.n, 2 * n + 1);
		for (unsigned int k = 0; k < 100; k++) {
			struct tg_addr a = params.rules[(unsigned int)random() % n].prefix.addr;
			const struct tg_guard_rule *best = NULL;

			a.b[(unsigned int)random() % 16] ^= (uint8_t)(1u << (random() % 8));
			for (unsigned int i = 0; i < n; i++)
				if (tg_prefix_contains(&params.rules[i].prefix, &a) &&
				    (best == NULL || params.rules[i].prefix.len > best->prefix.len))
					best = &params.rules[i];
			ck_assert(tg_guard_allows(&guard, &a) == (best == NULL || !best->deny));
		}
	}
}
END_TEST

/* Twice the rate for 10 s: half gets through, and a tenth of a second's worth at once before. */
START_TEST(rate_is_kept)
{
	struct tg_guard_state s = {0};
	const uint64_t second = 1000000000;
	unsigned int got = 0, at_once = 0;

	memset(&params, 0, sizeof(params));
	params.new_per_s = 1000;
	compile(2); /* this worker's part: 500 a second */
	for (unsigned int i = 0; i < 1000; i++)
		at_once += tg_guard_take(&guard, &s, TG_GUARD_NEW, second);
	ck_assert_uint_eq(at_once, 51);
	ck_assert_uint_eq(s.over[TG_GUARD_NEW], 949);
	for (unsigned int i = 0; i < 10000; i++)
		got += tg_guard_take(&guard, &s, TG_GUARD_NEW, 2 * second + i * (second / 1000));
	ck_assert_uint_ge(got, 5000);
	ck_assert_uint_le(got, 5051);
	/* no other limit was set */
	for (unsigned int i = 0; i < 1000; i++)
		ck_assert(tg_guard_take(&guard, &s, TG_GUARD_PACKETS, second));
	/* slower than one in a tenth of a second: one at a time */
	params.new_per_s = 1;
	compile(1);
	memset(&s, 0, sizeof(s));
	ck_assert(tg_guard_take(&guard, &s, TG_GUARD_NEW, second));
	ck_assert(!tg_guard_take(&guard, &s, TG_GUARD_NEW, second + second / 2));
	ck_assert(tg_guard_take(&guard, &s, TG_GUARD_NEW, 2 * second));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("guard");

	UNIT_CASE(s, "access", longest_prefix_decides, everybody_but, as_a_linear_search);
	UNIT_CASE(s, "rates", rate_is_kept);
	return s;
}

UNIT_MAIN(suite)
