/* SPDX-License-Identifier: BSD-3-Clause */
/* pcap and pcapng files built byte by byte: what is read from them, and what is said of broken
 * ones.
 */
#include "capture.h"

#include "unit.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in the making. */
static struct {
	uint8_t bytes[1 << 16];
	size_t used;
	bool big; /* byte order of what is put */
} file;

static char text[TG_CAPTURE_TEXT];

static void begin(bool big)
{
	file.used = 0;
	file.big = big;
	text[0] = 0;
}

static void put(const void *data, size_t size)
{
	ck_assert_uint_le(file.used + size, sizeof(file.bytes));
	memcpy(file.bytes + file.used, data, size);
	file.used += size;
}

static void put_number(uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		unsigned int shift = 8 * (file.big ? bytes - 1 - i : i);
		uint8_t byte = (uint8_t)(value >> shift);

		put(&byte, 1);
	}
}

static void put16(uint16_t value)
{
	put_number(value, 2);
}

static void put32(uint32_t value)
{
	put_number(value, 4);
}

static void pcap_header(uint32_t magic, uint32_t snap_len, uint32_t link_type)
{
	put32(magic);
	put16(2);
	put16(4);
	put32(0);
	put32(0);
	put32(snap_len);
	put32(link_type);
}

static void pcap_record(uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t wire)
{
	uint8_t data[256];

	put32(seconds);
	put32(fraction);
	put32(captured);
	put32(wire);
	memset(data, 0xab, sizeof(data));
	put(data, captured < sizeof(data) ? captured : sizeof(data));
}

/* A pcapng block around a body; padded as the format wants it. */
static void block(uint32_t type, const void *body, size_t length)
{
	uint32_t padded = (uint32_t)(length + 3) & ~3u;

	put32(type);
	put32(padded + 12);
	put(body, length);
	put("\0\0\0", padded - length);
	put32(padded + 12);
}

/* Body built in place: begin_block, puts, end_block. */
static size_t begin_block(uint32_t type)
{
	size_t at = file.used;

	put32(type);
	put32(0);
	return at;
}

static void end_block(size_t at)
{
	size_t end;

	while (file.used % 4)
		put("", 1);
	put32((uint32_t)(file.used + 4 - at));
	end = file.used;
	file.used = at + 4;
	put32((uint32_t)(end - at));
	file.used = end;
}

static void section(uint16_t major)
{
	size_t at = begin_block(0x0a0d0d0a);

	put32(0x1a2b3c4d);
	put16(major);
	put16(0);
	put_number(UINT64_MAX, 8);
	end_block(at);
}

/* resolution < 0: without the option; offset 0: without that option */
static void interface(uint16_t link_type, uint32_t snap_len, int resolution, int64_t offset)
{
	size_t at = begin_block(1);

	put16(link_type);
	put16(0);
	put32(snap_len);
	if (resolution >= 0) {
		put16(9);
		put16(1);
		put_number((uint64_t)resolution, 1);
		put("\0\0\0", 3);
	}
	if (offset) {
		put16(14);
		put16(8);
		put_number((uint64_t)offset, 8);
	}
	put16(0);
	put16(0);
	end_block(at);
}

static void enhanced(uint32_t from, uint64_t units, uint32_t captured, uint32_t wire,
		     uint32_t present)
{
	size_t at = begin_block(6);

	put32(from);
	put32((uint32_t)(units >> 32));
	put32((uint32_t)units);
	put32(captured);
	put32(wire);
	for (uint32_t i = 0; i < present; i++)
		put("\xcd", 1);
	end_block(at);
}

/* A heap copy of exactly the bytes, so that a sanitizer sees reads beyond. */
static struct tg_capture *open_bytes(size_t count)
{
	FILE *stream = tmpfile();
	struct tg_capture *cap;

	ck_assert_ptr_nonnull(stream);
	ck_assert_uint_eq(fwrite(file.bytes, 1, count, stream), count);
	rewind(stream);
	tg_capture_open_stream(stream, "made.pcap", &cap, text, sizeof(text));
	return cap;
}

