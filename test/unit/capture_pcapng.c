/* SPDX-License-Identifier: BSD-3-Clause */
/* pcapng files: blocks, sections, interfaces, clocks, and every kind of damage. */
#include "capture_file.h"

START_TEST(pcapng_blocks)
{
	struct tg_capture *cap;
	struct tg_frame frame;
	size_t at;

	begin(_i);
	section(1);
	interface(1, 0, -1, 0);
	interface(113, 96, 9, 0);
	block(5, "statistics, skipped", 19);
	enhanced(0, 1700000000123456, 61, 1514, 61);
	block(4, "names", 5);
	enhanced(1, 1700000000123456789, 3, 3, 3);
	block(0x80000bad, "", 0);
	at = begin_block(3); /* simple */
	put32(7);
	put("simple!", 7);
	end_block(at);
	at = begin_block(2); /* obsolete packet */
	put16(1);
	put16(9);
	put32(0);
	put32(1000000001);
	put32(5);
	put32(90);
	put("older", 5);
	end_block(at);
	cap = open_file();
	ck_assert_str_eq(tg_capture_info(cap)->format, "pcapng");
	frame = next(cap);
	ck_assert_uint_eq(frame.time_ns, 1700000000123456000u);
	ck_assert_uint_eq(frame.link_type, 1);
	ck_assert_uint_eq(frame.cap_len, 61);
	ck_assert_uint_eq(frame.wire_len, 1514);
	ck_assert_uint_eq(frame.data[60], 0xcd);
	frame = next(cap);
	ck_assert_uint_eq(frame.time_ns, 1700000000123456789u);
	ck_assert_uint_eq(frame.interface, 1);
	ck_assert_uint_eq(frame.link_type, 113);
	frame = next(cap);
	ck_assert_uint_eq(frame.time_ns, 1700000000123456789u); /* has none: its forerunner's */
	ck_assert_uint_eq(frame.link_type, 1);
	ck_assert_mem_eq(frame.data, "simple!", 7);
	ck_assert_uint_eq(frame.cap_len, 7);
	frame = next(cap);
	ck_assert_uint_eq(frame.time_ns, 1000000001);
	ck_assert_uint_eq(frame.wire_len, 90);
	ck_assert_mem_eq(frame.data, "older", 5);
	ck_assert_uint_eq(tg_capture_info(cap)->skipped, 3);
	ck_assert_uint_eq(tg_capture_info(cap)->no_time, 1);
	ck_assert_uint_eq(tg_capture_info(cap)->interfaces, 2);
	expect_end(cap);
}
END_TEST

/* Two sections of different byte order; interfaces start again. */
START_TEST(pcapng_sections)
{
	struct tg_capture *cap;

	begin(false);
	section(1);
	interface(1, 0, -1, 0);
	enhanced(0, 1, 4, 4, 4);
	file.big = true;
	section(1);
	interface(101, 0, -1, 0);
	enhanced(0, 2, 4, 4, 4);
	file.big = false;
	section(1);
	enhanced(0, 3, 4, 4, 4);
	cap = open_file();
	ck_assert_uint_eq(next(cap).link_type, 1);
	ck_assert_uint_eq(next(cap).link_type, 101);
	expect_fault(cap, "block 8 at byte 204 belongs to an interface that was not described");
}
END_TEST

START_TEST(pcapng_clocks)
{
	static const struct {
		int resolution;
		int64_t offset;
		uint64_t units, ns;
		bool clamped;
	} clocks[] = {
		{-1, 0, 1, 1000, false},
		{0, 0, 7, 7000000000u, false},
		{3, 0, 7, 7000000, false},
		{9, 0, 7, 7, false},
		{12, 0, 7999, 7, false},
		{10, 0, 79, 7, false},
		{28, 0, UINT64_MAX, 1844674407u / 1000000000u, false},
		{100, 0, UINT64_MAX, 0, false},
		{127, 0, UINT64_MAX, 0, false},
		{0x80, 0, 3, 3000000000u, false},
		{0x80 | 10, 0, 1024 + 512, 1500000000u, false},
		{0x80 | 32, 0, (7ull << 32) + (1ull << 31), 7500000000u, false},
		{0x80 | 63, 0, 1ull << 63, 1000000000u, false},
		{0x80 | 94, 0, UINT64_MAX, 0, false},
		{0xff, 0, UINT64_MAX, 0, false},
		{6, 100, 5, 100000005000u, false},
		{6, -1, 1500000, 500000000u, false},
		{6, -2, 1500000, 0, true},
		{6, INT64_MIN, 1500000, 0, true},
		{6, INT64_MAX, 1500000, INT64_MAX, true},
		{0, 0, UINT64_MAX, INT64_MAX, true},
		{0x80, 0, UINT64_MAX, INT64_MAX, true},
	};
	struct tg_capture *cap;

	begin(_i);
	section(1);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		interface(1, 0, clocks[i].resolution, clocks[i].offset);
		enhanced((uint32_t)i, clocks[i].units, 4, 4, 4);
	}
	cap = open_file();
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		uint64_t clamped = tg_capture_info(cap)->clamped;

		ck_assert_uint_eq(next(cap).time_ns, clocks[i].ns);
		ck_assert_uint_eq(tg_capture_info(cap)->clamped, clamped + clocks[i].clamped);
	}
	expect_end(cap);
}
END_TEST

