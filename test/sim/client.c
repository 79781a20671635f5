/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of every kind, through the real ends, over a network of two lines. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "ends.h"

static struct tg_group_params params;
static struct tg_group *group;

static struct tg_dist constant(double x)
{
	return (struct tg_dist){.kind = TG_DIST_CONSTANT, .mean = x};
}

static struct tg_dist exponential(double x)
{
	return (struct tg_dist){.kind = TG_DIST_EXPONENTIAL, .mean = x};
}

static void begin(uint64_t seed)
{
	ends_begin(seed);
	params = (struct tg_group_params){
		.name = "test",
		.clients = 1,
		.requests = constant(1e9),
		.bytes = constant(200),
		.answer_bytes = constant(1000),
		.work_us = constant(5000),
		.has_work = true,
		.tcp = {.mss = 1448,
			.initial_window = 10,
			.receive_window = 1 << 20,
			.timestamps = true,
			.tick_us = 1000,
			.offset = true,
			.delayed_ack_ms = 40,
			.quick_acks = 16,
			.rto_min_ms = 200,
			.syn_rto_ms = 1000},
	};
	params.server_tcp = params.tcp;
	ends.params[0].workers = 64;
}

static void create(void)
{
	group = tg_group_create(&ends.sim, &params, 0);
	ck_assert_ptr_nonnull(group);
}

/* By the station's own means, so that what it holds is lost, or stands still, as it should. */
static void change_state(enum tg_station_state state)
{
	static struct tg_station_change change;

	change = (struct tg_station_change){.state = state, .slow = 1};
	ends.params[0].changes = &change;
	ends.params[0].n_changes = 1;
	ends.station[0].next_change = 0;
	tg_event_at(ends.sim.events, &ends.station[0].change, tg_events_now(ends.sim.events));
}

/* asked = answered + failed + open; ended and at rest nothing is left. */
static struct tg_group_counts over(uint64_t now, bool rest)
{
	struct tg_group_counts c;

	tg_group_end(group, now);
	if (rest)
		ends_run(now + 2000 * S);
	c = tg_group_counts(group);
	ck_assert_uint_eq(c.asked, c.answered + c.failed + c.open);
	ck_assert_uint_eq(c.answered, ends.results_answered);
	ck_assert_uint_eq(c.failed, ends.results_failed);
	ck_assert_uint_eq(group->requests.live, c.open);
	if (rest) {
		ck_assert_uint_eq(c.open, 0);
		ck_assert_uint_eq(group->connections.live, group->tunnel ? group->addresses : 0);
		ck_assert_uint_eq(group->jobs.live, 0);
		ck_assert_uint_eq(group->ranges.live, 0);
		ck_assert_uint_eq(ends.sim.in_flight, 0);
	}
	tg_group_free(group);
	ends_over();
	return c;
}

/* 200 us of way and 5 ms of work a turn, on one connection. */
START_TEST(closed)
{
	struct tg_group_counts c;

	begin(1);
	create();
	ends_run(10 * S);
	c = tg_group_counts(group);
	ck_assert_uint_eq(c.asked - c.answered, 1);
	ck_assert_uint_eq(c.answered, (10 * S - 200 * US) / (5200 * US));
	ck_assert_uint_eq(c.connections, 1);
	/* handshake 3; of the first exchange two acknowledgements, then none: 2 a request */
	ck_assert_uint_le(ends.n, 3 + 2 + 2 * c.asked);
	over(10 * S, true);
}
END_TEST

START_TEST(think)
{
	struct tg_group_counts c;

	begin(1);
	params.think_us = constant(20000);
	params.think_share = 0.5;
	create();
	ends_run(200 * S);
	c = over(200 * S, true);
	ck_assert_double_eq_tol((double)c.answered, 200 / 0.0152, 200 / 0.0152 * 0.03);
}
END_TEST

/* 10 requests a connection, ports in turn, each connection closed in order. */
START_TEST(churn)
{
	struct tg_group_counts c;
	uint16_t port = 0;

	begin(1);
	params.requests = constant(10);
	create();
	ends_run(1 * S);
	for (unsigned int i = 0; i < ends.n; i++) {
		const struct seen *s = &ends.log[i];

		if (s->p.tcp_flags == TG_TCP_SYN) {
			if (port != 0)
				ck_assert_uint_eq(s->port, port + 1);
			port = s->port;
		}
	}
	c = over(1 * S, true);
	ck_assert_uint_eq(c.connections, (c.asked + 9) / 10);
	ck_assert_uint_eq(c.broken, 0);
}
END_TEST

