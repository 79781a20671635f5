/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "tg_addr.h"
#include "tg_clock.h"
#include "tg_hist.h"
#include "tg_mem.h"
#include "unit.h"

static void check_text(const char *in, const char *out)
{
	char buf[TG_ADDR_STRLEN];
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(in, &a), 0);
	ck_assert_str_eq(tg_addr_format(&a, buf, sizeof(buf)), out);
}

START_TEST(addr_text)
{
	check_text("10.0.0.1", "10.0.0.1");
	check_text("255.255.255.255", "255.255.255.255");
	check_text("::ffff:192.0.2.1", "192.0.2.1");  /* the mapped form is the IPv4 address */
	check_text("2001:DB8:0:0::1", "2001:db8::1"); /* RFC 5952 */
	check_text("::", "::");
	check_text("0.0.0.0", "0.0.0.0");
}
END_TEST

START_TEST(addr_refused)
{
	static const char *const bad[] = {"",          "10.0.0",  "10.0.0.256", "10.0.0.1 ", " ::1",
					  "localhost", "1:2:3:4", "::g",        "10.0.0.1/8"};
	struct tg_addr a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(tg_addr_parse(bad[i], &a) == -EINVAL, "'%s' was taken", bad[i]);
}
END_TEST

START_TEST(addr_v4_is_mapped)
{
	static const uint8_t wire[4] = {192, 0, 2, 7};
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 192, 0, 2, 7};
	struct tg_addr a, v6;
	uint32_t be32;

	memcpy(&be32, wire, sizeof(be32));
	a = tg_addr_from_v4(be32);
	ck_assert_mem_eq(a.b, mapped, 16);
	ck_assert(tg_addr_is_v4(&a));
	ck_assert(tg_addr_to_v4(&a) == be32);
	ck_assert_int_eq(tg_addr_parse("::192.0.2.7", &v6), 0); /* compatible, not mapped */
	ck_assert(!tg_addr_is_v4(&v6));
	ck_assert(!tg_addr_eq(&a, &v6));
}
END_TEST

START_TEST(addr_format_cuts)
{
	char buf[5] = "xxxx";
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse("192.0.2.7", &a), 0);
	ck_assert_str_eq(tg_addr_format(&a, buf, sizeof(buf)), "192.");
	buf[0] = 'x';
	tg_addr_format(&a, buf, 0);
	ck_assert_int_eq(buf[0], 'x');
}
END_TEST

static bool contains(const char *prefix, const char *addr)
{
	struct tg_prefix p;
	struct tg_addr a;

	ck_assert_int_eq(tg_prefix_parse(prefix, &p), 0);
	ck_assert_int_eq(tg_addr_parse(addr, &a), 0);
	return tg_prefix_contains(&p, &a);
}

START_TEST(prefix_contains)
{
	ck_assert(contains("10.0.0.2/24", "10.0.0.255"));
	ck_assert(!contains("10.0.0.2/24", "10.0.1.0"));
	ck_assert(contains("10.0.0.0/31", "10.0.0.1"));
	ck_assert(!contains("10.0.0.0/31", "10.0.0.2"));
	ck_assert(contains("10.0.0.1/32", "10.0.0.1"));
	ck_assert(!contains("10.0.0.1/32", "10.0.0.0"));
	ck_assert(contains("0.0.0.0/0", "255.1.2.3"));
	ck_assert(!contains("0.0.0.0/0", "2001:db8::1"));
	ck_assert(contains("::/0", "10.0.0.1"));
	ck_assert(contains("2001:db8::2/61", "2001:db8:0:7::"));
	ck_assert(!contains("2001:db8::2/61", "2001:db8:0:8::"));
	ck_assert(contains("2001:db8::1/128", "2001:db8::1"));
	ck_assert(!contains("2001:db8::1/128", "2001:db8::"));
	ck_assert(contains("::ffff:10.0.0.0/120", "10.0.0.9"));
}
END_TEST

START_TEST(prefix_text)
{
	static const char *const bad[] = {
		"10.0.0.1",
		"10.0.0.1/",
		"10.0.0.1/33",
		"10.0.0.1/-1",
		"10.0.0.1/+8",
		"10.0.0.1/ 8",
		"10.0.0.1/8 ",
		"10.0.0.1/08",
		"::/129",
		"/8",
		"::1/4294967304",
		"10.0.0.0/8/8",
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/8"};
	struct tg_prefix p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(tg_prefix_parse(bad[i], &p) == -EINVAL, "'%s' was taken", bad[i]);
	ck_assert_int_eq(tg_prefix_parse("10.0.0.2/24", &p), 0);
	ck_assert_int_eq(p.len, 120);
	ck_assert_int_eq(p.addr.b[15], 2); /* host bits are kept */
	ck_assert_int_eq(tg_prefix_parse("::1/0", &p), 0);
	ck_assert_int_eq(p.len, 0);
}
END_TEST

START_TEST(clock_rates)
{
	static const uint64_t rates[] = {1000000, 2445404938, 1000000000, 100000000000};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct tg_clock c = tg_clock_init(rates[i]);
		double second = (double)tg_ticks_to_ns(&c, rates[i]);

		ck_assert_msg(fabs(second - 1e9) < 30, "%" PRIu64 " Hz: %f", rates[i], second);
		ck_assert_uint_eq(tg_us_to_ticks(&c, 1000000), rates[i]);
		ck_assert_uint_eq(tg_s_to_ticks(&c, 3), 3 * rates[i]);
	}
}
END_TEST

