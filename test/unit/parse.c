/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "parse_frames.h"

static struct made m;
static struct tg_pkt p;

static const char USUAL_TS[] = "\x01\x01\x08\x0a\0\0\0\x10\x11\x22\x33\x44";

#include "parse_icmp.h"
#include "parse_ip6.h"

START_TEST(tcp4)
{
	struct tg_addr client = addr_of(CLIENT4), vip = addr_of(VIP4);

	ip4(&m, IPPROTO_TCP);
	tcp(&m, TG_TCP_ACK | TG_TCP_PSH, "", 0);
	zeros(&m, 100);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert(tg_addr_eq(&p.key.client, &client) && tg_addr_eq(&p.dst, &vip));
	ck_assert_uint_eq(p.key.client_port, rte_cpu_to_be_16(40000));
	ck_assert_uint_eq(p.key.service_port, rte_cpu_to_be_16(443));
	ck_assert_uint_eq(p.key.protocol, IPPROTO_TCP);
	ck_assert_uint_eq(p.key.flags, 0);
	ck_assert_uint_eq(p.key.service, TG_NO_SERVICE);
	ck_assert_uint_eq(p.seq, 0x01020304);
	ck_assert_uint_eq(p.ack, 0x05060708);
	ck_assert_uint_eq(p.tcp_flags, TG_TCP_ACK | TG_TCP_PSH);
	ck_assert_uint_eq(p.payload_len, 100);
	ck_assert_uint_eq(p.ip_len, 140);
	ck_assert_uint_eq(p.flags, 0);
	ck_assert_uint_eq(p.l3_off, 14);
	ck_assert_uint_eq(p.l4_off, 34);
	ck_assert_uint_eq(p.ttl, 61);
	ck_assert_uint_eq(p.tsecr, 0);
	ck_assert_uint_eq(p.vlan, 0);
}
END_TEST

START_TEST(tcp6)
{
	struct tg_addr client = addr_of(CLIENT6), vip = addr_of(VIP6);

	ip6(&m, IPPROTO_TCP, 55);
	tcp(&m, TG_TCP_SYN, "\x02\x04\x05\xa0", 4);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert(tg_addr_eq(&p.key.client, &client) && tg_addr_eq(&p.dst, &vip));
	ck_assert_uint_eq(p.flags, TG_PKT_V6);
	ck_assert_uint_eq(p.seq, 0x01020304);
	ck_assert_uint_eq(p.ack, 0); /* no ACK: the field means nothing */
	ck_assert_uint_eq(p.ip_len, 64);
	ck_assert_uint_eq(p.l4_off, 54);
	ck_assert_uint_eq(p.payload_len, 0);
	ck_assert_uint_eq(p.ttl, 55);
}
END_TEST

static bool timestamps(const char *options, uint32_t n, uint8_t flags)
{
	ip4(&m, IPPROTO_TCP);
	tcp(&m, flags, options, n);
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	return p.flags & TG_PKT_TS;
}

START_TEST(tcp_timestamps)
{
	/* the usual layout, then in other places: after MSS and SACK-permitted, last, unaligned */
	ck_assert(timestamps(USUAL_TS, 12, TG_TCP_ACK));
	ck_assert_uint_eq(p.tsecr, 0x11223344);
	ck_assert(
		timestamps("\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\1\x55\x66\x77\x88\1\x03\x03\x07",
			   20, TG_TCP_ACK));
	ck_assert_uint_eq(p.tsecr, 0x55667788);
	ck_assert(timestamps("\x08\x0a\0\0\0\1\xff\xff\xff\xff\0\0", 12, TG_TCP_ACK));
	ck_assert_uint_eq(p.tsecr, UINT32_MAX);
	ck_assert(timestamps("\x01\x01\x05\x0a\0\0\0\1\0\0\0\2\x01\x01\x08\x0a\0\0\0\1\0\0\0\x09",
			     24, TG_TCP_ACK));
	ck_assert_uint_eq(p.tsecr, 9);
	/* present, but without ACK the echo is not valid */
	ck_assert(timestamps(USUAL_TS, 12, TG_TCP_SYN));
	ck_assert_uint_eq(p.tsecr, 0);
}
END_TEST

