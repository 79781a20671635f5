/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read out of a capture besides its frames: who is the server, what time it is, which
 * server a frame went to; and the helpers of the report.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "conversation.h"
#include "map.h"
#include "table.h"
#include "timeline.h"
#include "unit.h"
#include "wellknown.h"

/* ---- map ---- */

START_TEST(map_keeps_what_it_is_given)
{
	struct tg_map *map = tg_map_create(sizeof(uint32_t), sizeof(uint64_t), 1000);
	const void *key;

	for (uint32_t i = 0; i < 1000; i++)
		*(uint64_t *)tg_map_add(map, &i) = i * 7;
	for (uint32_t i = 0; i < 1000; i++) {
		ck_assert_uint_eq(*(uint64_t *)tg_map_find(map, &i), i * 7);
		ck_assert_uint_eq(*(uint64_t *)tg_map_add(map, &i), i * 7);
		ck_assert_uint_eq(*(uint64_t *)tg_map_at(map, i, &key), i * 7);
		ck_assert_uint_eq(*(const uint32_t *)key, i);
	}
	ck_assert_uint_eq(tg_map_count(map), 1000);
	tg_map_free(map);
}
END_TEST

START_TEST(map_is_bounded)
{
	struct tg_map *map = tg_map_create(1, 1, 200);
	unsigned int refused = 0;

	for (unsigned int i = 0; i < 256; i++) {
		uint8_t key = (uint8_t)i;

		refused += tg_map_add(map, &key) == NULL;
		ck_assert((tg_map_find(map, &key) != NULL) == (i < 200));
	}
	ck_assert_uint_eq(refused, 56);
	ck_assert_uint_eq(tg_map_count(map), 200);
	tg_map_free(map);
	tg_map_free(NULL);
}
END_TEST

START_TEST(map_values_are_zero_at_first)
{
	struct tg_map *map = tg_map_create(1, 100, 100);
	static const uint8_t zero[100];

	for (uint8_t i = 0; i < 100; i++) {
		uint8_t *value = tg_map_add(map, &i);

		ck_assert_mem_eq(value, zero, sizeof(zero));
		memset(value, 0xff, 100);
	}
	tg_map_free(map);
}
END_TEST

/* ---- time ---- */

START_TEST(time_goes_on)
{
	struct tg_timeline line = {0};
	const uint64_t start = UINT64_C(1700000000000000000);

	ck_assert_uint_eq(tg_timeline(&line, start), start);
	ck_assert_uint_eq(tg_timeline(&line, start + 5), start + 5);
	/* disorder: simultaneous, and the clock is not set back */
	ck_assert_uint_eq(tg_timeline(&line, start + 2), start + 5);
	ck_assert_uint_eq(tg_timeline(&line, start + 7), start + 7);
	ck_assert_uint_eq(line.disordered, 1);
	ck_assert_uint_eq(line.restarts, 0);
}
END_TEST

START_TEST(time_of_a_second_recording)
{
	struct tg_timeline line = {0};
	const uint64_t start = UINT64_C(1700000000000000000), before = start / 2;

	tg_timeline(&line, start);
	ck_assert_uint_eq(tg_timeline(&line, before), start);
	ck_assert_uint_eq(tg_timeline(&line, before + 40), start + 40);
	ck_assert_uint_eq(line.restarts, 1);
	/* and a third, from before the second */
	ck_assert_uint_eq(tg_timeline(&line, 0), start + 40);
	ck_assert_uint_eq(tg_timeline(&line, 9), start + 49);
	ck_assert_uint_eq(line.restarts, 2);
	/* the limits of the reader's range */
	ck_assert_uint_ge(tg_timeline(&line, INT64_MAX), start + 49);
}
END_TEST

START_TEST(time_is_never_zero)
{
	struct tg_timeline line = {0};

	ck_assert_uint_gt(tg_timeline(&line, 0), 0);
	ck_assert_uint_eq(tg_timeline(&line, 10) - tg_timeline(&line, 10), 0);
	ck_assert_uint_eq(line.last, TG_TIMELINE_SLACK_NS + 10);
	ck_assert_uint_eq(line.disordered + line.restarts, 0);
}
END_TEST

/* ---- durations ---- */

START_TEST(durations_have_three_digits)
{
	static const struct {
		unsigned long long ns;
		const char *text;
	} want[] = {{0, "0 ns"},
		    {1, "1 ns"},
		    {999, "999 ns"},
		    {1000, "1.00 us"},
		    {9994, "9.99 us"},
		    {9995, "10.0 us"},
		    {99949, "99.9 us"},
		    {99950, "100 us"},
		    {999499, "999 us"},
		    {999500, "1.00 ms"},
		    {1234567, "1.23 ms"},
		    {14500000, "14.5 ms"},
		    {999500000, "1.00 s"},
		    {61000000000, "61.0 s"},
		    {123456000000000, "123456 s"}};
	char text[TG_DURATION];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_str_eq(tg_table_duration(want[i].ns, text), want[i].text);
}
END_TEST

