/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments are written out byte by byte; their checksum is summed anew, the slow way. */
#include <stdlib.h>

#include "mss.h"
#include "unit.h"

#define HEADER 20

/* RFC 1071 over the header alone: a pseudo header changes by nothing when an option does. */
static unsigned int sum_of(const uint8_t *b, unsigned int n)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i += 2)
		sum += (unsigned int)(b[i] << 8) + (i + 1 < n ? b[i + 1] : 0);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static unsigned int segment(uint8_t *tcp, const uint8_t *options, unsigned int n)
{
	unsigned int len = HEADER + (n + 3) / 4 * 4, sum;

	memset(tcp, 0, 60);
	tcp[0] = 0x9c;
	tcp[1] = 0x40;
	tcp[3] = 80;
	tcp[12] = (uint8_t)(len / 4 << 4);
	tcp[13] = 0x02;
	memcpy(tcp + HEADER, options, n);
	sum = 0xffff - sum_of(tcp, len);
	tcp[16] = (uint8_t)(sum >> 8);
	tcp[17] = (uint8_t)sum;
	return len;
}

static const struct {
	const char *what;
	uint8_t options[24];
	unsigned int n, value; /* where the value is, in options; 0: it must not be found */
} cases[] = {
	{"alone", {2, 4, 0x05, 0xb4}, 4, 2},
	{"as Linux sends it",
	 {2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7},
	 20,
	 2},
	{"behind others", {4, 2, 3, 3, 7, 1, 2, 4, 0x05, 0xb4}, 10, 8},
	{"at an odd place", {1, 2, 4, 0x05, 0xb4, 1, 1, 0}, 8, 3},
	{"none", {1, 1, 1, 1, 3, 3, 7, 0}, 8, 0},
	{"behind the end", {0, 2, 4, 0x05, 0xb4}, 5, 0},
	{"of a wrong length", {2, 3, 0x05, 0xb4}, 4, 0},
	{"of no length", {2, 0, 0x05, 0xb4}, 4, 0},
	{"behind an option of no length", {3, 0, 2, 4, 0x05, 0xb4}, 6, 0},
	{"behind an option of length 1", {3, 1, 2, 4, 0x05, 0xb4}, 6, 0},
	{"behind an option that is too long", {3, 40, 2, 4, 0x05, 0xb4}, 6, 0},
	{"cut by the header's end", {1, 1, 1, 1, 1, 2, 4, 0x05}, 8, 0},
};

START_TEST(every_place)
{
	uint8_t tcp[64], before[64];
	unsigned int len = segment(tcp, cases[_i].options, cases[_i].n),
		     at = HEADER + cases[_i].value;
	bool found = cases[_i].value != 0;

	memcpy(before, tcp, sizeof(tcp));
	ck_assert_msg(tg_mss_lower(tcp, len, 1400) == found, "%s", cases[_i].what);
	if (found) {
		ck_assert_uint_eq(tcp[at] << 8 | tcp[at + 1], 1400);
		ck_assert_uint_eq(sum_of(tcp, len), 0xffff);
		memcpy(tcp + at, before + at, 2);
		memcpy(tcp + 16, before + 16, 2);
	}
	ck_assert_mem_eq(tcp, before, sizeof(tcp)); /* nothing else */
}
END_TEST

START_TEST(never_raised)
{
	const uint8_t options[] = {2, 4, 0x05, 0x78}; /* 1400 */
	uint8_t tcp[64], before[64];
	unsigned int len = segment(tcp, options, sizeof(options));

	memcpy(before, tcp, sizeof(tcp));
	ck_assert(!tg_mss_lower(tcp, len, 1400));
	ck_assert(!tg_mss_lower(tcp, len, 1460));
	ck_assert_mem_eq(tcp, before, sizeof(tcp));
	ck_assert(tg_mss_lower(tcp, len, 1399));
}
END_TEST

/* Any bytes at all, any length: within the header, and the checksum stands where it stood. */
START_TEST(noise)
{
	srand(7);
	for (unsigned int k = 0; k < 200000; k++) {
		unsigned int n = (unsigned int)rand() % 60, len;
		uint8_t *tcp = malloc(n + 1), copy[60];

		for (unsigned int i = 0; i < n; i++)
			tcp[i] = (uint8_t)(rand() % 4 == 0 ? rand() : rand() % 5);
		memcpy(copy, tcp, n);
		len = n >= HEADER ? (tcp[12] >> 4) * 4u : 0;
		if (tg_mss_lower(tcp, n, (uint16_t)rand())) {
			ck_assert_uint_ge(n, HEADER + 4);
			ck_assert(len <= n ? sum_of(tcp, n) == sum_of(copy, n) : true);
		} else {
			ck_assert_mem_eq(tcp, copy, n);
		}
		free(tcp);
	}
}
END_TEST

START_TEST(what_fits)
{
	ck_assert_uint_eq(tg_mss_of(1500, false), 1460);
	ck_assert_uint_eq(tg_mss_of(1480, false), 1440);
	ck_assert_uint_eq(tg_mss_of(1460, true), 1400);
	ck_assert_uint_eq(tg_mss_of(68, false), TG_MSS_LEAST);
	ck_assert_uint_eq(tg_mss_of(0, true), TG_MSS_LEAST);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("mss");
	TCase *tc = tcase_create("lower");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_loop_test(tc, every_place, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tc, never_raised);
	tcase_add_test(tc, noise);
	tcase_add_test(tc, what_fits);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN(suite)