START_TEST(clock_extremes)
{
	struct tg_clock ns = tg_clock_init(1000000000), fast = tg_clock_init(100000000000);

	ck_assert_uint_eq(tg_ticks_to_ns(&ns, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(tg_ns_to_ticks(&ns, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(tg_ns_to_ticks(&fast, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(tg_ticks_to_ns(&ns, 0), 0);
}
END_TEST

START_TEST(hist_index)
{
	static const struct {
		uint64_t ns;
		unsigned int index;
	} known[] = {{0, 0},   {1, 1},   {31, 31}, {32, 32},  {63, 63},
		     {64, 64}, {65, 64}, {66, 65}, {127, 95}, {128, 96}};
	unsigned int last = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		ck_assert_uint_eq(tg_hist_index(known[i].ns), known[i].index);
	for (uint64_t ns = 0; ns < 100000; ns++) {
		unsigned int i = tg_hist_index(ns);

		ck_assert_uint_ge(i, last);
		ck_assert_uint_le(i, last + 1);
		last = i;
	}
}
END_TEST

START_TEST(hist_edges)
{
	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++) {
		uint64_t low = tg_hist_low_ns(i), next = tg_hist_low_ns(i + 1);
		uint64_t mid = tg_hist_mid_ns(i);

		ck_assert_uint_eq(tg_hist_index(low), i);
		ck_assert_uint_eq(tg_hist_index(next - 1), i);
		ck_assert(low <= mid && mid < next);
		/* any value of the bucket lies within 1/64 of its middle, or 1 ns */
		ck_assert(mid - low <= low / 64 + 1 && next - 1 - mid <= low / 64 + 1);
	}
}
END_TEST

START_TEST(hist_overflow)
{
	static struct tg_hist h;
	uint64_t top = tg_hist_low_ns(TG_HIST_BUCKETS);

	ck_assert_uint_eq(top, UINT64_C(1) << 40);
	ck_assert_uint_eq(tg_hist_index(top - 1), TG_HIST_BUCKETS - 1);
	ck_assert_uint_eq(tg_hist_index(top), TG_HIST_BUCKETS - 1);
	ck_assert_uint_eq(tg_hist_index(UINT64_MAX), TG_HIST_BUCKETS - 1);
	tg_hist_record(&h, 5 * top, 1);
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 50), 5 * top);
	ck_assert_uint_eq(tg_hist_mean_ns(&h), 5 * top);
}
END_TEST

START_TEST(hist_empty)
{
	static struct tg_hist h;

	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 99), 0);
	ck_assert_uint_eq(tg_hist_mean_ns(&h), 0);
}
END_TEST

/* 1..n ns once each: the percentile is known in closed form. */
START_TEST(hist_uniform)
{
	static struct tg_hist h;
	const uint64_t n = 1000000;

	for (uint64_t ns = 1; ns <= n; ns++)
		tg_hist_record(&h, ns, 1);
	ck_assert_uint_eq(tg_hist_mean_ns(&h), (n + 1) / 2);
	for (double p = 0.5; p < 100; p += 0.5) {
		double truth = p / 100 * (double)n, got = (double)tg_hist_percentile_ns(&h, p);

		ck_assert_msg(fabs(got - truth) <= truth / 64, "p%g: %f", p, got);
		/* linear inside the bucket: far better than the bound where samples are smooth */
		ck_assert_msg(fabs(got - truth) <= truth / 1000 + 1, "p%g: %f", p, got);
	}
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 100), n);
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 1000), n);
	ck_assert_uint_le(tg_hist_percentile_ns(&h, 0), 1);
	ck_assert_uint_le(tg_hist_percentile_ns(&h, -5), 1);
	ck_assert_uint_le(tg_hist_percentile_ns(&h, (double)NAN), 1);
}
END_TEST

