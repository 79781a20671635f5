/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "neigh_rig.h"

/* ---- ARP ---- */

static void check_arp_answer(uint16_t port, unsigned int n_tags, const char *ours,
			     const char *theirs)
{
	struct bytes want;
	struct tg_pkt p;
	unsigned int off = 14 + 4 * n_tags;

	replied(port);
	arp(&want, &p, peer_mac, n_tags, 2, our_mac[port], ours, theirs);
	memcpy(want.b + off + 18, peer_mac, 6);
	ck_assert_uint_eq(got.len, want.len);
	ck_assert_mem_eq(got.b, want.b, want.len);
}

START_TEST(arp_is_answered)
{
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int n_tags = 0; n_tags <= 2; n_tags++) {
		arp(&f, &p, broadcast, n_tags, 1, peer_mac, "198.51.100.1", "198.51.100.80");
		input(&f, &p, 0, 0, 0);
		check_arp_answer(0, n_tags, "198.51.100.80", "198.51.100.1");
	}
	/* by unicast, for an address of any port; a probe (RFC 5227), from no address */
	arp(&f, &p, our_mac[1], 0, 1, peer_mac, "10.0.0.9", "192.0.2.9");
	input(&f, &p, 1, 0, 0);
	check_arp_answer(1, 0, "192.0.2.9", "10.0.0.9");
	arp(&f, &p, broadcast, 0, 1, peer_mac, "0.0.0.0", "198.51.100.81");
	input(&f, &p, 0, 0, 0);
	check_arp_answer(0, 0, "198.51.100.81", "0.0.0.0");
}
END_TEST

START_TEST(arp_not_ours)
{
	static const struct {
		unsigned int op;
		uint16_t port;
		const char *from, *to;
	} no[] = {
		{1, 0, "198.51.100.1", "198.51.100.83"},
		{1, 1, "10.0.0.9", "198.51.100.80"}, /* the VIP is not on the servers' side */
		{1, 0, "198.51.100.1", "10.0.0.2"},
		{2, 0, "198.51.100.1", "198.51.100.80"},
		{3, 0, "198.51.100.1", "198.51.100.80"},
		{1, 0, "198.51.100.80", "198.51.100.80"}, /* an announcement of our own VIP */
	};
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		arp(&f, &p, broadcast, 0, no[i].op, peer_mac, no[i].from, no[i].to);
		input(&f, &p, no[i].port, 0, 0);
		dropped(TG_DROP_NEIGHBOUR);
		ck_assert_mem_eq(got.b, f.b, f.len);
	}
}
END_TEST

START_TEST(arp_learns)
{
	const uint64_t *known = next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	const uint64_t *side = next_hop(1, "10.0.0.9", "10.0.0.2", NULL);
	const uint64_t *fixed = next_hop(0, "198.51.100.7", "198.51.100.2", other_mac);
	uint64_t fixed_word = *fixed;
	struct bytes f;
	struct tg_pkt p;

	ck_assert_uint_eq(*known & TG_MAC_VALID, 0);
	ck_assert_uint_eq(fixed_word & (2 * TG_MAC_VALID - 1), tg_mac_word(other_mac));
	/* an answer, a question, an announcement */
	arp(&f, &p, our_mac[0], 0, 2, peer_mac, "198.51.100.1", "198.51.100.2");
	input(&f, &p, 0, 5, 0);
	dropped(TG_DROP_NEIGHBOUR);
	ck_assert_uint_eq(*known, tg_mac_word(peer_mac));
	arp(&f, &p, broadcast, 0, 1, other_mac, "198.51.100.1", "198.51.100.80");
	input(&f, &p, 0, 6, 0);
	ck_assert_uint_eq(*known, tg_mac_word(other_mac));
	arp(&f, &p, broadcast, 0, 1, peer_mac, "198.51.100.1", "198.51.100.1");
	input(&f, &p, 0, 7, 0);
	dropped(TG_DROP_NEIGHBOUR);
	ck_assert_uint_eq(*known, tg_mac_word(peer_mac));
	/* a configured address stays */
	arp(&f, &p, broadcast, 0, 2, peer_mac, "198.51.100.7", "198.51.100.2");
	input(&f, &p, 0, 8, 0);
	ck_assert_uint_eq(*fixed, fixed_word);
	/* the same address elsewhere is another host's; so is it in another VLAN */
	arp(&f, &p, broadcast, 0, 2, peer_mac, "10.0.0.9", "10.0.0.2");
	input(&f, &p, 0, 9, 0);
	input(&f, &p, 1, 9, 0);
	arp(&f, &p, broadcast, 2, 2, peer_mac, "10.0.0.9", "10.0.0.2");
	input(&f, &p, 1, 9, 0);
	ck_assert_uint_eq(*side, 0);
	arp(&f, &p, broadcast, 1, 2, peer_mac, "10.0.0.9", "10.0.0.2");
	input(&f, &p, 1, 9, 0);
	ck_assert_uint_eq(*side, tg_mac_word(peer_mac));
}
END_TEST

