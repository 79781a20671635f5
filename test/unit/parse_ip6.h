/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of IPv6 headers: a part of parse.c, which includes it (m, p and USUAL_TS are its). */
#ifndef TG_PARSE_IP6_H
#define TG_PARSE_IP6_H

#include "parse_frames.h"

START_TEST(ip6_header_faults)
{
	for (unsigned int version = 0; version < 16; version++) {
		ip6(&m, IPPROTO_UDP, 64);
		udp(&m, 4);
		frame_end(&m);
		m.b[14] = (uint8_t)(version << 4);
		if (version == 6)
			ck_assert_reason(&m, NONE);
		else
			ck_assert_reason(&m, IP_HEADER);
	}
	ip6(&m, IPPROTO_UDP, 64);
	udp(&m, 4);
	set16(&m, 18, 13); /* one byte more than there is */
	ck_assert_reason(&m, IP_LENGTH);
	set16(&m, 18, 65535);
	ck_assert_reason(&m, IP_LENGTH);
	ip6(&m, IPPROTO_UDP, 64); /* a jumbogram: length 0, hop-by-hop option 194 */
	ext6(&m, IPPROTO_HOPOPTS, 0);
	memcpy(m.b + m.n - 6, "\xc2\x04\0\1\0\0", 6);
	udp(&m, 4);
	ck_assert_reason(&m, IP_LENGTH);
	ip6(&m, IPPROTO_TCP, 64); /* length 0 and a header that does not fit */
	ck_assert_reason(&m, L4_HEADER);
}
END_TEST

/* 40 + 65535 bytes do not fit ip_len: refused, not wrapped. */
START_TEST(ip6_no_wrap)
{
	ip6(&m, IPPROTO_ESP, 64);
	zeros(&m, 65535);
	set16(&m, 18, 65535);
	ck_assert_reason(&m, IP_LENGTH);
	set16(&m, 18, 65535 - 40);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.ip_len, 65535);
}
END_TEST

START_TEST(ip6_extensions)
{
	ip6(&m, IPPROTO_TCP, 64);
	ext6(&m, IPPROTO_HOPOPTS, 0);
	ext6(&m, IPPROTO_DSTOPTS, 1);
	ext6(&m, IPPROTO_ROUTING, 0); /* no segments left */
	ext6(&m, IPPROTO_AH, 4);      /* 24 bytes: its own units */
	ext6(&m, IPPROTO_DSTOPTS, 0);
	tcp(&m, TG_TCP_ACK, USUAL_TS, 12);
	zeros(&m, 3);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.key.protocol, IPPROTO_TCP);
	ck_assert_uint_eq(p.key.service_port, rte_cpu_to_be_16(443));
	ck_assert_uint_eq(p.l4_off, 54 + 8 + 16 + 8 + 24 + 8);
	ck_assert_uint_eq(p.payload_len, 3);
	ck_assert_uint_eq(p.tsecr, 0x11223344);
	ck_assert_uint_eq(p.flags, TG_PKT_V6 | TG_PKT_TS);
}
END_TEST

START_TEST(ip6_icmp_behind_extensions)
{
	ip6(&m, IPPROTO_ICMPV6, 255);
	ext6(&m, IPPROTO_HOPOPTS, 0);
	ext6(&m, IPPROTO_DSTOPTS, 0);
	PUT(&m, "\x02\0\0\0\0\0\x05\xdc"); /* too big */
	quote(&m, true, IPPROTO_TCP, 0, 0);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.flags, TG_PKT_V6 | TG_PKT_ICMP_ERROR);
	ck_assert_uint_eq(p.l4_off, 70);
}
END_TEST

