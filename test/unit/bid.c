/* SPDX-License-Identifier: BSD-3-Clause */
/* Auctions: how a load is said, who is asked, who wins, what is remembered. Time is made up: 1 tick = 1 ns. */
#include <math.h>
#include <netinet/in.h>

#include "tg_bid.h"
#include "unit.h"

#define US 1000u
#define MS 1000000u
#define S  UINT64_C(1000000000)
#define T0 (100 * S)

static struct tg_bid_server servers[128];
static struct tg_bid_service services[4];
static struct tg_bid_table *table;
static struct tg_bid_config config;
static struct tg_bid_params params;
static char packet[256]; /* addresses of packets: &packet[i] */

static void compile(unsigned int n)
{
	const struct tg_clock clock = tg_clock_init(S);

	config = tg_bid_compile(&params, &clock, 1);
	config.n = n;
	for (unsigned int i = 0; i < n; i++)
		config.server[i] = (uint16_t)(i + 10);
}

static void fresh(unsigned int n)
{
	params = (struct tg_bid_params){.window_us = 300,
					.syn_rate = 10000000,
					.auctions = 4096,
					.missed = 3,
					.probe_s = 10};
	memset(servers, 0, sizeof(servers));
	memset(services, 0, sizeof(services));
	ck_assert_int_eq(tg_bid_table_create(servers, services, 7, -1, &table), 0);
	compile(n);
}

static struct tg_pkt syn(uint16_t port, uint32_t isn)
{
	struct tg_pkt p = {.key = {.client_port = port, .protocol = IPPROTO_TCP, .service = 1},
			   .tcp_flags = TG_TCP_SYN,
			   .seq = isn};

	return p;
}

static struct tg_auction *open_at(uint16_t port, uint64_t now)
{
	const struct tg_pkt p = syn(port, 1000);

	return tg_bid_open(table, &config, &p, port, TG_NO_SERVER, now);
}

static void *answer(struct tg_auction *a, uint8_t slot, uint8_t ttl, uint64_t at)
{
	return tg_bid_answer(table, &config, a, slot, ttl, 0, &packet[slot], at);
}

/* Closes and returns the winner's slot, -1: nobody. */
static int close_at(struct tg_auction *a, uint64_t now)
{
	struct tg_bid_offer won;
	void *gone[TG_BID_HELD];
	unsigned int n;

	if (!tg_bid_close(table, &config, a, NULL, now, &won, gone, &n))
		return -1;
	ck_assert_ptr_eq(won.packet, &packet[won.slot]);
	ck_assert_uint_eq(a->winner, won.slot);
	for (unsigned int i = 0; i < n; i++)
		ck_assert_ptr_ne(gone[i], won.packet);
	return won.slot;
}

START_TEST(load_in_the_ttl)
{
	static const struct {
		double load;
		uint8_t ttl;
	} known[] = {{0, 128},   {-1, 128}, {NAN, 128}, {0.0079, 128},   {0.008, 129},
		     {0.5, 191}, {1, 254},  {1e9, 254}, {INFINITY, 254}, {0.9999, 253}};
	uint8_t steps;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		ck_assert_uint_eq(tg_bid_encode(known[i].load), known[i].ttl);
	for (unsigned int ttl = 128; ttl <= 254; ttl++) {
		ck_assert_int_eq(tg_bid_read((uint8_t)ttl, 0, &steps), TG_BID_OFFER);
		ck_assert_uint_eq(steps, ttl - 128);
		/* over three routers */
		ck_assert_int_eq(tg_bid_read((uint8_t)(ttl - 3), 3, &steps), TG_BID_OFFER);
		ck_assert_uint_eq(steps, ttl - 128);
	}
	ck_assert_int_eq(tg_bid_read(255, 0, &steps), TG_BID_NO);
	ck_assert_int_eq(tg_bid_read(252, 3, &steps), TG_BID_NO);
	ck_assert_int_eq(tg_bid_read(255, 64, &steps), TG_BID_NO);
	ck_assert_int_eq(tg_bid_read(64, 0, &steps), TG_BID_PLAIN);
	ck_assert_int_eq(tg_bid_read(61, 3, &steps), TG_BID_PLAIN);
	ck_assert_int_eq(tg_bid_read(0, 0, &steps), TG_BID_PLAIN);
	ck_assert_int_eq(tg_bid_read(120, 0, &steps), TG_BID_OFFER); /* hops that nobody knows of */
	ck_assert_uint_eq(steps, 0);
}
END_TEST

