/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>

#include <rte_byteorder.h>

#include "tg_service.h"
#include "unit.h"

#define ANY TG_PROTOCOL_ANY
#define V4  "192.0.2.10"
#define V6  "2001:db8::10"

static struct tg_service_table *table;

static struct tg_addr addr_of(const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return a;
}

/* A rule in plain numbers. */
struct plain {
	const char *address;
	uint8_t protocol;
	uint16_t port; /* host order */
	uint16_t service;
};

static int make(const struct plain *rules, unsigned int n, unsigned int *clash)
{
	static struct tg_service_rule r[8192];

	for (unsigned int i = 0; i < n; i++) {
		r[i].address = addr_of(rules[i].address);
		r[i].protocol = rules[i].protocol;
		r[i].port = rte_cpu_to_be_16(rules[i].port);
		r[i].service = rules[i].service;
	}
	return tg_service_table_create(r, n, -1, &table, clash);
}

#define MAKE(...)                                                                            \
	do {                                                                                 \
		static const struct plain rules_[] = {__VA_ARGS__};                          \
		ck_assert_int_eq(make(rules_, sizeof(rules_) / sizeof(rules_[0]), NULL), 0); \
	} while (0)

static struct tg_pkt packet(const char *dst, uint8_t protocol, uint16_t port, uint16_t flags)
{
	struct tg_pkt p = {
		.key = {.service_port = rte_cpu_to_be_16(port),
			.client_port = rte_cpu_to_be_16(40000),
			.protocol = protocol,
			.service = TG_NO_SERVICE},
		.dst = addr_of(dst),
		.flags = flags,
	};

	if (!tg_addr_is_v4(&p.dst))
		p.flags |= TG_PKT_V6;
	if (flags & TG_PKT_FRAGMENT) {
		p.key.service_port = p.key.client_port = 0;
		p.key.flags = TG_KEY_FRAGMENT;
	}
	return p;
}

static uint16_t find(const char *dst, uint8_t protocol, uint16_t port)
{
	struct tg_pkt p = packet(dst, protocol, port, 0);
	bool is_vip;

	return tg_service_find(table, &p, &is_vip);
}

static uint16_t find_fragment(const char *dst, uint8_t protocol)
{
	struct tg_pkt p = packet(dst, protocol, 0, TG_PKT_FRAGMENT);
	bool is_vip;

	return tg_service_find(table, &p, &is_vip);
}

static bool vip(const char *dst)
{
	struct tg_pkt p = packet(dst, IPPROTO_GRE, 0, 0);
	bool is_vip;

	tg_service_find(table, &p, &is_vip);
	return is_vip;
}

START_TEST(exact)
{
	MAKE({V4, IPPROTO_TCP, 80, 1}, {V4, IPPROTO_TCP, 443, 1}, {V4, IPPROTO_UDP, 53, 2},
	     {V6, IPPROTO_TCP, 80, 3}, {"192.0.2.11", IPPROTO_TCP, 80, 4});
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 80), 1);
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 443), 1);
	ck_assert_uint_eq(find(V4, IPPROTO_UDP, 53), 2);
	ck_assert_uint_eq(find(V6, IPPROTO_TCP, 80), 3);
	ck_assert_uint_eq(find("192.0.2.11", IPPROTO_TCP, 80), 4);
	/* the right address, but never another service */
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 53), TG_NO_SERVICE);
	ck_assert_uint_eq(find(V4, IPPROTO_UDP, 80), TG_NO_SERVICE);
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 81), TG_NO_SERVICE);
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 0), TG_NO_SERVICE);
	ck_assert_uint_eq(find(V4, IPPROTO_GRE, 0), TG_NO_SERVICE);
	ck_assert_uint_eq(find("192.0.2.12", IPPROTO_TCP, 80), TG_NO_SERVICE);
	ck_assert(vip(V4) && vip(V6) && vip("192.0.2.11") && !vip("192.0.2.12"));
	tg_service_table_free(table);
}
END_TEST