START_TEST(arp_malformed)
{
	static const uint8_t at[] = {0, 1, 2, 3, 4, 5, 6, 7}; /* every byte of the fixed part */
	static const uint8_t group[6] = {3, 0, 0, 0, 0, 1}, none[6];
	const uint64_t *known = next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i < sizeof(at); i++) {
		arp(&f, &p, broadcast, 0, 1, peer_mac, "198.51.100.1", "198.51.100.80");
		f.b[14 + at[i]] ^= 0x40;
		input(&f, &p, 0, 0, 0);
		dropped(TG_DROP_NEIGHBOUR);
	}
	arp(&f, &p, broadcast, 0, 1, group, "198.51.100.1", "198.51.100.80");
	input(&f, &p, 0, 0, 0);
	dropped(TG_DROP_NEIGHBOUR);
	arp(&f, &p, broadcast, 0, 1, none, "198.51.100.1", "198.51.100.80");
	input(&f, &p, 0, 0, 0);
	dropped(TG_DROP_NEIGHBOUR);
	arp(&f, &p, broadcast, 0, 1, peer_mac, "198.51.100.1", "198.51.100.80");
	for (f.len = 14; f.len < 14 + 28; f.len++) {
		input(&f, &p, 0, 0, 0);
		dropped(TG_DROP_FRAME_SHORT);
	}
	ck_assert_uint_eq(*known, 0);
	input(&f, &p, 0, 0, 0); /* no padding is no fault */
	replied(0);
}
END_TEST

/* ---- neighbour discovery ---- */

static void check_advert(const char *src, const char *dst, const uint8_t *dst_mac,
			 unsigned int flags)
{
	struct bytes want;
	struct tg_pkt p;

	replied(0);
	nd(&want, &p, NA, flags, src, dst, src, 2, our_mac[0]);
	memcpy(want.b, dst_mac, 6);
	memcpy(want.b + 6, our_mac[0], 6);
	ck_assert_uint_eq(got.len, 86);
	ck_assert_uint_eq(sum6(got.b + 14, 32), 0xffff);
	ck_assert_mem_eq(got.b, want.b, want.len);
}

START_TEST(nd_is_answered)
{
	static const uint8_t all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};
	struct bytes f;
	struct tg_pkt p;

	/* to the address in the option; without one to where the frame came from, longer by it */
	nd(&f, &p, NS, 0, "fe80::9", "ff02::1:ff00:80", "2001:db8::80", 1, other_mac);
	input(&f, &p, 0, 0, 0);
	check_advert("2001:db8::80", "fe80::9", other_mac, 0x60);
	nd(&f, &p, NS, 0, "fe80::9", "2001:db8::80", "2001:db8::80", 0, NULL);
	input(&f, &p, 0, 0, 8);
	check_advert("2001:db8::80", "fe80::9", peer_mac, 0x60);
	/* duplicate address detection */
	nd(&f, &p, NS, 0, "::", "ff02::1:ff00:80", "2001:db8::80", 0, NULL);
	input(&f, &p, 0, 0, 128);
	check_advert("2001:db8::80", "ff02::1", all_nodes, 0x20);
}
END_TEST