START_TEST(hops_are_learnt)
{
	struct tg_bid_server s = {.hops = 9};

	tg_bid_learn_hops(&s, 61);
	ck_assert_uint_eq(s.hops, 3);
	tg_bid_learn_hops(&s, 128); /* another system, or a bid */
	tg_bid_learn_hops(&s, 20);
	ck_assert_uint_eq(s.hops, 3);
	tg_bid_learn_hops(&s, 64);
	ck_assert_uint_eq(s.hops, 0);
}
END_TEST

START_TEST(smallest_bid_wins)
{
	struct tg_auction *a;

	fresh(3);
	a = open_at(1, T0);
	ck_assert_ptr_nonnull(a);
	ck_assert_uint_eq(a->n, 3);
	ck_assert(!tg_bid_ripe(&config, a, T0));
	ck_assert_ptr_null(answer(a, 0, 140, T0 + 20 * US));
	ck_assert_ptr_null(answer(a, 1, 131, T0 + 30 * US));
	ck_assert(!tg_bid_ripe(&config, a, T0 + 299 * US));
	ck_assert_ptr_null(answer(a, 2, 200, T0 + 40 * US));
	ck_assert(tg_bid_ripe(&config, a, T0 + 40 * US));
	ck_assert_int_eq(close_at(a, T0 + 40 * US), 1);
	ck_assert_uint_eq(services[1].all_in, 1);
	ck_assert_uint_eq(services[1].open, 0);
	ck_assert_uint_eq(servers[11].won, 1);
}
END_TEST

START_TEST(window_closes_without_the_missing)
{
	struct tg_auction *a;

	fresh(3);
	a = open_at(1, T0);
	answer(a, 2, 250, T0 + 20 * US);
	ck_assert_ptr_null(tg_bid_due(table, T0 + 299 * US));
	ck_assert_ptr_eq(tg_bid_due(table, T0 + 300 * US), a);
	ck_assert(tg_bid_ripe(&config, a, T0 + 300 * US));
	ck_assert_int_eq(close_at(a, T0 + 300 * US), 2);
	ck_assert_uint_eq(services[1].at_window, 1);
	ck_assert_uint_eq(servers[10].missed, 1);
	ck_assert_uint_eq(servers[12].missed, 0);
	ck_assert_ptr_null(tg_bid_due(table, T0 + 10 * S));
}
END_TEST

START_TEST(first_answer_after_the_window)
{
	struct tg_auction *a;

	fresh(2);
	a = open_at(1, T0);
	ck_assert_ptr_eq(tg_bid_due(table, T0 + 300 * US), a);
	ck_assert(!tg_bid_ripe(&config, a, T0 + 300 * US));
	tg_bid_wait_on(table, &config, a);
	ck_assert(!tg_bid_is_open(table));
	ck_assert_ptr_null(tg_bid_due(table, T0 + 301 * US));
	answer(a, 1, 254, T0 + 900 * US);
	ck_assert(tg_bid_ripe(&config, a, T0 + 900 * US));
	ck_assert_int_eq(close_at(a, T0 + 900 * US), 1);
	/* the window was too short for all of them */
	ck_assert_uint_eq(servers[10].missed, 0);
	ck_assert_uint_eq(services[1].after_window, 1);
}
END_TEST

START_TEST(nobody_answers)
{
	struct tg_auction *a;

	fresh(2);
	a = open_at(1, T0);
	tg_bid_wait_on(table, &config, a);
	ck_assert_ptr_null(tg_bid_due(table, T0 + 2 * S));
	ck_assert_ptr_eq(tg_bid_due(table, T0 + 3 * S), a);
	ck_assert(tg_bid_given_up(&config, a, T0 + 3 * S));
	ck_assert_int_eq(close_at(a, T0 + 3 * S), -1);
	ck_assert_uint_eq(services[1].nobody, 1);
	ck_assert_uint_eq(servers[10].missed + servers[11].missed, 2);
	tg_bid_forget(table, a);
	ck_assert_ptr_null(tg_bid_find(table, &(struct tg_key){.client_port = 1}, 1));
}
END_TEST