static struct tg_capture *open_file(void)
{
	struct tg_capture *cap = open_bytes(file.used);

	ck_assert_msg(cap != NULL, "%s", text);
	return cap;
}

static struct tg_frame next(struct tg_capture *cap)
{
	struct tg_frame frame;

	ck_assert_msg(tg_capture_next(cap, &frame) == 1, "%s", tg_capture_fault(cap));
	return frame;
}

static void expect_end(struct tg_capture *cap)
{
	struct tg_frame frame;

	ck_assert_int_eq(tg_capture_next(cap, &frame), 0);
	ck_assert_int_eq(tg_capture_next(cap, &frame), 0);
	ck_assert_ptr_null(tg_capture_fault(cap));
	ck_assert_uint_eq(tg_capture_info(cap)->bytes_read, file.used);
	ck_assert_uint_eq(tg_capture_info(cap)->size, file.used);
	tg_capture_close(cap);
}

static void expect_fault(struct tg_capture *cap, const char *sentence)
{
	struct tg_frame frame;

	ck_assert_int_eq(tg_capture_next(cap, &frame), -EBADMSG);
	ck_assert_int_eq(tg_capture_next(cap, &frame), -EBADMSG);
	ck_assert_ptr_nonnull(tg_capture_fault(cap));
	ck_assert_ptr_nonnull(strstr(tg_capture_fault(cap), sentence));
	tg_capture_close(cap);
}

static const struct {
	uint32_t magic;
	bool big, ns;
} forms[] = {{0xa1b2c3d4, false, false},
	     {0xa1b2c3d4, true, false},
	     {0xa1b23c4d, false, true},
	     {0xa1b23c4d, true, true}};

START_TEST(pcap_orders_and_precisions)
{
	uint64_t unit = forms[_i].ns ? 1 : 1000;
	struct tg_capture *cap;
	struct tg_frame frame;

	begin(forms[_i].big);
	pcap_header(forms[_i].magic, 65535, 1);
	pcap_record(1700000000, 123456, 60, 1514);
	pcap_record(4294967295u, 999999, 0, 60); /* the last second of an unsigned clock: 2106 */
	cap = open_file();
	ck_assert_str_eq(tg_capture_info(cap)->format, "pcap");
	frame = next(cap);
	ck_assert_uint_eq(frame.time_ns, 1700000000000000000u + 123456 * unit);
	ck_assert_uint_eq(frame.link_type, 1);
	ck_assert_uint_eq(frame.cap_len, 60);
	ck_assert_uint_eq(frame.wire_len, 1514);
	ck_assert_uint_eq(frame.data[59], 0xab);
	frame = next(cap);
	ck_assert_uint_eq(frame.time_ns, 4294967295000000000u + 999999 * unit);
	ck_assert_uint_eq(frame.cap_len, 0);
	ck_assert_uint_eq(tg_capture_info(cap)->frames, 2);
	expect_end(cap);
}
END_TEST

/* "modified" pcap has 8 more bytes in each record header. */
START_TEST(pcap_modified)
{
	struct tg_capture *cap;

	begin(_i);
	pcap_header(0xa1b2cd34, 65535, 1);
	for (uint32_t i = 0; i < 3; i++) {
		put32(5 + i);
		put32(7);
		put32(4);
		put32(90);
		put_number(0x1122334455667788, 8);
		put("abcd", 4);
	}
	cap = open_file();
	for (uint64_t i = 0; i < 3; i++) {
		struct tg_frame frame = next(cap);

		ck_assert_uint_eq(frame.time_ns, (5 + i) * 1000000000 + 7000);
		ck_assert_mem_eq(frame.data, "abcd", 4);
		ck_assert_uint_eq(frame.wire_len, 90);
	}
	expect_end(cap);
}
END_TEST