/* A simple packet is bounded by the snap length and by its block. */
START_TEST(pcapng_simple_packet_bounds)
{
	struct tg_capture *cap;
	size_t at;

	begin(false);
	section(1);
	interface(1, 5, -1, 0);
	at = begin_block(3);
	put32(1514);
	put("12345678", 8);
	end_block(at);
	section(1);
	interface(1, 0, -1, 0);
	at = begin_block(3);
	put32(1514);
	put("12345678", 8);
	end_block(at);
	cap = open_file();
	ck_assert_uint_eq(next(cap).cap_len, 5);
	ck_assert_uint_eq(next(cap).cap_len, 8);
	expect_end(cap);
}
END_TEST

START_TEST(pcapng_damage)
{
	struct tg_capture *cap;
	size_t at;

	begin(false);
	section(2);
	expect_fault(open_file(), "block 1 at byte 0 is a section of another major version");

	begin(false);
	block(0x0a0d0d0a, "no byte order!!!", 16);
	expect_fault(open_file(), "without a byte order");

	begin(false);
	put32(0x0a0d0d0a);
	put32(16);
	put32(0x1a2b3c4d);
	put32(16);
	expect_fault(open_file(), "too short");

	begin(false);
	section(1);
	interface(1, 0, -1, 0);
	enhanced(0, 1, 4, 4, 4);
	enhanced(0, 1, 5, 5, 4); /* four bytes where five are claimed */
	cap = open_file();
	next(cap);
	expect_fault(cap, "claims a frame of 5 bytes and has room for 4");

	begin(false);
	section(1);
	interface(1, 0, -1, 0);
	enhanced(0, 1, 0xffffffff, 4, 4);
	expect_fault(open_file(), "claims a frame of 4294967295 bytes");

	begin(false);
	section(1);
	enhanced(0, 1, 4, 4, 4);
	expect_fault(open_file(), "block 2 at byte 28 belongs to an interface");

	begin(false);
	section(1);
	put32(6);
	put32(0x7ffffff0);
	expect_fault(open_file(), "claims 2147483632 bytes");

	begin(false);
	section(1);
	put32(6);
	put32(8);
	expect_fault(open_file(), "impossible length");

	begin(false);
	section(1);
	put32(6);
	put32(33);
	expect_fault(open_file(), "impossible length");

	begin(false);
	section(1);
	put32(1234);
	put32(16);
	put32(0);
	put32(20);
	expect_fault(open_file(), "another length");

	begin(false);
	section(1);
	block(6, "too short", 9);
	expect_fault(open_file(), "packet block that is too short");

	begin(false);
	section(1);
	block(1, "1234", 4);
	expect_fault(open_file(), "interface description that is too short");

	begin(false);
	section(1);
	block(3, "1234", 4);
	expect_fault(open_file(), "before any interface");

	begin(false);
	section(1);
	at = begin_block(1);
	put32(1);
	put32(0);
	put16(2);
	put16(400);
	end_block(at);
	expect_fault(open_file(), "option beyond its end");
}
END_TEST

START_TEST(pcapng_cut_anywhere)
{
	begin(_i);
	section(1);
	interface(1, 0, 9, 5);
	enhanced(0, 1, 20, 20, 20);
	for (size_t n = 4; n < file.used; n++) {
		struct tg_capture *cap = open_bytes(n);
		struct tg_frame frame;
		int rc;

		ck_assert_ptr_nonnull(cap);
		rc = tg_capture_next(cap, &frame);
		if (n == 28 || n == 72) /* between blocks */
			ck_assert_int_eq(rc, 0);
		else
			ck_assert_ptr_nonnull(strstr(tg_capture_fault(cap), " is cut: "));
		tg_capture_close(cap);
	}
}
END_TEST

/* No more interfaces than the limit, however small their blocks. */
START_TEST(pcapng_interface_flood)
{
	FILE *stream = tmpfile();
	struct tg_capture *cap;
	struct tg_frame frame;

	begin(false);
	section(1);
	fwrite(file.bytes, 1, file.used, stream);
	begin(false);
	block(1, "\1\0\0\0\0\0\0\0", 8);
	for (uint32_t i = 0; i <= TG_CAPTURE_INTERFACES_MAX; i++)
		fwrite(file.bytes, 1, file.used, stream);
	rewind(stream);
	ck_assert_int_eq(tg_capture_open_stream(stream, "x", &cap, text, sizeof(text)), 0);
	ck_assert_int_eq(tg_capture_next(cap, &frame), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(tg_capture_fault(cap), "one interface more"));
	ck_assert_uint_eq(tg_capture_info(cap)->interfaces, TG_CAPTURE_INTERFACES_MAX);
	tg_capture_close(cap);
}
END_TEST

static TCase *pcapng_case(void)
{
	TCase *tc = tcase_create("pcapng");

	tcase_add_loop_test(tc, pcapng_blocks, 0, 2);
	tcase_add_test(tc, pcapng_sections);
	tcase_add_loop_test(tc, pcapng_clocks, 0, 2);
	tcase_add_test(tc, pcapng_simple_packet_bounds);
	tcase_add_test(tc, pcapng_damage);
	tcase_add_loop_test(tc, pcapng_cut_anywhere, 0, 2);
	tcase_add_test(tc, pcapng_interface_flood);
	return tc;
}

static Suite *suite(void)
{
	Suite *s = suite_create("capture_pcapng");

	suite_add_tcase(s, pcapng_case());
	return s;
}

UNIT_MAIN(suite)
