/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools for tests: a tick is a nanosecond, an interval 10 ms. */
#ifndef TG_TEST_ADMIT_RIG_H
#define TG_TEST_ADMIT_RIG_H

#include <check.h>
#include <stdio.h>

#include "tg_admit.h"

#define INTERVAL UINT64_C(10000000)

__attribute__((unused)) static const uint8_t secret[TG_ADMIT_SECRET_SIZE] = {
	0x9d, 0x21, 0x7a, 0x40, 0x11, 0xe3, 0x5c, 0x88, 0x61, 0x02, 0xbb,
	0x7e, 0xd4, 0x39, 0xa6, 0x1f, 0x55, 0xc8, 0x90, 0x0d, 0x7b, 0xf2,
	0x36, 0xe9, 0x84, 0x1c, 0x67, 0xda, 0x03, 0xbe, 0x4f, 0xa1};

__attribute__((unused)) static struct tg_admit_params calm_params(uint32_t budget_per_s)
{
	return (struct tg_admit_params){
		.budget_per_s = budget_per_s,
		.interval_us = 10000,
		.auxiliary_percent = 20,
		.ipv4_prefix = 24,
		.ipv6_prefix = 48,
		.slots = 4096,
		.calm_intervals = 10,
	};
}

__attribute__((unused)) static struct tg_admit_pool *pool(const struct tg_admit_params *a,
							  unsigned int lcores)
{
	struct tg_clock clock = tg_clock_init(1000000000);
	int socket[TG_ADMIT_LCORES_MAX];
	struct tg_admit_pool *p;

	for (unsigned int i = 0; i < lcores; i++)
		socket[i] = -1;
	ck_assert_int_eq(tg_admit_create(a, &clock, secret, lcores, socket, 0, &p), 0);
	for (unsigned int i = 0; i < lcores; i++)
		tg_admit_tick(p, i, 0);
	return p;
}

/* The segment of client network n. */
__attribute__((unused)) static struct tg_addr client(uint32_t n)
{
	struct tg_addr a = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (uint8_t)(n >> 16),
			     (uint8_t)(n >> 8), (uint8_t)n, 1}};

	return a;
}

__attribute__((unused)) static struct tg_admit_segment segment(struct tg_admit_pool *p, uint32_t n)
{
	struct tg_addr a = client(n);

	return tg_admit_segment(p, &a, 0);
}

__attribute__((unused)) static enum tg_admit_class ask(struct tg_admit_pool *p, unsigned int lcore,
						       struct tg_admit_segment s, uint32_t cost)
{
	struct tg_addr a = client(s.tag);

	return tg_admit_ask(p, lcore, s, &a, 0, cost);
}

__attribute__((unused)) static void ask_take(struct tg_admit_pool *p, struct tg_admit_segment s,
					     uint64_t now)
{
	enum tg_admit_class class = ask(p, 0, s, 1);

	tg_admit_take(p, 0, s, class, 1, now);
}

/* Everything there is at `now`, one by one. */
__attribute__((unused)) static unsigned int take_all(struct tg_admit_pool *p, unsigned int lcore,
						     struct tg_admit_segment s,
						     enum tg_admit_class class, uint64_t now)
{
	unsigned int n = 0;

	tg_admit_tick(p, lcore, now);
	while (tg_admit_take(p, lcore, s, class, 1, now))
		n++;
	return n;
}

__attribute__((unused)) static struct tg_admit_segment of(struct tg_admit_pool *p, const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return tg_admit_segment(p, &a, 0);
}

__attribute__((unused)) static bool same_segment(struct tg_admit_pool *p, const char *one,
						 const char *other)
{
	struct tg_admit_segment a = of(p, one), b = of(p, other);

	return a.slot == b.slot && a.tag == b.tag;
}

__attribute__((unused)) static struct tg_admit_rule rule(const char *prefix, const char *segment,
							 enum tg_admit_value value)
{
	struct tg_admit_rule r = {.value = value};

	ck_assert_int_eq(tg_prefix_parse(prefix, &r.prefix), 0);
	snprintf(r.segment, sizeof(r.segment), "%s", segment);
	return r;
}

#endif