START_TEST(nd_not_answered)
{
	static const struct {
		const char *src, *dst, *target;
		unsigned int option;
	} no[] = {
		{"fe80::9", "ff02::1:ff00:81", "2001:db8::81", 1}, /* not ours */
		{"fe80::9", "ff02::1:ff00:1", "ff02::1", 1},
		{"::", "ff02::1:ff00:80", "2001:db8::80", 1}, /* DAD has no option */
		{"::", "2001:db8::80", "2001:db8::80", 0},    /* and goes to the group */
		{"ff02::5", "2001:db8::80", "2001:db8::80", 1},
	};
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		nd(&f, &p, NS, 0, no[i].src, no[i].dst, no[i].target, no[i].option, peer_mac);
		input(&f, &p, 0, 0, 64);
		dropped(TG_DROP_NEIGHBOUR);
		ck_assert_mem_eq(got.b, f.b, f.len);
	}
	nd(&f, &p, NS, 0, "fe80::9", "ff02::1:ff00:80", "2001:db8::80", 1, peer_mac);
	input(&f, &p, 1, 0, 64); /* the servers' side */
	dropped(TG_DROP_NEIGHBOUR);
	nd(&f, &p, NS, 0, "fe80::9", "ff02::1:ff00:80", "2001:db8::80", 0, NULL);
	input(&f, &p, 0, 0, 7); /* no room for the option */
	dropped(TG_DROP_NEIGHBOUR);
	for (unsigned int type = 133; type <= 137; type++) {
		nd(&f, &p, type, 0, "fe80::9", "ff02::1", "2001:db8::80", 1, peer_mac);
		input(&f, &p, 0, 0, 64);
		ck_assert_uint_eq(burst.verdict[0], type == NS ? TG_REPLY : TG_DROP);
	}
}
END_TEST

static void advert(unsigned int flags, const char *dst, const uint8_t *mac, uint64_t now)
{
	struct bytes f;
	struct tg_pkt p;

	nd(&f, &p, NA, flags, "fe80::9", dst, "fe80::9", mac != NULL ? 2 : 0, mac);
	input(&f, &p, 0, now, 0);
	dropped(TG_DROP_NEIGHBOUR);
}

START_TEST(nd_learns)
{
	const uint64_t *known = next_hop(0, "fe80::9", "fe80::1", NULL);
	struct tg_neigh_info info;
	struct bytes f;
	struct tg_pkt p;

	advert(0x40, "fe80::1", NULL, 5);
	ck_assert_uint_eq(*known, 0); /* no address said, none known */
	advert(0x60, "ff02::1", peer_mac, 5);
	ck_assert_uint_eq(*known, 0); /* solicited, yet to everyone: invalid */
	advert(0x40, "fe80::1", peer_mac, 5);
	ck_assert_uint_eq(*known, tg_mac_word(peer_mac));
	advert(0x40, "fe80::1", other_mac, 6); /* without override */
	ck_assert_uint_eq(*known, tg_mac_word(peer_mac));
	ck_assert(tg_neigh_get(table, 0, 10, &info));
	ck_assert_uint_eq(info.age_ns, 5);
	advert(0x40, "fe80::1", NULL, 8); /* confirms */
	ck_assert(tg_neigh_get(table, 0, 10, &info));
	ck_assert_uint_eq(info.age_ns, 2);
	advert(0x20, "ff02::1", NULL, 9); /* says nothing */
	ck_assert(tg_neigh_get(table, 0, 10, &info));
	ck_assert_uint_eq(info.age_ns, 2);
	advert(0x20, "ff02::1", other_mac, 9); /* unsolicited, overriding: fail-over */
	ck_assert_uint_eq(*known, tg_mac_word(other_mac));
	nd(&f, &p, NS, 0, "fe80::9", "ff02::1:ff00:77", "2001:db8::77", 1, peer_mac);
	input(&f, &p, 0, 9, 0); /* who asks tells */
	ck_assert_uint_eq(*known, tg_mac_word(peer_mac));
}
END_TEST

