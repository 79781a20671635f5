/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames are written out here byte by byte, the expected ones too, with a checksum that knows
 * nothing of the library's.
 */
#include <rte_mbuf.h>

#include "encap_frames.h"
#include "tg_encap.h"
#include "unit.h"

static const uint8_t local4[4] = {10, 0, 0, 1}, remote4[4] = {10, 0, 0, 77};
static const uint8_t local6[16] = {0xfd, [15] = 1}, remote6[16] = {0xfd, [15] = 0x77};
static uint64_t server_word;

static const uint8_t others4[2][4] = {{10, 0, 0, 78}, {10, 0, 9, 79}};
static const uint8_t others6[2][16] = {{0xfd, [15] = 0x78}, {0xfd, [14] = 9, [15] = 0x79}};

enum kind { L2, IPIP4, IPIP6, GRE4, GRE6, GUE4, GUE6 };
#define KINDS 7

static bool is_v6(enum kind kind)
{
	return kind == IPIP6 || kind == GRE6 || kind == GUE6;
}

/* Bytes in front of the client's packet. */
static unsigned int front(enum kind kind, unsigned int alternatives)
{
	static const unsigned int most[KINDS][3] = {
		[IPIP4] = {20, 20, 20},
		[IPIP6] = {40, 40, 40},
		[GRE4] = {20 + 4, 20 + 4, 20 + 4},
		[GRE6] = {40 + 4, 40 + 4, 40 + 4},
		[GUE4] = {20 + 8 + 4, 20 + 8 + 4 + 4 + 4, 20 + 8 + 4 + 4 + 8},
		[GUE6] = {40 + 8 + 4, 40 + 8 + 4 + 4 + 16, 40 + 8 + 4 + 4 + 32},
	};

	return most[kind][alternatives];
}

static struct tg_addr address(const uint8_t *bytes, bool v6)
{
	struct tg_addr a;
	uint32_t be;

	if (v6) {
		memcpy(a.b, bytes, 16);
		return a;
	}
	memcpy(&be, bytes, 4);
	return tg_addr_from_v4(be);
}

static struct tg_addr other(unsigned int i, bool v6)
{
	return address(v6 ? others6[i] : others4[i], v6);
}

static struct tg_route route(enum kind kind, uint16_t vlan, bool decrement)
{
	struct tg_route r = {
		.mac = &server_word,
		.out_port = 3,
		.mtu = 1500,
		.vlan = vlan,
		.forward = kind == L2     ? TG_FORWARD_L2
			   : kind >= GUE4 ? TG_FORWARD_GUE
			   : kind >= GRE4 ? TG_FORWARD_GRE
					  : TG_FORWARD_IPIP,
		.decrement_ttl = decrement,
		.local = address(is_v6(kind) ? local6 : local4, is_v6(kind)),
		.remote = address(is_v6(kind) ? remote6 : remote4, is_v6(kind)),
	};

	server_word = tg_mac_word(server_mac);
	memcpy(r.src_mac, src_mac, 6);
	return r;
}

/* Bit for bit as the draft draws it: UDP, then GUE, then its private data. */
static void put_gue(struct frame *f, const struct inner *in, bool v6, unsigned int alternatives,
		    uint64_t hash)
{
	unsigned int words = alternatives == 0 ? 0 : 1 + alternatives * (v6 ? 4 : 1);

	put16(f, 49152 + hash % 16384); /* 14 bits in the range of dynamic ports */
	put16(f, 6080);
	put16(f, 8 + 4 + 4 * words + inner_len(in));
	put16(f, 0); /* no checksum */
	put16(f,
	      (0 << 14 | 0 << 13 | words << 8) | (in->v6 ? 41 : 4)); /* variant, C, hlen, proto */
	put16(f, 0);                                                 /* no flags: no extensions */
	if (alternatives == 0)
		return;
	put16(f, 0);            /* type */
	put16(f, alternatives); /* the first is next; how many there are */
	for (unsigned int i = 0; i < alternatives; i++)
		put(f, v6 ? others6[i] : others4[i], v6 ? 16 : 4);
}

