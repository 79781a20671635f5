/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and the packets on them: exact times, queue by queue against a list of departures, losses
 * against Gilbert's closed forms, and every packet accounted for at every moment. */
#include <math.h>
#include <stddef.h>

#include "connection.h"
#include "sim.h"
#include "unit.h"

static struct tg_sim sim;
static struct tg_connection connection;
static struct tg_link the_link;
static struct tg_link_params params;

void tg_connection_ref(struct tg_connection *c)
{
	c->refs++;
}

void tg_connection_unref(struct tg_connection *c)
{
	c->refs--;
}

#define MOST 200000

/* by number of the packet, from 0; time 0: did not arrive */
static uint64_t arrived_at[MOST], sent_at[MOST];
static uint32_t arrivals, order[MOST];

static void arrives(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = (struct tg_sim_packet *)((char *)e -
							   offsetof(struct tg_sim_packet, event));

	arrived_at[p->seq] = now;
	order[arrivals++] = p->seq;
	tg_sim_packet_free(&sim, p);
}

static uint32_t n_sent;

static void send_one(uint32_t bytes)
{
	struct tg_sim_packet *p = tg_sim_packet_new(&sim, &connection);

	sent_at[n_sent] = tg_events_now(sim.events);
	p->seq = n_sent++;
	tg_link_send(&sim, &the_link, p, bytes, arrives);
}

static void go_to(uint64_t time)
{
	while (tg_events_step(sim.events, time))
		;
}

static bool all_counted(void)
{
	return the_link.sent ==
		       the_link.lost + the_link.dropped + the_link.delivered + sim.in_flight &&
	       connection.refs == sim.in_flight && the_link.delivered == arrivals &&
	       sim.packets == the_link.sent && the_link.sent == n_sent;
}

static void open_link(struct tg_link_params p)
{
	params = p;
	sim = (struct tg_sim){.events = tg_events_create()};
	connection = (struct tg_connection){.sim = &sim};
	tg_link_init(&the_link, &params, 11, 0, "test", 0);
	arrivals = n_sent = 0;
	for (uint32_t i = 0; i < MOST; i++)
		arrived_at[i] = 0;
}

static void close_link(void)
{
	ck_assert(all_counted());
	go_to(UINT64_MAX / 2);
	ck_assert(all_counted());
	ck_assert_uint_eq(sim.in_flight, 0);
	ck_assert_uint_eq(the_link.queued, 0);
	ck_assert_ptr_null(the_link.head);
	tg_sim_packets_free(&sim);
	tg_events_free(sim.events);
}

START_TEST(delay)
{
	open_link((struct tg_link_params){.delay_us = 12.5});
	go_to(1000);
	send_one(1500);
	send_one(64);
	go_to(13499);
	ck_assert_uint_eq(arrivals, 0);
	ck_assert_uint_eq(sim.in_flight, 2);
	go_to(13500);
	ck_assert_uint_eq(arrivals, 2);
	ck_assert_uint_eq(order[0], 0);
	ck_assert_uint_eq(the_link.bytes, 1564);
	close_link();
}
END_TEST

/* 1500 bytes in 1 ms; one is sent, four wait, the others find no room. */
START_TEST(full_queue)
{
	open_link((struct tg_link_params){.delay_us = 100, .rate_mbps = 12, .queue_packets = 4});
	for (int i = 0; i < 10; i++)
		send_one(1500);
	ck_assert_uint_eq(the_link.queued, 5);
	ck_assert_uint_eq(the_link.dropped, 5);
	go_to(999999);
	send_one(1500); /* the first one's last bit has not left */
	ck_assert_uint_eq(the_link.dropped, 6);
	go_to(1000000);
	send_one(1500);
	ck_assert_uint_eq(the_link.dropped, 6);
	ck_assert_uint_eq(the_link.bytes, 9000);
	go_to(20000000);
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(arrived_at[i], 1000000 * (i + 1) + 100000);
	ck_assert_uint_eq(arrived_at[11], 6100000);
	close_link();
}
END_TEST

START_TEST(no_waiting_room)
{
	open_link((struct tg_link_params){.rate_mbps = 8});
	send_one(1000);
	send_one(1000);
	go_to(1000000);
	send_one(1000);
	ck_assert_uint_eq(the_link.dropped, 1);
	close_link();
}
END_TEST

/* 64 bytes at 10 Gb/s take 51.2 ns: fractions add up. */
START_TEST(rate_is_not_rounded)
{
	open_link((struct tg_link_params){.rate_mbps = 10000, .queue_packets = MOST});
	for (int i = 0; i < 100000; i++)
		send_one(64);
	go_to(1000000000);
	ck_assert_uint_ge(arrived_at[99999], 5119999);
	ck_assert_uint_le(arrived_at[99999], 5120000);
	close_link();
}
END_TEST

static struct tg_random luck;

