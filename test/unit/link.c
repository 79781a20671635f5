/* SPDX-License-Identifier: BSD-3-Clause */
/* Every link type the reader takes, as the Ethernet frame the pipeline gets. */
#include "link.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 128

static const uint8_t ip4[] = {0x45, 0, 0, 24, 1, 2, 3, 4};
static const uint8_t ip6[] = {0x60, 1, 2, 3, 0, 0, 59, 64};

static uint8_t out[ROOM];
static struct tg_link_result result;

/* The frame is copied to the heap so that a sanitizer sees every byte read beyond it. */
static int convert_wire(uint32_t link_type, const uint8_t *data, uint32_t length, uint32_t wire,
			uint32_t room)
{
	uint8_t *copy = malloc(length ? length : 1);
	struct tg_frame frame = {.link_type = link_type, .cap_len = length, .wire_len = wire};
	int rc;

	if (length)
		memcpy(copy, data, length);
	frame.data = copy;
	memset(out, 0xee, sizeof(out));
	memset(&result, 0, sizeof(result));
	rc = tg_link_to_ethernet(&frame, out, room, &result);
	free(copy);
	return rc;
}

static int convert(uint32_t link_type, const uint8_t *data, uint32_t length)
{
	return convert_wire(link_type, data, length, length, ROOM);
}

/* A link header followed by an IP packet must become an Ethernet header of `type` before it. */
static void expect(uint32_t link_type, const char *header, uint32_t header_len, const uint8_t *ip,
		   uint16_t type)
{
	uint8_t data[64];

	memcpy(data, header, header_len);
	memcpy(data + header_len, ip, sizeof(ip4));
	ck_assert_int_eq(convert(link_type, data, header_len + sizeof(ip4)), 0);
	ck_assert_uint_eq(result.cap_len, 14 + sizeof(ip4));
	ck_assert_uint_eq(result.wire_len, 14 + sizeof(ip4));
	ck_assert_uint_eq((unsigned int)out[12] << 8 | out[13], type);
	ck_assert_mem_eq(out + 14, ip, sizeof(ip4));
	ck_assert_uint_eq(out[14 + sizeof(ip4)], 0xee);
}

#define EXPECT(link_type, header, ip, type) expect(link_type, header, sizeof(header) - 1, ip, type)

START_TEST(ethernet_is_copied)
{
	uint8_t frame[60];

	for (unsigned int i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)i;
	ck_assert_int_eq(convert_wire(1, frame, 60, 1514, ROOM), 0);
	ck_assert_uint_eq(result.cap_len, 60);
	ck_assert_uint_eq(result.wire_len, 1514);
	ck_assert_mem_eq(out, frame, 60);
	/* a runt is handed on: the parser names what is wrong with it */
	ck_assert_int_eq(convert(1, frame, 5), 0);
	ck_assert_uint_eq(result.cap_len, 5);
	ck_assert_int_eq(convert(1, frame, 0), 0);
	ck_assert_uint_eq(result.cap_len, 0);
}
END_TEST

START_TEST(raw_ip)
{
	static const uint32_t raw[] = {12, 14, 101};

	for (unsigned int i = 0; i < 3; i++) {
		EXPECT(raw[i], "", ip4, 0x0800);
		EXPECT(raw[i], "", ip6, 0x86dd);
		ck_assert_int_eq(convert(raw[i], (const uint8_t *)"\x15", 1), 0);
		ck_assert_uint_eq(out[12] << 8 | out[13], TG_LINK_NOT_IP);
	}
	EXPECT(228, "", ip4, 0x0800);
	EXPECT(229, "", ip6, 0x86dd);
	/* the link type speaks, not the version: the parser then names the contradiction */
	EXPECT(228, "", ip6, 0x0800);
}
END_TEST

START_TEST(synthetic_addresses_are_local_and_unicast)
{
	EXPECT(101, "", ip4, 0x0800);
	ck_assert_uint_eq(out[0] & 3, 2);
	ck_assert_uint_eq(out[6] & 3, 2);
	ck_assert_mem_ne(out, out + 6, 6);
}
END_TEST