/* RFC 2784 section 2.1. */
static void put_gre(struct frame *f, const struct inner *in)
{
	put16(f, 0); /* no checksum, reserved bits, version 0 */
	put16(f, in->v6 ? 0x86dd : 0x0800);
}

/* The frame as it must leave. */
static void leaves(struct frame *f, const struct inner *in, enum kind kind, unsigned int vlan,
		   bool decrement, unsigned int id, unsigned int alternatives, uint64_t hash)
{
	static const unsigned int priority[] = {0, 0x3000, 0xa000};
	static const uint8_t zeros[64];
	bool v4 = kind == L2 ? !in->v6 : !is_v6(kind), df = in->v6 || in->df;
	unsigned int len = front(kind, alternatives) + inner_len(in);
	unsigned int protocol = kind >= GUE4 ? 17 : kind >= GRE4 ? 47 : in->v6 ? 41 : 4;

	f->len = 0;
	put(f, server_mac, 6);
	put(f, src_mac, 6);
	if (vlan != 0) {
		put16(f, 0x8100);
		put16(f, priority[in->tags] | vlan);
	} else {
		put_inner_tags(f, in->tags);
	}
	put16(f, v4 ? 0x0800 : 0x86dd);
	if (kind != L2 && v4)
		put_v4(f, in->tos, len, df ? 0 : id, df, 64, protocol, local4, remote4);
	else if (kind != L2)
		put_v6(f, in->tos, len - 40, 64, protocol, local6, remote6);
	if (kind >= GUE4)
		put_gue(f, in, !v4, alternatives, hash);
	else if (kind >= GRE4)
		put_gre(f, in);
	put_inner_ip(f, in, in->ttl - decrement);
	if (kind == L2)
		put(f, zeros, in->padding);
	f->len -= in->cut;
}

static struct rte_mempool *pool; /* buffers of 128 + 2048 bytes */

static void make_pool(void)
{
	char name[32];

	/* a name of its own: what a failed test leaves behind is in nobody's way */
	snprintf(name, sizeof(name), "encap-%d", (int)getpid());
	pool = rte_pktmbuf_pool_create(name, 63, 0, 0, RTE_PKTMBUF_HEADROOM + FRAME_MAX, 0);
	ck_assert_ptr_nonnull(pool);
}