START_TEST(who_refuses_never_wins)
{
	struct tg_auction *a;

	fresh(2);
	a = open_at(1, T0);
	ck_assert_ptr_eq(answer(a, 0, 255, T0), &packet[0]); /* let go at once */
	answer(a, 1, 254, T0);
	ck_assert_int_eq(close_at(a, T0), 1);
	a = open_at(2, T0 + 1 * MS);
	answer(a, 0, 255, T0);
	ck_assert_ptr_null(tg_bid_answer(table, &config, a, 1, 0, 0, NULL, T0)); /* a RST */
	ck_assert(tg_bid_ripe(&config, a, T0 + 1 * MS));
	ck_assert_int_eq(close_at(a, T0 + 1 * MS), -1);
	ck_assert_uint_eq(services[1].refused, 1);
	ck_assert_uint_eq(servers[10].refused, 2);
}
END_TEST

START_TEST(ties_at_random)
{
	enum { SERVERS = 16, ROUNDS = 8000 };
	unsigned int won[SERVERS] = {0};

	fresh(SERVERS);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t now = T0 + i * UINT64_C(20) * MS; /* wins since are forgotten */
		struct tg_auction *a = open_at((uint16_t)i, now);

		for (uint8_t k = 0; k < SERVERS; k++)
			answer(a, k, 150, now);
		won[close_at(a, now)]++;
	}
	for (unsigned int k = 0; k < SERVERS; k++) /* 500 each, 5 standard deviations */
		ck_assert_msg(won[k] > 390 && won[k] < 610, "server %u won %u", k, won[k]);
}
END_TEST

START_TEST(wins_since_the_bid_count)
{
	unsigned int won[3] = {0};

	fresh(3);
	/* 30 connections while all bids stand still: 4, 0, 10 steps */
	for (unsigned int i = 0; i < 30; i++) {
		struct tg_auction *a = open_at((uint16_t)i, T0 + i * 100 * US);

		answer(a, 0, 132, T0 + i * 100 * US);
		answer(a, 1, 128, T0 + i * 100 * US);
		answer(a, 2, 138, T0 + i * 100 * US);
		won[close_at(a, T0 + i * 100 * US)]++;
	}
	/* levelled at 14 or 15: 4 + 10.7, 0 + 14.7, 10 + 4.7 */
	ck_assert(won[0] >= 10 && won[0] <= 11);
	ck_assert(won[1] >= 14 && won[1] <= 15);
	ck_assert(won[2] >= 4 && won[2] <= 5);
	ck_assert_uint_eq(tg_bid_score(&servers[11], config.fresh, 0, T0 + 3 * MS), won[1]);
	/* another bid: what was won is in it */
	answer(open_at(100, T0 + 4 * MS), 1, 140, T0 + 4 * MS);
	ck_assert_uint_eq(tg_bid_score(&servers[11], config.fresh, 12, T0 + 4 * MS), 12);
	/* and time passes */
	ck_assert_uint_eq(tg_bid_score(&servers[10], config.fresh, 4, T0 + 11 * MS), 4);
}
END_TEST

START_TEST(answers_of_auctions_side_by_side)
{
	struct tg_auction *a[20];
	unsigned int won[2] = {0};

	fresh(2);
	for (uint16_t i = 0; i < 20; i++)
		a[i] = open_at(i, T0);
	for (uint16_t i = 0; i < 20;
	     i++) /* all of the first server's are held before any is decided */
		answer(a[i], 0, 130, T0 + 10 * US);
	for (uint16_t i = 0; i < 20; i++) {
		answer(a[i], 1, 131, T0 + 20 * US);
		won[close_at(a[i], T0 + 20 * US)]++;
	}
	ck_assert(won[0] >= 10 && won[0] <= 11);
}
END_TEST

