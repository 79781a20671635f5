/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of ICMP and of the flow that an error quotes: a part of parse.c (m and p are its). */
#ifndef TG_PARSE_ICMP_H
#define TG_PARSE_ICMP_H

#include "parse_frames.h"

static void icmp(bool v6, uint8_t type, uint8_t code, uint8_t hop_limit)
{
	if (v6)
		ip6(&m, IPPROTO_ICMPV6, hop_limit);
	else
		ip4(&m, IPPROTO_ICMP);
	put(&m, (uint8_t[]){type, code}, 2);
	PUT(&m, "\1\2\3\4\5\6");
}

static uint16_t icmp_flags(bool v6, uint8_t type, uint8_t code, uint8_t hop_limit)
{
	icmp(v6, type, code, hop_limit);
	quote(&m, v6, IPPROTO_UDP, 0, 0);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	return p.flags & (TG_PKT_PING | TG_PKT_ICMP_ERROR | TG_PKT_ND);
}

START_TEST(icmp_types)
{
	for (unsigned int type = 0; type < 256; type++) {
		bool quotes = type == 3 || type == 11 || type == 12;
		uint16_t v4 = type == 8 ? TG_PKT_PING : quotes ? TG_PKT_ICMP_ERROR : 0;
		uint16_t v6 = type == 128                  ? TG_PKT_PING
			      : type >= 1 && type <= 4     ? TG_PKT_ICMP_ERROR
			      : type >= 133 && type <= 137 ? TG_PKT_ND
							   : 0;

		ck_assert_uint_eq(icmp_flags(false, (uint8_t)type, 0, 0), v4);
		ck_assert_uint_eq(icmp_flags(true, (uint8_t)type, 0, 255), v6);
		/* what crossed a router is no neighbour's (RFC 4861 section 7.1) */
		ck_assert_uint_eq(icmp_flags(true, (uint8_t)type, 0, 254), v6 & ~TG_PKT_ND);
		ck_assert_uint_eq(icmp_flags(true, (uint8_t)type, 1, 255), v6 & TG_PKT_ICMP_ERROR);
		ck_assert_uint_eq(icmp_flags(false, (uint8_t)type, 1, 0), v4 & TG_PKT_ICMP_ERROR);
	}
}
END_TEST

static void ck_assert_quoted_flow(bool v6, uint8_t protocol)
{
	struct tg_addr client = addr_of(v6 ? CLIENT6 : CLIENT4), vip = addr_of(v6 ? VIP6 : VIP4);
	bool ports = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;

	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert(p.flags & TG_PKT_ICMP_ERROR);
	ck_assert(tg_addr_eq(&p.key.client, &client) && tg_addr_eq(&p.dst, &vip));
	ck_assert_uint_eq(p.key.protocol, protocol);
	ck_assert_uint_eq(ntohs(p.key.client_port), ports ? 40000 : 0);
	ck_assert_uint_eq(ntohs(p.key.service_port), ports ? 443 : 0);
	ck_assert_uint_eq(p.key.flags | p.payload_len | p.tcp_flags, 0);
	ck_assert_uint_eq(p.ip_len, m.n - m.l3);
}

/* No more than an IP header and 8 bytes; options in the quoted header; ports where there are some. */
START_TEST(icmp_quotes)
{
	const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ESP};

	for (unsigned int i = 0; i < 3; i++) {
		for (uint32_t options = 0; options <= 40; options += 4) {
			icmp(false, 3, 4, 0);
			quote(&m, false, protocols[i], 0x4000, options);
			ck_assert_quoted_flow(false, protocols[i]);
		}
		icmp(true, 2, 0, 61);
		quote(&m, true, protocols[i], 0, 0);
		ck_assert_quoted_flow(true, protocols[i]);
	}
	/* first fragments have ports, later ones have none */
	icmp(false, 11, 1, 0);
	quote(&m, false, IPPROTO_UDP, 0x2000, 0);
	ck_assert_quoted_flow(false, IPPROTO_UDP);
	icmp(false, 11, 1, 0);
	quote(&m, false, IPPROTO_UDP, 0x2001, 0);
	frame_end(&m);
	ck_assert_reason(&m, ICMP);
}
END_TEST

/* A quote that ends early, of another version, or of a packet that the address did not send. */
START_TEST(icmp_quotes_cut)
{
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		uint32_t from, need = v6 ? 40 + 4 : 20 + 4;

		icmp(v6, v6 ? 1 : 3, 0, 61);
		from = m.n;
		quote(&m, v6, IPPROTO_TCP, 0, 0);
		for (uint32_t n = 0; n < need; n++) {
			m.n = from + n;
			frame_end(&m);
			ck_assert_reason(&m, ICMP);
		}
		m.n = from + need;
		ck_assert_quoted_flow(v6, IPPROTO_TCP);
		m.b[from] ^= 0x20; /* 4 is 6, 6 is 4 */
		ck_assert_reason(&m, ICMP);
		m.b[from] ^= 0x20;
		m.b[from + (v6 ? 23 : 15)] ^= 1;
		ck_assert_reason(&m, ICMP);
	}
	icmp(false, 3, 4, 0); /* options longer than the quote; a header shorter than any */
	quote(&m, false, IPPROTO_TCP, 0, 0);
	frame_end(&m);
	m.b[14 + 20 + 8] = 0x4f;
	ck_assert_reason(&m, ICMP);
	m.b[14 + 20 + 8] = 0x44;
	ck_assert_reason(&m, ICMP);
}
END_TEST

START_TEST(icmp_lengths)
{
	for (uint32_t n = 0; n < 8; n++) {
		ip4(&m, IPPROTO_ICMP);
		PUT(&m, "\x08\0\0\0\0\0\0");
		m.n = 34 + n;
		frame_end(&m);
		ck_assert_reason(&m, L4_HEADER);
		ip6(&m, IPPROTO_ICMPV6, 255);
		PUT(&m, "\x87\0\0\0\0\0\0");
		m.n = 54 + n;
		frame_end(&m);
		ck_assert_reason(&m, L4_HEADER);
	}
}
END_TEST

#endif