/* A solicitation for ours, changed at one place, its checksum made right again or not. */
static void spoilt(unsigned int at, uint8_t value, bool mend)
{
	struct bytes f;
	struct tg_pkt p;
	uint8_t *ip = f.b + 14;

	nd(&f, &p, NS, 0, "fe80::9", "ff02::1:ff00:80", "2001:db8::80", 1, peer_mac);
	ip[at] = value;
	if (mend) {
		set16(ip + 42, 0);
		set16(ip + 42, 0xffff - sum6(ip, 32));
	}
	input(&f, &p, 0, 0, 64);
	dropped(TG_DROP_NEIGHBOUR);
}

START_TEST(nd_malformed)
{
	const uint64_t *known = next_hop(0, "fe80::9", "fe80::1", NULL);
	struct bytes f;
	struct tg_pkt p;

	spoilt(70, 0x77, false); /* checksum */
	spoilt(7, 254, true);    /* came through a router */
	spoilt(41, 1, true);     /* code */
	spoilt(65, 0, true);     /* option of length 0 */
	spoilt(65, 2, true);     /* option longer than the packet */
	ck_assert_uint_eq(*known, 0);
	nd(&f, &p, NS, 0, "fe80::9", "ff02::1:ff00:80", "2001:db8::80", 1, peer_mac);
	p.l4_off += 8; /* behind an extension header */
	input(&f, &p, 0, 0, 64);
	dropped(TG_DROP_NEIGHBOUR);
	p.l4_off -= 8;
	for (uint16_t len = 54; len < f.len; len++) {
		struct bytes cut = {.len = len};

		memcpy(cut.b, f.b, len);
		input(&cut, &p, 0, 0, 0);
		dropped(TG_DROP_FRAME_SHORT);
		p.ip_len = (uint16_t)(len - 14); /* and so says the IP header */
		set16(cut.b + 18, len - 54u);
		if (len >= 58) {
			set16(cut.b + 56, 0);
			set16(cut.b + 56, 0xffff - sum6(cut.b + 14, len - 54u));
		}
		input(&cut, &p, 0, 0, 64);
		if (len == 78) /* exactly without the option */
			replied(0);
		else
			dropped(TG_DROP_NEIGHBOUR);
		p.ip_len = 72;
	}
}
END_TEST

/* Garbage behind a right link header: nothing is read or written outside, and all is done with. */
START_TEST(random_bytes)
{
	uint32_t seed = 12345;

	next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	for (unsigned int round = 0; round < 20000; round++) {
		struct bytes f;
		struct tg_pkt p;
		unsigned int changes = seed >> 8 & 3;

		if (round % 2)
			arp(&f, &p, broadcast, 0, 1, peer_mac, "198.51.100.1", "198.51.100.80");
		else
			nd(&f, &p, round % 4 ? NS : NA, 0x60, "fe80::9", "ff02::1:ff00:80",
			   "2001:db8::80", 1, peer_mac);
		for (unsigned int i = 0; i <= changes; i++) {
			seed = seed * 1664525 + 1013904223;
			f.b[14 + (seed >> 16) % (f.len - 14u)] = (uint8_t)(seed >> 8);
		}
		if (round % 2 == 0) {
			set16(f.b + 56, 0);
			set16(f.b + 56, 0xffff - sum6(f.b + 14, 32));
		}
		f.len = (uint16_t)(f.len - (round % 7 == 0 ? seed >> 24 & 31 : 0));
		input(&f, &p, 0, round, seed & 15);
		if (burst.verdict[0] != TG_REPLY && burst.verdict[0] != TG_DROP)
			ck_abort_msg("round %u: left over", round);
	}
}
END_TEST

/* ---- echo ---- */

static void check_macs(void)
{
	ck_assert_mem_eq(got.b, peer_mac, 6);
	ck_assert_mem_eq(got.b + 6, our_mac[0], 6);
}