/* A window: each answer draws the next request. */
START_TEST(window)
{
	struct tg_group_counts c;

	begin(1);
	params.depth = 8;
	ends.params[0].workers = 1;
	create();
	ends_run(10 * S);
	ck_assert_uint_eq(ends.station[0].busy + ends.station[0].waiting, 8);
	c = over(10 * S, true);
	ck_assert_uint_ge(c.answered, 10 * S / (5 * MS) - 2);
	ck_assert_uint_eq(c.connections, 1);
}
END_TEST

/* And what a broken connection took away comes again. */
START_TEST(window_again)
{
	begin(1);
	params.depth = 8;
	ends.params[0].workers = 1;
	create();
	ends_run(1 * S);
	change_state(TG_STATION_REFUSES);
	ends_run(2 * S);
	ck_assert_uint_eq(ends.station[0].busy + ends.station[0].waiting, 0);
	change_state(TG_STATION_UP);
	ends_run(3 * S);
	ck_assert_uint_ge(ends.station[0].busy + ends.station[0].waiting, 7); /* one on its way */
	ck_assert_uint_ge(over(3 * S, true).failed, 8);
}
END_TEST

/* Eight together; the next eight when all are answered. */
START_TEST(burst)
{
	unsigned int requests = 0;
	uint64_t last = 0;

	begin(1);
	params.burst = 8;
	ends.params[0].workers = 1;
	create();
	ends_run(2 * S);
	for (unsigned int i = 0; i < ends.n; i++) {
		const struct seen *s = &ends.log[i];

		if (!s->p.to_server || s->data == 0)
			continue;
		ck_assert_uint_eq(s->data, 200);
		if (requests++ % 8 == 0)
			ck_assert_uint_ge(s->at - last, requests == 1 ? 0 : 40 * MS);
		else
			ck_assert_uint_eq(s->at, last);
		last = s->at;
	}
	ck_assert_uint_ge(requests, 8 * 48);
	over(2 * S, true);
}
END_TEST

/* A page of 1 + 12 on up to 6 connections. */
START_TEST(page)
{
	struct tg_group_counts c;

	begin(1);
	params.objects = 12;
	params.page_connections = 6;
	params.think_us = constant(1e6);
	params.think_share = 1;
	create();
	ends_run(1500 * MS);
	c = tg_group_counts(group);
	ck_assert_uint_eq(c.answered, 13);
	ck_assert_uint_eq(c.connections, 6);
	/* first answer, then two rounds, the first of which waits for handshakes */
	ck_assert_uint_eq(ends.last.answered - ends.last.created, 3 * 5200 * US + 2 * 200 * US);
	ends_run(20 * S);
	c = over(20 * S, true);
	ck_assert_uint_eq(c.connections, 6);
	ck_assert_uint_eq(c.asked % 13, 0);
}
END_TEST

START_TEST(poisson)
{
	struct tg_group_counts c;

	begin(_i);
	params.arrivals = TG_ARRIVALS_POISSON;
	params.clients = 100;
	params.rate = 2000;
	params.requests = constant(1);
	params.stop_s = 20;
	create();
	ends_run(21 * S);
	c = over(21 * S, true);
	ck_assert_uint_eq(c.connections, c.asked);
	ck_assert_uint_eq(c.failed, 0);
	ck_assert_double_eq_tol((double)c.asked, 40000, 4 * sqrt(40000));
}
END_TEST

/* Three connections kept alive; what finds none idle waits, and that counts. */
START_TEST(pool)
{
	struct tg_group_counts c;

	begin(1);
	params.arrivals = TG_ARRIVALS_PACED;
	params.gap_us = constant(1000);
	params.connections = 3;
	params.stop_s = 1.0005;
	create();
	ends_run(1 * S);
	ck_assert_ptr_nonnull(group->queue);
	ck_assert_uint_ge(ends.last.sent - ends.last.created, 300 * MS);
	ends_run(3 * S);
	c = over(3 * S, true);
	ck_assert_uint_eq(c.asked, 1000);
	ck_assert_uint_eq(c.answered, 1000);
	ck_assert_uint_eq(c.connections, 3);
}
END_TEST

/* An open loop with pipelining: two connections of four. */
START_TEST(pool_deep)
{
	struct tg_group_counts c;

	begin(1);
	params.arrivals = TG_ARRIVALS_PACED;
	params.gap_us = constant(1000);
	params.connections = 2;
	params.depth = 4;
	params.requests = constant(50);
	params.stop_s = 1.0005;
	create();
	ends_run(500 * MS);
	ck_assert_uint_le(ends.station[0].busy, 8);
	ck_assert_uint_ge(ends.station[0].busy, 4);
	ends_run(3 * S);
	c = over(3 * S, true);
	ck_assert_uint_eq(c.answered, 1000);
	ck_assert_uint_ge(c.connections, 20);
	ck_assert_uint_le(c.connections, 24);
}
END_TEST

