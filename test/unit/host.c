/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "start/host.h"
#include "unit.h"

static char text[512];

START_TEST(limits_below_a_stall)
{
	ck_assert(!tg_host_limit_sentence("web", 0, 5000000, text, sizeof(text)));
	ck_assert(!tg_host_limit_sentence("web", 5000, 5000000, text, sizeof(text)));
	ck_assert(tg_host_limit_sentence("web", 4999, 5000000, text, sizeof(text)));
	ck_assert_ptr_nonnull(strstr(text, "\"web\": sojourn_max_us 4999"));
	ck_assert_ptr_nonnull(strstr(text, "5000 us"));
}
END_TEST

START_TEST(rates_that_are_wrong)
{
	ck_assert(!tg_host_rate_sentence("back", 0, 1000, text, sizeof(text)));
	ck_assert(!tg_host_rate_sentence("back", 1000, 0, text, sizeof(text)));
	ck_assert(!tg_host_rate_sentence("back", 1000, 1000, text, sizeof(text)));
	ck_assert(tg_host_rate_sentence("back", 10000, 1000, text, sizeof(text)));
	ck_assert_ptr_nonnull(strstr(text, "later on the wire"));
	ck_assert(tg_host_rate_sentence("back", 1000, 10000, text, sizeof(text)));
	ck_assert_ptr_nonnull(strstr(text, "will drop"));
}
END_TEST

START_TEST(a_counter_that_stops)
{
	ck_assert(!tg_host_tsc_sentence(true, text, sizeof(text)));
	ck_assert(tg_host_tsc_sentence(false, text, sizeof(text)));
	ck_assert_ptr_nonnull(strstr(text, "invariant TSC"));
}
END_TEST

/* A busy loop on any host is interrupted, but not for as long as the look. */
START_TEST(stalls_are_seen)
{
	ck_assert_uint_gt(tg_host_stall_ns(), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("host");

	UNIT_CASE(s, "sentences", limits_below_a_stall, rates_that_are_wrong, a_counter_that_stops,
		  stalls_are_seen);
	return s;
}

UNIT_MAIN(suite)