START_TEST(null_and_loop)
{
	static const uint8_t families6[] = {10, 24, 28, 30};

	EXPECT(0, "\x02\0\0\0", ip4, 0x0800);
	EXPECT(0, "\0\0\0\x02", ip4, 0x0800);
	EXPECT(108, "\0\0\0\x02", ip4, 0x0800);
	EXPECT(108, "\x02\0\0\0", ip4, 0x0800);
	for (unsigned int i = 0; i < 4; i++) {
		char little[5] = {(char)families6[i], 0, 0, 0, 0};
		char big[5] = {0, 0, 0, (char)families6[i], 0};

		expect(0, little, 4, ip6, 0x86dd);
		expect(0, big, 4, ip6, 0x86dd);
		expect(108, big, 4, ip6, 0x86dd);
	}
	EXPECT(0, "\x07\0\0\0", ip4, TG_LINK_NOT_IP);
	EXPECT(0, "\x02\0\0\x02", ip4, TG_LINK_NOT_IP);
	EXPECT(0, "\x02\x01\0\0", ip4, TG_LINK_NOT_IP);
}
END_TEST

START_TEST(linux_cooked)
{
#define SLL1(arphrd, protocol) "\0\0" arphrd "\0\x06\x02\x02\x03\x04\x05\x06\0\0" protocol
#define SLL2(arphrd, protocol) protocol "\0\0\0\0\0\x03" arphrd "\0\x06\x02\x02\x03\x04\x05\x06\0\0"
	EXPECT(113, SLL1("\0\x01", "\x08\0"), ip4, 0x0800);
	EXPECT(113, SLL1("\0\x01", "\x86\xdd"), ip6, 0x86dd);
	EXPECT(113, SLL1("\x03\x04", "\x08\0"), ip4, 0x0800);       /* loopback device */
	EXPECT(113, SLL1("\x03\x38", "\0\0"), ip4, TG_LINK_NOT_IP); /* netlink */
	EXPECT(276, SLL2("\0\x01", "\x08\0"), ip4, 0x0800);
	EXPECT(276, SLL2("\0\x01", "\x86\xdd"), ip6, 0x86dd);
	EXPECT(276, SLL2("\x03\x23", "\x08\0"), ip4, TG_LINK_NOT_IP); /* radiotap */
	/* IEEE 802.2 after the header: the type field is a length */
	EXPECT(113, SLL1("\0\x01", "\0\x04"), ip4, sizeof(ip4));
}
END_TEST

/* The tag's TCI and the inner ethertype are the first four bytes after a cooked header. */
START_TEST(linux_cooked_keeps_vlan)
{
	static const uint8_t inner[8] = {0x20, 0x64, 0x08, 0x00, 0x45, 0, 0, 20};

	EXPECT(113, SLL1("\0\x01", "\x81\0"), inner, 0x8100);
	EXPECT(276, SLL2("\0\x01", "\x81\0"), inner, 0x8100);
	EXPECT(276, SLL2("\0\x01", "\x88\xa8"), inner, 0x88a8);
}
END_TEST

START_TEST(ppp_and_hdlc)
{
	EXPECT(9, "\xff\x03\x00\x21", ip4, 0x0800);
	EXPECT(9, "\x00\x21", ip4, 0x0800);
	EXPECT(9, "\x21", ip4, 0x0800);
	EXPECT(9, "\xff\x03\x57", ip6, 0x86dd);
	EXPECT(9, "\x00\x57", ip6, 0x86dd);
	EXPECT(9, "\xff\x03\xc0\x21", ip4, TG_LINK_PPP);
	EXPECT(9, "\x02\x81", ip4, 0x8847);
	EXPECT(50, "\xff\x03\x00\x21", ip4, 0x0800);
	EXPECT(50, "\x00\x57", ip6, 0x86dd);
	EXPECT(50, "\x0f\x00\x08\x00", ip4, 0x0800);
	EXPECT(50, "\x8f\x00\x80\x35", ip4, 0x8035);
	EXPECT(104, "\x0f\x00\x08\x00", ip4, 0x0800);
	EXPECT(104, "\x0f\x00\x86\xdd", ip6, 0x86dd);
	EXPECT(104, "\x0f\x00\x00\x21", ip4, TG_LINK_NOT_IP);
}
END_TEST

