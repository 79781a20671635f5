/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ends, packet by packet. */
#include <check.h>
#include <string.h>

#include "ends_client.h"

START_TEST(one_exchange)
{
	struct tg_connection *c;

	begin();
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 300, 900, 5000);
	ends_run(50 * MS);
	ask(c, 300, 900, 5000);
	ends_run(80 * MS);
	ask(c, 300, 900, 5000);
	ends_run(130 * MS);
	ask(c, 300, 900, 5000);
	ends_run(200 * MS);
	expect(0, 0, true, SYN, 0);
	expect(1, 100 * US, false, SYN | ACK, 0);
	expect(2, 200 * US, true, ACK, 0);
	expect(3, 200 * US, true, ACK | PSH, 300);
	expect(4, 300 * US, false, ACK, 0); /* quick: the server knows no turns yet */
	expect(5, 5300 * US, false, ACK | PSH, 900);
	expect(6, 5400 * US, true, ACK, 0);       /* quick too */
	expect(7, 50 * MS, true, ACK | PSH, 300); /* 44.6 ms after the answer: still no turns */
	expect(8, 55100 * US, false, ACK | PSH,
	       900); /* the server's acknowledgement waits for the answer */
	expect(9, 55200 * US, true, ACK, 0);
	expect(10, 80 * MS, true, ACK | PSH,
	       300); /* within 40 ms: from here the client takes turns */
	expect(11, 85100 * US, false, ACK | PSH, 900);
	expect(12, 125200 * US, true, ACK, 0); /* and its acknowledgement waits 40 ms in vain */
	expect(13, 130 * MS, true, ACK | PSH, 300); /* so it takes no turns any more */
	expect(14, 135100 * US, false, ACK | PSH, 900);
	expect(15, 135200 * US, true, ACK, 0);
	ck_assert_uint_eq(ends.n, 16);
	ck_assert_uint_eq(n_answered, 4);
	ck_assert_uint_eq(request[0].arrived, 300 * US);
	ck_assert_uint_eq(request[0].sent, 200 * US);
	ck_assert_uint_eq(request[0].answered, 5400 * US);
	/* sequence numbers and acknowledgements */
	ck_assert_uint_eq(ends.log[3].p.seq, ends.log[0].p.seq + 1);
	ck_assert_uint_eq(ends.log[5].p.ack, ends.log[0].p.seq + 301);
	ck_assert_uint_eq(ends.log[6].p.ack, ends.log[1].p.seq + 901);
	/* each echoes what the other's segment said: ticks of 1 ms, whatever the phase */
	ck_assert_uint_eq(ends.log[1].p.tsecr, ends.log[0].p.tsval);
	ck_assert_uint_eq(ends.log[2].p.tsecr, ends.log[1].p.tsval);
	ck_assert_uint_eq(ends.log[6].p.tsecr, ends.log[5].p.tsval);
	ck_assert_uint_eq(ends.log[12].p.tsecr, ends.log[11].p.tsval);
	ck_assert_uint_eq(ends.log[11].p.tsval - ends.log[8].p.tsval, 30);
	ck_assert_uint_eq(ends.log[6].p.window, (1 << 20) >> 5);
	tg_connection_close(c, false, tg_events_now(ends.sim.events));
	ends_run(1 * S);
	expect(16, 200 * MS, true, ACK | FIN, 0);
	expect(17, 200100 * US, false, ACK | FIN, 0);
	expect(18, 200200 * US, true, ACK, 0);
	ck_assert_uint_eq(ends.n, 19);
	over(0);
}
END_TEST

/* A server that writes twice, 15 ms apart: the second write draws the acknowledgement, which echoes the first. */
START_TEST(echo_of_the_first)
{
	struct tg_connection *c;

	begin();
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 100, 1000);
	ends_run(20 * MS);
	ask(c, 100, 200, 1000); /* in answer to data: turns */
	last_asked()->writes = 2;
	last_asked()->write_gap_ns = 15 * MS;
	ends_run(200 * MS);
	expect(7, 20 * MS, true, ACK | PSH, 100);
	expect(8, 21100 * US, false, ACK | PSH, 100);
	expect(9, 36100 * US, false, ACK | PSH, 100);
	expect(10, 36200 * US, true, ACK, 0);
	ck_assert_uint_eq(ends.log[10].p.tsecr, ends.log[8].p.tsval);
	ck_assert_uint_eq(ends.log[9].p.tsval - ends.log[8].p.tsval, 15);
	ck_assert_uint_eq(ends.log[10].p.ack, ends.log[9].p.seq + 100);
	tg_connection_close(c, true, 200 * MS);
	ends_run(1 * S);
	over(0);
}
END_TEST