/* Mean arrivals of every kind, by closed forms. */
START_TEST(arrivals)
{
	static const struct tg_rate_point points[] = {{10, 1000}, {20, 3000}, {30, 0}};
	static const double times[] = {1, 1, 2.5, 40};
	const double expected[] = {
		[TG_ARRIVALS_PACED] = 50 * 1000.0,
		/* 10 s of 1000, up to 3000, down to 0, and none any more */
		[TG_ARRIVALS_VARYING] = 10e3 + 20e3 + 15e3,
		[TG_ARRIVALS_ON_OFF] = 50 * (2000.0 * 30 + 100 * 70) / 100,
		[TG_ARRIVALS_TRACE] = 4,
	};
	uint64_t n = 0, t, between = 0;
	double tolerance = 4 * sqrt(expected[_i]);

	begin(3);
	params.arrivals = (enum tg_arrivals)_i;
	params.stop_s = 50;
	params.gap_us = exponential(1000);
	params.points = points;
	params.n_points = 3;
	params.times_s = times;
	params.n_times = 4;
	params.rate = 2000;
	params.rate_off = 100;
	params.on_ms = exponential(30);
	params.off_ms = exponential(70);
	create();
	tg_arrivals_init(group);
	group->next_time = 0;
	for (t = 0; (t = tg_arrivals_next(group, t)) != UINT64_MAX; n++)
		between += t >= 15 * S && t < 20 * S;
	if (_i == TG_ARRIVALS_TRACE)
		tolerance = 0.5;
	if (_i == TG_ARRIVALS_ON_OFF) /* and the share of on itself varies */
		tolerance = expected[_i] * 0.1;
	ck_assert_double_eq_tol((double)n, expected[_i], tolerance);
	if (_i == TG_ARRIVALS_VARYING) /* 2000 rising to 3000 */
		ck_assert_double_eq_tol((double)between, 12500, 4 * sqrt(12500));
	over(0, false);
}
END_TEST

/* A server that hangs: the time-out resets and counts, and the client goes on. */
START_TEST(time_out)
{
	struct tg_group_counts c;

	begin(1);
	params.timeout_s = 1;
	create();
	ends_run(500 * MS);
	ends.station[0].state = TG_STATION_HUNG;
	ends_run(10 * S);
	c = over(10 * S, true);
	ck_assert_uint_ge(c.failed, 8);
	ck_assert_uint_le(c.failed, 11);
	ck_assert_uint_eq(c.broken, c.failed);
	ck_assert_uint_eq(c.connections, c.broken);
}
END_TEST

/* A server that refuses, without any way to it: time goes on all the same. */
START_TEST(refusal)
{
	struct tg_group_counts c;

	begin(1);
	params.objects = 3;
	params.page_connections = 2;
	ends.way = 0;
	ends.station[0].state = TG_STATION_REFUSES;
	create();
	ends_run(1 * S - 1);
	c = over(1 * S - 1, true);
	ck_assert_uint_eq(c.answered, 0);
	ck_assert_uint_eq(c.failed, 100 * 4);
}
END_TEST

/* Another policy, that is another server, sees the same requests. */
START_TEST(common_numbers)
{
	struct tg_request seen[2];

	for (uint16_t run = 0; run < 2; run++) {
		begin(5);
		params.arrivals = TG_ARRIVALS_POISSON;
		params.rate = 100;
		params.bytes = exponential(500);
		params.answer_bytes = exponential(5000);
		params.work_us = exponential(3000);
		ends.params[0].workers = 1;
		ends.route = run;
		ends.way = run ? 3 * MS : 100 * US;
		create();
		ends.want = 1500;
		ends_run(20 * S);
		seen[run] = ends.wanted;
		over(20 * S, true);
	}
	ck_assert_uint_ne(seen[0].station, seen[1].station);
	ck_assert_uint_eq(seen[0].id, seen[1].id);
	ck_assert_uint_eq(seen[0].created, seen[1].created);
	ck_assert_uint_eq(seen[0].bytes, seen[1].bytes);
	ck_assert_uint_eq(seen[0].answer_bytes, seen[1].answer_bytes);
	ck_assert_double_eq(seen[0].work_us, seen[1].work_us);
}
END_TEST

/* No port comes back while its connection is open, nor before all others have had their turn. */
START_TEST(ports)
{
	struct tg_ports p;
	struct tg_connection a = {0}, b = {0};
	struct tg_random r;
	uint32_t n = 0;

	tg_random_init(&r, 1, 0, "ports", 0);
	ck_assert_int_eq(tg_ports_init(&p, 2, &r), 0);
	a.client_port = tg_ports_next(&p, 0);
	tg_ports_add(&p, &a);
	b.client_index = 1;
	b.client_port = tg_ports_next(&p, 1);
	tg_ports_add(&p, &b);
	for (; n < 64511; n++)
		ck_assert_uint_ne(tg_ports_next(&p, 0), a.client_port);
	ck_assert_uint_eq(tg_ports_next(&p, 0), a.client_port + 1);
	tg_ports_remove(&p, &a);
	for (n = 0; tg_ports_next(&p, 0) != a.client_port; n++)
		;
	ck_assert_uint_eq(n, 64510);
	tg_ports_remove(&p, &b);
	tg_ports_free(&p);
}
END_TEST