static void free_pool(void)
{
	ck_assert_uint_eq(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
}

static struct rte_mbuf *mbuf_of(const void *bytes, unsigned int len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	ck_assert_ptr_nonnull(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	return m;
}

static void check_frame(const struct rte_mbuf *m, const struct frame *want)
{
	ck_assert_uint_eq(m->pkt_len, want->len);
	ck_assert_uint_eq(m->data_len, want->len);
	ck_assert_mem_eq(rte_pktmbuf_mtod(m, uint8_t *), want->b, want->len);
}

static struct tg_addr next_address[TG_ALTERNATIVES];

static struct tg_gue gue_of(bool v6, unsigned int alternatives, uint64_t hash)
{
	struct tg_gue g = {.hash = hash, .n = alternatives};

	for (unsigned int i = 0; i < TG_ALTERNATIVES; i++) {
		next_address[i] = other(i, v6);
		g.next[i] = &next_address[i];
	}
	return g;
}

/* The same by the route as the gateway prepares it, where the usual packet has a short way. */
static void one_in_burst(const struct tg_route *r, const struct inner *in,
			 unsigned int alternatives, uint64_t hash, const struct frame *want,
			 bool counted)
{
	static struct tg_burst b;
	struct tg_route routes[1 + TG_ALTERNATIVES] = {*r, *r, *r};
	uint16_t id = 0xffff;
	struct frame f;

	tg_encap_prepare(&routes[0]);
	b.n = 1;
	arrives(&f, in, &b.pkt[0]);
	b.mbuf[0] = mbuf_of(f.b, f.len);
	b.server[0] = 0;
	b.hash[0] = hash;
	b.verdict[0] = TG_FORWARD;
	tg_burst_no_alternatives(&b);
	for (unsigned int i = 0; i < alternatives; i++) {
		routes[1 + i].remote = other(i, !tg_addr_is_v4(&r->remote));
		b.alternative[0][i] = (uint16_t)(1 + i);
	}
	ck_assert_uint_eq(tg_encap_burst(routes, &b, &id), 0);
	ck_assert_uint_eq(b.verdict[0], TG_FORWARD);
	ck_assert_uint_eq(b.out_port[0], r->out_port);
	check_frame(b.mbuf[0], want);
	ck_assert_uint_eq(id, counted ? 0 : 0xffff);
	rte_pktmbuf_free(b.mbuf[0]);
}

static void one_of(const struct inner *in, enum kind kind, uint16_t vlan, bool decrement,
		   unsigned int alternatives, uint64_t hash)
{
	struct tg_route r = route(kind, vlan, decrement);
	struct tg_gue g = gue_of(is_v6(kind), alternatives, hash);
	bool counted = (kind == IPIP4 || kind == GRE4 || kind == GUE4) && !in->v6 && !in->df;
	uint16_t id = 0xffff;
	struct frame f, want;
	struct rte_mbuf *m;
	struct tg_pkt p;

	arrives(&f, in, &p);
	m = mbuf_of(f.b, f.len);
	ck_assert_int_eq(tg_encap(&r, m, &p, kind >= GUE4 ? &g : NULL, &id), TG_DROP_NONE);
	leaves(&want, in, kind, vlan, decrement, 0xffff, alternatives, hash);
	check_frame(m, &want);
	ck_assert_uint_eq(id, counted ? 0 : 0xffff);
	rte_pktmbuf_free(m);
	one_in_burst(&r, in, alternatives, hash, &want, counted);
}

static void one(const struct inner *in, enum kind kind, uint16_t vlan, bool decrement)
{
	one_of(in, kind, vlan, decrement, 0, 0x123456789abcdef0);
}

/* All four family combinations, link layers, padding, tags kept, replaced, inserted, two to one,
 * GUE with none to two alternatives. */
START_TEST(every_combination)
{
	static const unsigned int tos[] = {0, 0x01, 0x02, 0x03, 0xb8, 0xff}; /* ECN, DSCP */

	for (unsigned int x = 0; x < 3 * 3 * KINDS * 2 * 2 * 2; x++) {
		enum kind kind = (enum kind)(x / 9 % KINDS);
		unsigned int y = x / 9 / KINDS, alternatives = kind >= GUE4 ? x % 3 : 0;
		struct inner in = {
			.v6 = x % 3 == 2,
			.df = x % 3 == 1,
			.tags = x / 3 % 3,
			.tos = tos[x % 6],
			.ttl = 2 + x % 254,
			.payload = 9,
			.padding = y % 2 ? 17 : 0,
		};

		for (unsigned int n = 0; n <= (kind >= GUE4 ? 2 : 0); n++) {
			one_of(&in, kind, y / 2 % 2 ? 300 : 0, y / 4, n, 7 + 4001 * x);
		}
		in.payload = 1300;
		in.padding = 0;
		in.cut = y % 2 ? 1300 : 0; /* a capture that has the headers only */
		one_of(&in, kind, y / 2 % 2 ? 4094 : 0, y / 4, alternatives, ~UINT64_C(0) - x);
	}
}
END_TEST

/* A whole packet, written out by hand: GRE in IPv4, "don't fragment" and DSCP 46 kept . */
START_TEST(gre_by_hand)
{
	static const uint8_t want[] = {/* Ethernet */
				       0x06, 0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0x02, 0x11, 0x22, 0x33,
				       0x44, 0x55, 0x08, 0x00,
				       /* IPv4: 28 + 24 bytes, DF, TTL 64, protocol 47 */
				       0x45, 0xb8, 0x00, 0x34, 0x00, 0x00, 0x40, 0x00, 0x40, 0x2f,
				       0x25, 0x96, 10, 0, 0, 1, 10, 0, 0, 77,
				       /* GRE */
				       0x00, 0x00, 0x08, 0x00,
				       /* the client's, its TTL one less */
				       0x45, 0xb8, 0x00, 0x1c, 0xbe, 0xef, 0x40, 0x00, 0x06, 0x11,
				       0x4e, 0x9c, 203, 0, 113, 9, 198, 51, 100, 80, 0xc0, 0xff,
				       0xee, 0x11, 0x7e, 0xc0, 0xff, 0xee};
	struct inner in = {.df = true, .tos = 0xb8, .ttl = 7, .payload = 8};
	struct tg_route r = route(GRE4, 0, true);
	struct frame f;
	struct tg_pkt p;
	struct rte_mbuf *m;
	uint16_t id = 0;

	arrives(&f, &in, &p);
	m = mbuf_of(f.b, f.len);
	ck_assert_int_eq(tg_encap(&r, m, &p, NULL, &id), TG_DROP_NONE);
	ck_assert_uint_eq(m->pkt_len, sizeof(want));
	ck_assert_mem_eq(rte_pktmbuf_mtod(m, uint8_t *), want, sizeof(want));
	rte_pktmbuf_free(m);
}
END_TEST

/* RFC 1624: the checksum stays right for every value it can have, 0x0000 and 0xffff included. */
START_TEST(checksum_is_kept)
{
	struct tg_route r = route(L2, 0, true);
	struct inner in = {.ttl = 64, .payload = 8};
	struct frame f;
	struct tg_pkt p;
	struct rte_mbuf *m;
	uint8_t *ip, ttl = 0;
	bool zero_after = false, zero_before = false;
	uint16_t id = 0;

	arrives(&f, &in, &p);
	m = mbuf_of(f.b, f.len);
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
	for (unsigned int i = 0; i <= 0xffff; i++) {
		unsigned int sum;

		ip[4] = (uint8_t)(i >> 8); /* identification: every sum comes by */
		ip[5] = (uint8_t)i;
		ip[8] = ttl = ttl <= 2 ? 255 : ttl - 1;
		p.ttl = ttl;
		ip[10] = ip[11] = 0;
		sum = checksum(ip, 20);
		zero_before |= sum == 0;
		/* all ones and all zeros both say zero to a receiver */
		if (sum == 0 && i % 2)
			sum = 0xffff;
		ip[10] = (uint8_t)(sum >> 8);
		ip[11] = (uint8_t)sum;
		if (tg_encap(&r, m, &p, NULL, &id) != TG_DROP_NONE || ip[8] != ttl - 1 ||
		    checksum(ip, 20) != 0)
			ck_abort_msg("identification %u: checksum is wrong", i);
		zero_after |= ip[10] == 0 && ip[11] == 0;
		if (ip[10] == 0xff && ip[11] == 0xff)
			ck_abort_msg("all ones, which no sum of a header is");
	}
	ck_assert(zero_before);
	ck_assert(zero_after);
	rte_pktmbuf_free(m);
}
END_TEST

/* The first example of RFC 1624 section 4 is one where the older equation fails; as a TTL: a
 * header whose checksum becomes 0x0000, not 0xffff. */
START_TEST(checksum_that_becomes_zero)
{
	struct tg_route r = route(L2, 0, true);
	struct inner in = {.ttl = 10, .payload = 8};
	struct frame f;
	struct tg_pkt p;
	struct rte_mbuf *m;
	uint8_t *ip;
	uint16_t id = 0;

	arrives(&f, &in, &p);
	m = mbuf_of(f.b, f.len);
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
	ip[10] = 0xfe; /* ~0xfeff = 0x0100 is the sum of the other words; less 0x0100 is -0 */
	ip[11] = 0xff;
	ck_assert_int_eq(tg_encap(&r, m, &p, NULL, &id), TG_DROP_NONE);
	ck_assert_uint_eq(ip[10], 0);
	ck_assert_uint_eq(ip[11], 0);
	rte_pktmbuf_free(m);
}
END_TEST

static void refused_in_burst(const struct tg_route *r, struct rte_mbuf *m, const struct tg_pkt *p,
			     unsigned int alternatives, enum tg_reason why)
{
	static struct tg_burst b;
	struct tg_route routes[1 + TG_ALTERNATIVES] = {*r, *r, *r};
	uint16_t id = 5;

	tg_encap_prepare(&routes[0]);
	b.n = 1;
	b.pkt[0] = *p;
	b.mbuf[0] = m;
	b.server[0] = 0;
	b.verdict[0] = TG_FORWARD;
	tg_burst_no_alternatives(&b);
	for (unsigned int i = 0; i < alternatives; i++)
		b.alternative[0][i] = (uint16_t)(1 + i);
	ck_assert_uint_eq(tg_encap_burst(routes, &b, &id), why == TG_DROP_TOO_BIG);
	ck_assert_uint_eq(b.verdict[0], TG_DROP);
	ck_assert_uint_eq(b.reason[0], why);
	ck_assert_uint_eq(id, 5);
}

/* Refused with that reason, and not a byte of it changed. */
static void refused(const struct tg_route *r, const struct inner *in, unsigned int headroom,
		    unsigned int alternatives, enum tg_reason why)
{
	struct tg_gue g = gue_of(!tg_addr_is_v4(&r->remote), alternatives, 1);
	struct rte_mbuf *m, before;
	struct frame f;
	struct tg_pkt p;
	uint16_t id = 5;

	arrives(&f, in, &p);
	m = mbuf_of(f.b, f.len);
	m->data_off = (uint16_t)headroom;
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), f.b, f.len);
	before = *m;
	ck_assert_int_eq(tg_encap(r, m, &p, &g, &id), why);
	ck_assert_mem_eq(m, &before, sizeof(before));
	ck_assert_mem_eq(rte_pktmbuf_mtod(m, uint8_t *), f.b, f.len);
	refused_in_burst(r, m, &p, alternatives, why);
	ck_assert_mem_eq(m, &before, sizeof(before));
	ck_assert_mem_eq(rte_pktmbuf_mtod(m, uint8_t *), f.b, f.len);
	ck_assert_uint_eq(id, 5);
	rte_pktmbuf_free(m);
}