/* After the quick ones: every second full segment, and 10, 20, 40 segments a round trip. */
START_TEST(slow_start)
{
	unsigned int round[8] = {0}, acks = 0, data = 0;
	uint64_t bytes = 0;
	struct tg_connection *c;

	begin();
	params.tcp.receive_window = params.server_tcp.receive_window = 16 << 20;
	ends.way = 20 * MS;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 10000000, 0);
	ends_run(10 * S);
	ck_assert_uint_eq(n_answered, 1);
	for (unsigned int i = 0; i < ends.n && i < LOG; i++) {
		const struct seen *s = &ends.log[i];

		if (!s->p.to_server && s->data > 0) {
			uint64_t r = (s->at - 60 * MS) / (40 * MS);

			bytes += s->data;
			if (r < 8)
				round[r]++;
		} else if (s->p.to_server && s->data == 0 && s->at > 170 * MS) {
			acks++;
		}
		data += !s->p.to_server && s->data > 0 && s->at > 150 * MS;
	}
	ck_assert_uint_eq(bytes, 10000000);
	for (unsigned int i = 0; i < 7; i++)
		ck_assert_uint_eq(round[i], 10u << i);
	ck_assert_uint_eq(group.counts.retransmitted, 0);
	/* log2(10e6 / 14480 + 1) = 9.43 rounds, the last one part: 10 trips of data, and one and a half before */
	ck_assert_uint_ge(last_answer, 60 * MS + 9 * 40 * MS);
	ck_assert_uint_le(last_answer, 60 * MS + 10 * 40 * MS + 20 * MS);
	ck_assert_uint_ge(acks * 2, data - 20);
	ck_assert_uint_le(acks * 2, data + 20);
	tg_connection_close(c, false, tg_events_now(ends.sim.events));
	ends_run(12 * S);
	over(0);
}
END_TEST

static unsigned int lost_first, lost_last;

static bool lose_some(const struct tg_sim_packet *p, unsigned int number)
{
	(void)p;
	return number >= lost_first && number <= lost_last;
}

static void run_losing(unsigned int first, unsigned int last, uint32_t answer)
{
	struct tg_connection *c;

	begin();
	lost_first = first;
	lost_last = last;
	ends.lose = lose_some;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 300, answer, 5000);
	ends_run(20 * S);
	ck_assert_uint_eq(n_answered, 1);
	tg_connection_close(c, false, tg_events_now(ends.sim.events));
}