START_TEST(the_best_four_are_held)
{
	struct tg_auction *a;
	bool out[8] = {false};

	fresh(8);
	a = open_at(1, T0);
	for (uint8_t k = 0; k < 8; k++) {
		void *gone = answer(a, k, (uint8_t)(160 - 3 * k), T0);

		ck_assert_int_eq(gone != NULL, k >= TG_BID_HELD);
		if (gone != NULL)
			out[(char *)gone - packet] = true;
	}
	for (unsigned int k = 0; k < 8; k++)
		ck_assert_int_eq(out[k], k < 4);
	ck_assert_int_eq(close_at(a, T0), 7);
	/* and the other way round: each that is worse than those is let go itself */
	a = open_at(2, T0);
	for (uint8_t k = 0; k < 8; k++)
		ck_assert_ptr_eq(answer(a, k, (uint8_t)(190 + 3 * k), T0),
				 k < TG_BID_HELD ? NULL : &packet[k]);
	ck_assert_int_eq(close_at(a, T0), 0);
}
END_TEST

START_TEST(no_agent_no_bid)
{
	struct tg_auction *a;
	uint32_t flows[128] = {0};
	struct tg_bid_offer won;
	void *gone[TG_BID_HELD];
	unsigned int n;

	fresh(2);
	a = open_at(1, T0); /* one bids, however much: it wins */
	answer(a, 0, 64, T0);
	answer(a, 1, 254, T0);
	ck_assert_int_eq(close_at(a, T0), 1);
	a = open_at(2, T0); /* nobody bids: fewer flows */
	flows[10] = 5;
	flows[11] = 4;
	answer(a, 0, 64, T0);
	answer(a, 1, 62, T0);
	ck_assert(tg_bid_close(table, &config, a, flows, T0, &won, gone, &n));
	ck_assert_uint_eq(won.slot, 1);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(servers[10].plain, 2);
	ck_assert_uint_eq(servers[11].hops, 2); /* learnt */
	a = open_at(3, T0);
	answer(a, 0, 64, T0);
	a = open_at(4, T0); /* three times without a bid: not asked for a while */
	ck_assert_uint_eq(a->n, 1);
	ck_assert_uint_eq(a->server[0], 11);
}
END_TEST

START_TEST(missing_servers_are_skipped_and_probed)
{
	struct tg_auction *a;
	uint64_t now = T0;

	fresh(2);
	for (uint16_t i = 0; i < 3; i++, now += MS) {
		a = open_at(i, now);
		ck_assert_uint_eq(a->n, 2);
		answer(a, 0, 128, now);
		close_at(a, now + 300 * US);
	}
	a = open_at(10, now);
	ck_assert_uint_eq(a->n, 1);
	ck_assert_uint_eq(a->server[0], 10);
	now += 10 * S;
	a = open_at(11, now); /* asked once: no answer, skipped again */
	ck_assert_uint_eq(a->n, 2);
	ck_assert_uint_eq(open_at(12, now + 1)->n, 1);
	answer(a, 0, 128, now);
	close_at(a, now + 300 * US);
	ck_assert_uint_eq(open_at(13, now + 9 * S)->n, 1);
	now += 11 * S;
	a = open_at(14, now); /* asked again: it is back */
	ck_assert_uint_eq(a->n, 2);
	answer(a, 1, 128, now);
	ck_assert_uint_eq(open_at(15, now + MS)->n, 2);
}
END_TEST

START_TEST(nobody_to_ask)
{
	struct tg_auction *a;

	fresh(1);
	params.missed = 1;
	compile(1);
	a = open_at(1, T0);
	tg_bid_wait_on(table, &config, a);
	close_at(a, T0 + 3 * S);
	ck_assert_ptr_null(open_at(2, T0 + 4 * S));
	ck_assert_uint_eq(services[1].nobody_to_ask, 1);
	ck_assert_uint_eq(services[1].open, 0);
	compile(0);
	ck_assert_ptr_null(open_at(3, T0 + 100 * S));
}
END_TEST

START_TEST(first_answer_wins_without_a_window)
{
	struct tg_auction *a;

	fresh(3);
	params.window_us = 0;
	compile(3);
	a = open_at(1, T0);
	ck_assert_ptr_null(tg_bid_due(table, T0 + MS));
	ck_assert(!tg_bid_ripe(&config, a, T0 + MS));
	answer(a, 1, 64, T0 + MS);
	ck_assert(tg_bid_ripe(&config, a, T0 + MS));
	ck_assert_int_eq(close_at(a, T0 + MS), 1);
	ck_assert_uint_eq(servers[10].misses, 1);
	tg_bid_late(table, &config, 10); /* later, but there */
	ck_assert_uint_eq(servers[10].misses, 0);
	ck_assert_uint_eq(servers[10].late, 1);
}
END_TEST

