/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the neigh tests share: two ports with addresses of ours, frames written out byte by byte
 * (and what parse would say of them), and one packet's way through the stage. Each frame lies at
 * the end of a buffer of its own, so that AddressSanitizer sees a read beyond it.
 */
#ifndef TG_UNIT_NEIGH_FRAMES_H
#define TG_UNIT_NEIGH_FRAMES_H

#include <rte_mbuf.h>

#include "tg_encap.h"
#include "tg_neigh.h"
#include "unit.h"

#define HZ   1000000000u /* a tick is a nanosecond */
#define S(n) ((uint64_t)(n)*HZ)

struct bytes {
	uint8_t b[256];
	uint16_t len;
};

static void put(struct bytes *f, const void *from, unsigned int n)
{
	memcpy(f->b + f->len, from, n);
	f->len = (uint16_t)(f->len + n);
}

static void put16(struct bytes *f, unsigned int v)
{
	uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};

	put(f, b, 2);
}

/* RFC 1071: sum of n bytes on top of an earlier sum. */
static uint32_t sum(const uint8_t *b, unsigned int n, uint32_t total)
{
	for (unsigned int i = 0; i < n; i++)
		total += i % 2 == 0 ? (uint32_t)b[i] << 8 : b[i];
	while (total > 0xffff)
		total = (total & 0xffff) + (total >> 16);
	return total;
}

/* Of an ICMPv6 message of n bytes behind the IPv6 header at ip: 0xffff when it is right. */
static uint32_t sum6(const uint8_t *ip, unsigned int n)
{
	return sum(ip + 40, n, sum(ip + 8, 32, 58 + n));
}