/* Packets of all sizes in bursts: times and drops as a list of departures tells. */
START_TEST(as_the_model_says)
{
	static uint64_t departures[MOST];
	uint64_t free_at = 0;
	uint32_t n = 0, dropped = 0, oldest = 0;
	bool right = true;

	tg_random_init(&luck, 3, 0, "model", 0);
	open_link((struct tg_link_params){.delay_us = 3, .rate_mbps = 8000, .queue_packets = 20});
	while (n_sent < 100000) {
		uint32_t bytes = 40 + (uint32_t)tg_random_below(&luck, 1460), waiting = 0;
		uint64_t now = tg_events_now(sim.events) +
			       tg_random_below(&luck, 2) * tg_random_below(&luck, 3000);

		go_to(now);
		for (uint32_t i = oldest; i < n; i++)
			waiting += departures[i] > now;
		oldest = n > 50 ? n - 50 : 0;
		send_one(bytes);
		if (waiting > 20) {
			dropped++;
		} else { /* 1 ns a byte: nothing to round */
			free_at = (free_at > now ? free_at : now) + bytes;
			departures[n++] = free_at;
		}
		right = right && the_link.dropped == dropped && all_counted() &&
			the_link.queued == waiting + (waiting <= 20);
	}
	ck_assert(right);
	go_to(UINT64_MAX / 2);
	ck_assert_uint_eq(arrivals, n);
	for (uint32_t i = 0; i < n; i++)
		right = right && arrived_at[order[i]] == departures[i] + 3000;
	ck_assert(right);
	ck_assert_uint_gt(dropped, 1000);
	close_link();
}
END_TEST

/* Poisson arrivals, exponential sizes, K = 5 in all: (1 - a) a^K / (1 - a^(K+1)) are dropped. */
START_TEST(mm1k_drops)
{
	const double a = 0.9, expected = (1 - a) * pow(a, 5) / (1 - pow(a, 6));
	const struct tg_dist gap = {.kind = TG_DIST_EXPONENTIAL, .mean = 1e5 / a};
	const struct tg_dist size = {.kind = TG_DIST_EXPONENTIAL, .mean = 1e5};
	double time = 0;

	tg_random_init(&luck, 4, 0, "mm1k", 0);
	open_link((struct tg_link_params){.rate_mbps = 8000, .queue_packets = 4});
	while (n_sent < MOST) {
		time += tg_dist_sample(&gap, &luck, NULL);
		go_to((uint64_t)time);
		send_one((uint32_t)tg_dist_sample(&size, &luck, NULL));
	}
	/* 0.126; the sample's standard error is about 1 % of it */
	ck_assert_double_lt(fabs((double)the_link.dropped / MOST / expected - 1), 0.03);
	close_link();
}
END_TEST

/* Share lost and mean run, over packets sent one by one. */
static void check_losses(double loss, double burst, double run_expected)
{
	uint32_t lost = 0, runs = 0;

	open_link((struct tg_link_params){.delay_us = 1, .loss = loss, .burst_loss = burst});
	for (uint32_t i = 0; i < MOST; i++) {
		send_one(100);
		go_to(tg_events_now(sim.events) + 2000);
		if (arrived_at[i] == 0) {
			lost++;
			runs += i == 0 || arrived_at[i - 1] != 0;
		}
	}
	ck_assert_uint_eq(lost, the_link.lost);
	if (runs == 0) {
		ck_assert_double_eq(loss, 0);
	} else {
		double share_error = sqrt(2 * run_expected /
					  (loss * MOST)); /* about, of the share */

		ck_assert_double_lt(fabs((double)lost / MOST / loss - 1), 4 * share_error);
		if (run_expected < MOST)
			ck_assert_double_lt(fabs((double)lost / runs / run_expected - 1),
					    4 / sqrt(runs));
	}
	close_link();
}

START_TEST(losses)
{
	check_losses(0, 1, 1);
	check_losses(0.01, 1, 1 / 0.99); /* independent */
	check_losses(0.3, 1, 1 / 0.7);
	check_losses(0.02, 5, 5);
	check_losses(0.5, 10, 10);
	check_losses(0.8, 2, 5); /* chance alone makes runs of 5 */
	check_losses(1, 1, MOST);
}
END_TEST

START_TEST(lost_packets_take_their_turn)
{
	open_link((struct tg_link_params){
		.rate_mbps = 8, .queue_packets = 1000, .loss = 0.5, .burst_loss = 1});
	for (uint32_t i = 0; i < 100; i++)
		send_one(1000);
	ck_assert_uint_eq(the_link.queued, 100);
	ck_assert_uint_eq(the_link.lost, 0); /* still on the way */
	go_to(1000000000);
	ck_assert(the_link.lost > 30 && the_link.lost < 70);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert(arrived_at[i] == 0 || arrived_at[i] == 1000000 * (i + 1));
	close_link();
}
END_TEST

