/* SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "tg_icmp.h"
#include "unit.h"

#define HEADROOM 128
#define ROOM     2048

static uint8_t buffer[HEADROOM + ROOM], before[HEADROOM + ROOM];
static struct rte_mbuf m;
static struct tg_pkt p;

static struct tg_addr addr(const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return a;
}

/* A packet of ip_len bytes from a client to the VIP behind a link header of l3_off bytes, which
 * counts from 1; so does the payload. */
static void make(bool v6, uint8_t l3_off, uint16_t ip_len, bool df)
{
	uint8_t *frame = buffer + HEADROOM, *ip = frame + l3_off;

	for (unsigned int i = 0; i < sizeof(buffer); i++)
		buffer[i] = (uint8_t)(i - HEADROOM + 1);
	p = (struct tg_pkt){
		.key.client = addr(v6 ? "2001:db8:1::7" : "198.51.100.7"),
		.dst = addr(v6 ? "2001:db8::10" : "192.0.2.10"),
		.ip_len = ip_len,
		.l3_off = l3_off,
		.flags = v6 ? TG_PKT_V6 : 0,
	};
	ip[6] = df ? 0x40 : 0;
	m = (struct rte_mbuf){
		.buf_addr = buffer,
		.buf_len = sizeof(buffer),
		.data_off = HEADROOM,
		.data_len = (uint16_t)(l3_off + ip_len),
		.pkt_len = l3_off + ip_len,
		.nb_segs = 1,
		.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD,
	};
	memcpy(before, buffer, sizeof(buffer));
}

static uint16_t be16(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

static void check_link(const uint8_t *frame, unsigned int l3_off)
{
	const uint8_t *old = before + HEADROOM;

	ck_assert_mem_eq(frame, old + 6, 6);
	ck_assert_mem_eq(frame + 6, old, 6);
	ck_assert_mem_eq(frame + 12, old + 12, l3_off - 12);
}

START_TEST(v4_answer)
{
	const uint16_t lengths[] = {28, 548, 549, 1500};

	for (unsigned int i = 0; i < 4; i++) {
		uint8_t l3_off = i & 1 ? 18 : 14;
		uint16_t quoted = RTE_MIN(lengths[i], 548);
		const uint8_t *f, *ip;

		make(false, l3_off, lengths[i], true);
		ck_assert(tg_icmp_too_big(&m, &p, 1480));
		f = rte_pktmbuf_mtod(&m, const uint8_t *);
		ip = f + l3_off;
		check_link(f, l3_off);
		ck_assert_uint_eq(m.data_len, l3_off + 28u + quoted);
		ck_assert_uint_eq(m.pkt_len, m.data_len);
		ck_assert_uint_eq(m.ol_flags, 0);
		ck_assert_uint_eq(be16(ip + 2), 28 + quoted);
		ck_assert_uint_eq(ip[0], 0x45);
		ck_assert_uint_eq(ip[9], IPPROTO_ICMP);
		ck_assert_mem_eq(ip + 12, p.dst.b + 12, 4);
		ck_assert_mem_eq(ip + 16, p.key.client.b + 12, 4);
		ck_assert_uint_eq(rte_raw_cksum(ip, 20), 0xffff);
		ck_assert_uint_eq(ip[20] << 8 | ip[21], 0x0304);
		ck_assert_uint_eq(be16(ip + 26), 1480);
		ck_assert_uint_eq(be16(ip + 24), 0);
		ck_assert_uint_eq(rte_raw_cksum(ip + 20, 8u + quoted), 0xffff);
		ck_assert_mem_eq(ip + 28, before + HEADROOM + l3_off, quoted);
	}
}
END_TEST

START_TEST(v6_answer)
{
	const uint16_t lengths[] = {48, 1232, 1233, 1500}, mtus[] = {1460, 1280, 1279, 68};

	for (unsigned int i = 0; i < 4; i++) {
		uint16_t quoted = RTE_MIN(lengths[i], 1232), sum;
		const uint8_t *f, *ip;
		struct rte_ipv6_hdr h;

		make(true, 14, lengths[i], false);
		ck_assert(tg_icmp_too_big(&m, &p, mtus[i]));
		f = rte_pktmbuf_mtod(&m, const uint8_t *);
		ip = f + 14;
		check_link(f, 14);
		ck_assert_uint_eq(m.data_len, 14 + 48u + quoted);
		ck_assert_uint_eq(be16(ip + 4), 8 + quoted);
		ck_assert_uint_eq(ip[6], IPPROTO_ICMPV6);
		ck_assert_mem_eq(ip + 8, p.dst.b, 16);
		ck_assert_mem_eq(ip + 24, p.key.client.b, 16);
		ck_assert_uint_eq(ip[40] << 8 | ip[41], 0x0200);
		ck_assert_uint_eq(be16(ip + 46), RTE_MAX(mtus[i], 1280));
		memcpy(&h, ip, sizeof(h));
		sum = rte_ipv6_phdr_cksum(&h, 0);
		ck_assert_uint_eq(__rte_raw_cksum_reduce(
					  __rte_raw_cksum(ip + 40, 8u + quoted, sum)),
				  0xffff);
		ck_assert_mem_eq(ip + 48, before + HEADROOM + 14, quoted);
	}
}
END_TEST

/* Nothing is said, and nothing changed. */
static void silent(void)
{
	ck_assert(!tg_icmp_too_big(&m, &p, 1480));
	ck_assert_mem_eq(buffer, before, sizeof(buffer));
	ck_assert_uint_eq(m.data_off, HEADROOM - (m.buf_addr == buffer ? 0 : 1u));
}

START_TEST(no_answer)
{
	make(false, 14, 1500, false); /* may be fragmented */
	silent();
	make(false, 14, 1500, true);
	p.flags |= TG_PKT_ICMP_ERROR;
	silent();
	make(true, 14, 1500, false);
	p.flags |= TG_PKT_ICMP_ERROR;
	silent();
	make(true, 14, 1500, false);
	p.flags |= TG_PKT_FRAGMENT | TG_PKT_LATER;
	silent();
	make(true, 14, 1500, false); /* one byte of headroom too little, and just enough */
	m.data_off = 47;
	ck_assert(!tg_icmp_too_big(&m, &p, 1480));
	m.data_off = 48;
	ck_assert(tg_icmp_too_big(&m, &p, 1480));
	ck_assert_uint_eq(m.data_off, 0);
}
END_TEST

/* A capture or a first buffer that ends before the packet does: what is there is quoted. */
START_TEST(short_buffer)
{
	make(false, 14, 1500, true);
	m.data_len = m.pkt_len = 14 + 40;
	ck_assert(tg_icmp_too_big(&m, &p, 1400));
	ck_assert_uint_eq(m.data_len, 14 + 28 + 40);
	ck_assert_uint_eq(be16(rte_pktmbuf_mtod_offset(&m, const uint8_t *, 16)), 68);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("icmp");

	UNIT_CASE(s, "too big", v4_answer, v6_answer, no_answer, short_buffer);
	return unit_run(s);
}