START_TEST(pcap_link_types)
{
	static const uint32_t types[][2] = {{0, 0},     {1, 1},     {9, 9},     {50, 50},
					    {101, 12},  {108, 108}, {113, 113}, {228, 228},
					    {229, 229}, {276, 276}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct tg_capture *cap;

		begin(i % 2);
		pcap_header(0xa1b2c3d4, 65535, types[i][0]);
		pcap_record(1, 1, 8, 8);
		cap = open_file();
		ck_assert_uint_eq(next(cap).link_type, types[i][1]);
		expect_end(cap);
	}
}
END_TEST

/* What the file says of the frame cannot be: less on the wire than in the file. */
START_TEST(wire_length_is_raised)
{
	struct tg_capture *cap;

	begin(false);
	pcap_header(0xa1b2c3d4, 65535, 1);
	pcap_record(1, 1, 60, 0);
	cap = open_file();
	ck_assert_uint_eq(next(cap).wire_len, 60);
	ck_assert_uint_eq(tg_capture_info(cap)->wire_raised, 1);
	expect_end(cap);
}
END_TEST

/* Every possible cut of a file of two records: frames before it are read, and it is named. */
START_TEST(pcap_cut_anywhere)
{
	begin(_i);
	pcap_header(0xa1b2c3d4, 65535, 1);
	pcap_record(1, 1, 20, 1514);
	pcap_record(2, 2, 24, 1514);
	for (size_t n = 1; n < file.used; n++) {
		struct tg_capture *cap = open_bytes(n);
		struct tg_frame frame;
		char want[128] = "";

		if (n < 24) {
			ck_assert_ptr_null(cap);
			ck_assert_str_ne(text, "");
			continue;
		}
		ck_assert_ptr_nonnull(cap);
		if (n >= 60)
			next(cap);
		if (n == 24 || n == 60) {
			ck_assert_int_eq(tg_capture_next(cap, &frame), 0);
			tg_capture_close(cap);
			continue;
		}
		if (n < 60 && n >= 40)
			snprintf(want, sizeof(want), "record 1 at byte 24 is cut: %zu of 20 bytes",
				 n - 40);
		else if (n < 40)
			snprintf(want, sizeof(want), "record 1 at byte 24 is cut: %zu of 16 header",
				 n - 24);
		else if (n >= 76)
			snprintf(want, sizeof(want), "record 2 at byte 60 is cut: %zu of 24 bytes",
				 n - 76);
		expect_fault(cap, want);
	}
}
END_TEST

START_TEST(pcap_modified_cut)
{
	struct tg_capture *cap;

	begin(_i);
	pcap_header(0xa1b2cd34, 65535, 1);
	put32(5);
	put32(7);
	put32(40);
	put32(90);
	put_number(0, 8);
	put("abcd", 4);
	cap = open_file();
	expect_fault(cap, "record 1 at byte 24 is cut: 4 of 40 bytes are there");
	cap = open_bytes(44);
	expect_fault(cap, "record 1 at byte 24 is cut: 20 of 24 header bytes are there");
}
END_TEST

START_TEST(pcap_absurd_length)
{
	struct tg_capture *cap;

	begin(false);
	pcap_header(0xa1b2c3d4, 65535, 1);
	pcap_record(1, 1, 20, 20);
	pcap_record(1, 1, 0xfffffff0, 0xfffffff0);
	cap = open_file();
	next(cap);
	expect_fault(cap, "record 2 at byte 60 is damaged");
}
END_TEST

START_TEST(pcap_record_over_its_snap_length)
{
	struct tg_capture *cap;
	struct tg_frame frame;

	begin(false);
	pcap_header(0xa1b2c3d4, 54, 1);
	pcap_record(1, 1, 54, 1514);
	pcap_record(2, 1, 100, 1514);
	cap = open_file();
	ck_assert_uint_eq(next(cap).cap_len, 54);
	frame = next(cap);
	ck_assert_uint_eq(frame.cap_len, 54);
	ck_assert_uint_eq(frame.wire_len, 1514);
	expect_end(cap);
}
END_TEST

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