START_TEST(tcp_options_malformed)
{
	static const struct {
		const char *text, *options;
		uint32_t n;
	} bad[] = {
		{"end before it", "\0\2\x08\x0a\0\0\0\1\0\0\0\2", 12},
		{"length 0", "\x05\0\x08\x0a\0\0\0\1\0\0\0\2", 12},
		{"length 1", "\x05\1\x08\x0a\0\0\0\1\0\0\0\2", 12},
		{"beyond the header", "\x05\x0d\x08\x0a\0\0\0\1\0\0\0\2", 12},
		{"timestamps of 9 bytes", "\1\1\x08\x09\0\0\0\1\0\0\0\1", 12},
		{"timestamps cut by the header", "\1\1\1\1\1\1\1\1\x08\x0a\0\0", 12},
		{"kind at the last byte", "\1\1\1\1\1\1\1\1\1\1\1\x08", 12},
		{"only 4 bytes", "\1\1\x08\x0a", 4},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!timestamps(bad[i].options, bad[i].n, TG_TCP_ACK), "%s", bad[i].text);
}
END_TEST

START_TEST(tcp_lengths)
{
	for (uint32_t n = 0; n < 20; n++) { /* shorter than a TCP header */
		ip4(&m, IPPROTO_TCP);
		zeros(&m, n);
		frame_end(&m);
		ck_assert_reason(&m, L4_HEADER);
	}
	for (unsigned int words = 0; words < 16; words++) {
		ip4(&m, IPPROTO_TCP);
		tcp(&m, TG_TCP_ACK, "\1\1\1\1\1\1\1\1", 8);
		m.b[46] = (uint8_t)(words << 4);
		frame_end(&m);
		if (words >= 5 && words <= 7)
			ck_assert_reason(&m, NONE);
		else
			ck_assert_reason(&m, L4_HEADER);
	}
}
END_TEST

/* RFC 8446 section 5.1; also when the rest of the payload is not at hand. */
START_TEST(tcp_tls)
{
	ip4(&m, IPPROTO_TCP);
	tcp(&m, TG_TCP_ACK, "", 0);
	PUT(&m, "\x16\x03\x01\0\x20\x01");
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert(p.flags & TG_PKT_TLS);
	ck_assert_int_eq(parse_cut(&m, 54 + 2, &p), TG_DROP_NONE);
	ck_assert(p.flags & TG_PKT_TLS);
	ck_assert_int_eq(parse_cut(&m, 54 + 1, &p), TG_DROP_NONE);
	ck_assert(!(p.flags & TG_PKT_TLS));
	m.b[54] = 0x17; /* application data */
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert(!(p.flags & TG_PKT_TLS));
}
END_TEST

/* A bare ACK of 54 bytes, padded to Ethernet's least: padding is no payload. */
START_TEST(padding_is_no_payload)
{
	ip4(&m, IPPROTO_TCP);
	tcp(&m, TG_TCP_ACK, "", 0);
	frame_end(&m);
	PUT(&m, "\x16\x03\x01\x16\x03\x01");
	ck_assert_uint_eq(m.n, 60);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.payload_len, 0);
	ck_assert_uint_eq(p.ip_len, 40);
	ck_assert_uint_eq(p.flags, 0);
}
END_TEST

START_TEST(udp_payloads)
{
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		for (uint16_t n = 0; n < 3; n++) {
			if (v6)
				ip6(&m, IPPROTO_UDP, 64);
			else
				ip4(&m, IPPROTO_UDP);
			udp(&m, n);
			frame_end(&m);
			zeros(&m, 10); /* padding */
			ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
			ck_assert_uint_eq(p.payload_len, n);
			ck_assert_uint_eq(p.key.client_port, rte_cpu_to_be_16(40000));
			ck_assert_uint_eq(p.key.service_port, rte_cpu_to_be_16(53));
			ck_assert_uint_eq(p.seq | p.ack | p.tcp_flags, 0);
		}
	}
}
END_TEST