/* Exact port before any port, the protocol before `any`. */
START_TEST(precedence)
{
	MAKE({V4, ANY, 0, 30}, {V4, IPPROTO_TCP, 0, 20}, {V4, IPPROTO_TCP, 80, 10},
	     {V6, IPPROTO_TCP, 0, 40}, {"192.0.2.11", ANY, 0, 50});
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 80), 10);
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 81), 20);
	ck_assert_uint_eq(find(V4, IPPROTO_UDP, 80), 30);
	ck_assert_uint_eq(find(V4, IPPROTO_ESP, 0), 30);
	ck_assert_uint_eq(find(V4, IPPROTO_ICMP, 0), 30);
	ck_assert_uint_eq(find(V6, IPPROTO_TCP, 1), 40);
	ck_assert_uint_eq(find(V6, IPPROTO_UDP, 1), TG_NO_SERVICE);
	ck_assert_uint_eq(find("192.0.2.11", IPPROTO_TCP, 80), 50);
	ck_assert_uint_eq(find("192.0.2.11", IPPROTO_HOPOPTS, 0), 50);
	tg_service_table_free(table);
}
END_TEST

/* Without ports nobody knows whose it is, whatever services there are. */
START_TEST(fragments)
{
	struct tg_pkt p;
	bool is_vip;

	MAKE({V4, IPPROTO_UDP, 53, 1}, {"192.0.2.11", IPPROTO_UDP, 0, 6},
	     {"192.0.2.12", ANY, 0, 9});
	ck_assert_uint_eq(find_fragment(V4, IPPROTO_UDP), TG_NO_SERVICE);
	ck_assert_uint_eq(find_fragment("192.0.2.11", IPPROTO_UDP), TG_NO_SERVICE);
	ck_assert_uint_eq(find_fragment("192.0.2.12", IPPROTO_GRE), TG_NO_SERVICE);
	/* with those of its first one, or of a protocol that has none, it is a packet like others */
	p = packet(V4, IPPROTO_UDP, 53, 0);
	p.flags |= TG_PKT_FRAGMENT | TG_PKT_LATER;
	ck_assert_uint_eq(tg_service_find(table, &p, &is_vip), 1);
	p = packet("192.0.2.12", IPPROTO_GRE, 0, 0);
	p.flags |= TG_PKT_FRAGMENT;
	ck_assert_uint_eq(tg_service_find(table, &p, &is_vip), 9);
	tg_service_table_free(table);
}
END_TEST

/* An IPv4 address that comes in an IPv6 header is not the IPv4 service's. */
START_TEST(mapped_in_ip6)
{
	struct tg_pkt p = packet(V4, IPPROTO_TCP, 80, TG_PKT_V6);
	bool is_vip = true;

	MAKE({V4, IPPROTO_TCP, 80, 1});
	ck_assert_uint_eq(tg_service_find(table, &p, &is_vip), TG_NO_SERVICE);
	ck_assert(!is_vip);
	tg_service_table_free(table);
}
END_TEST

START_TEST(clashes)
{
	static const struct plain twice[] = {{V4, IPPROTO_TCP, 80, 1},
					     {V4, IPPROTO_TCP, 81, 1},
					     {V4, IPPROTO_TCP, 80, 2}};
	static const struct plain twice_any[] = {{V4, ANY, 0, 1}, {V4, ANY, 0, 1}};
	static const struct plain any_port[] = {{V4, IPPROTO_TCP, 80, 1}, {V4, ANY, 80, 2}};
	unsigned int clash = 99;

	ck_assert_int_eq(make(twice, 3, &clash), -EEXIST);
	ck_assert_uint_eq(clash, 2);
	ck_assert_int_eq(make(twice, 3, NULL), -EEXIST);
	ck_assert_int_eq(make(twice_any, 2, &clash), -EEXIST);
	ck_assert_uint_eq(clash, 1);
	ck_assert_int_eq(make(any_port, 2, &clash), -EINVAL);
	ck_assert_uint_eq(clash, 1);
}
END_TEST

START_TEST(empty)
{
	ck_assert_int_eq(make(NULL, 0, NULL), 0);
	ck_assert_uint_eq(find(V4, IPPROTO_TCP, 80), TG_NO_SERVICE);
	ck_assert(!vip(V4));
	tg_service_table_free(table);
	tg_service_table_free(NULL);
}
END_TEST

/* Every rule of a large table is found, and its neighbours are not. */
START_TEST(many)
{
	static struct plain rules[8192];
	static char text[8192][32];

	for (unsigned int i = 0; i < 8192; i++) {
		snprintf(text[i], sizeof(text[i]), "10.0.%u.%u", i / 2 / 256, i / 2 % 256);
		rules[i] = (struct plain){text[i], i % 2 ? IPPROTO_UDP : IPPROTO_TCP,
					  (uint16_t)(i + 1), (uint16_t)i};
	}
	ck_assert_int_eq(make(rules, 8192, NULL), 0);
	for (unsigned int i = 0; i < 8192; i++) {
		ck_assert_uint_eq(find(text[i], rules[i].protocol, rules[i].port), i);
		ck_assert_uint_eq(find(text[i], rules[i].protocol, (uint16_t)(i + 2)),
				  TG_NO_SERVICE);
	}
	ck_assert(!vip("10.1.0.0"));
	tg_service_table_free(table);
}
END_TEST