START_TEST(ip6_extension_limits)
{
	for (unsigned int n = 0; n < 14; n++) { /* how many */
		ip6(&m, IPPROTO_UDP, 64);
		for (unsigned int i = 0; i < n; i++)
			ext6(&m, IPPROTO_DSTOPTS, 0);
		udp(&m, 4);
		frame_end(&m);
		if (n <= TG_PARSE_EXT_MAX)
			ck_assert_reason(&m, NONE);
		else
			ck_assert_reason(&m, IP6_HEADERS);
	}
	for (unsigned int units = 0; units < 256; units++) { /* how long: l4_off is a byte */
		ip6(&m, IPPROTO_UDP, 64);
		ext6(&m, IPPROTO_DSTOPTS, (uint8_t)units);
		udp(&m, 4);
		frame_end(&m);
		if (54 + 8 * (units + 1) <= 255)
			ck_assert_reason(&m, NONE);
		else
			ck_assert_reason(&m, IP6_HEADERS);
	}
}
END_TEST

START_TEST(ip6_extension_faults)
{
	ip6(&m, IPPROTO_UDP, 64); /* hop-by-hop not first (RFC 8200 section 4.1) */
	ext6(&m, IPPROTO_DSTOPTS, 0);
	ext6(&m, IPPROTO_HOPOPTS, 0);
	udp(&m, 4);
	frame_end(&m);
	ck_assert_reason(&m, IP6_HEADERS);
	ip6(&m, IPPROTO_UDP, 64); /* on the way to somewhere else */
	ext6(&m, IPPROTO_ROUTING, 2);
	m.b[m.n - 24 + 3] = 1;
	udp(&m, 4);
	frame_end(&m);
	ck_assert_reason(&m, IP6_HEADERS);
	for (uint32_t n = 0; n < 16; n++) { /* a header of 16 bytes, n of them there */
		ip6(&m, IPPROTO_UDP, 64);
		ext6(&m, IPPROTO_DSTOPTS, 1);
		m.n = 54 + n;
		frame_end(&m);
		if (n > 0)
			ck_assert_reason(&m, IP6_HEADERS);
	}
}
END_TEST

START_TEST(ip6_fragments)
{
	static const struct {
		uint16_t word;
		uint16_t flags;
	} known[] = {{0x0000, 0}, /* atomic: an ordinary packet (RFC 6946) */
		     {0x0006, 0}, /* reserved bits */
		     {0x0001, TG_PKT_FRAGMENT},
		     {0x0008, TG_PKT_FRAGMENT | TG_PKT_LATER},
		     {0x0009, TG_PKT_FRAGMENT | TG_PKT_LATER},
		     {0xfff8, TG_PKT_FRAGMENT | TG_PKT_LATER}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool fragment = known[i].flags != 0, later = known[i].flags & TG_PKT_LATER;

		ip6(&m, IPPROTO_UDP, 64);
		ext6(&m, IPPROTO_DSTOPTS, 0);
		fragment6(&m, known[i].word);
		m.b[m.n - 7] = 0xff; /* reserved: no length, as in other headers */
		udp(&m, 8);
		frame_end(&m);
		ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.flags, TG_PKT_V6 | known[i].flags);
		ck_assert_uint_eq(p.key.protocol, IPPROTO_UDP);
		ck_assert_uint_eq(p.key.flags, fragment ? TG_KEY_FRAGMENT : 0);
		ck_assert_uint_eq(p.key.service_port, fragment ? 0 : rte_cpu_to_be_16(53));
		ck_assert_uint_eq(p.l4_off, later ? 0 : 70);
	}
}
END_TEST

/* First and later fragments of a datagram have one key, whatever the fragmented part begins with. */
START_TEST(ip6_fragments_share_a_key)
{
	struct tg_key first;

	ip6(&m, IPPROTO_UDP, 64);
	fragment6(&m, 0x0001);
	ext6(&m, IPPROTO_DSTOPTS, 0);
	udp(&m, 8);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	first = p.key;
	ip6(&m, IPPROTO_DSTOPTS, 64);
	fragment6(&m, 0x0100);
	PUT(&m, "\x06\xff any bytes of the middle");
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert(tg_key_eq(&first, &p.key));
}
END_TEST

#endif