/* Type 1 to 4, three bytes of 0, 32 bytes or more. */
START_TEST(wireguard)
{
	for (unsigned int type = 0; type < 6; type++) {
		ip4(&m, IPPROTO_UDP);
		udp(&m, 32);
		frame_end(&m);
		m.b[42] = (uint8_t)type;
		ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.flags, type >= 1 && type <= 4 ? TG_PKT_TUNNEL : 0);
		for (unsigned int k = 43; k < 46; k++) {
			m.b[k] = 1;
			ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
			ck_assert_uint_eq(p.flags, 0);
			m.b[k] = 0;
		}
	}
	ip4(&m, IPPROTO_UDP);
	udp(&m, 31);
	frame_end(&m);
	m.b[42] = 4;
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.flags, 0);
}
END_TEST

START_TEST(udp_lengths)
{
	ip4(&m, IPPROTO_UDP);
	udp(&m, 10);
	frame_end(&m);
	for (uint16_t n = 0; n < 30; n++) {
		set16(&m, 38, n);
		if (n >= 8 && n <= 18) { /* shorter than IP says: the rest is not UDP's */
			ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
			ck_assert_uint_eq(p.payload_len, n - 8);
		} else {
			ck_assert_reason(&m, L4_HEADER);
		}
	}
	for (uint32_t n = 0; n < 8; n++) {
		ip4(&m, IPPROTO_UDP);
		zeros(&m, n);
		frame_end(&m);
		ck_assert_reason(&m, L4_HEADER);
		m.b[23] = IPPROTO_UDPLITE; /* 0 is a length there */
		ck_assert_reason(&m, L4_HEADER);
	}
}
END_TEST

/* Its length field says what the checksum covers (RFC 3828): 0 is all, 8 the header. */
START_TEST(udp_lite)
{
	ip4(&m, IPPROTO_UDPLITE);
	udp(&m, 10);
	frame_end(&m);
	for (uint16_t n = 0; n < 30; n++) {
		set16(&m, 38, n);
		if (n == 0 || (n >= 8 && n <= 18)) {
			ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
			ck_assert_uint_eq(p.payload_len, 10);
			ck_assert_uint_eq(p.key.service_port, rte_cpu_to_be_16(53));
		} else {
			ck_assert_reason(&m, L4_HEADER);
		}
	}
}
END_TEST

/* Protocols whose ports are not read, and ones of the other family: addresses only. */
START_TEST(portless)
{
	static const uint8_t some[] = {IPPROTO_ESP,    IPPROTO_AH,   IPPROTO_GRE,
				       IPPROTO_SCTP,   IPPROTO_IPV6, IPPROTO_NONE,
				       IPPROTO_ICMPV6, 255,          0};

	for (size_t i = 0; i < sizeof(some); i++) {
		ip4(&m, some[i]);
		PUT(&m, "\x9c\x40\x01\xbb\x80\0\0\0");
		frame_end(&m);
		ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.key.protocol, some[i]);
		ck_assert_uint_eq(p.key.client_port | p.key.service_port, 0);
		ck_assert_uint_eq(p.flags, 0);
		ck_assert_uint_eq(p.payload_len, 8);
		ck_assert_uint_eq(p.l4_off, 34);
	}
	ip4(&m, IPPROTO_ESP); /* nothing at all after the header */
	frame_end(&m);
	ck_assert_reason(&m, NONE);
	ip6(&m, IPPROTO_ICMP, 64); /* IPv4's ICMP */
	PUT(&m, "\x08\0\0\0\0\0\0\0");
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.flags, TG_PKT_V6);
	ip6(&m, IPPROTO_NONE, 64); /* RFC 8200 section 4.7 */
	frame_end(&m);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.ip_len, 40);
	ck_assert_uint_eq(p.payload_len, 0);
}
END_TEST

