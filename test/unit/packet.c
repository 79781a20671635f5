/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stddef.h>

#include "tg_burst.h"
#include "unit.h"

/* Telemetry's keys and the report are made of these names. */
START_TEST(reasons_are_named)
{
	for (int i = 0; i < TG_DROP_REASON_COUNT; i++) {
		const char *name = tg_reason_name((enum tg_reason)i);

		ck_assert(strlen(name) > 0 && strlen(name) < 32);
		for (const char *c = name; *c != '\0'; c++)
			ck_assert_msg(islower(*c) || isdigit(*c) || *c == '_', "%s", name);
		ck_assert_uint_gt(strlen(tg_reason_text((enum tg_reason)i)), 0);
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(name, tg_reason_name((enum tg_reason)k));
	}
	ck_assert_str_eq(tg_reason_name(TG_DROP_NONE), "none");
	ck_assert_str_eq(tg_reason_name(TG_DROP_TX_FULL), "tx_full");
}
END_TEST

START_TEST(reasons_end)
{
	ck_assert_str_eq(tg_reason_name(TG_DROP_REASON_COUNT), "?");
	ck_assert_str_eq(tg_reason_text(TG_DROP_REASON_COUNT), "?");
	ck_assert_str_eq(tg_reason_name((enum tg_reason)255), "?");
}
END_TEST

/* Every byte of the key counts, and nothing but the key. */
START_TEST(key_equality)
{
	struct {
		uint8_t before;
		struct tg_key key;
		uint8_t after;
	} __attribute__((packed)) x = {0}, y = {0};
	struct tg_key a, b;

	x.before = 1;
	y.after = 1;
	for (size_t i = 0; i <= sizeof(a); i++) {
		memcpy(&a, &x.key, sizeof(a));
		memcpy(&b, &y.key, sizeof(b));
		if (i < sizeof(a))
			((uint8_t *)&b)[i] ^= 0x80;
		ck_assert_int_eq(tg_key_eq(&a, &b), i == sizeof(a));
	}
}
END_TEST

START_TEST(drop_is_verdict_and_reason)
{
	struct tg_burst b = {.n = 2};

	tg_drop(&b, 1, TG_DROP_TTL);
	ck_assert_int_eq(b.verdict[0], TG_FORWARD);
	ck_assert_int_eq(b.reason[0], TG_DROP_NONE);
	ck_assert_int_eq(b.verdict[1], TG_DROP);
	ck_assert_int_eq(b.reason[1], TG_DROP_TTL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("packet");

	UNIT_CASE(s, "reasons", reasons_are_named, reasons_end);
	UNIT_CASE(s, "burst", key_equality, drop_is_verdict_and_reason);
	return s;
}
UNIT_MAIN(suite)
