/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and acknowledgements are told apart by their sizes where headers are hidden. */
#include "envelope_rig.h"

/* What sizes say: n[i] packets of size[i], in turn. */
static uint16_t limit_of(uint8_t protocol, const uint16_t *size, const int *n, int sizes)
{
	struct flow f;
	int left[4], more = 1;
	double t = 0;

	begin(&f);
	f.protocol = protocol;
	memcpy(left, n, sizeof(int) * (size_t)sizes);
	while (more) {
		more = 0;
		for (int i = 0; i < sizes; i++) {
			if (left[i] == 0)
				continue;
			put(&f, t += 1, size[i]);
			more |= --left[i] > 0;
		}
	}
	return f.near.limit;
}

START_TEST(smallest_size_that_comes_again)
{
	const struct {
		uint16_t size[3];
		int n[3];
		uint16_t tcp, udp;
	} cases[] = {
		{{52, 200, 300}, {10, 10, 10}, 52, 63},
		{{52, 200, 300}, {2, 10, 10}, 0, 0},   /* twice; the 200s would be 200 of 22 */
		{{60, 52, 300}, {1, 20, 20}, 52, 71},  /* a SYN is larger, and no matter */
		{{40, 52, 300}, {1, 20, 20}, 52, 63},  /* smaller, but once */
		{{52, 56, 300}, {12, 12, 12}, 52, 71}, /* over UDP they vary by a few bytes */
		{{200, 200, 200}, {20, 20, 20}, 0, 0}, /* all alike: no request by size */
		{{52, 300, 300}, {50, 2, 2}, 52, 63},  /* 93 % small, but four requests */
		{{52, 300, 300}, {50, 2, 1}, 0, 0},    /* three */
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t tcp = limit_of(IPPROTO_TCP, cases[i].size, cases[i].n, 3);
		uint16_t udp = limit_of(IPPROTO_UDP, cases[i].size, cases[i].n, 3);

		if (i == 1) { /* then the next size is the smallest that comes again */
			ck_assert(tcp == 200 && udp == 215);
			continue;
		}
		ck_assert_msg(tcp == cases[i].tcp, "case %u: %u", i, tcp);
		ck_assert_msg(udp == cases[i].udp, "case %u over UDP: %u", i, udp);
	}
}
END_TEST

START_TEST(sizes_change_and_counts_halve)
{
	struct flow f;
	double t = 0;

	begin(&f);
	for (int i = 0; i < 400; i++)
		put(&f, t += 1, i % 2 ? SMALL : REQUEST);
	ck_assert_uint_eq(f.near.limit, SMALL);
	/* timestamps came, acknowledgements are 64 now: the old size fades */
	for (int i = 0; i < 40000; i++) {
		put(&f, t += 1, i % 2 ? 64 : REQUEST);
		ck_assert_uint_le(f.far.packets, 240);
		for (unsigned int k = 0; k < TG_ENVELOPE_SIZES; k++)
			ck_assert_uint_le(f.far.seen[k], f.far.packets);
	}
	ck_assert_uint_eq(f.near.limit, 64);
}
END_TEST

START_TEST(rare_size_is_no_acknowledgement)
{
	struct flow f;
	double t = 0;
	bool alike = true;

	rnd_state = 5;
	begin(&f);
	for (int i = 0; i < 20000; i++) {
		put(&f, t += 1, i > 100 && rnd() % 60 == 0 ? 40 : i % 2 ? SMALL : REQUEST);
		alike &= i < 20 || f.near.limit == SMALL;
	}
	ck_assert(alike);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate-kinds");

	UNIT_CASE(s, "packets", smallest_size_that_comes_again, sizes_change_and_counts_halve,
		  rare_size_is_no_acknowledgement);
	return s;
}

UNIT_MAIN(suite)