START_TEST(ping_is_answered)
{
	struct bytes f;
	struct tg_pkt p;
	const uint8_t *ip = got.b + 18;

	for (unsigned int payload = 0; payload < 60; payload++) {
		ping4(&f, &p, "203.0.113.5", "198.51.100.80", payload);
		input(&f, &p, 0, S(10), 0);
		replied(0);
		check_macs();
		ck_assert_uint_eq(got.len, f.len);
		ck_assert_mem_eq(got.b + 12, f.b + 12, 6); /* tag and type */
		ck_assert_uint_eq(ip[8], 64);
		ck_assert_mem_eq(ip + 12, p.dst.b + 12, 4);
		ck_assert_mem_eq(ip + 16, p.key.client.b + 12, 4);
		ck_assert_uint_eq(sum(ip, 20, 0), 0xffff);
		ck_assert_uint_eq(ip[20], 0);
		ck_assert_uint_eq(sum(ip + 20, 8 + payload, 0), 0xffff);
		ck_assert_mem_eq(ip + 24, f.b + 18 + 24, 4 + payload);
	}
	ping6(&f, &p, "2001:db8:1::5", "2001:db8::80");
	input(&f, &p, 0, S(10), 0);
	replied(0);
	check_macs();
	ip = got.b + 14;
	ck_assert_uint_eq(ip[7], 64);
	ck_assert_mem_eq(ip + 8, p.dst.b, 16);
	ck_assert_mem_eq(ip + 24, p.key.client.b, 16);
	ck_assert_uint_eq(ip[40], 129);
	ck_assert_uint_eq(sum6(ip, 11), 0xffff);
}
END_TEST

/* Every checksum an echo can carry, 0 and all ones included. */
START_TEST(ping_checksums)
{
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i <= 0xffff; i++) {
		uint8_t *ip = f.b + 18;

		bucket.tokens = 1;
		bucket.last = S(10);
		ping4(&f, &p, "203.0.113.5", "198.51.100.80", 0);
		set16(ip + 26, i);
		set16(ip + 4, i);
		set16(ip + 10, 0);
		set16(ip + 10, 0xffff - sum(ip, 20, 0));
		set16(ip + 22, 0);
		set16(ip + 22, 0xffff - sum(ip + 20, 8, 0));
		input(&f, &p, 0, S(10), 0);
		ip = got.b + 18;
		if (sum(ip, 20, 0) != 0xffff || sum(ip + 20, 8, 0) != 0xffff)
			ck_abort_msg("wrong checksum for %u", i);
	}
}
END_TEST

START_TEST(ping_left_alone)
{
	static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 1};
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i < 5; i++) {
		ping4(&f, &p, "203.0.113.5", i == 1 ? "198.51.100.81" : "198.51.100.80", 20);
		if (i == 2)
			memcpy(f.b, group, 6);
		if (i == 3)
			f.len = 45; /* its header is cut */
		if (i == 4) {       /* behind an extension header */
			ping6(&f, &p, "2001:db8:1::5", "2001:db8::80");
			p.l4_off += 8;
		}
		input(&f, &p, i == 0 ? 1 : 0, S(10), 0);
		ck_assert_uint_eq(burst.verdict[0], TG_FORWARD);
		ck_assert_mem_eq(got.b, f.b, f.len);
	}
	/* one of two services on the address answers; our own always do */
	ping4(&f, &p, "203.0.113.5", "198.51.100.82", 20);
	input(&f, &p, 0, S(10), 0);
	replied(0);
	ping4(&f, &p, "203.0.113.5", "198.51.100.2", 20);
	input(&f, &p, 0, S(10), 0);
	replied(0);
	ping4(&f, &p, "203.0.113.5", "192.0.2.9", 20);
	input(&f, &p, 0, S(10), 0);
	replied(0);
}
END_TEST

START_TEST(ping_from_nobody)
{
	static const char *const from[] = {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"};
	static const char *const from6[] = {"::", "::1", "ff02::1"};
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i < 4; i++) {
		ping4(&f, &p, from[i], "198.51.100.80", 20);
		input(&f, &p, 0, S(10), 0);
		dropped(TG_DROP_ICMP);
	}
	for (unsigned int i = 0; i < 3; i++) {
		ping6(&f, &p, from6[i], "2001:db8::80");
		input(&f, &p, 0, S(10), 0);
		dropped(TG_DROP_ICMP);
	}
}
END_TEST