START_TEST(burst_reasons)
{
	static const struct {
		const char *dst;
		uint8_t protocol;
		uint16_t port, flags, service;
		enum tg_reason why;
	} known[] = {
		{V4, IPPROTO_TCP, 80, 0, 1, TG_DROP_NONE},
		{V4, IPPROTO_TCP, 80, 0, 1, TG_DROP_NONE},
		{V4, IPPROTO_TCP, 81, 0, TG_NO_SERVICE, TG_DROP_NO_SERVICE},
		{V4, IPPROTO_UDP, 80, 0, TG_NO_SERVICE, TG_DROP_NO_SERVICE},
		{"192.0.2.99", IPPROTO_UDP, 80, 0, TG_NO_SERVICE, TG_DROP_NOT_OURS},
		{"192.0.2.99", IPPROTO_UDP, 80, 0, TG_NO_SERVICE, TG_DROP_NOT_OURS},
		{V6, IPPROTO_UDP, 53, 0, 2, TG_DROP_NONE},
		{V6, IPPROTO_UDP, 0, TG_PKT_FRAGMENT, TG_NO_SERVICE, TG_DROP_FRAGMENT},
		{V4, IPPROTO_TCP, 0, TG_PKT_FRAGMENT, TG_NO_SERVICE, TG_DROP_FRAGMENT},
		{V4, IPPROTO_TCP, 0, 0, TG_NO_SERVICE, TG_DROP_NO_SERVICE},
		{V4, IPPROTO_TCP, 80, TG_PKT_V6, TG_NO_SERVICE, TG_DROP_NOT_OURS},
		{V4, IPPROTO_ICMP, 0, TG_PKT_ICMP_ERROR, TG_NO_SERVICE, TG_DROP_ICMP},
		{V6, IPPROTO_ICMPV6, 0, TG_PKT_PING, TG_NO_SERVICE, TG_DROP_ICMP},
		{V6, IPPROTO_ICMP, 0, 0, TG_NO_SERVICE, TG_DROP_NO_SERVICE}, /* v4's in v6 */
		{"192.0.2.99", IPPROTO_ICMP, 0, TG_PKT_PING, TG_NO_SERVICE, TG_DROP_NOT_OURS},
		{"192.0.2.50", IPPROTO_ICMP, 0, TG_PKT_ICMP_ERROR, 3, TG_DROP_NONE},
		{"192.0.2.99", IPPROTO_UDP, 0, TG_PKT_FRAGMENT, TG_NO_SERVICE, TG_DROP_NOT_OURS},
		/* neighbour traffic was seen to before: left alone */
		{"192.0.2.99", 0, 0, TG_PKT_ARP, TG_NO_SERVICE, TG_DROP_NONE},
		{"2001:db8::99", IPPROTO_ICMPV6, 0, TG_PKT_ND, TG_NO_SERVICE, TG_DROP_NONE},
		{V4, IPPROTO_TCP, 80, 0, 1, TG_DROP_NONE},
		{V4, IPPROTO_TCP, 80, TG_PKT_V6, TG_NO_SERVICE, TG_DROP_NOT_OURS},
	};
	static struct tg_burst b;

	MAKE({V4, IPPROTO_TCP, 80, 1}, {V6, IPPROTO_UDP, 53, 2}, {"192.0.2.50", ANY, 0, 3});
	b.n = sizeof(known) / sizeof(known[0]);
	for (unsigned int i = 0; i < b.n; i++)
		b.pkt[i] = packet(known[i].dst, known[i].protocol, known[i].port, known[i].flags);
	tg_service_match(table, &b);
	for (unsigned int i = 0; i < b.n; i++) {
		ck_assert_msg(b.reason[i] == known[i].why, "%u: %s", i,
			      tg_reason_name((enum tg_reason)b.reason[i]));
		ck_assert_int_eq(b.verdict[i], known[i].why ? TG_DROP : TG_FORWARD);
		ck_assert_uint_eq(b.pkt[i].key.service, known[i].service);
	}
	tg_service_table_free(table);
}
END_TEST