/* ---- who is the server ---- */

static struct tg_pkt packet(const char *from, uint16_t from_port, const char *to, uint16_t to_port,
			    uint8_t protocol, uint8_t tcp_flags)
{
	struct tg_pkt p = {
		.key = {.client_port = htons(from_port),
			.service_port = htons(to_port),
			.protocol = protocol,
			.service = TG_NO_SERVICE},
		.tcp_flags = tcp_flags,
	};

	ck_assert_int_eq(tg_addr_parse(from, &p.key.client), 0);
	ck_assert_int_eq(tg_addr_parse(to, &p.dst), 0);
	return p;
}

static struct tg_conversations *all;

static bool add(const char *from, uint16_t from_port, const char *to, uint16_t to_port,
		uint8_t protocol, uint8_t tcp_flags)
{
	struct tg_pkt p = packet(from, from_port, to, to_port, protocol, tcp_flags);

	return tg_conversations_add(all, &p, NULL);
}

/* Exactly this server, found like this; a packet to it is a client's, one from it is not. */
static void expect(const char *server, uint16_t port, const char *client, uint16_t client_port,
		   uint8_t protocol, enum tg_found found)
{
	struct tg_pkt to = packet(client, client_port, server, port, protocol, 0);
	struct tg_pkt from = packet(server, port, client, client_port, protocol, 0);
	const struct tg_endpoint *e;
	const struct tg_served *s;

	tg_conversations_decide(all);
	ck_assert_uint_eq(tg_conversations_served(all), 1);
	s = tg_conversations_server(all, 0, &e);
	ck_assert(tg_addr_eq(&e->address, &to.dst));
	ck_assert_uint_eq(ntohs(e->port), port);
	ck_assert_uint_eq(e->protocol, protocol);
	ck_assert_int_eq(s->found, found);
	ck_assert(!tg_conversations_from_server(all, &to));
	ck_assert(tg_conversations_from_server(all, &from));
	tg_conversations_free(all);
}

/* A SYN tells even against the ports; so does a SYN-ACK. */
START_TEST(server_by_syn)
{
	all = tg_conversations_create();
	add("10.0.0.1", 80, "10.0.0.2", 50000, IPPROTO_TCP, TG_TCP_SYN);
	expect("10.0.0.2", 50000, "10.0.0.1", 80, IPPROTO_TCP, TG_FOUND_SYN);

	all = tg_conversations_create();
	add("2001:db8::1", 50000, "2001:db8::2", 80, IPPROTO_TCP, TG_TCP_ACK);
	add("2001:db8::1", 50000, "2001:db8::2", 80, IPPROTO_TCP, TG_TCP_SYN | TG_TCP_ACK);
	expect("2001:db8::1", 50000, "2001:db8::2", 80, IPPROTO_TCP, TG_FOUND_SYN);
}
END_TEST

START_TEST(server_by_port)
{
	all = tg_conversations_create(); /* the answer is seen first */
	add("10.0.0.1", 53, "10.0.0.2", 50000, IPPROTO_UDP, 0);
	expect("10.0.0.1", 53, "10.0.0.2", 50000, IPPROTO_UDP, TG_FOUND_PORT);

	all = tg_conversations_create(); /* a privileged client port against a service above 1023 */
	add("10.0.0.1", 2049, "10.0.0.2", 679, IPPROTO_TCP, TG_TCP_ACK);
	expect("10.0.0.1", 2049, "10.0.0.2", 679, IPPROTO_TCP, TG_FOUND_PORT);
}
END_TEST

START_TEST(server_by_first_sender)
{
	all = tg_conversations_create();
	add("10.0.0.9", 45965, "10.0.0.1", 51194, IPPROTO_UDP, 0);
	add("10.0.0.1", 51194, "10.0.0.9", 45965, IPPROTO_UDP, 0);
	expect("10.0.0.1", 51194, "10.0.0.9", 45965, IPPROTO_UDP, TG_FOUND_SENDER);

	all = tg_conversations_create(); /* both ports well known */
	add("10.0.0.9", 123, "10.0.0.1", 123, IPPROTO_UDP, 0);
	expect("10.0.0.1", 123, "10.0.0.9", 123, IPPROTO_UDP, TG_FOUND_SENDER);

	all = tg_conversations_create(); /* no ports at all */
	add("10.0.0.9", 0, "10.0.0.1", 0, IPPROTO_ESP, 0);
	expect("10.0.0.1", 0, "10.0.0.9", 0, IPPROTO_ESP, TG_FOUND_SENDER);
}
END_TEST