static unsigned int pings(uint64_t from, uint64_t step, unsigned int n)
{
	unsigned int answered = 0;
	struct bytes f;
	struct tg_pkt p;

	for (unsigned int i = 0; i < n; i++) {
		ping4(&f, &p, "203.0.113.5", "198.51.100.80", 20);
		input(&f, &p, 0, from + i * step, 0);
		if (burst.verdict[0] == TG_REPLY)
			answered++;
		else
			dropped(TG_DROP_PING_RATE);
	}
	return answered;
}

START_TEST(ping_rate)
{
	ck_assert_uint_eq(pings(S(10), 0, 250), TG_PING_RATE);
	ck_assert_uint_eq(pings(S(10) + 9999999, 0, 3), 0);
	ck_assert_uint_eq(pings(S(10) + 10000000, 0, 3), 1);
	/* ten seconds of a thousand a second: 100 a second, none lost to rounding */
	ck_assert_uint_eq(pings(S(10) + 10000000, 1000000, 10000), 999);
	/* time that goes back brings nothing */
	ck_assert_uint_eq(pings(S(5), 0, 5), 0);
	ck_assert_uint_eq(pings(S(1000), 0, 250), TG_PING_RATE);
}
END_TEST

START_TEST(others_are_left_alone)
{
	struct bytes f;
	struct tg_pkt p;
	struct rte_mbuf m = {.nb_segs = 1};
	struct tg_pkt any;

	ping4(&f, &p, "203.0.113.5", "198.51.100.80", 20);
	p.flags &= (uint16_t)~TG_PKT_PING;
	input(&f, &p, 0, S(10), 0);
	ck_assert_uint_eq(burst.verdict[0], TG_FORWARD);
	p.flags |= TG_PKT_PING;
	any = p;
	any.dst = addr("192.0.2.9");
	input(&f, &any, 2, S(10), 0); /* a port that is not there */
	ck_assert_uint_eq(burst.verdict[0], TG_FORWARD);
	/* what another stage has decided stands */
	m.buf_addr = f.b;
	m.data_len = f.len;
	burst.port = 0;
	burst.pkt[0] = p;
	burst.mbuf[0] = &m;
	tg_drop(&burst, 0, TG_DROP_SHADOW);
	tg_neigh_input(table, local, &clock_ns, &bucket, &burst);
	dropped(TG_DROP_SHADOW);
}
END_TEST

/* ---- the table ---- */

static unsigned int entries(void)
{
	struct tg_neigh_info info;
	unsigned int n = 0;

	while (tg_neigh_get(table, n, 0, &info))
		n++;
	return n;
}

START_TEST(table_keeps_words)
{
	const uint64_t *a = next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	const uint64_t *b = next_hop(0, "fe80::1", "fe80::2", other_mac), *word;
	struct tg_addr v4 = addr("10.0.0.1"), v6 = addr("fe80::1");
	struct tg_neigh_info info;

	ck_assert_ptr_eq(a, next_hop(0, "198.51.100.1", "198.51.100.2", NULL));
	ck_assert_ptr_ne(a, next_hop(1, "198.51.100.1", "198.51.100.2", NULL));
	ck_assert_int_eq(tg_neigh_add(table, 0, &v4, &v6, NULL, &word), -EINVAL);
	ck_assert_uint_eq(entries(), 3);
	ck_assert(tg_neigh_get(table, 1, S(1), &info));
	ck_assert(info.valid && info.fixed && info.age_ns == UINT64_MAX);
	ck_assert_mem_eq(info.mac, other_mac, 6);
	/* fixed no longer: its address is kept, and packets may change it */
	ck_assert_ptr_eq(b, next_hop(0, "fe80::1", "fe80::2", NULL));
	ck_assert_uint_eq(*b, tg_mac_word(other_mac));
	ck_assert(tg_neigh_get(table, 1, S(1), &info));
	ck_assert(info.valid && !info.fixed);
	ck_assert_ptr_eq(a, next_hop(0, "198.51.100.1", "198.51.100.2", other_mac));
	ck_assert_uint_ne(*a & TG_MAC_VALID, 0);
}
END_TEST