START_TEST(no_route)
{
	struct inner in = {.ttl = 64, .payload = 50};
	struct tg_route r = route(IPIP4, 0, true);

	server_word &= ~TG_MAC_VALID;
	refused(&r, &in, 128, 0, TG_DROP_NO_ROUTE);
	r.mac = NULL;
	refused(&r, &in, 128, 0, TG_DROP_NO_ROUTE);
}
END_TEST

START_TEST(ttl_expired)
{
	for (unsigned int x = 0; x < 2 * KINDS; x++) {
		struct inner in = {.v6 = x % 2, .ttl = 1, .payload = 50};
		struct tg_route r = route((enum kind)(x / 2), 0, true);

		refused(&r, &in, 128, 0, TG_DROP_TTL);
		in.ttl = 0;
		refused(&r, &in, 128, 0, TG_DROP_TTL);
		one(&in, (enum kind)(x / 2), 0, false); /* a bridge does not count hops */
		in.ttl = 2;
		one(&in, (enum kind)(x / 2), 0, true);
	}
}
END_TEST

START_TEST(too_big)
{
	for (unsigned int x = 0; x < 2 * KINDS; x++) {
		struct inner in = {.v6 = x % 2, .ttl = 9};
		enum kind kind = (enum kind)(x / 2);
		struct tg_route r = route(kind, 0, true);

		for (unsigned int n = 0; n <= (kind >= GUE4 ? 2 : 0); n++) {
			in.payload = 1500 - front(kind, n) - (in.v6 ? 40 : 20);
			in.padding = 4; /* a trailer does not count */
			one_of(&in, kind, 17, true, n, 1);
			in.payload++;
			refused(&r, &in, 128, n, TG_DROP_TOO_BIG);
		}
		/* what a sender is told counts on all alternatives */
		ck_assert_uint_eq(tg_encap_overhead(&r), front(kind, 2));
	}
}
END_TEST

