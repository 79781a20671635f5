/* SPDX-License-Identifier: BSD-3-Clause */
/* pcap files, and what is no capture: what is read, and what is said of broken ones. */
#include "capture_file.h"

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

static Suite *suite(void)
{
	Suite *s = suite_create("capture");

	suite_add_tcase(s, pcap_case());
	UNIT_CASE(s, "open", not_a_capture, paths, pipe_is_refused);
	return s;
}

UNIT_MAIN(suite)