START_TEST(lost_syn)
{
	run_losing(0, 2, 900);
	expect(1, 1 * S, true, SYN, 0);
	expect(2, 3 * S, true, SYN, 0);
	expect(3, 7 * S, true, SYN, 0);
	ck_assert_uint_eq(group.counts.syn_retransmitted, 3);
	ck_assert_uint_eq(last_answer, 7 * S + 5400 * US);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(lost_syn_ack)
{
	run_losing(1, 1, 900);
	expect(2, 1 * S, true, SYN, 0); /* both ends' timers; the server's is later by the way */
	expect(3, 1000100 * US, false, SYN | ACK, 0);
	expect(4, 1000100 * US, false, SYN | ACK, 0);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(lost_handshake_ack)
{
	run_losing(2, 2, 900); /* the request says the same */
	ck_assert_uint_eq(last_answer, 5400 * US);
	ck_assert_uint_eq(group.counts.retransmitted, 0);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(lost_request)
{
	run_losing(3, 3, 900);
	/* RTO = SRTT 200 us + 200 ms */
	expect(4, 200400 * US, true, ACK | PSH, 300);
	ck_assert_uint_eq(request[0].sent, 200 * US);
	ck_assert_uint_eq(last_answer, 200400 * US + 5200 * US);
	ck_assert_uint_eq(group.counts.retransmitted, 1);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(lost_ack)
{
	run_losing(4, 4, 900);
	ck_assert_uint_eq(last_answer, 5400 * US);
	ck_assert_uint_eq(group.counts.retransmitted, 0); /* the answer acknowledges too */
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(lost_tail)
{
	run_losing(5, 5, 900);
	expect(6, 5300 * US + 200200 * US, false, ACK | PSH, 900);
	ck_assert_uint_eq(group.counts.timeouts, 1);
	ends_run(25 * S);
	over(0);
}
END_TEST

/* Nobody wants the connection any more, and no packet is under way: its ends go on all the same. */
START_TEST(lost_fin)
{
	unsigned int n;

	run_losing(5, 5, 900);
	n = ends.n; /* the client's FIN has just been sent */
	ck_assert_uint_eq(ends.sim.in_flight, 1);
	lost_first = lost_last = n;
	ends_run(20 * S + 250 * US);
	expect(n, 20000100 * US, false, ACK | FIN, 0); /* the server's, in its turn */
	ck_assert_uint_eq(ends.sim.in_flight, 0);
	ck_assert_uint_eq(group.connections.live, 1);
	ends_run(25 * S);
	ck_assert_uint_ge(ends.n, n + 3);
	over(0);
}
END_TEST

/* Of ten segments the third is lost: three duplicates bring it back within two round trips. */
START_TEST(lost_in_the_middle)
{
	run_losing(7, 7, 14480);
	ck_assert_uint_eq(group.counts.retransmitted, 1);
	ck_assert_uint_eq(group.counts.timeouts, 0);
	ck_assert_uint_eq(last_answer, 5300 * US + 300 * US);
	ends_run(25 * S);
	over(0);
}
END_TEST

/* Three holes in a window: NewReno mends one each round trip. */
static bool lose_three(const struct tg_sim_packet *p, unsigned int number)
{
	(void)p;
	return number == 6 || number == 8 || number == 10;
}

START_TEST(lost_three)
{
	struct tg_connection *c;

	begin();
	ends.lose = lose_three;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 300, 14480, 5000);
	ends_run(20 * S);
	ck_assert_uint_eq(n_answered, 1);
	ck_assert_uint_eq(group.counts.timeouts, 0);
	ck_assert_uint_eq(group.counts.retransmitted, 3);
	ck_assert_uint_eq(last_answer, 5300 * US + 700 * US);
	tg_connection_close(c, false, 20 * S);
	ends_run(25 * S);
	over(0);
}
END_TEST

static bool lose_every_second(const struct tg_sim_packet *p, unsigned int number)
{
	return !p->to_server && number > 4 && number < 110 && number % 2 == 0;
}

/* More holes than an end keeps in mind: what does not fit is lost like the rest, and comes again. */
START_TEST(lost_many)
{
	struct tg_connection *c;

	begin();
	params.server_tcp.initial_window = 100;
	ends.lose = lose_every_second;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 300, 1000000, 0);
	ends_run(100 * S);
	ck_assert_uint_eq(n_answered, 1);
	ck_assert_uint_eq(c->client_end->rcv_nxt, 1000001);
	ck_assert_uint_ge(group.counts.retransmitted, TG_RANGES + 1);
	tg_connection_close(c, false, 100 * S);
	ends_run(105 * S);
	over(0);
}
END_TEST

static uint64_t hold_third(const struct tg_sim_packet *p, unsigned int number)
{
	(void)p;
	return number == 7 ? 1 * US : 0; /* comes after two later ones of the same instant */
}

static uint64_t hold_far(const struct tg_sim_packet *p, unsigned int number)
{
	(void)p;
	return number == 7 || number == 60 ? 5 * MS : 0;
}

START_TEST(overtaken)
{
	struct tg_connection *c;

	begin();
	ends.hold = hold_third;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 300, 4 * 1448 + 1448, 5000);
	ends_run(1 * S);
	ck_assert_uint_eq(n_answered, 1);
	ck_assert_uint_eq(group.counts.retransmitted, 0);
	tg_connection_close(c, false, 1 * S);
	ends_run(25 * S);
	over(0);
}
END_TEST

/* By more than three: once sent again in vain, found out by the echo, and not again. */
START_TEST(overtaken_far)
{
	struct tg_connection *c;

	begin();
	ends.way = 10 * MS;
	ends.hold = hold_far;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 300, 100 * 1448, 5000);
	ends_run(2 * S);
	ck_assert_uint_eq(n_answered, 1);
	ck_assert_uint_eq(group.counts.timeouts, 0);
	ck_assert_uint_eq(group.counts.retransmitted, 1);
	ck_assert_uint_eq(c->server_ends->dup_threshold, 6);
	ck_assert_uint_gt(c->server_ends->cwnd, 20 * 1448);
	tg_connection_close(c, false, 2 * S);
	ends_run(25 * S);
	over(0);
}
END_TEST

static bool lose_two(const struct tg_sim_packet *p, unsigned int number)
{
	(void)p;
	return number == 0 || number == 2;
}

/* Both directions start just below 2^32, and the server's timestamps wrap on the way. */
START_TEST(wraps)
{
	struct tg_connection *c;

	begin();
	ends.way = 5 * MS;
	ends.lose = lose_two;
	c = connect_as(TG_TRAFFIC_TCP);
	c->client_end->isn = UINT32_MAX - 2000;
	tg_tcp_syn(c->client_end, 0); /* again, with the number just set */
	ask(c, 5000, 100000, 1000);
	ends_run(5 * MS);
	c->server_ends->isn = UINT32_MAX - 3;
	c->server_ends->ts_offset = UINT32_MAX - 15;
	tg_tcp_syn(c->server_ends, 5 * MS);
	ends_run(1 * S);
	ck_assert_uint_eq(n_answered, 1);
	ck_assert_uint_gt(ends.log[1].p.seq, ends.log[ends.n - 1].p.seq);
	ck_assert_uint_gt(ends.log[3].p.tsval, ends.log[ends.n - 1].p.tsecr);
	ask(c, 5000, 100000, 1000);
	ends_run(2 * S);
	ck_assert_uint_eq(n_answered, 2);
	ck_assert_uint_eq(n_broken, 0);
	ck_assert_uint_eq(group.counts.timeouts, 0);
	ck_assert_uint_eq(group.counts.retransmitted, 0);
	tg_connection_close(c, false, 2 * S);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(pipelined)
{
	struct tg_connection *c;

	begin();
	ends.params[0].workers = 4;
	c = connect_as(TG_TRAFFIC_TCP);
	for (unsigned int i = 0; i < 4; i++)
		ask(c, 100, 2500, 8000 - 2000 * i); /* the last is ready first */
	ends_run(100 * MS);
	ck_assert_uint_eq(n_answered, 4);
	for (unsigned int i = 0; i < ends.n; i++) /* nothing leaves before the first's turn */
		ck_assert(ends.log[i].p.to_server || ends.log[i].data == 0 ||
			  ends.log[i].at >= 8300 * US);
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_uint_eq(answered[i], i);
		ck_assert_uint_eq(request[i].finished, (300 + 8000 - 2000 * i) * US);
	}
	ck_assert_uint_eq(request[3].answered, request[0].answered);
	tg_connection_close(c, false, 100 * MS);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(refused)
{
	struct tg_connection *c;

	begin();
	ends.station[0].state = TG_STATION_REFUSES;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 100, 1000);
	ends_run(100 * MS);
	expect(1, 100 * US, false, RST | ACK, 0);
	ck_assert_uint_eq(n_broken, 1);
	ends.station[0].state = TG_STATION_UP;
	ends.params[0].listen_queue = 1;
	c = connect_as(TG_TRAFFIC_TCP);
	for (unsigned int i = 0; i < 3; i++) /* one at work, one waits, one too many */
		ask(c, 100, 100, 1000);
	ends_run(200 * MS);
	ck_assert_uint_eq(n_broken, 2);
	ck_assert_uint_eq(n_answered, 0);
	over(0);
}
END_TEST

START_TEST(hung)
{
	struct tg_connection *c;

	begin();
	ends.station[0].state = TG_STATION_HUNG;
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 100, 1000);
	ends_run(100 * S);
	expect(4, 300 * US, false, ACK, 0);
	ck_assert_uint_eq(ends.n, 5);
	tg_connection_close(c, true, 100 * S);
	ends_run(101 * S);
	over(0);
}
END_TEST