START_TEST(vlan_tags)
{
	for (unsigned int tags = 0; tags < 5; tags++) {
		link_tagged(&m, 0x0800, tags);
		ip4_header(&m, IPPROTO_UDP, 0, "", 0);
		udp(&m, 4);
		frame_end(&m);
		if (tags > 2) {
			ck_assert_reason(&m, VLAN_DEPTH);
			continue;
		}
		ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.l3_off, 14 + 4 * tags);
		ck_assert_uint_eq(p.l4_off, 34 + 4 * tags);
		ck_assert_uint_eq(p.vlan, tags > 0 ? 0x2001 : 0); /* the outer one */
		ck_assert_int_eq((p.flags & TG_PKT_VLAN) != 0, tags > 0);
		ck_assert_uint_eq(p.key.service_port, rte_cpu_to_be_16(53));
	}
}
END_TEST

START_TEST(vlan_types)
{
	static const uint16_t types[] = {0x8100, 0x88a8, 0x9100};

	for (size_t i = 0; i < 3; i++) {
		link_tagged(&m, 0x86dd, 2);
		set16(&m, 12, types[i]);
		m.n = 14 + 8;
		ck_assert_reason(&m, FRAME_SHORT); /* the tags were read: IPv6 is what is missing */
		ck_assert_int_eq(parse(&m, &p), TG_DROP_FRAME_SHORT);
		ck_assert_uint_eq(p.flags, TG_PKT_VLAN | TG_PKT_V6);
		ck_assert_uint_eq(p.l3_off, 22);
	}
}
END_TEST

START_TEST(other_links)
{
	static const struct {
		uint16_t type;
		enum tg_reason why;
	} known[] = {{0x8847, TG_DROP_MPLS},   {0x8848, TG_DROP_MPLS},   {0x0026, TG_DROP_NOT_IP},
		     {0x88cc, TG_DROP_NOT_IP}, {0x8863, TG_DROP_NOT_IP}, {0x0000, TG_DROP_NOT_IP},
		     {0x0806, TG_DROP_NONE},   {0xffff, TG_DROP_NOT_IP}, {0x0600, TG_DROP_NOT_IP}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		for (unsigned int tags = 0; tags < 3; tags++) {
			link_tagged(&m, known[i].type, tags);
			zeros(&m, 46);
			ck_assert_int_eq(parse(&m, &p), known[i].why);
			ck_assert_uint_eq(p.l3_off, 14 + 4 * tags);
			ck_assert_int_eq((p.flags & TG_PKT_ARP) != 0, known[i].type == 0x0806);
		}
	}
}
END_TEST

START_TEST(arp)
{
	link_tagged(&m, 0x0806, 0);
	zeros(&m, 28);
	ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
	ck_assert_uint_eq(p.flags, TG_PKT_ARP);
	m.n--;
	ck_assert_reason(&m, FRAME_SHORT);
}
END_TEST

START_TEST(ip4_header_faults)
{
	for (unsigned int first = 0; first < 256; first++) {
		unsigned int ihl = first & 15;

		ip4(&m, IPPROTO_UDP);
		zeros(&m, 40); /* options of zeros end at once */
		udp(&m, 0);
		frame_end(&m);
		set16(&m, 14 + 4 * ihl + 4, 8); /* the UDP length, wherever it is */
		m.b[14] = (uint8_t)first;
		if (first >> 4 != 4 || ihl < 5)
			ck_assert_reason(&m, IP_HEADER);
		else
			ck_assert_reason(&m, NONE);
	}
}
END_TEST

START_TEST(ip4_lengths)
{
	ip4(&m, IPPROTO_ESP);
	zeros(&m, 30);
	for (unsigned int n = 0; n < 65536; n++) {
		set16(&m, 16, (uint16_t)n);
		if (n >= 20 && n <= 50) {
			ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
			ck_assert_uint_eq(p.ip_len, n);
			ck_assert_uint_eq(p.payload_len, n - 20);
		} else {
			ck_assert_int_eq(parse(&m, &p), TG_DROP_IP_LENGTH);
		}
	}
}
END_TEST

static enum tg_reason options4(const char *options, uint32_t n)
{
	link_tagged(&m, 0x0800, 0);
	ip4_header(&m, IPPROTO_TCP, 0, options, n);
	tcp(&m, TG_TCP_SYN, "", 0);
	frame_end(&m);
	return parse(&m, &p);
}