START_TEST(burst_passes_over_others)
{
	static struct tg_burst b;

	MAKE({V4, IPPROTO_TCP, 80, 1});
	b.n = 3;
	for (unsigned int i = 0; i < b.n; i++)
		b.pkt[i] = packet(V4, IPPROTO_TCP, 80, 0);
	b.verdict[0] = TG_REPLY;
	tg_drop(&b, 1, TG_DROP_IP_LENGTH);
	tg_service_match(table, &b);
	ck_assert_uint_eq(b.pkt[0].key.service, TG_NO_SERVICE);
	ck_assert_int_eq(b.verdict[0], TG_REPLY);
	ck_assert_int_eq(b.reason[1], TG_DROP_IP_LENGTH);
	ck_assert_uint_eq(b.pkt[2].key.service, 1);
	tg_service_table_free(table);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 20;
}

/* The rule of this address, protocol and port, looked for one by one. */
static const struct tg_service_rule *lookup(const struct tg_service_rule *r, unsigned int n,
					    const struct tg_addr *dst, uint8_t protocol,
					    uint16_t port)
{
	for (; n > 0; n--, r++) {
		if (tg_addr_eq(&r->address, dst) && r->protocol == protocol && r->port == port)
			return r;
	}
	return NULL;
}

/* What the header says of a packet, in the plainest way. */
static uint16_t naive(const struct tg_service_rule *r, unsigned int n, const struct tg_pkt *p)
{
	const struct tg_service_rule *found = NULL;

	if (p->key.flags & TG_KEY_FRAGMENT)
		return TG_NO_SERVICE;
	if (p->key.service_port != 0)
		found = lookup(r, n, &p->dst, p->key.protocol, p->key.service_port);
	if (found == NULL)
		found = lookup(r, n, &p->dst, p->key.protocol, 0);
	if (found == NULL)
		found = lookup(r, n, &p->dst, ANY, 0);
	return found != NULL ? found->service : TG_NO_SERVICE;
}

static const char *const few_addresses[] = {V4, "192.0.2.11", V6, "2001:db8::11", "192.0.2.12"};
static const uint8_t few_protocols[] = {ANY, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_GRE};

/* Random rules, no two alike. */
static unsigned int random_rules(struct tg_service_rule *r, unsigned int most, uint64_t *state)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < most; i++) {
		struct tg_service_rule new = {.address = addr_of(
						      few_addresses[next_random(state) % 4]),
					      .protocol = few_protocols[next_random(state) % 4],
					      .service = (uint16_t)(next_random(state) % 5)};

		if (new.protocol != ANY)
			new.port = rte_cpu_to_be_16(next_random(state) % 4);
		if (lookup(r, n, &new.address, new.protocol, new.port) == NULL)
			r[n++] = new;
	}
	return n;
}

/* Few addresses, protocols and ports, so that rules overlap and packets in a row agree in part. */
START_TEST(against_linear_search)
{
	static struct tg_burst b;
	struct tg_service_rule r[24];
	unsigned int matched = 0;
	uint64_t state = 77;

	for (unsigned int round = 0; round < 4000; round++) {
		unsigned int n = random_rules(r, (unsigned int)(next_random(&state) % 24), &state);

		ck_assert_int_eq(tg_service_table_create(r, n, -1, &table, NULL), 0);
		memset(&b, 0, sizeof(b));
		b.n = TG_BURST_MAX;
		for (unsigned int i = 0; i < b.n; i++) {
			bool again = i > 0 && next_random(&state) % 3 == 0;

			b.pkt[i] = packet(few_addresses[next_random(&state) % 5],
					  few_protocols[next_random(&state) % 4],
					  (uint16_t)(next_random(&state) % 4),
					  next_random(&state) % 4 == 0 ? TG_PKT_FRAGMENT : 0);
			if (again)
				b.pkt[i] = b.pkt[i - 1];
		}
		tg_service_match(table, &b);
		for (unsigned int i = 0; i < b.n; i++) {
			uint16_t want = naive(r, n, &b.pkt[i]);

			ck_assert_uint_eq(b.pkt[i].key.service, want);
			ck_assert_int_eq(b.verdict[i],
					 want == TG_NO_SERVICE ? TG_DROP : TG_FORWARD);
			matched += want != TG_NO_SERVICE;
		}
		tg_service_table_free(table);
	}
	ck_assert_uint_gt(matched, 20000); /* of 128000: not all misses */
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("service");

	UNIT_CASE(s, "find", exact, precedence, fragments, mapped_in_ip6);
	UNIT_CASE(s, "table", clashes, empty, many);
	UNIT_CASE(s, "burst", burst_reasons, burst_passes_over_others, against_linear_search);
	return s;
}
UNIT_MAIN_EAL(suite)