/* Lengths near 2^16 do not wrap. */
static void longest(enum kind kind)
{
	struct inner in = {.ttl = 9, .payload = 100, .cut = 50};
	struct tg_route r = route(kind, 0, false);
	struct tg_gue g = gue_of(is_v6(kind), 2, 1);
	uint16_t id = 0, most = (uint16_t)(65535 - front(kind, 2));
	struct frame f;
	struct tg_pkt p;
	struct rte_mbuf *m;
	const uint8_t *ip;

	r.mtu = 65535;
	arrives(&f, &in, &p);
	m = mbuf_of(f.b, f.len);
	p.ip_len = (uint16_t)(most + 1);
	ck_assert_int_eq(tg_encap(&r, m, &p, &g, &id), TG_DROP_TOO_BIG);
	p.ip_len = most;
	ck_assert_int_eq(tg_encap(&r, m, &p, &g, &id), TG_DROP_NONE);
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
	ck_assert_uint_eq(m->pkt_len, f.len + front(kind, 2));
	if (is_v6(kind)) {
		ck_assert_uint_eq(ip[4] << 8 | ip[5], 65535 - 40);
	} else {
		ck_assert_uint_eq(ip[2] << 8 | ip[3], 65535);
		ck_assert_uint_eq(checksum(ip, 20), 0);
	}
	ip += is_v6(kind) ? 40 : 20;
	if (kind >= GUE4)
		ck_assert_uint_eq(ip[4] << 8 | ip[5], 65535 - (is_v6(kind) ? 40 : 20));
	rte_pktmbuf_free(m);
}