START_TEST(ip4_options)
{
	static const struct {
		const char *text, *options;
		uint32_t n;
		enum tg_reason why;
	} known[] = {
		{"record route", "\x07\x07\x04\0\0\0\0\0", 8, TG_DROP_NONE},
		{"time stamp", "\x44\x0c\x05\0\0\0\0\0\0\0\0\0", 12, TG_DROP_NONE},
		{"security", "\x82\x0b\0\0\0\0\0\0\0\0\0\0", 12, TG_DROP_NONE},
		{"router alert", "\x94\x04\0\0", 4, TG_DROP_NONE},
		{"NOPs", "\1\1\1\1", 4, TG_DROP_NONE},
		{"loose source route", "\x83\x07\x04\x0a\0\0\1\0", 8, TG_DROP_IP_OPTIONS},
		{"strict source route", "\x89\x07\x04\x0a\0\0\1\0", 8, TG_DROP_IP_OPTIONS},
		{"source route after another", "\x94\x04\0\0\1\x83\x03\x04", 8, TG_DROP_IP_OPTIONS},
		{"source route after the end", "\0\x83\x03\x04", 4, TG_DROP_NONE},
		{"length 0", "\x07\0\0\0", 4, TG_DROP_IP_HEADER},
		{"length 1", "\x07\1\0\0", 4, TG_DROP_IP_HEADER},
		{"beyond the header", "\x07\x05\0\0", 4, TG_DROP_IP_HEADER},
		{"no room for a length", "\1\1\1\x07", 4, TG_DROP_IP_HEADER},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		ck_assert_msg(options4(known[i].options, known[i].n) == known[i].why, "%s: %s",
			      known[i].text, tg_reason_name(known[i].why));
		if (known[i].why != TG_DROP_NONE)
			continue;
		ck_assert_uint_eq(p.l4_off, 34 + known[i].n);
		ck_assert_uint_eq(p.key.service_port, rte_cpu_to_be_16(443));
	}
}
END_TEST

START_TEST(ip4_fragments)
{
	static const struct {
		uint16_t word;
		uint16_t flags;
	} known[] = {{0x0000, 0},
		     {0x4000, 0},
		     {0x8000, 0},
		     {0x2000, TG_PKT_FRAGMENT},
		     {0x2001, TG_PKT_FRAGMENT | TG_PKT_LATER},
		     {0x0001, TG_PKT_FRAGMENT | TG_PKT_LATER},
		     {0x1000, TG_PKT_FRAGMENT | TG_PKT_LATER},
		     {0x1fff, TG_PKT_FRAGMENT | TG_PKT_LATER}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool fragment = known[i].flags != 0, later = known[i].flags & TG_PKT_LATER;

		link_tagged(&m, 0x0800, 0);
		ip4_header(&m, IPPROTO_UDP, known[i].word, "", 0);
		udp(&m, 8);
		if (fragment)
			set16(&m, 38, 1000); /* the whole datagram's, or any bytes */
		frame_end(&m);
		ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.flags, known[i].flags);
		ck_assert_uint_eq(p.key.flags, fragment ? TG_KEY_FRAGMENT : 0);
		ck_assert_uint_eq(p.key.service_port, fragment ? 0 : rte_cpu_to_be_16(53));
		ck_assert_uint_eq(p.key.client_port, fragment ? 0 : rte_cpu_to_be_16(40000));
		ck_assert_uint_eq(p.l4_off, later ? 0 : 34);
		ck_assert_uint_eq(p.payload_len, fragment ? 16 : 8);
	}
}
END_TEST