START_TEST(an_answer_counts_once)
{
	struct tg_auction *a;

	fresh(2);
	a = open_at(1, T0);
	ck_assert_ptr_null(answer(a, 0, 140, T0));
	ck_assert_ptr_eq(tg_bid_answer(table, &config, a, 0, 128, 0, &packet[100], T0),
			 &packet[100]);
	ck_assert(!tg_bid_ripe(&config, a, T0));
}
END_TEST

START_TEST(rate_is_bounded)
{
	unsigned int got = 0;

	fresh(2);
	params.syn_rate = 1000; /* bucket: 10 ms, 10 auctions */
	compile(2);
	for (unsigned int i = 0; i < 1000; i++)
		got += open_at((uint16_t)i, T0) != NULL;
	ck_assert_uint_eq(got, 10);
	ck_assert_uint_eq(services[1].over_rate, 990);
	got = 0;
	for (unsigned int i = 0; i < 5000; i++) /* 5000 a second for a second */
		got += open_at((uint16_t)(2000 + i), T0 + i * 200 * US) != NULL;
	ck_assert_uint_ge(got, 998);
	ck_assert_uint_le(got, 1001);
}
END_TEST

START_TEST(open_auctions_are_bounded)
{
	fresh(2);
	params.auctions = 100;
	compile(2);
	for (uint16_t i = 0; i < 200; i++)
		ck_assert_int_eq(open_at(i, T0 + i) != NULL, i < 100);
	ck_assert_uint_eq(services[1].over_auctions, 100);
	ck_assert_uint_eq(services[1].open, 100);
	close_at(tg_bid_find(
			 table,
			 &(struct tg_key){.client_port = 7, .protocol = IPPROTO_TCP, .service = 1},
			 7),
		 T0);
	ck_assert_ptr_nonnull(open_at(300, T0 + 1000));
}
END_TEST

START_TEST(closed_ones_make_room)
{
	struct tg_key first = syn(0, 0).key;

	fresh(2);
	for (unsigned int i = 0; i < TG_BID_TABLE; i++) {
		struct tg_auction *a = open_at((uint16_t)i, T0 + i);

		answer(a, 0, 128, T0 + i);
		close_at(a, T0 + i);
	}
	ck_assert_ptr_nonnull(tg_bid_find(table, &first, 0));
	ck_assert_ptr_nonnull(open_at(60000, T0 + S));
	ck_assert_ptr_null(tg_bid_find(table, &first, 0)); /* the oldest went */
	first.client_port = 1;
	ck_assert_ptr_nonnull(tg_bid_find(table, &first, 1));
}
END_TEST

START_TEST(full_of_open_ones)
{
	fresh(2);
	for (unsigned int i = 0; i < TG_BID_TABLE; i++)
		ck_assert_ptr_nonnull(open_at((uint16_t)i, T0 + i));
	services[1].open = 0; /* as if they were another service's */
	ck_assert_ptr_null(open_at(60000, T0 + S));
	ck_assert_uint_eq(services[1].over_auctions, 1);
}
END_TEST

START_TEST(due_in_order_of_time)
{
	struct tg_auction *a, *b, *c;

	fresh(2);
	params.window_us = 1000;
	compile(2);
	a = open_at(1, T0);
	params.window_us = 100; /* another service's */
	compile(2);
	b = open_at(2, T0 + 50 * US);
	c = open_at(3, T0 + 60 * US);
	ck_assert_ptr_eq(tg_bid_due(table, T0 + 2 * MS), b);
	tg_bid_forget(table, b);
	ck_assert_ptr_eq(tg_bid_due(table, T0 + 2 * MS), c);
	tg_bid_forget(table, c);
	ck_assert_ptr_null(tg_bid_due(table, T0 + 999 * US));
	ck_assert_ptr_eq(tg_bid_due(table, T0 + 1000 * US), a);
}
END_TEST