START_TEST(longest_packets)
{
	for (unsigned int kind = IPIP4; kind < KINDS; kind++)
		longest((enum kind)kind);
}
END_TEST

START_TEST(headroom)
{
	struct inner in = {.ttl = 9, .payload = 50};
	struct tg_route r4 = route(IPIP4, 0, false), r6 = route(IPIP6, 0, false);
	struct tg_route tag = route(L2, 5, false), both = route(IPIP6, 5, false);
	struct tg_route gre = route(GRE6, 5, false), gue = route(GUE6, 5, false);

	refused(&r4, &in, 19, 0, TG_DROP_TOO_BIG);
	refused(&r6, &in, 39, 0, TG_DROP_TOO_BIG);
	refused(&tag, &in, 3, 0, TG_DROP_TOO_BIG);
	refused(&both, &in, 43, 0, TG_DROP_TOO_BIG);
	refused(&gre, &in, 47, 0, TG_DROP_TOO_BIG);
	refused(&gue, &in, 91, 2, TG_DROP_TOO_BIG);
	in.tags = 1; /* its place is there already */
	refused(&both, &in, 39, 0, TG_DROP_TOO_BIG);
	refused(&gre, &in, 43, 0, TG_DROP_TOO_BIG);
	refused(&gue, &in, 87, 2, TG_DROP_TOO_BIG);
}
END_TEST