/* Who is placed by a hash of his port is placed elsewhere in another replication, and in the same place
 * whenever the run is the same. */
START_TEST(ports_of_replications)
{
	uint16_t port[4];

	for (uint64_t i = 0; i < 4; i++) {
		begin(i == 3 ? 2 : 1);
		ends.sim.replication = i == 1;
		create();
		port[i] = tg_ports_next(&group->ports, 0);
		tg_group_free(group);
		ends_over();
	}
	ck_assert_uint_eq(port[0], port[2]);
	ck_assert_uint_ne(port[0], port[1]);
	ck_assert_uint_ne(port[0], port[3]);
	ck_assert_uint_ne(port[1], port[3]);
}
END_TEST

/* Every kind of client and traffic, with loss, a server that changes, clients that give up: whatever
 * happens, each request is accounted for once, and memory goes back. */
static void any(uint64_t seed)
{
	struct tg_random r;
	struct tg_group_counts c;

	begin(seed);
	tg_random_init(&r, seed, 0, "any", 0);
	params.traffic = (enum tg_traffic)tg_random_below(&r, 4);
	params.arrivals = tg_random_below(&r, 2) ? TG_ARRIVALS_CLOSED : TG_ARRIVALS_POISSON;
	params.clients = 1 + (uint32_t)tg_random_below(&r, 20);
	params.rate = 300;
	params.connections = (uint32_t)tg_random_below(&r, 2) * 5;
	params.requests = tg_random_below(&r, 2) ? constant(1e9) : exponential(5);
	params.depth = 1 + (uint32_t)tg_random_below(&r, 2) * 3;
	params.burst = 1 + (uint32_t)tg_random_below(&r, 2) * 4;
	params.objects = (uint32_t)tg_random_below(&r, 2) * 7;
	params.page_connections = 1 + (uint32_t)tg_random_below(&r, 4);
	params.think_us = exponential(10000);
	params.think_share = tg_random_uniform(&r);
	params.answer_bytes = exponential(params.traffic == TG_TRAFFIC_DATAGRAM ? 500 : 8000);
	params.writes = constant(1 + (double)tg_random_below(&r, 3));
	params.write_gap_us = constant(500);
	params.timeout_s = params.traffic == TG_TRAFFIC_DATAGRAM || tg_random_below(&r, 2) ? 0.5
											   : 0;
	ends.params[0].listen_queue = params.timeout_s > 0 ? 50 : 0;
	ends.params[0].workers = 4;
	ends.loss = 0.1 * tg_random_uniform(&r);
	ends.jitter = tg_random_below(&r, 2) ? 200e3 : 0;
	create();
	for (unsigned int i = 0; i < 20; i++) {
		enum tg_station_state state = (enum tg_station_state)(i % 4);

		ends_run((i + 1) * 200 * MS);
		/* a server may be gone without a word, or its RST be lost: who has no time-out
		 * then waits for ever */
		if (params.timeout_s == 0)
			state = i % 4 == 2 ? TG_STATION_HUNG : TG_STATION_UP;
		change_state(state);
		ends.route = i % 7 == 6;
	}
	ends_run(4200 * MS);
	change_state(TG_STATION_UP);
	ends.loss = 0;
	c = over(4200 * MS, true);
	ck_assert_uint_gt(c.asked, 0);
}

START_TEST(everything)
{
	for (uint64_t seed = 0; seed < 100; seed++)
		any((uint64_t)_i * 100 + seed);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("client");
	TCase *t = tcase_create("clients");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 240);
	tcase_add_test(t, closed);
	tcase_add_test(t, think);
	tcase_add_test(t, churn);
	tcase_add_test(t, window);
	tcase_add_test(t, window_again);
	tcase_add_test(t, burst);
	tcase_add_test(t, page);
	tcase_add_loop_test(t, poisson, 0, 2);
	tcase_add_test(t, pool);
	tcase_add_test(t, pool_deep);
	tcase_add_loop_test(t, arrivals, TG_ARRIVALS_PACED, TG_ARRIVALS_TRACE + 1);
	tcase_add_test(t, time_out);
	tcase_add_test(t, refusal);
	tcase_add_test(t, common_numbers);
	tcase_add_test(t, ports);
	tcase_add_test(t, ports_of_replications);
	tcase_add_loop_test(t, everything, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