START_TEST(hist_ranks)
{
	static struct tg_hist h;

	tg_hist_record(&h, 10, 50);
	tg_hist_record(&h, 20, 49);
	tg_hist_record(&h, 31, 1);
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 50), 10); /* nearest rank: the 50th */
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 50.1), 20);
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 99), 20);
	ck_assert_uint_eq(tg_hist_percentile_ns(&h, 99.1), 31);
	ck_assert_uint_eq(tg_hist_mean_ns(&h), (500 + 980 + 31) / 100);
	ck_assert_uint_eq(h.count, 100);
	ck_assert_uint_eq(h.max_ns, 31);
}
END_TEST

/* Whatever the samples: within one step, 1/32, of the truth, and never above the greatest. */
START_TEST(hist_uneven)
{
	for (uint64_t v = 1; v < UINT64_C(1) << 39; v = v * 5 / 3 + 1) {
		struct tg_hist h = {0};

		tg_hist_record(&h, v, 1000);
		ck_assert_uint_le(tg_hist_percentile_ns(&h, 99), v);
		tg_hist_record(&h, 2 * v, 1);
		for (double p = 1; p < 100; p += 14) {
			double got = (double)tg_hist_percentile_ns(&h, p);

			ck_assert_msg(fabs(got - (double)v) <= (double)v / 32 + 1,
				      "%" PRIu64 " p%g: %f", v, p, got);
		}
	}
}
END_TEST

START_TEST(hist_windows)
{
	static struct tg_hist now, before, window, total;

	tg_hist_record(&now, 1000000, 3);
	tg_hist_record(&now, 77, 1);
	before = now;
	tg_hist_record(&now, 500, 2);
	tg_hist_record(&now, 900, 1);
	tg_hist_sub(&now, &before, &window);
	ck_assert_uint_eq(window.count, 3);
	ck_assert_uint_eq(window.sum_ns, 1900);
	ck_assert_uint_eq(window.bucket[tg_hist_index(500)], 2);
	ck_assert_uint_eq(window.bucket[tg_hist_index(77)], 0);
	/* not the greatest ever: the upper edge of the last bucket in use */
	ck_assert_uint_ge(window.max_ns, 900);
	ck_assert_uint_le(window.max_ns, 900 + 900 / 32);
	total = before;
	tg_hist_add(&total, &window);
	ck_assert_mem_eq(total.bucket, now.bucket, sizeof(now.bucket));
	ck_assert_uint_eq(total.count, now.count);
	ck_assert_uint_eq(total.sum_ns, now.sum_ns);
	ck_assert_uint_eq(total.max_ns, now.max_ns);
}
END_TEST

START_TEST(hist_window_edges)
{
	static struct tg_hist now, before, window;

	tg_hist_record(&now, 1000, 1);
	tg_hist_sub(&now, &now, &window);
	ck_assert_uint_eq(window.count, 0);
	ck_assert_uint_eq(window.max_ns, 0);
	tg_hist_sub(&now, &before, &window);
	ck_assert_uint_eq(window.max_ns, 1000); /* never above now's */
	/* every packet of days in one bucket: more than 32 bits hold */
	before = now;
	tg_hist_record(&now, 1000, UINT32_MAX);
	tg_hist_record(&now, 1000, UINT32_MAX);
	ck_assert_uint_eq(now.bucket[tg_hist_index(1000)], 1 + 2 * (uint64_t)UINT32_MAX);
	tg_hist_sub(&now, &before, &window);
	ck_assert_uint_eq(window.bucket[tg_hist_index(1000)], 2 * (uint64_t)UINT32_MAX);
	memset(&before, 0, sizeof(before));
	tg_hist_record(&now, UINT64_C(1) << 50, 1);
	tg_hist_sub(&now, &before, &window);
	ck_assert_uint_eq(window.max_ns, UINT64_C(1) << 50);
}
END_TEST

START_TEST(mem_zeroed_and_aligned)
{
	static const int sockets[] = {0, -1, 7}; /* 7: no such node, falls back */

	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		uint8_t *p = tg_mem_zalloc("test", 5000, 256, sockets[i]);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % 256, 0);
		for (size_t k = 0; k < 5000; k++)
			ck_assert_uint_eq(p[k], 0);
		memset(p, 0xa5, 5000); /* the next one must be zero all the same */
		tg_mem_free(p);
	}
	ck_assert_ptr_null(tg_mem_zalloc("test", SIZE_MAX / 2, 64, -1));
	tg_mem_free(NULL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base");

	UNIT_CASE(s, "addr", addr_text, addr_refused, addr_v4_is_mapped, addr_format_cuts,
		  prefix_contains, prefix_text);
	UNIT_CASE(s, "clock", clock_rates, clock_extremes);
	UNIT_CASE(s, "hist", hist_index, hist_edges, hist_overflow, hist_empty, hist_uniform,
		  hist_ranks, hist_uneven, hist_windows, hist_window_edges);
	UNIT_CASE(s, "mem", mem_zeroed_and_aligned);
	return s;
}
UNIT_MAIN_EAL(suite)