START_TEST(down)
{
	struct tg_connection *c;
	unsigned int n;

	begin();
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 100, 1000);
	ends_run(50 * MS);
	ends.station[0].state = TG_STATION_DOWN;
	n = ends.n;
	ask(c, 100, 100, 1000);
	ends_run(900 * MS);
	ck_assert_uint_eq(ends.n, n + 3); /* at 0, 200, 600 ms */
	ck_assert_uint_eq(ends.log[n + 2].at - ends.log[n + 1].at,
			  2 * (ends.log[n + 1].at - ends.log[n].at));
	ends_run(2000 * S);
	ck_assert_uint_eq(n_broken, 1);
	ck_assert_uint_eq(ends.n, n + 16);
	over(0);
}
END_TEST

/* The gateway sends a connection's packet elsewhere: a RST with the number that it acknowledged. */
START_TEST(another_server)
{
	struct tg_connection *c;
	unsigned int n;

	begin();
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 100, 1000);
	ends_run(50 * MS);
	ends.route = 1;
	n = ends.n;
	ask(c, 100, 100, 1000);
	ends_run(60 * MS);
	expect(n + 1, 50100 * US, false, RST, 0);
	ck_assert_uint_eq(ends.log[n + 1].p.seq, ends.log[n].p.ack);
	ck_assert_uint_eq(ends.log[n + 1].p.server, 1);
	ck_assert_uint_eq(n_broken, 1);
	over(0);
}
END_TEST