START_TEST(no_addresses)
{
	struct tg_neigh_local *none;
	struct tg_addr a = addr("10.0.0.1");

	ck_assert_int_eq(tg_neigh_local_create(NULL, 0, NULL, 0, -1, &none), 0);
	ck_assert(!tg_neigh_is_local(none, &a, 0));
	tg_neigh_local_free(none);
	a = addr("198.51.100.80");
	ck_assert(tg_neigh_is_local(local, &a, 0));
	ck_assert(!tg_neigh_is_local(local, &a, 1));
	a = addr("192.0.2.9");
	ck_assert(tg_neigh_is_local(local, &a, 0) && tg_neigh_is_local(local, &a, 1));
}
END_TEST

/* ---- asking ---- */

static struct bytes asked;
static uint16_t asked_port;

static void ask(void *ctx, uint16_t port, const uint8_t *frame, uint16_t len)
{
	ck_assert_ptr_eq(ctx, &asked);
	asked.len = 0;
	put(&asked, frame, len);
	asked_port = port;
}

static unsigned int tick(uint64_t now)
{
	return tg_neigh_tick(table, ports, now, 10, ask, &asked);
}

static void answer(const char *a, uint64_t now)
{
	struct bytes f;
	struct tg_pkt p;

	arp(&f, &p, our_mac[0], 0, 2, peer_mac, a, "198.51.100.2");
	input(&f, &p, 0, now, 0);
}

START_TEST(asks_and_refreshes)
{
	const uint64_t *word = next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	uint64_t now = S(100);

	next_hop(0, "198.51.100.7", "198.51.100.2", other_mac); /* never asked for */
	for (unsigned int i = 0; i < 5; i++) { /* every second until there is an answer */
		ck_assert_uint_eq(tick(now), 1);
		ck_assert_mem_eq(asked.b, broadcast, 6);
		ck_assert_uint_eq(tick(now + S(1) - 1), 0);
		now += S(1);
	}
	answer("198.51.100.1", now - 1000);
	ck_assert_uint_ne(*word & TG_MAC_VALID, 0);
	ck_assert_uint_eq(tick(now), 0);
	ck_assert_uint_eq(tick(now + S(30) - 1001), 0);
	now += S(30);
	ck_assert_uint_eq(tick(now), 1); /* 30 s without news: asked alone */
	ck_assert_mem_eq(asked.b, peer_mac, 6);
	answer("198.51.100.1", now + 5);
	ck_assert_uint_eq(tick(now + S(1)), 0);
	ck_assert_uint_eq(tick(now + S(30)), 0);
	now += S(31);
	for (unsigned int i = 0; i < 3; i++, now += S(1)) { /* three unanswered */
		ck_assert_uint_eq(tick(now), 1);
		ck_assert_mem_eq(asked.b, peer_mac, 6);
		ck_assert_uint_ne(*word & TG_MAC_VALID, 0);
	}
	ck_assert_uint_eq(tick(now), 1);
	ck_assert_mem_eq(asked.b, broadcast, 6);
	ck_assert_uint_eq(*word & TG_MAC_VALID, 0);
	answer("198.51.100.1", now + 5);
	ck_assert_uint_eq(*word, tg_mac_word(peer_mac));
	ck_assert_uint_eq(tick(now + S(1)), 0);
}
END_TEST