static void send_steadily(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		send_one(100);
		go_to(tg_events_now(sim.events) + 1000);
	}
	go_to(UINT64_MAX / 2);
}

/* A packet a microsecond, jitter of 20: all would be shuffled. */
START_TEST(order_is_kept)
{
	uint64_t waited = 0;

	open_link((struct tg_link_params){
		.delay_us = 50,
		.jitter_us = {.kind = TG_DIST_EXPONENTIAL, .mean = 20},
	});
	send_steadily(20000);
	for (uint32_t i = 0; i < arrivals; i++) {
		if (order[i] != i || arrived_at[i] < sent_at[i] + 50000)
			ck_abort_msg("packet %u came as number %u", order[i], i);
		waited += arrived_at[i] - sent_at[i];
	}
	ck_assert_uint_eq(arrivals, 20000);
	ck_assert_uint_gt(waited / 20000, 70000);
	close_link();
}
END_TEST

START_TEST(some_overtake)
{
	uint32_t passed = 0, latest = 0, early = 0;

	open_link((struct tg_link_params){.delay_us = 50, .reorder = 0.1, .reorder_us = 10.5});
	send_steadily(20000);
	for (uint32_t i = 0; i < arrivals; i++) {
		uint64_t took = arrived_at[i] - sent_at[i];

		if (took != 50000 && took != 39500)
			ck_abort_msg("packet %u took %lu ns", i, (unsigned long)took);
		early += took == 39500;
	}
	/* those that are not early are in order among themselves */
	for (uint32_t i = 0; i < arrivals; i++) {
		if (arrived_at[order[i]] - sent_at[order[i]] != 50000)
			continue;
		passed += order[i] < latest;
		latest = order[i] > latest ? order[i] : latest;
	}
	ck_assert_uint_eq(passed, 0);
	ck_assert_double_lt(fabs(early / 20000.0 - 0.1), 4 * sqrt(0.09 / 20000));
	ck_assert_uint_eq(arrivals, 20000);
	close_link();
}
END_TEST

/* Earlier than at once is at once. */
START_TEST(never_before_it_was_sent)
{
	open_link((struct tg_link_params){
		.delay_us = 5, .rate_mbps = 8, .queue_packets = 9, .reorder = 1, .reorder_us = 50});
	send_one(1000);
	send_one(1000);
	go_to(3000000);
	ck_assert_uint_eq(arrived_at[0], 1000000);
	ck_assert_uint_eq(arrived_at[1], 2000000);
	close_link();
}
END_TEST

/* Whatever becomes of packets, the n-th has the same luck. */
START_TEST(common_random_numbers)
{
	struct tg_link_params p = {.delay_us = 5,
				   .jitter_us = {.kind = TG_DIST_NORMAL, .mean = 5, .sd = 1},
				   .loss = 0.2,
				   .burst_loss = 3,
				   .reorder = 0.2,
				   .reorder_us = 2};
	struct tg_random after;

	open_link(p);
	send_steadily(1000);
	after = the_link.random;
	close_link();
	p.rate_mbps = 1; /* most are dropped */
	p.delay_us = 500;
	open_link(p);
	send_steadily(1000);
	ck_assert_uint_gt(the_link.dropped, 900);
	ck_assert_mem_eq(&after, &the_link.random, sizeof(after));
	close_link();
}
END_TEST

START_TEST(packets_are_used_again)
{
	struct tg_sim_packet *p, *q;

	open_link((struct tg_link_params){.delay_us = 1});
	p = tg_sim_packet_new(&sim, &connection);
	p->payload = 7;
	p->to_server = true;
	tg_sim_packet_free(&sim, p);
	q = tg_sim_packet_new(&sim, &connection);
	ck_assert_ptr_eq(p, q);
	ck_assert(q->payload == 0 && !q->to_server && q->connection == &connection);
	ck_assert_uint_eq(sim.packets, 2);
	ck_assert_uint_eq(sim.in_flight, 1);
	ck_assert_uint_eq(connection.refs, 1);
	/* a run may end with packets under way */
	tg_link_send(&sim, &the_link, q, 100, arrives);
	tg_sim_packets_free(&sim);
	tg_sim_packets_free(&sim);
	ck_assert_uint_eq(sim.in_flight, 0);
	tg_events_free(sim.events);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sim link");

	UNIT_CASE(s, "times", delay, full_queue, no_waiting_room, rate_is_not_rounded,
		  as_the_model_says, mm1k_drops);
	UNIT_CASE(s, "losses", losses, lost_packets_take_their_turn);
	UNIT_CASE(s, "order", order_is_kept, some_overtake, never_before_it_was_sent);
	UNIT_CASE(s, "packets", common_random_numbers, packets_are_used_again);
	return s;
}
UNIT_MAIN(suite)
