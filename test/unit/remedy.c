/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is dropped without a word about what to do: whoever adds a reason adds its remedy. */
#include "api/remedy.h"
#include "unit.h"

START_TEST(every_reason)
{
	for (unsigned int r = 0; r < TG_DROP_REASON_COUNT; r++) {
		ck_assert_msg(tg_remedy(r) != NULL, "%s has no remedy", tg_reason_name(r));
		ck_assert_uint_ge(strlen(tg_remedy(r)), 10);
		ck_assert_uint_ge(strlen(tg_reason_text(r)), 10);
		ck_assert_uint_eq(tg_reason_by_name(tg_reason_name(r)), r);
	}
	ck_assert_ptr_null(tg_remedy(TG_DROP_REASON_COUNT));
	ck_assert_uint_eq(tg_reason_by_name("nonsense"), TG_DROP_REASON_COUNT);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("remedy");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, every_reason);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN(suite)