/* A conversation joined in the middle, at an answer: the other one tells. */
START_TEST(server_by_what_it_serves)
{
	struct tg_pkt answer = packet("10.0.0.1", 40000, "10.0.0.2", 50000, IPPROTO_TCP,
				      TG_TCP_ACK);
	const struct tg_endpoint *e;
	const struct tg_served *s;

	all = tg_conversations_create();
	tg_conversations_add(all, &answer, NULL);
	add("10.0.0.3", 50000, "10.0.0.1", 40000, IPPROTO_TCP, TG_TCP_SYN);
	tg_conversations_decide(all);
	ck_assert_uint_eq(tg_conversations_served(all), 1);
	s = tg_conversations_server(all, 0, &e);
	ck_assert_uint_eq(ntohs(e->port), 40000);
	ck_assert_uint_eq(s->conversations, 2);
	ck_assert_uint_eq(s->packets, 1);
	ck_assert_int_eq(s->found, TG_FOUND_SYN);
	ck_assert(tg_conversations_from_server(all, &answer));
	tg_conversations_free(all);
}
END_TEST

/* The first fragment alone has ports, which the parsed header leaves out. */
START_TEST(server_of_fragments)
{
	struct tg_pkt p = packet("10.0.0.2", 0, "10.0.0.1", 0, IPPROTO_UDP, 0);
	const uint16_t ports[2] = {htons(50000), htons(53)};

	all = tg_conversations_create();
	p.flags = TG_PKT_FRAGMENT;
	ck_assert(tg_conversations_add(all, &p, ports));
	p.flags |= TG_PKT_LATER;
	ck_assert(!tg_conversations_add(all, &p, NULL));
	expect("10.0.0.1", 53, "10.0.0.2", 50000, IPPROTO_UDP, TG_FOUND_PORT);
}
END_TEST

START_TEST(what_is_no_service)
{
	static const char *const nobody[] = {
		"255.255.255.255", "224.0.0.251", "239.1.1.1", "240.0.0.1",
		"0.0.0.0",         "ff02::fb",    "::"};
	struct tg_pkt nd;

	all = tg_conversations_create();
	for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++)
		ck_assert(!add("10.0.0.1", 68, nobody[i], 67, IPPROTO_UDP, 0));
	ck_assert(!add("0.0.0.0", 68, "10.0.0.1", 67, IPPROTO_UDP, 0));
	ck_assert(!add("::", 68, "fd00::1", 67, IPPROTO_UDP, 0));
	ck_assert(!add("10.0.0.1", 0, "10.0.0.2", 0, IPPROTO_ICMP, 0));
	ck_assert(!add("fe80::1", 0, "fe80::2", 0, IPPROTO_ICMPV6, 0));
	ck_assert(!add("10.0.0.1", 0, "10.0.0.2", 80, IPPROTO_TCP, TG_TCP_SYN));
	ck_assert(!add("10.0.0.1", 80, "10.0.0.2", 0, IPPROTO_TCP, TG_TCP_SYN));
	nd = packet("10.0.0.1", 0, "10.0.0.2", 0, IPPROTO_ESP, 0);
	nd.flags = TG_PKT_ARP;
	ck_assert(!tg_conversations_add(all, &nd, NULL));
	tg_conversations_decide(all);
	ck_assert_uint_eq(tg_conversations_count(all), 0);
	ck_assert_uint_eq(tg_conversations_served(all), 0);
	tg_conversations_free(all);
}
END_TEST

/* Source and destination alike (the "land" attack): a service, and nobody's answer. */
START_TEST(talks_to_itself)
{
	struct tg_pkt p = packet("10.0.0.1", 139, "10.0.0.1", 139, IPPROTO_TCP, TG_TCP_SYN);

	all = tg_conversations_create();
	ck_assert(tg_conversations_add(all, &p, NULL));
	tg_conversations_decide(all);
	ck_assert(!tg_conversations_from_server(all, &p));
	ck_assert_uint_eq(tg_conversations_served(all), 1);
	tg_conversations_free(all);
}
END_TEST

START_TEST(ports_and_their_rank)
{
	static const uint16_t services[] = {21, 53, 80, 443, 2049, 4789, 5432, 6379, 27017, 51820};

	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		ck_assert_int_eq(tg_port_rank(services[i]), 2);
	ck_assert_int_eq(tg_port_rank(0), 0);
	ck_assert_int_eq(tg_port_rank(679), 1);
	ck_assert_int_eq(tg_port_rank(1023), 1);
	ck_assert_int_eq(tg_port_rank(1024), 0);
	ck_assert_int_eq(tg_port_rank(65535), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("discover");

	UNIT_CASE(s, "map", map_keeps_what_it_is_given, map_is_bounded,
		  map_values_are_zero_at_first);
	UNIT_CASE(s, "time", time_goes_on, time_of_a_second_recording, time_is_never_zero);
	UNIT_CASE(s, "text", durations_have_three_digits);
	UNIT_CASE(s, "server", server_by_syn, server_by_port, server_by_first_sender,
		  server_by_what_it_serves, server_of_fragments, what_is_no_service,
		  talks_to_itself, ports_and_their_rank);
	return s;
}

UNIT_MAIN(suite)