/* 700 bytes of IP and a trailer of 500 over four buffers: the last two go back to their pool. */
START_TEST(trailer_over_buffers)
{
	static const unsigned int parts[] = {300, 420, 250, 244};
	struct inner in = {.ttl = 9, .payload = 680};
	struct tg_route r = route(IPIP4, 0, false);
	struct rte_mbuf *m = NULL;
	struct frame f, want;
	struct tg_pkt p;
	uint16_t id = 7;
	unsigned int at = 0;
	static const uint8_t trailer[500];

	arrives(&f, &in, &p);
	put(&f, trailer, 500);
	for (unsigned int i = 0; i < 4; at += parts[i++]) {
		struct rte_mbuf *part = mbuf_of(f.b + at, parts[i]);

		if (m == NULL)
			m = part;
		else
			ck_assert_int_eq(rte_pktmbuf_chain(m, part), 0);
	}
	ck_assert_uint_eq(at, f.len);
	ck_assert_int_eq(tg_encap(&r, m, &p, NULL, &id), TG_DROP_NONE);
	ck_assert_uint_eq(rte_mempool_in_use_count(pool), 2);
	ck_assert_uint_eq(m->nb_segs, 2);
	ck_assert_uint_eq(m->pkt_len, 14 + 20 + 700);
	ck_assert_uint_eq(m->data_len, 320);
	ck_assert_uint_eq(m->next->data_len, 414);
	leaves(&want, &in, IPIP4, 0, false, 7, 0, 0);
	ck_assert_mem_eq(rte_pktmbuf_mtod(m, uint8_t *), want.b, 320);
	ck_assert_mem_eq(rte_pktmbuf_mtod(m->next, uint8_t *), want.b + 320, 414);
	rte_pktmbuf_free(m);
}
END_TEST

START_TEST(burst)
{
	static struct tg_burst b;
	struct tg_route routes[4] = {route(L2, 0, true), route(IPIP4, 0, true),
				     route(IPIP6, 9, false), route(GRE4, 0, false)};
	static const enum kind kinds[] = {L2, IPIP4, IPIP6, GRE4};
	struct inner in[TG_BURST_MAX];
	uint16_t id = 100, id_want = 100;
	struct frame f, want;

	routes[1].out_port = 1;
	b.n = TG_BURST_MAX;
	for (unsigned int i = 0; i < b.n; i++) {
		in[i] = (struct inner){.ttl = i == 4 ? 1 : 30 + i,
				       .payload = 10 + i,
				       .tags = i % 3};
		arrives(&f, &in[i], &b.pkt[i]);
		b.mbuf[i] = mbuf_of(f.b, f.len);
		b.server[i] = (uint16_t)(i % 4);
		b.verdict[i] = TG_FORWARD;
		b.out_port[i] = 77;
	}
	b.verdict[7] = TG_REPLY;
	b.server[7] = TG_NO_SERVER;
	tg_drop(&b, 8, TG_DROP_NO_SERVER);
	b.server[8] = TG_NO_SERVER;
	tg_encap_burst(routes, &b, &id);
	for (unsigned int i = 0; i < b.n; i++) {
		if (i == 7 || i == 8 || i == 4) {
			ck_assert_uint_eq(b.out_port[i], 77);
			arrives(&want, &in[i], &b.pkt[i]);
		} else {
			ck_assert_uint_eq(b.out_port[i], i % 4 == 1 ? 1 : 3);
			leaves(&want, &in[i], kinds[i % 4], i % 4 == 2 ? 9 : 0, i % 4 < 2,
			       i % 2 == 1 ? id_want++ : 0, 0, 0);
		}
		check_frame(b.mbuf[i], &want);
		rte_pktmbuf_free(b.mbuf[i]);
	}
	ck_assert_uint_eq(b.verdict[4], TG_DROP);
	ck_assert_uint_eq(b.reason[4], TG_DROP_TTL);
	ck_assert_uint_eq(b.reason[8], TG_DROP_NO_SERVER);
	ck_assert_uint_eq(id, id_want);
}
END_TEST

/* Ids become addresses; those of the other family, and none, leave no gap. Each packet has its own
 * port. */