/* Windows of four services, from 50 us to 50 ms; auctions open, end, wait on and are forgotten in any order: who
 * is due is always one of those with the least deadline, whatever was open, and at the end nobody is left. */
START_TEST(due_in_order_of_very_different_windows)
{
	static const uint32_t window_us[] = {50, 700, 9000, 50000};
	static uint64_t deadline[4000]; /* by port; 0: not open */
	uint64_t random = 88172645463325252u, now = T0;
	unsigned int open = 0;

	fresh(2);
	for (unsigned int i = 0; i < 40000; i++) {
		unsigned int port;
		struct tg_auction *a;
		uint64_t least = UINT64_MAX;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		port = (unsigned int)(random % 4000);
		now += random >> 45 & 0xffff;
		params.window_us = window_us[random >> 20 & 3];
		compile(2);
		if (deadline[port] == 0) {
			a = open_at((uint16_t)port, now);
			deadline[port] = now + params.window_us * US;
			open++;
		} else {
			const struct tg_key key = syn((uint16_t)port, 0).key;

			a = tg_bid_find(table, &key, port);
			ck_assert_uint_eq(a->deadline, deadline[port]);
			if (a->state == TG_AUCTION_OPEN && (random >> 30 & 1)) {
				tg_bid_wait_on(table, &config, a);
				deadline[port] = a->deadline;
			} else {
				tg_bid_forget(table, a);
				deadline[port] = 0;
				open--;
			}
		}
		if (i % 16 != 0)
			continue;
		for (unsigned int k = 0; k < 4000; k++)
			if (deadline[k] != 0 && deadline[k] < least)
				least = deadline[k];
		a = tg_bid_due(table, UINT64_MAX - 1);
		ck_assert_int_eq(a != NULL, open > 0);
		if (a == NULL)
			continue;
		ck_assert_uint_eq(a->deadline, least);
		ck_assert_ptr_null(tg_bid_due(table, least - 1));
	}
	for (uint64_t last = 0; open > 0; open--) {
		struct tg_auction *a = tg_bid_due(table, UINT64_MAX - 1);

		ck_assert_uint_ge(a->deadline, last);
		last = a->deadline;
		tg_bid_forget(table, a);
	}
	ck_assert_ptr_null(tg_bid_due(table, UINT64_MAX - 1));
	ck_assert(!tg_bid_is_open(table));
}
END_TEST

START_TEST(except_one)
{
	const struct tg_pkt p = syn(1, 1);
	struct tg_auction *a;

	fresh(3);
	a = tg_bid_open(table, &config, &p, 1, 11, T0);
	ck_assert_uint_eq(a->n, 2);
	ck_assert(a->server[0] != 11 && a->server[1] != 11);
}
END_TEST

START_TEST(sixty_four_servers)
{
	struct tg_auction *a;

	fresh(64);
	a = open_at(1, T0);
	ck_assert_uint_eq(a->n, 64);
	for (uint8_t k = 0; k < 64; k++) {
		ck_assert(!tg_bid_ripe(&config, a, T0));
		answer(a, k, (uint8_t)(k == 41 ? 130 : 131 + k), T0);
	}
	ck_assert(tg_bid_ripe(&config, a, T0));
	ck_assert_int_eq(close_at(a, T0), 41);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("bid");

	UNIT_CASE(s, "wire", load_in_the_ttl, hops_are_learnt);
	UNIT_CASE(s, "decision", smallest_bid_wins, window_closes_without_the_missing,
		  first_answer_after_the_window, nobody_answers, who_refuses_never_wins,
		  ties_at_random, wins_since_the_bid_count, answers_of_auctions_side_by_side,
		  the_best_four_are_held, no_agent_no_bid, first_answer_wins_without_a_window,
		  an_answer_counts_once, sixty_four_servers);
	UNIT_CASE(s, "who is asked", missing_servers_are_skipped_and_probed, nobody_to_ask,
		  except_one);
	UNIT_CASE(s, "bounds", rate_is_bounded, open_auctions_are_bounded, closed_ones_make_room,
		  full_of_open_ones, due_in_order_of_time, due_in_order_of_very_different_windows);
	return s;
}

UNIT_MAIN_EAL(suite)