static void set16(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static const uint8_t our_mac[2][6] = {{2, 0, 0, 0, 0, 0x10}, {2, 0, 0, 0, 0, 0x11}};
static const uint8_t peer_mac[6] = {2, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
static const uint8_t other_mac[6] = {2, 1, 2, 3, 4, 5};
static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static struct tg_addr addr(const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return a;
}

/* Two ports: clients on 0, servers on 1 (VLAN 7). The VIPs are known on the client side only. */
static struct tg_neigh_table *table;
static struct tg_neigh_local *local;
static struct tg_clock clock_ns;
static struct tg_bucket bucket;
static struct tg_neigh_port ports[2];

static void set_up(void)
{
	struct tg_neigh_address a[] = {
		{.address = addr("198.51.100.80"), .port = 0, .vip = true, .ping = true},
		{.address = addr("198.51.100.81"), .port = 0, .vip = true, .ping = false},
		{.address = addr("198.51.100.82"), .port = 0, .vip = true, .ping = true},
		{.address = addr("198.51.100.82"), .port = 0, .vip = true, .ping = false},
		{.address = addr("2001:db8::80"), .port = 0, .vip = true, .ping = true},
		{.address = addr("198.51.100.2"), .port = 0},
		{.address = addr("10.0.0.2"), .port = 1},
		{.address = addr("192.0.2.9"), .port = TG_NEIGH_ANY_PORT},
	};

	memcpy(ports[0].mac, our_mac[0], 6);
	memcpy(ports[1].mac, our_mac[1], 6);
	ports[1].vlan = 7;
	clock_ns = tg_clock_init(HZ);
	ck_assert_int_eq(tg_neigh_table_create(&clock_ns, -1, &table), 0);
	ck_assert_int_eq(tg_neigh_local_create(a, sizeof(a) / sizeof(a[0]), ports, 2, -1, &local),
			 0);
}

/* One packet through the stage. After it, got holds the frame. */
static struct tg_burst burst;
static struct bytes got;

static void input(const struct bytes *f, const struct tg_pkt *p, uint16_t port, uint64_t now,
		  uint16_t tailroom)
{
	struct rte_mbuf m = {.nb_segs = 1, .data_len = f->len, .pkt_len = f->len};

	m.buf_len = (uint16_t)(f->len + tailroom);
	m.buf_addr = malloc(m.buf_len);
	memcpy(m.buf_addr, f->b, f->len);
	memset(&burst, 0, sizeof(burst));
	burst.n = 1;
	burst.port = port;
	burst.now = now;
	burst.mbuf[0] = &m;
	burst.pkt[0] = *p;
	burst.out_port[0] = 99;
	tg_neigh_input(table, local, &clock_ns, &bucket, &burst);
	got.len = m.data_len;
	ck_assert_uint_eq(m.data_len, m.pkt_len);
	ck_assert_uint_le(m.data_len, m.buf_len);
	memcpy(got.b, m.buf_addr, got.len);
	free(m.buf_addr);
}

static const uint8_t tags[8] = {0x88, 0xa8, 0, 9, 0x81, 0, 0x20, 7};

/* dst, src, the last n_tags of tags, type; fills p for them. */
static void link_header(struct bytes *f, struct tg_pkt *p, const uint8_t *dst, const uint8_t *src,
			unsigned int n_tags, unsigned int type)
{
	memset(f, 0, sizeof(*f));
	memset(p, 0, sizeof(*p));
	put(f, dst, 6);
	put(f, src, 6);
	put(f, tags + 8 - 4 * n_tags, 4 * n_tags);
	put16(f, type);
	p->l3_off = (uint8_t)f->len;
	if (n_tags > 0) {
		p->flags = TG_PKT_VLAN;
		p->vlan = n_tags == 1 ? 0x2007 : 9;
	}
}

static void arp(struct bytes *f, struct tg_pkt *p, const uint8_t *dst, unsigned int n_tags,
		unsigned int op, const uint8_t *sha, const char *sip, const char *tip)
{
	static const uint8_t head[] = {0, 1, 8, 0, 6, 4}, pad[18];
	struct tg_addr from = addr(sip), to = addr(tip);

	link_header(f, p, dst, sha, n_tags, 0x0806);
	p->flags |= TG_PKT_ARP;
	put(f, head, 6);
	put16(f, op);
	put(f, sha, 6);
	put(f, from.b + 12, 4);
	put(f, pad, 6);
	put(f, to.b + 12, 4);
	put(f, pad, 18);
}

#define NS 135
#define NA 136

/* option: type of a link address option carrying mac, 0 for none. */
static void nd(struct bytes *f, struct tg_pkt *p, unsigned int type, unsigned int flags,
	       const char *src, const char *dst, const char *target, unsigned int option,
	       const uint8_t *mac)
{
	uint8_t *ip = f->b + 14;

	link_header(f, p, broadcast, peer_mac, 0, 0x86dd);
	p->key.client = addr(src);
	p->dst = addr(dst);
	p->flags |= TG_PKT_V6 | TG_PKT_ND;
	p->ttl = 255;
	p->l4_off = 54;
	p->ip_len = option ? 72 : 64;
	put16(f, 0x6000);
	put16(f, 0);
	put16(f, p->ip_len - 40u);
	put16(f, 58 << 8 | 255);
	put(f, p->key.client.b, 16);
	put(f, p->dst.b, 16);
	put16(f, type << 8);
	put16(f, 0);
	put16(f, flags << 8);
	put16(f, 0);
	put(f, addr(target).b, 16);
	if (option) {
		put16(f, option << 8 | 1);
		put(f, mac, 6);
	}
	set16(ip + 42, 0xffff - sum6(ip, p->ip_len - 40u));
}

static void ping4(struct bytes *f, struct tg_pkt *p, const char *src, const char *dst,
		  unsigned int payload)
{
	uint8_t *ip = f->b + 18, icmp[8] = {8, 0, 0, 0, 0x12, 0x34, 0, 1};

	link_header(f, p, our_mac[0], peer_mac, 1, 0x0800);
	p->key.client = addr(src);
	p->dst = addr(dst);
	p->flags |= TG_PKT_PING;
	p->ttl = 17;
	p->l4_off = 38;
	p->ip_len = (uint16_t)(28 + payload);
	put16(f, 0x4500);
	put16(f, p->ip_len);
	put16(f, 0x1111);
	put16(f, 0);
	put16(f, 17 << 8 | 1);
	put16(f, 0);
	put(f, p->key.client.b + 12, 4);
	put(f, p->dst.b + 12, 4);
	put(f, icmp, 8);
	for (unsigned int i = 0; i < payload; i++)
		f->b[f->len++] = (uint8_t)(i * 7);
	set16(ip + 10, 0xffff - sum(ip, 20, 0));
	set16(ip + 22, 0xffff - sum(ip + 20, 8 + payload, 0));
}

static void ping6(struct bytes *f, struct tg_pkt *p, const char *src, const char *dst)
{
	uint8_t *ip = f->b + 14, icmp[11] = {128, 0, 0, 0, 0x12, 0x34, 0, 1, 'o', 'd', 'd'};

	link_header(f, p, our_mac[0], peer_mac, 0, 0x86dd);
	p->key.client = addr(src);
	p->dst = addr(dst);
	p->flags |= TG_PKT_V6 | TG_PKT_PING;
	p->ttl = 17;
	p->l4_off = 54;
	p->ip_len = 51;
	put16(f, 0x6000);
	put16(f, 0);
	put16(f, 11);
	put16(f, 58 << 8 | 17);
	put(f, p->key.client.b, 16);
	put(f, p->dst.b, 16);
	put(f, icmp, 11);
	set16(ip + 42, 0xffff - sum6(ip, 11));
}

#endif
