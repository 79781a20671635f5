/* SPDX-License-Identifier: BSD-3-Clause */
/* 5-tuples as people write them. */
#include <arpa/inet.h>

#include "api/explain.h"
#include "unit.h"

START_TEST(good)
{
	static const struct {
		const char *text;
		uint8_t protocol;
		uint16_t sport, dport, flags;
	} all[] = {
		{"tcp,198.51.100.7,40000,192.0.2.10,80", 6, 40000, 80, 0},
		{"udp,2001:db8::1,1,2001:db8::2,65535", 17, 1, 65535, TG_PKT_V6},
		{"47,198.51.100.7,0,192.0.2.10,0", 47, 0, 0, 0},
		{"esp,198.51.100.7,0,192.0.2.10,0", 50, 0, 0, 0},
	};
	char err[256];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct tg_pkt p;

		ck_assert_int_eq(tg_tuple_parse(all[i].text, &p, err, sizeof(err)), 0);
		ck_assert_uint_eq(p.key.protocol, all[i].protocol);
		ck_assert_uint_eq(ntohs(p.key.client_port), all[i].sport);
		ck_assert_uint_eq(ntohs(p.key.service_port), all[i].dport);
		ck_assert_uint_eq(p.flags & TG_PKT_V6, all[i].flags);
	}
}
END_TEST

START_TEST(bad)
{
	static const char *const all[] = {
		"",
		"tcp",
		"tcp,,,,",
		"tcp,198.51.100.7,40000,192.0.2.10",
		"tcp,198.51.100.7,40000,192.0.2.10,80,",
		"tcp,198.51.100.7,65536,192.0.2.10,80",
		"tcp,198.51.100.7,-1,192.0.2.10,80",
		"tcp,198.51.100.7, 1,192.0.2.10,80",
		"tcp,198.51.100.700,1,192.0.2.10,80",
		"tcp,198.51.100.7,1,2001:db8::2,80",
		"http,198.51.100.7,1,192.0.2.10,80",
		"256,198.51.100.7,1,192.0.2.10,80",
	};
	char err[256];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct tg_pkt p;

		err[0] = '\0';
		ck_assert_int_lt(tg_tuple_parse(all[i], &p, err, sizeof(err)), 0);
		ck_assert_ptr_nonnull(strstr(err, "is no flow"));
	}
}
END_TEST

START_TEST(endless)
{
	char text[4096], err[256];
	struct tg_pkt p;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_lt(tg_tuple_parse(text, &p, err, sizeof(err)), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("tuple");

	UNIT_CASE(s, "text", good, bad, endless);
	return s;
}

UNIT_MAIN(suite)