static void expect_refused(const char *bytes, size_t count, int code, const char *sentence)
{
	FILE *stream = tmpfile();
	struct tg_capture *cap;

	fwrite(bytes, 1, count, stream);
	rewind(stream);
	ck_assert_int_eq(tg_capture_open_stream(stream, "f", &cap, text, sizeof(text)), code);
	ck_assert_ptr_null(cap);
	ck_assert_msg(strstr(text, sentence) != NULL, "%s", text);
}

START_TEST(not_a_capture)
{
	expect_refused("", 0, -ENODATA, "capture 'f' is empty");
	expect_refused("abc", 3, -EINVAL, "only 3 bytes");
	expect_refused("\x7f"
		       "ELFxyz",
		       7, -EINVAL, "begins with the bytes 7f 45 4c 46");
	expect_refused("\x1f\x8b\x08\0\0", 5, -EINVAL, "gzip: unpack it first");
	expect_refused("\x28\xb5\x2f\xfd\0", 5, -EINVAL, "zstd: unpack it first");
	expect_refused("\xfd"
		       "7zXZ\0\0",
		       7, -EINVAL, "xz: unpack it first");
	expect_refused("BZh9", 4, -EINVAL, "bzip2");
	expect_refused("snoop\0\0\0", 8, -EINVAL, "snoop");
	expect_refused("\xd4\xc3\xb2\xa1\2\0\4\0", 8, -EBADMSG, "cut in its header: 8 of 24");
	/* version 9 of the format */
	expect_refused("\xd4\xc3\xb2\xa1\x09\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", 24, -EINVAL,
		       "cannot be read as pcap");
}
END_TEST

START_TEST(paths)
{
	char dir[] = "/tmp/tidegate-capture-XXXXXX", path[64];
	struct tg_capture *cap;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(tg_capture_open(dir, &cap, text, sizeof(text)), -EISDIR);
	ck_assert_ptr_nonnull(strstr(text, "is a directory"));
	snprintf(path, sizeof(path), "%s/f", dir);
	ck_assert_int_eq(tg_capture_open(path, &cap, text, sizeof(text)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(text, "/f' does not exist"));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(tg_capture_open(path, &cap, text, sizeof(text)), -ESPIPE);
	ck_assert_ptr_nonnull(strstr(text, "write it to a file first"));
	unlink(path);

	begin(false);
	pcap_header(0xa1b2c3d4, 65535, 1);
	pcap_record(1, 1, 20, 20);
	FILE *stream = fopen(path, "wb");
	fwrite(file.bytes, 1, file.used, stream);
	fclose(stream);
	ck_assert_int_eq(tg_capture_open(path, &cap, text, sizeof(text)), 0);
	next(cap);
	expect_end(cap);
	unlink(path);
	rmdir(dir);
	tg_capture_close(NULL);
}
END_TEST

START_TEST(pipe_is_refused)
{
	struct tg_capture *cap;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(tg_capture_open_stream(fdopen(fds[0], "rb"), "p", &cap, text,
						sizeof(text)),
			 -ESPIPE);
	close(fds[1]);
}
END_TEST

static TCase *pcap_case(void)
{
	TCase *tc = tcase_create("pcap");

	tcase_add_loop_test(tc, pcap_orders_and_precisions, 0, 4);
	tcase_add_loop_test(tc, pcap_modified, 0, 2);
	tcase_add_test(tc, pcap_link_types);
	tcase_add_test(tc, wire_length_is_raised);
	tcase_add_loop_test(tc, pcap_cut_anywhere, 0, 2);
	tcase_add_loop_test(tc, pcap_modified_cut, 0, 2);
	tcase_add_test(tc, pcap_absurd_length);
	tcase_add_test(tc, pcap_record_over_its_snap_length);
	return tc;
}

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
	Suite *s = suite_create("capture");

	suite_add_tcase(s, pcap_case());
	suite_add_tcase(s, pcapng_case());
	UNIT_CASE(s, "open", not_a_capture, paths, pipe_is_refused);
	return s;
}

UNIT_MAIN(suite)