START_TEST(shorter_than_their_header)
{
	static const struct {
		uint32_t link_type;
		uint32_t header;
	} kinds[] = {{0, 4},  {108, 4}, {113, 16}, {276, 20}, {104, 4}, {101, 1},
		     {12, 1}, {14, 1},  {228, 1},  {229, 1},  {9, 1},   {50, 1}};
	uint8_t zeros[32] = {0};

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (uint32_t n = 0; n < kinds[i].header; n++)
			ck_assert_int_eq(convert(kinds[i].link_type, zeros, n), -EBADMSG);
	ck_assert_int_eq(convert(9, (const uint8_t *)"\xff\x03", 2), -EBADMSG);
	ck_assert_int_eq(convert(9, (const uint8_t *)"\xff\x03\x00", 3), -EBADMSG);
	ck_assert_int_eq(convert(50, (const uint8_t *)"\x0f\x00\x08", 3), -EBADMSG);
}
END_TEST

START_TEST(cut_frames_stay_recognisable)
{
	uint8_t data[40] = {0x45};

	ck_assert_int_eq(convert_wire(101, data, 40, 1500, ROOM), 0);
	ck_assert_uint_eq(result.cap_len, 54);
	ck_assert_uint_eq(result.wire_len, 1514);
	memcpy(data, "\x02\0\0\0\x45", 5);
	ck_assert_int_eq(convert_wire(0, data, 40, 1504, ROOM), 0);
	ck_assert_uint_eq(result.cap_len, 50);
	ck_assert_uint_eq(result.wire_len, 1514);
	/* too little room is a cut like any other */
	ck_assert_int_eq(convert_wire(0, data, 40, 40, 20), 0);
	ck_assert_uint_eq(result.cap_len, 20);
	ck_assert_uint_eq(result.wire_len, 50);
	ck_assert_uint_eq(out[20], 0xee);
	ck_assert_int_eq(convert_wire(0, data, 40, 40, 14), 0);
	ck_assert_uint_eq(result.cap_len, 14);
	ck_assert_int_eq(convert_wire(0, data, 40, 40, 13), -ENOBUFS);
}
END_TEST

START_TEST(absurd_wire_lengths)
{
	uint8_t data[40] = {0x45};

	ck_assert_int_eq(convert_wire(101, data, 40, UINT32_MAX, ROOM), 0);
	ck_assert_uint_eq(result.wire_len, UINT32_MAX);
	ck_assert_int_eq(convert_wire(113, data, 40, 3, ROOM), 0);
	ck_assert_uint_eq(result.wire_len, result.cap_len);
}
END_TEST

START_TEST(unsupported_is_named_and_counted)
{
	struct tg_link_stats stats = {0};
	struct tg_frame frame = {0};

	for (uint32_t i = 0; i < 20; i++) {
		frame.link_type = 1000 + i;
		tg_link_count(&stats, &frame, convert(frame.link_type, ip4, sizeof(ip4)));
	}
	frame.link_type = 1001;
	tg_link_count(&stats, &frame, -EPROTONOSUPPORT);
	frame.link_type = 113;
	tg_link_count(&stats, &frame, convert(113, ip4, sizeof(ip4)));
	frame.link_type = 1;
	tg_link_count(&stats, &frame, 0);
	ck_assert_uint_eq(stats.unsupported, 21);
	ck_assert_uint_eq(stats.malformed, 1);
	ck_assert_uint_eq(stats.converted, 1);
	ck_assert_uint_eq(stats.kind_count, TG_LINK_KINDS);
	ck_assert_uint_eq(stats.kinds[1].link_type, 1001);
	ck_assert_uint_eq(stats.kinds[1].frames, 2);
	ck_assert_str_eq(tg_link_name(105), "IEEE802_11");
	ck_assert_ptr_null(tg_link_name(99999));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("link");
	TCase *tc = tcase_create("link");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, ethernet_is_copied);
	tcase_add_test(tc, raw_ip);
	tcase_add_test(tc, synthetic_addresses_are_local_and_unicast);
	tcase_add_test(tc, null_and_loop);
	tcase_add_test(tc, linux_cooked);
	tcase_add_test(tc, linux_cooked_keeps_vlan);
	tcase_add_test(tc, ppp_and_hdlc);
	tcase_add_test(tc, shorter_than_their_header);
	tcase_add_test(tc, cut_frames_stay_recognisable);
	tcase_add_test(tc, absurd_wire_lengths);
	tcase_add_test(tc, unsupported_is_named_and_counted);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