/* One of several ways: asked every second, gone 4 s after its last answer; as the others after the next mark. */
START_TEST(watched)
{
	const uint64_t *word = next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	struct tg_addr a = addr("198.51.100.1"), stranger = addr("198.51.100.9");
	uint64_t now = S(100);

	tick(now);
	answer("198.51.100.1", now);
	ck_assert_uint_eq(tick(now + S(2)), 0); /* put off for 30 s */
	tg_neigh_watch(table, 0, &stranger);    /* nothing */
	tg_neigh_watch(table, 0, &a);
	for (unsigned int i = 0; i < 40; i++, now += S(1)) {
		answer("198.51.100.1", now);
		ck_assert_uint_eq(tick(now + S(1) - 1), 0);
		ck_assert_uint_eq(tick(now + S(1)), 1);
		ck_assert_mem_eq(asked.b, peer_mac, 6);
		ck_assert_uint_ne(*word & TG_MAC_VALID, 0);
	}
	for (unsigned int i = 0; i < 2; i++) { /* two more go unanswered */
		now += S(1);
		ck_assert_uint_eq(tick(now), 1);
		ck_assert_uint_ne(*word & TG_MAC_VALID, 0);
	}
	ck_assert_uint_eq(tick(now + S(1)), 1);
	ck_assert_mem_eq(asked.b, broadcast, 6);
	ck_assert_uint_eq(*word & TG_MAC_VALID, 0);
	answer("198.51.100.1", now + S(1));
	tg_neigh_mark(table);
	next_hop(0, "198.51.100.1", "198.51.100.2", NULL);
	tick(now + S(2));
	ck_assert_uint_eq(tick(now + S(29)), 0);
}
END_TEST

START_TEST(arp_request_bytes)
{
	struct bytes want;
	struct tg_pkt p;

	next_hop(1, "10.0.0.9", "10.0.0.2", NULL);
	ck_assert_uint_eq(tick(S(1)), 1);
	arp(&want, &p, broadcast, 1, 1, our_mac[1], "10.0.0.2", "10.0.0.9");
	want.b[14] = 0; /* no priority */
	ck_assert_uint_eq(asked_port, 1);
	ck_assert_uint_eq(asked.len, 60);
	ck_assert_mem_eq(asked.b, want.b, 60);
}
END_TEST

START_TEST(solicitation_bytes)
{
	static const uint8_t group[6] = {0x33, 0x33, 0xff, 0x12, 0x34, 0x56};
	struct bytes want;
	struct tg_pkt p;

	next_hop(0, "2001:db8::12:3456", "2001:db8::2", NULL);
	ck_assert_uint_eq(tick(S(1)), 1);
	nd(&want, &p, NS, 0, "2001:db8::2", "ff02::1:ff12:3456", "2001:db8::12:3456", 1,
	   our_mac[0]);
	memcpy(want.b, group, 6);
	memcpy(want.b + 6, our_mac[0], 6);
	ck_assert_uint_eq(asked.len, 86);
	ck_assert_mem_eq(asked.b, want.b, 86);
	/* refreshed by unicast, at both layers */
	nd(&want, &p, NA, 0x60, "2001:db8::12:3456", "2001:db8::2", "2001:db8::12:3456", 2,
	   peer_mac);
	input(&want, &p, 0, S(1), 0);
	ck_assert_uint_eq(tick(S(32)), 1);
	nd(&want, &p, NS, 0, "2001:db8::2", "2001:db8::12:3456", "2001:db8::12:3456", 1,
	   our_mac[0]);
	memcpy(want.b, peer_mac, 6);
	memcpy(want.b + 6, our_mac[0], 6);
	ck_assert_mem_eq(asked.b, want.b, 86);
}
END_TEST

static void add_case(Suite *s, const char *name, const TTest *const *tests)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (; *tests != NULL; tests++)
		tcase_add_test(tc, *tests);
	suite_add_tcase(s, tc);
}

#define CASE(s, name, ...) add_case(s, name, (const TTest *const[]){__VA_ARGS__, NULL})

static Suite *suite(void)
{
	Suite *s = suite_create("neigh");

	CASE(s, "arp", arp_is_answered, arp_not_ours, arp_learns, arp_malformed);
	CASE(s, "nd", nd_is_answered, nd_not_answered, nd_learns, nd_malformed, random_bytes);
	CASE(s, "ping", ping_is_answered, ping_checksums, ping_left_alone, ping_from_nobody,
	     ping_rate, others_are_left_alone);
	CASE(s, "table", table_keeps_words, no_addresses);
	CASE(s, "asking", asks_and_refreshes, watched, arp_request_bytes, solicitation_bytes);
	return s;
}

UNIT_MAIN_EAL(suite)