/* A fragment may be shorter than the header it begins. */
START_TEST(tiny_fragments)
{
	static const uint8_t some[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP};

	for (size_t i = 0; i < sizeof(some); i++) {
		link_tagged(&m, 0x0800, 0);
		ip4_header(&m, some[i], 0x2000, "", 0);
		PUT(&m, "\x08\0\0\0\0\0\0\0");
		frame_end(&m);
		ck_assert_int_eq(parse(&m, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.flags, TG_PKT_FRAGMENT); /* and no ping to be answered */
		ck_assert_uint_eq(p.l4_off, 34);
	}
}
END_TEST

/* Every length of every kind of packet, whole on the wire but cut by the capture. */
START_TEST(cut_captures)
{
	uint32_t need;

	for (unsigned int kind = 0; kind < 4; kind++) {
		if (kind < 2)
			ip4(&m, kind == 0 ? IPPROTO_TCP : IPPROTO_UDP);
		else
			ip6(&m, kind == 2 ? IPPROTO_TCP : IPPROTO_UDP, 64);
		if (kind % 2 == 0)
			tcp(&m, TG_TCP_ACK, USUAL_TS, 12);
		else
			udp(&m, 0);
		zeros(&m, 1000);
		if (kind % 2 == 1)
			set16(&m, m.n - 1004, 1008);
		frame_end(&m);
		need = (kind < 2 ? 34 : 54) + (kind % 2 == 0 ? 14 : 6);
		for (uint32_t len = 0; len < m.n; len++) {
			enum tg_reason why = parse_cut(&m, len, &p);

			ck_assert_int_eq(why, len < need ? TG_DROP_FRAME_SHORT : TG_DROP_NONE);
			ck_assert(p.flags & TG_PKT_CUT);
			if (why != TG_DROP_NONE)
				continue;
			ck_assert_uint_eq(p.payload_len, 1000); /* as it was on the wire */
			/* timestamps only if all of them are there */
			ck_assert_int_eq((p.flags & TG_PKT_TS) != 0,
					 kind % 2 == 0 && len >= need - 14 + 32);
		}
	}
}
END_TEST

START_TEST(short_frames)
{
	ip4(&m, IPPROTO_TCP);
	tcp(&m, TG_TCP_ACK, "", 0);
	frame_end(&m);
	for (m.n = 0; m.n < 54; m.n++) {
		if (m.n < 34)
			ck_assert_reason(&m, FRAME_SHORT);
		else
			ck_assert_reason(&m, IP_LENGTH);
	}
	ip6(&m, IPPROTO_UDP, 64);
	ext6(&m, IPPROTO_DSTOPTS, 3);
	udp(&m, 0);
	frame_end(&m);
	for (uint32_t len = 54; len < 54 + 32 + 6; len++)
		ck_assert_int_eq(parse_cut(&m, len, &p), TG_DROP_FRAME_SHORT);
}
END_TEST

/* Cut inside a tag, IPv4 options, an ICMP header, and behind timestamps that stand first. */
START_TEST(cut_anywhere)
{
	link_tagged(&m, 0x0800, 2);
	ip4_header(&m, IPPROTO_ICMP, 0, "\x94\x04\0\0\x94\x04\0\0", 8);
	PUT(&m, "\x08\0\0\0\0\1\0\1");
	frame_end(&m);
	for (uint32_t len = 0; len < m.n; len++) {
		ck_assert_int_eq(parse_cut(&m, len, &p),
				 len < 52 ? TG_DROP_FRAME_SHORT : TG_DROP_NONE);
		ck_assert_int_eq((p.flags & TG_PKT_PING) != 0, len >= 52);
	}
	ip4(&m, IPPROTO_TCP);
	tcp(&m, TG_TCP_ACK, "\x08\x0a\0\0\0\1\0\0\0\7\0\0", 12);
	frame_end(&m);
	for (uint32_t len = 54; len < m.n; len++) {
		ck_assert_int_eq(parse_cut(&m, len, &p), TG_DROP_NONE);
		ck_assert_uint_eq(p.tsecr, len >= 64 ? 7 : 0);
	}
}
END_TEST

/* Bytes of any value in place of any one byte: nothing is read that is not there, and what is
 * accepted lies in the frame. */
START_TEST(mutations)
{
	static struct made good;

	for (unsigned int kind = 0; kind < 3; kind++) {
		if (kind == 0) {
			ip4(&m, IPPROTO_TCP);
			tcp(&m, TG_TCP_ACK, USUAL_TS, 12);
		} else {
			ip6(&m, IPPROTO_UDP, 64);
			ext6(&m, IPPROTO_HOPOPTS, 0);
			if (kind == 2)
				fragment6(&m, 0);
			udp(&m, 4);
		}
		frame_end(&m);
		good = m;
		for (uint32_t i = 0; i < good.n * 256; i++) {
			m.b[i / 256] = (uint8_t)i;
			if (parse(&m, &p) == TG_DROP_NONE && !(p.flags & TG_PKT_ARP)) {
				ck_assert_uint_le(p.l3_off + p.ip_len, m.n);
				ck_assert_uint_le(p.l4_off, m.n);
				ck_assert_uint_lt(p.payload_len, p.ip_len);
			}
			m.b[i / 256] = good.b[i / 256];
		}
	}
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 20;
}

static void make_kind(unsigned int kind)
{
	if (kind == 0) {
		ip4(&m, IPPROTO_TCP);
		tcp(&m, TG_TCP_ACK, USUAL_TS, 12);
	} else {
		ip6(&m, kind == 1 ? IPPROTO_TCP : IPPROTO_UDP, 64);
		for (unsigned int i = 1; i < kind; i++)
			ext6(&m, i == 1 ? IPPROTO_HOPOPTS : IPPROTO_DSTOPTS, 0);
		if (kind == 1)
			tcp(&m, TG_TCP_ACK, USUAL_TS, 12);
		else
			udp(&m, 4);
	}
	frame_end(&m);
}

/* Several bytes at once, of values that mean something, and the end perhaps missing. */
START_TEST(random_mutations)
{
	static const uint8_t telling[] = {0, 1, 4, 6, 8, 17, 43, 44, 51, 58, 60, 131, 255};
	unsigned int accepted = 0;
	uint64_t r = 20260301;

	for (unsigned int i = 0; i < 50000; i++) {
		make_kind((unsigned int)(next_random(&r) % 4));
		for (uint64_t left = 1 + next_random(&r) % 4; left > 0; left--) {
			uint64_t v = next_random(&r);

			m.b[12 + (v >> 8) % (m.n - 12)] =
				v & 1 ? (uint8_t)(v >> 32) : telling[(v >> 32) % sizeof(telling)];
		}
		if (next_random(&r) % 4 == 0)
			m.n = (uint32_t)(next_random(&r) % m.n);
		if (parse(&m, &p) != TG_DROP_NONE || (p.flags & TG_PKT_ARP))
			continue;
		accepted++;
		ck_assert_uint_le(p.l3_off + p.ip_len, m.n);
		ck_assert_uint_le(p.l4_off + p.payload_len, m.n);
		ck_assert_int_eq((p.flags & TG_PKT_FRAGMENT) != 0, p.key.flags == TG_KEY_FRAGMENT);
		ck_assert(!(p.flags & TG_PKT_FRAGMENT) || p.key.service_port == 0);
		ck_assert((p.tcp_flags & TG_TCP_ACK) || (p.ack == 0 && p.tsecr == 0));
	}
	ck_assert_uint_gt(accepted, 5000);
}
END_TEST

static struct rte_mempool *pool;

static struct rte_mbuf *to_mbuf(uint32_t first)
{
	struct rte_mbuf *a = rte_pktmbuf_alloc(pool), *b;

	memcpy(rte_pktmbuf_append(a, (uint16_t)first), m.b, first);
	if (first < m.n) {
		b = rte_pktmbuf_alloc(pool);
		memcpy(rte_pktmbuf_append(b, (uint16_t)(m.n - first)), m.b + first, m.n - first);
		ck_assert_int_eq(rte_pktmbuf_chain(a, b), 0);
	}
	return a;
}

static void make_pool(void)
{
	pool = rte_pktmbuf_pool_create("parse", 127, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	ck_assert_ptr_nonnull(pool);
}

START_TEST(burst_of_all_kinds)
{
	static struct tg_burst b;

	make_pool();
	for (b.n = 0; b.n < TG_BURST_MAX; b.n++) {
		ip4(&m, IPPROTO_UDP);
		udp(&m, b.n);
		frame_end(&m);
		if (b.n % 3 == 1)
			m.b[14] = 0x44;
		b.mbuf[b.n] = to_mbuf(m.n);
		b.wire_len[b.n] = m.n;
	}
	b.verdict[6] = TG_TAKEN;
	b.pkt[6].payload_len = 77;
	tg_parse_burst(&b);
	for (unsigned int i = 0; i < b.n; i++) {
		rte_pktmbuf_free(b.mbuf[i]);
		if (i == 6) { /* not on its way: not touched */
			ck_assert_int_eq(b.verdict[i], TG_TAKEN);
			ck_assert_uint_eq(b.pkt[i].payload_len, 77);
			continue;
		}
		ck_assert_int_eq(b.verdict[i], i % 3 == 1 ? TG_DROP : TG_FORWARD);
		ck_assert_int_eq(b.reason[i], i % 3 == 1 ? TG_DROP_IP_HEADER : TG_DROP_NONE);
		if (i % 3 != 1)
			ck_assert_uint_eq(b.pkt[i].payload_len, i);
	}
	rte_mempool_free(pool);
}
END_TEST

static enum tg_reason parse_split(uint32_t first, uint32_t wire_len)
{
	static struct tg_burst b;

	memset(&b, 0, sizeof(b));
	b.n = 1;
	b.mbuf[0] = to_mbuf(first);
	b.wire_len[0] = wire_len;
	tg_parse_burst(&b);
	rte_pktmbuf_free(b.mbuf[0]);
	p = b.pkt[0];
	ck_assert_int_eq(b.verdict[0] == TG_DROP, b.reason[0] != TG_DROP_NONE);
	return (enum tg_reason)b.reason[0];
}

START_TEST(burst_segments)
{
	make_pool();
	ip4(&m, IPPROTO_TCP);
	tcp(&m, TG_TCP_ACK, USUAL_TS, 12);
	zeros(&m, 50);
	frame_end(&m);
	for (uint32_t first = 1; first < m.n; first++) {
		enum tg_reason why = parse_split(first, m.n);

		/* headers, options too, are in the first buffer or it is dropped */
		ck_assert_int_eq(why, first < 66 ? TG_DROP_SEGMENTED : TG_DROP_NONE);
		if (why == TG_DROP_NONE)
			ck_assert_uint_eq(p.flags, TG_PKT_TS); /* several buffers are not a cut */
	}
	ck_assert_int_eq(parse_split(80, m.n + 1), TG_DROP_NONE);
	ck_assert(p.flags & TG_PKT_CUT);
	ip4(&m, IPPROTO_UDP);
	udp(&m, 50);
	frame_end(&m);
	ck_assert_int_eq(parse_split(42, m.n), TG_DROP_NONE);
	ck_assert_uint_eq(p.payload_len, 50);
	rte_mempool_free(pool);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("parse");

	UNIT_CASE(s, "tcp", tcp4, tcp6, tcp_timestamps, tcp_options_malformed, tcp_lengths, tcp_tls,
		  padding_is_no_payload);
	UNIT_CASE(s, "udp", udp_payloads, wireguard, udp_lengths, udp_lite);
	UNIT_CASE(s, "others", portless, icmp_types, icmp_lengths, icmp_quotes, icmp_quotes_cut);
	UNIT_CASE(s, "link", vlan_tags, vlan_types, other_links, arp);
	UNIT_CASE(s, "ip4", ip4_header_faults, ip4_lengths, ip4_options, ip4_fragments,
		  tiny_fragments);
	UNIT_CASE(s, "ip6", ip6_header_faults, ip6_no_wrap, ip6_extensions,
		  ip6_icmp_behind_extensions, ip6_extension_limits, ip6_extension_faults,
		  ip6_fragments, ip6_fragments_share_a_key);
	UNIT_CASE(s, "short", cut_captures, short_frames, cut_anywhere, mutations,
		  random_mutations);
	UNIT_CASE(s, "burst", burst_of_all_kinds, burst_segments);
	return s;
}
UNIT_MAIN_EAL(suite)