START_TEST(burst_alternatives)
{
	/* 0, 1, 2 have IPv4 addresses, 3, 4, 5 IPv6 ones; 6 is not GUE */
	static const struct {
		uint16_t server, alternative[TG_ALTERNATIVES];
		unsigned int n;
	} cases[] = {
		{0, {TG_NO_SERVER, TG_NO_SERVER}, 0},
		{0, {1, TG_NO_SERVER}, 1},
		{0, {1, 2}, 2},
		{0, {TG_NO_SERVER, 1}, 1},
		{0, {3, 1}, 1},
		{0, {4, 5}, 0},
		{3, {4, 5}, 2},
		{3, {4, 1}, 1},
		{6, {1, 2}, 0},
	};
	static struct tg_burst b;
	struct tg_route routes[7];
	struct inner in = {.df = true, .ttl = 9, .payload = 33};
	struct frame f, want;
	uint16_t id = 0;

	for (unsigned int i = 0; i < 6; i++) {
		routes[i] = route(i < 3 ? GUE4 : GUE6, 0, true);
		if (i % 3 > 0)
			routes[i].remote = other(i % 3 - 1, i >= 3);
	}
	routes[6] = route(IPIP4, 0, true);
	b.n = sizeof(cases) / sizeof(cases[0]);
	for (unsigned int i = 0; i < b.n; i++) {
		arrives(&f, &in, &b.pkt[i]);
		b.mbuf[i] = mbuf_of(f.b, f.len);
		b.server[i] = cases[i].server;
		b.hash[i] = 0xfeed0000 + 77 * i;
		b.verdict[i] = TG_FORWARD;
	}
	tg_burst_no_alternatives(&b);
	for (unsigned int i = 0; i < b.n; i++) {
		ck_assert_uint_eq(b.alternative[i][0], TG_NO_SERVER);
		ck_assert_uint_eq(b.alternative[i][1], TG_NO_SERVER);
		memcpy(b.alternative[i], cases[i].alternative, sizeof(b.alternative[i]));
	}
	tg_encap_burst(routes, &b, &id);
	for (unsigned int i = 0; i < b.n; i++) {
		static const enum kind kinds[] = {[0] = GUE4, [3] = GUE6, [6] = IPIP4};

		ck_assert_uint_eq(b.verdict[i], TG_FORWARD);
		leaves(&want, &in, kinds[cases[i].server], 0, true, 0, cases[i].n, b.hash[i]);
		check_frame(b.mbuf[i], &want);
		rte_pktmbuf_free(b.mbuf[i]);
	}
}
END_TEST

/* Every port of 0xc000 to 0xffff, each by one hash in 16384, whatever the other bits are. */
START_TEST(source_ports)
{
	struct inner in = {.ttl = 9, .payload = 8};
	struct tg_route r = route(GUE4, 0, false);
	static unsigned int seen[65536];
	struct frame f;
	struct tg_pkt p;
	uint16_t id = 0;

	arrives(&f, &in, &p);
	for (unsigned int i = 0; i < 2 * 16384; i++) {
		struct tg_gue g = {.hash = (uint64_t)i * 0x100004001};
		struct rte_mbuf *m = mbuf_of(f.b, f.len);
		const uint8_t *udp;

		ck_assert_int_eq(tg_encap(&r, m, &p, &g, &id), TG_DROP_NONE);
		udp = rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 20);
		seen[udp[0] << 8 | udp[1]]++;
		rte_pktmbuf_free(m);
	}
	for (unsigned int port = 0; port <= 0xffff; port++)
		ck_assert_uint_eq(seen[port], port < 0xc000 ? 0 : 2);
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(tg_forward_name(TG_FORWARD_L2), "l2");
	ck_assert_str_eq(tg_forward_name(TG_FORWARD_IPIP), "ipip");
	ck_assert_str_eq(tg_forward_name(TG_FORWARD_GRE), "gre");
	ck_assert_str_eq(tg_forward_name(TG_FORWARD_GUE), "gue");
	ck_assert_ptr_null(tg_forward_name(TG_FORWARD_COUNT));
	ck_assert_uint_eq(tg_mac_word(server_mac), UINT64_C(0x1b5c4d3e2f106));
}
END_TEST

static Suite *suite(void)
{
	const TTest *const tests[] = {every_combination,
				      gre_by_hand,
				      checksum_is_kept,
				      checksum_that_becomes_zero,
				      no_route,
				      ttl_expired,
				      too_big,
				      longest_packets,
				      headroom,
				      trailer_over_buffers,
				      burst,
				      burst_alternatives,
				      source_ports,
				      names};
	Suite *s = suite_create("encap");
	TCase *tc = tcase_create("frames");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, make_pool, free_pool);
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN_EAL(suite)
