/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FRAMES 100000
#define MS     1000000u

static struct link made(const char *text)
{
	struct link l;
	const char *why;

	ck_assert_int_eq(link_parse(&l, text, &why), 0);
	link_seed(&l, 7);
	return l;
}

START_TEST(shares_of_fate)
{
	struct link l = made("a,b,delay_us=2000,jitter_us=500,loss=1,reorder=25,early_us=400");
	/* four standard deviations of a binomial share */
	double lost = 4 * sqrt(FRAMES * 0.01 * 0.99), over = 4 * sqrt(FRAMES * 0.99 * 0.25 * 0.75);
	uint64_t due;

	for (uint64_t i = 0; i < FRAMES; i++)
		link_fate(&l, i * 20 * MS, &due); /* so far apart that nobody waits for another */
	ck_assert_uint_eq(l.seen, FRAMES);
	ck_assert_double_le(fabs((double)l.lost - FRAMES * 0.01), lost);
	ck_assert_double_le(fabs((double)l.overtook - FRAMES * 0.99 * 0.25), over);
	/* 2 ms and 0.5 ms of jitter, a quarter 0.4 ms early; 4 standard errors of the jitter are 6.3 us */
	ck_assert_double_le(fabs((double)l.sum_ns / (double)(l.seen - l.lost) - 2.4e6), 8000);
}
END_TEST

START_TEST(jitter_is_exponential)
{
	struct link l = made("a,b,jitter_us=1000");
	unsigned int above = 0;
	uint64_t due;

	for (uint64_t i = 0; i < FRAMES; i++) {
		ck_assert(link_fate(&l, i * 100 * MS, &due));
		above += due - i * 100 * MS > 2 * MS;
	}
	/* P(X > 2 means) = e^-2 */
	ck_assert_double_le(fabs(above - FRAMES * exp(-2)), 4 * sqrt(FRAMES * exp(-2)));
}
END_TEST

START_TEST(order_is_kept)
{
	struct link l = made("a,b,delay_us=100,jitter_us=1000");
	uint64_t last = 0, due;

	for (uint64_t i = 0; i < 10000; i++) {
		ck_assert(link_fate(&l, i * 1000, &due));
		ck_assert_uint_ge(due, last);
		ck_assert_uint_ge(due, i * 1000 + 100000);
		last = due;
	}
	ck_assert_uint_eq(l.overtook, 0);
}
END_TEST

START_TEST(who_overtakes)
{
	struct link l = made("a,b,delay_us=1000,reorder=25,early_us=300");
	uint64_t early = 0, due;

	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert(link_fate(&l, i * MS, &due));
		ck_assert(due == i * MS + 1000000 || due == i * MS + 700000);
		early += due == i * MS + 700000;
	}
	ck_assert_uint_eq(early, l.overtook);
	ck_assert_uint_gt(early, 0);
}
END_TEST

START_TEST(nobody_is_early_of_now)
{
	struct link l = made("a,b,delay_us=1,reorder=100,early_us=300");
	uint64_t due;

	ck_assert(link_fate(&l, 5, &due));
	ck_assert_uint_eq(due, 5);
}
END_TEST

START_TEST(same_seed_same_fate)
{
	struct link a = made("a,b,jitter_us=50,loss=10,reorder=5,early_us=9"), b = a;
	struct link c = a;
	uint64_t x = 0, y = 0, z = 0;
	unsigned int differ = 0;

	link_seed(&c, 8);
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_int_eq(link_fate(&a, i * 1000, &x), link_fate(&b, i * 1000, &y));
		ck_assert_uint_eq(x, y);
		differ += link_fate(&c, i * 1000, &z) && z != x;
	}
	ck_assert_uint_gt(differ, 500);
}
END_TEST

START_TEST(frames_leave_when_due)
{
	struct link l = made("a,b,delay_us=10,jitter_us=100,reorder=30,early_us=50");
	uint64_t last = 0, taken = 0;
	struct link_frame *f;

	for (uint16_t i = 0; i < 1000; i++)
		ck_assert_int_eq(link_put(&l, i * 1000u, &i, sizeof(i)), 0);
	ck_assert_ptr_null(link_take(&l, link_due(&l) - 1));
	while ((f = link_take(&l, UINT64_MAX - 1))) {
		ck_assert_uint_ge(f->due, last);
		ck_assert_uint_eq(f->len, sizeof(uint16_t));
		last = f->due;
		taken++;
		free(f);
	}
	ck_assert_uint_eq(taken, 1000);
	ck_assert_uint_eq(link_due(&l), UINT64_MAX);
	free(l.heap);
}
END_TEST

START_TEST(words)
{
	static const char *const bad[] = {"",
					  "a",
					  "a,",
					  "a,b,loss=101",
					  "a,b,loss",
					  "a,b,delay_us=-1",
					  "a,b,delay_us=x",
					  "a,b,speed=1",
					  "a,b,delay_us=nan",
					  "a-name-too-long-for-it,b",
					  "a,b,loss=1%"};
	struct link l;
	const char *why;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(link_parse(&l, bad[i], &why) == -EINVAL, "'%s' was taken", bad[i]);
	l = made("vip0,r1,delay_us=2.5,loss=0.5");
	ck_assert_str_eq(l.from, "vip0");
	ck_assert_str_eq(l.to, "r1");
	ck_assert_uint_eq(l.delay_ns, 2500);
	ck_assert_double_eq(l.loss, 0.005);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("link");
	TCase *t = tcase_create("link");
	SRunner *r;
	int failed;

	tcase_add_test(t, shares_of_fate);
	tcase_add_test(t, jitter_is_exponential);
	tcase_add_test(t, order_is_kept);
	tcase_add_test(t, who_overtakes);
	tcase_add_test(t, nobody_is_early_of_now);
	tcase_add_test(t, same_seed_same_fate);
	tcase_add_test(t, frames_leave_when_due);
	tcase_add_test(t, words);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
