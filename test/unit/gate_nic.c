/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's time stamps as arrivals, with a clock that is made up: no device here gives any. */
#include "tg_device_clock.h"
#include "unit.h"

#define HZ UINT64_C(2600000000) /* ours */
#define MS (HZ / 1000)

static struct tg_device_clock c;

/* The device's clock at our time t: its rate, its zero and its drift are unknown to the code. */
struct device {
	double hz, ppm; /* ppm: that its rate changes by, every second */
	uint64_t zero;
};

static uint64_t device_at(const struct device *d, uint64_t t)
{
	double s = (double)t / (double)HZ;

	return d->zero + (uint64_t)(d->hz * (s + d->ppm * 1e-6 * s * s / 2));
}

static void begin(void)
{
	const struct tg_clock clock = tg_clock_init(HZ);

	tg_device_clock_init(&c, &clock);
}

static void read_at(const struct device *d, uint64_t t, uint64_t took)
{
	ck_assert(tg_device_clock_read(&c, device_at(d, t + took / 2), t, t + took));
}

START_TEST(two_readings_make_a_map)
{
	const struct device d = {156.25e6, 0, 77};
	struct tg_device_map m;

	begin();
	ck_assert(!tg_device_clock_map(&c, &m));
	read_at(&d, 5000 * MS, 0);
	ck_assert(!tg_device_clock_map(&c, &m));
	read_at(&d, 5050 * MS, 0); /* too soon to tell the rate */
	ck_assert(!tg_device_clock_map(&c, &m));
	read_at(&d, 5100 * MS, 0);
	ck_assert(tg_device_clock_map(&c, &m));
	/* before and after the reading: a tick of the device is 17 of ours */
	for (uint64_t t = 4900 * MS; t < 5300 * MS; t += 7 * MS) {
		uint64_t got = tg_device_to_ticks(&m, device_at(&d, t));

		ck_assert(got <= t + 1 && got + 80 > t);
	}
}
END_TEST

/* Rates from 125 MHz to ns and beyond; drifting; readings that take up to 40 us: a conversion is never
 * later than the truth, and early by no more than the reading and the drift explain. */
START_TEST(never_later_than_the_truth)
{
	static const struct device devices[] = {
		{125e6, 20, 1},  {1e9, -20, UINT64_C(1) << 60}, {1e9, 0.5, 5},
		{2.6e9, 100, 0}, {322265625, -100, 3},          {4e9, 0, 9},
	};
	const struct device *d = &devices[_i];
	uint64_t worst = 0, known = 0;

	begin();
	for (uint64_t step = 1; step < 400; step++) {
		uint64_t t = step * 100 * MS, took = (step * 37 % 40) * HZ / 1000000;
		struct tg_device_map m;

		read_at(d, t, took);
		if (!tg_device_clock_map(&c, &m) || step < 3)
			continue;
		for (uint64_t k = 0; k < 100; k++) {
			uint64_t at = t + k * MS, got = tg_device_to_ticks(&m, device_at(d, at));

			ck_assert_msg(got <= at + 1, "late by %lu", (unsigned long)(got - at));
			if (at - got > worst)
				worst = at - got;
			known++;
		}
	}
	ck_assert_uint_gt(known, 30000);
	ck_assert_uint_lt(worst, 200 * HZ / 1000000);
}
END_TEST

START_TEST(refuses_and_restarts)
{
	const struct device d = {1e9, 0, 1000}, set = {1e9, 0, UINT64_C(1) << 40},
			    back = {1e9, 0, 10};
	struct tg_device_map m;

	begin();
	/* a reading that was interrupted tells nothing */
	ck_assert(!tg_device_clock_read(&c, 1, 100 * MS, 101 * MS));
	ck_assert(!tg_device_clock_read(&c, 1, 101 * MS, 100 * MS));
	ck_assert_uint_eq(c.refused, 2);
	read_at(&d, 1000 * MS, 0);
	read_at(&d, 1200 * MS, 0);
	ck_assert(tg_device_clock_map(&c, &m));
	/* somebody set the device's clock: nothing is converted until two readings agree again */
	read_at(&set, 1300 * MS, 0);
	ck_assert(!tg_device_clock_map(&c, &m));
	ck_assert_uint_eq(c.restarts, 1);
	read_at(&set, 1500 * MS, 0);
	ck_assert(tg_device_clock_map(&c, &m));
	read_at(&back, 1600 * MS, 0);
	ck_assert(!tg_device_clock_map(&c, &m));
	ck_assert_uint_eq(c.restarts, 2);
	read_at(&back, 1700 * MS, 0);
	/* stands still */
	ck_assert(tg_device_clock_read(&c, device_at(&back, 1700 * MS), 1900 * MS, 1900 * MS));
	ck_assert(!tg_device_clock_map(&c, &m));
	ck_assert_uint_eq(c.restarts, 3);
}
END_TEST

START_TEST(stamps_that_cannot_be)
{
	const struct device d = {1e9, 0, 0};
	const uint64_t oldest = TG_STAMP_OLDEST_MS * MS;
	struct tg_stamp_stats s = {0};
	struct tg_device_map m;
	uint64_t now = 2000 * MS, rule = now - MS, got;

	begin();
	read_at(&d, 1000 * MS, 0);
	read_at(&d, 1500 * MS, 0);
	ck_assert(tg_device_clock_map(&c, &m));
	/* between the rule's estimate and now: exact */
	got = tg_stamp_arrival(&m, &s, device_at(&d, now - MS / 2), rule, now, oldest);
	ck_assert(got <= now - MS / 2 + 4 && got + 40 > now - MS / 2);
	/* before it: the device held the packet back, which the rule cannot see */
	got = tg_stamp_arrival(&m, &s, device_at(&d, rule - 5 * MS), rule, now, oldest);
	ck_assert(got <= rule - 5 * MS + 4);
	ck_assert_uint_eq(s.used, 2);
	/* from the future: counted, and the rule decides */
	ck_assert_uint_eq(tg_stamp_arrival(&m, &s, device_at(&d, now + MS), rule, now, oldest),
			  rule);
	ck_assert_uint_eq(s.future, 1);
	/* 11 ms before the rule's, 0, and the largest number */
	ck_assert_uint_eq(tg_stamp_arrival(&m, &s, device_at(&d, rule - 11 * MS), rule, now,
					   oldest),
			  rule);
	ck_assert_uint_eq(tg_stamp_arrival(&m, &s, 0, rule, now, oldest), rule);
	ck_assert_uint_eq(tg_stamp_arrival(&m, &s, UINT64_MAX, rule, now, oldest), rule);
	ck_assert_uint_eq(s.stale, 3);
	ck_assert_uint_eq(s.used, 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gate_nic");
	TCase *tc = tcase_create("drift");

	UNIT_CASE(s, "map", two_readings_make_a_map, refuses_and_restarts, stamps_that_cannot_be);
	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_loop_test(tc, never_later_than_the_truth, 0, 6);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN(suite)