static void reset_at(struct tg_connection *c, int32_t ahead)
{
	struct tg_sim_packet *p = tg_sim_packet_new(&ends.sim, c);

	p->tcp_flags = RST;
	p->seq = c->client_end->irs + (uint32_t)c->client_end->rcv_nxt + (uint32_t)ahead;
	tg_connection_at_client(c, p, tg_events_now(ends.sim.events));
}

/* RFC 5961 3.2: an old RST is nothing, one in the window draws an ACK, the exact one is meant. */
START_TEST(resets)
{
	struct tg_connection *c;
	unsigned int n;

	begin();
	c = connect_as(TG_TRAFFIC_TCP);
	ask(c, 100, 100, 1000);
	ends_run(60 * MS);
	n = ends.n;
	reset_at(c, -1);
	ck_assert_uint_eq(ends.n, n);
	reset_at(c, 1);
	ck_assert_uint_eq(ends.n, n + 1);
	expect(n, 60 * MS, true, ACK, 0);
	ck_assert_uint_eq(n_broken, 0);
	reset_at(c, 0);
	ck_assert_uint_eq(n_broken, 1);
	ends_run(1 * S);
	over(0);
}
END_TEST

/* The client gives up while the server works: its RST withdraws the request, lost or not. */
START_TEST(given_up)
{
	for (unsigned int lost = 0; lost < 2; lost++) {
		struct tg_connection *c;

		begin();
		c = connect_as(TG_TRAFFIC_TCP);
		ask(c, 100, 100000, 10000);
		ends_run(5 * MS);
		lost_first = ends.n;
		lost_last = lost ? ends.n : 0;
		ends.lose = lose_some;
		tg_connection_close(c, true, 5 * MS);
		memset(request, 0xff, sizeof(request));
		ends_run(10 * S);
		ck_assert_uint_eq(ends.station[0].busy, 0);
		ck_assert_uint_eq(n_answered, 0);
		ck_assert_uint_eq(ends.station[0].in_vain, lost ? 0 : 1);
		over(0);
	}
}
END_TEST

/* Clocks: 1 us to 10 ms, offsets by connection, drift by host. */
START_TEST(clocks)
{
	static const double tick[] = {1, 1000, 4000, 10000};

	for (unsigned int i = 0; i < 4; i++) {
		struct tg_connection *c;
		double ticks;

		begin();
		params.server_tcp.tick_us = tick[i];
		params.server_tcp.offset = true;
		params.server_tcp.drift_ppm = 100;
		c = connect_as(TG_TRAFFIC_TCP);
		ask(c, 100, 100, 1000);
		ends_run(100 * S);
		ask(c, 100, 100, 1000);
		ends_run(101 * S);
		ck_assert_uint_eq(n_answered, 2);
		ticks = ends.log[ends.n - 2].p.tsval - ends.log[1].p.tsval;
		/* between the SYN-ACK and the second answer */
		ck_assert_double_eq_tol(ticks, (100 * S + 1100 * US - 100 * US) / (tick[i] * 1e3),
					1 + 1e-4 * 100 * 1e6 / tick[i]);
		if (i == 0) {
			ck_assert_double_ne(ticks, 100001000.);
			ck_assert_uint_gt(ends.log[1].p.tsval, 1000);
		}
		tg_connection_close(c, false, 101 * S);
		ends_run(110 * S);
		over(0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tcp");
	TCase *t = tcase_create("ends");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, one_exchange);
	tcase_add_test(t, echo_of_the_first);
	tcase_add_test(t, slow_start);
	tcase_add_test(t, lost_syn);
	tcase_add_test(t, lost_syn_ack);
	tcase_add_test(t, lost_handshake_ack);
	tcase_add_test(t, lost_request);
	tcase_add_test(t, lost_ack);
	tcase_add_test(t, lost_tail);
	tcase_add_test(t, lost_fin);
	tcase_add_test(t, lost_in_the_middle);
	tcase_add_test(t, lost_three);
	tcase_add_test(t, lost_many);
	tcase_add_test(t, overtaken);
	tcase_add_test(t, overtaken_far);
	tcase_add_test(t, wraps);
	tcase_add_test(t, pipelined);
	tcase_add_test(t, refused);
	tcase_add_test(t, hung);
	tcase_add_test(t, down);
	tcase_add_test(t, another_server);
	tcase_add_test(t, resets);
	tcase_add_test(t, given_up);
	tcase_add_test(t, clocks);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
