/* SPDX-License-Identifier: BSD-3-Clause */
/* The echo estimator: what timestamps tell of an answer's end, S, the period, and what they must not do. */
#include "pirate_world.h"

static void check_sane(const struct tg_sample *s)
{
	ck_assert_uint_le(s->lo, s->latency);
	ck_assert_uint_le(s->latency, s->hi);
	ck_assert_uint_le(s->latency, 60 * S + 64);
	ck_assert(s->server == TG_SAMPLE_UNKNOWN || s->server <= s->latency);
	ck_assert_uint_le(s->confidence, TG_CONFIDENCE_GOOD);
}

/* ------------------------------------------------------------------ L */

static const double periods[] = {1e3, 1e6, 4e6, 10e6};

START_TEST(pauses_and_delayed_acknowledgements_drop_out)
{
	struct world w;
	double t, end;

	reset(&w, periods[_i]);
	greet(&w, 1e9);
	t = warm_up(&w, 1e9 + 5e6);
	ck_assert_uint_eq(w.server.period, (unsigned int)_i + 1);
	ask(&w, t);
	end = answer(&w, t, 5e6, 200);
	acknowledge(&w, end + 40e6); /* delayed */
	ck_assert(ask(&w, end + 700e6));
	ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
	ck_assert_uint_eq(w.r.last.confidence, TG_CONFIDENCE_GOOD);
	check_sane(&w.r.last);
	ck_assert_uint_le(w.r.last.hi - w.r.last.lo, (uint64_t)periods[_i] + 100);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, periods[_i] / 1e6 * 0.8 + 0.03);
	/* and without any but the next request */
	t = end + 700e6;
	end = answer(&w, t, 5e6, 200);
	ck_assert(ask(&w, end + 300e6));
	ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, periods[_i] / 1e6 * 0.8 + 0.03);
}
END_TEST

START_TEST(prompt_acknowledgement_is_exact)
{
	struct world w;
	double t, end;

	reset(&w, periods[_i]);
	greet(&w, 1e9);
	t = warm_up(&w, 1e9 + 5e6);
	ask(&w, t);
	end = answer(&w, t, 5e6, 200);
	acknowledge(&w, end + 2e6);
	ck_assert(ask(&w, end + 900e6));
	ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 7.1, 0.0002);
	check_sane(&w.r.last);
}
END_TEST

START_TEST(long_advance_is_a_lower_bound)
{
	struct world w;
	double t, end;

	/* the first of many segments is what a delayed acknowledgement echoes */
	t = set_off(&w, 1e9);
	ask(&w, t);
	end = answer(&w, t, 5e6, 2896);
	ck_assert(ask(&w, end + 100e6));
	ck_assert(w.r.last.bound);
	ck_assert_uint_eq(w.r.last.confidence, TG_CONFIDENCE_FAIR);
	answer(&w, end + 100e6, 5e6, 100);
	ck_assert(ask(&w, end + 300e6));
	ck_assert(!w.r.last.bound);
}
END_TEST

START_TEST(second_write_while_the_first_waits)
{
	struct world w;
	double t, end;

	/* two writes 15 ms apart, the second sets off the acknowledgement: it says when, not the echo */
	t = set_off(&w, 1e9);
	ask(&w, t);
	end = answer(&w, t, 5e6, 400);
	acknowledge(&w, end + 15e6);
	ck_assert(ask(&w, end + 300e6));
	ck_assert_double_eq_tol(ms(w.r.last.latency), 20.1, 0.0002);
}
END_TEST

START_TEST(requests_in_flight_are_one_batch)
{
	struct world w;
	double t, end;

	t = set_off(&w, 1e9);
	w.r.samples = 0;
	/* asked at 0 and at 8 ms; the first is answered at 5, the client says so at 9; the second at 20 */
	ck_assert(ask(&w, t));
	ck_assert(!ask(&w, t + 8e6));
	answer(&w, t, 5e6, 200);
	ck_assert(!acknowledge(&w, t + 9e6));
	ck_assert(!ask(&w, t + 10e6)); /* a third: still one batch */
	end = answer(&w, t + 10e6, 12e6, 400);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert(w.r.last.batch);
	ck_assert_uint_eq(w.r.samples, 2); /* with the warm-up's last */
	ck_assert_uint_lt(w.r.last.confidence, TG_CONFIDENCE_GOOD);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 12.1, 0.0002);
	/* the next is single again */
	end = answer(&w, end + 50e6, 5e6, 100);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert(!w.r.last.batch);
}
END_TEST

/* Eight requests at once, answered one after another. */
static double burst(struct world *w, double t, unsigned int first_ms, unsigned int step_ms)
{
	double end = t;

	for (unsigned int i = 0; i < 8; i++)
		ask(w, t);
	for (unsigned int i = 0; i < 8; i++) {
		end = answer(w, t, (first_ms + i * step_ms) * 1e6, 300);
		ck_assert(!acknowledge(w, end));
	}
	return end;
}

START_TEST(burst_has_the_first_answers_s)
{
	struct world w;
	double t, end;

	t = set_off(&w, 1e9);
	end = burst(&w, t, 5, 4);
	ck_assert_uint_eq(w.r.last.pieces, 1); /* of the warm-up */
	ck_assert(ask(&w, end + 50e6));
	ck_assert(w.r.last.batch);
	ck_assert_uint_eq(w.r.last.pieces, 8);
	ck_assert_double_eq_tol(ms(w.r.last.server), 5, 1);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 33.1, 0.01); /* until the last answer */
	ck_assert_uint_eq(w.r.last.confidence, TG_CONFIDENCE_FAIR);
	/* what follows is measured as ever */
	end = answer(&w, end + 50e6, 5e6, 100);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert(!w.r.last.batch);
	ck_assert_uint_eq(w.r.last.pieces, 1);
}
END_TEST

/* A request in two pieces has one answer, in two segments that one timestamp was written on: S is all of it. */
START_TEST(request_in_pieces)
{
	struct world w;
	double t, end;

	t = set_off(&w, 1e9);
	ask(&w, t);
	ask(&w, t + 1e5);
	answer(&w, t + 1e5, 5e6, 300);
	acknowledge(&w, t + 5.2e6);
	w.ack += 300;
	acknowledge(&w, t + 5.3e6);
	ck_assert(ask(&w, t + 50e6));
	ck_assert(!w.r.last.batch);
	ck_assert_uint_eq(w.r.last.pieces, 2);
	/* a large request's segments are not pieces: only its end is pushed */
	for (int i = 0; i < 20; i++) {
		ck_assert(!echo(&w.r, (uint64_t)(t + 51e6), ACK, w.seq, 1448, w.ack, w.v));
		w.seq += 1448;
	}
	end = answer(&w, t + 51e6, 5e6, 300);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert_uint_eq(w.r.last.pieces, 1);
}
END_TEST

/* Requests that come in one burst, each with the acknowledgement of another answer: only the last one opens, and
 * they are together. */
START_TEST(answers_that_come_with_requests_in_one_burst)
{
	struct tg_sample s = used_memory();
	struct tg_pkt p[4];
	struct world w;
	double t, end;

	t = set_off(&w, 1e9);
	ask(&w, t);
	for (unsigned int i = 0; i < 4; i++) {
		end = answer(&w, t, 5e6, 300);
		p[i] = segment(PSH, w.seq, 100, w.ack);
		p[i].flags = TG_PKT_TS;
		p[i].tsecr = w.v;
		w.seq += 100;
	}
	for (unsigned int i = 0; i < 4; i++)
		tg_pirate_arrive(&w.r.c, w.r.server, w.r.estimator, w.r.near.words, w.r.far, &p[i],
				 (uint64_t)end, &s);
	for (unsigned int i = 0; i < 4; i++)
		tg_pirate_depart(&w.r.c, w.r.server, w.r.estimator, w.r.near.words, w.r.far, &p[i],
				 (uint64_t)end, (uint64_t)end);
	t = answer(&w, end, 5e6, 300);
	acknowledge(&w, t);
	ck_assert(ask(&w, t + 50e6));
	ck_assert(w.r.last.batch);
	ck_assert_uint_eq(w.r.last.pieces, 4);
}
END_TEST

START_TEST(pieces_do_not_overflow)
{
	struct world w;
	double t, end;

	t = set_off(&w, 1e9);
	for (int i = 0; i < 300; i++)
		ask(&w, t);
	end = answer(&w, t, 5e6, 300);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert_uint_eq(w.r.last.pieces, 255);
}
END_TEST

/* ------------------------------------------------------------------ without use: ack */

START_TEST(auto_takes_what_headers_show)
{
	struct tg_pirate_params params = {.gap_rule = TG_GAP_MODE_SUM};
	struct tg_clock clock = tg_clock_init(1000000000);
	struct tg_pirate_config c = tg_pirate_compile(&params, &clock);
	struct tg_pkt p = segment(TG_TCP_SYN, 1, 0, 0), udp = {.key.protocol = IPPROTO_UDP};

	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_ESTIMATOR_ACK);
	p.flags |= TG_PKT_TS;
	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_ESTIMATOR_ECHO);
	ck_assert_uint_eq(tg_pirate_choose(&c, &udp), TG_ESTIMATOR_GAP);
	c.estimator = TG_ESTIMATOR_ACK;
	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_ESTIMATOR_ACK);
	c.estimator = TG_ESTIMATOR_ECHO;
	p.flags = 0; /* the server may yet show them */
	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_ESTIMATOR_ECHO);
	ck_assert_uint_eq(tg_pirate_choose(&c, &udp), TG_ESTIMATOR_OFF);
}
END_TEST

START_TEST(server_without_timestamps)
{
	struct rig r;
	struct tg_pirate_server server = {0};

	/* the SYN offered them */
	start(&r, TG_ESTIMATOR_ECHO);
	r.server = &server;
	echo(&r, 0, TG_TCP_SYN, 1000, 0, 0, 0);
	tcp(&r, 100 * US, ACK, 1001, 0, 5001);
	tcp(&r, 1 * MS, PSH, 1001, 50, 5001);
	tcp(&r, 6 * MS, ACK, 1051, 0, 5201);
	ck_assert(tcp(&r, 20 * MS, PSH, 1051, 50, 5201));
	ck_assert_uint_eq(r.last.kind, TG_ESTIMATOR_ACK);
	ck_assert_uint_eq(r.last.latency, 5 * MS);
	ck_assert_uint_eq(r.last.server, 5 * MS - 100 * US);
	ck_assert_uint_eq(r.last.confidence, TG_CONFIDENCE_FAIR);
	ck_assert_uint_eq(server.no_period, 0);
	tcp(&r, 33 * MS, PSH, 1101, 50, 5301);
	ck_assert_uint_eq(r.last.confidence, TG_CONFIDENCE_LOW); /* after any pause */
	ck_assert_uint_eq(r.last.lo, 0);
}
END_TEST

/* 0.5 s (old stacks), 100 us, 2 ms, 1/1024 s, and one that stands still. */
static const double odd[] = {500e6, 100e3, 2e6, 976562.5, 1e18};

START_TEST(no_clear_period)
{
	struct world w;
	double t, end;

	reset(&w, odd[_i]);
	greet(&w, 1e9);
	t = 1e9 + 5e6;
	for (int i = 0; i < 400; i++) {
		ask(&w, t);
		end = answer(&w, t, 5e6, 200);
		acknowledge(&w, end);
		t = end + 21e6 + i * 1e4;
	}
	ck_assert(ask(&w, t));
	ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ACK);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, 0.0001);
	ck_assert_double_eq_tol((double)w.r.sum / (double)w.r.exchanges / 1e6, 5.1, 0.05);
	ck_assert_uint_gt(w.server.no_period, 300);
	if (_i != 3) /* 2 % off: it may pass for 1 ms, in a connection that is soon over */
		ck_assert_uint_eq(w.server.period, 0);
}
END_TEST

START_TEST(syn_ack_that_says_nothing)
{
	struct world w;
	double t, end;

	/* a handshake that echoes 0, then true timestamps */
	reset(&w, 1e6);
	start(&w.r, TG_ESTIMATOR_ECHO);
	w.r.server = &w.server;
	w.seq = 1001;
	w.ack = 5001;
	echo(&w.r, (uint64_t)1e9, TG_TCP_SYN, 1000, 0, 0, 0);
	echo(&w.r, (uint64_t)1e9 + 100 * US, ACK, 1001, 0, 5001, 0);
	t = warm_up(&w, 1e9 + 5e6);
	ask(&w, t);
	end = answer(&w, t, 5e6, 200);
	ck_assert(ask(&w, end + 300e6));
	ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, 0.8);
	ck_assert_double_eq_tol(ms(w.r.last.server), 5, 0.8); /* by the path */
}
END_TEST

/* Each of these between request and answer, and again between answer and next request. */
START_TEST(what_opens_and_closes_nothing)
{
	const struct {
		const char *what;
		uint8_t flags;
		uint32_t back, len,
			ack; /* seq is so far before the next; ack so far behind the last */
	} none[] = {
		{"duplicate ACK", ACK, 0, 0, 0},
		{"old ACK", ACK, 0, 0, (uint32_t)-300},
		{"retransmission", PSH, 100, 100, 0},
		{"keep-alive, one byte", ACK, 1, 1, 0},
		{"keep-alive that acknowledges", ACK, 1, 0, 50},
		{"zero-window probe", ACK, 1, 1, 0},
		{"RST", TG_TCP_RST, 0, 0, 0},
		{"RST with ACK", TG_TCP_RST | ACK, 0, 0, 100},
		{"SYN again", TG_TCP_SYN, 0, 0, 0},
		{"NULL scan", 0, 0, 20, 50},
		{"FIN", TG_TCP_FIN | ACK, 0, 0, 0},
	};

	for (unsigned int i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct world w;
		double t, end;
		uint64_t n, since;
		uint32_t seq;

		t = set_off(&w, 1e9);
		ask(&w, t);
		n = w.r.samples;
		seq = none[i].flags == TG_TCP_SYN ? 1000 : w.seq - none[i].back;
		ck_assert(!echo(&w.r, (uint64_t)(t + 2e6), none[i].flags, seq,
				(uint16_t)none[i].len, w.ack + none[i].ack, w.v));
		ck_assert_msg(is_open(&w.r, &since) && since == (uint64_t)t, "%s", none[i].what);
		end = answer(&w, t, 5e6, 200);
		acknowledge(&w, end);
		ck_assert(!echo(&w.r, (uint64_t)(end + 2e6), none[i].flags, seq,
				(uint16_t)none[i].len, w.ack + none[i].ack, w.v));
		ck_assert_msg(w.r.samples == n, "%s", none[i].what);
		ck_assert_msg(ask(&w, end + 90e6), "%s", none[i].what);
		ck_assert_msg(fabs(ms(w.r.last.latency) - 5.1) < 0.0002, "%s: %f", none[i].what,
			      ms(w.r.last.latency));
		/* but a request or SYN that is sent again says something of the server's health */
		ck_assert_msg(w.server.repeated == (none[i].len == 100 ? 2 : 0), "%s",
			      none[i].what);
		ck_assert_msg(w.server.syns_repeated == (none[i].flags == TG_TCP_SYN ? 2 : 0), "%s",
			      none[i].what);
	}
}
END_TEST

/* ------------------------------------------------------------------ numbers and time */

START_TEST(timestamps_wrap)
{
	struct world w;
	double t, end, worst = 0;

	/* microseconds: 71 minutes a round, over two of them, with pauses of up to five minutes */
	reset(&w, periods[_i]);
	w.offset = 4294967296.0 - 40;
	greet(&w, 1e9);
	t = warm_up(&w, 1e9 + 5e6);
	for (int i = 0; i < 120; i++) {
		ask(&w, t);
		end = answer(&w, t, 5e6, 200);
		acknowledge(&w, end + 40e6);
		t = end + (i % 7 == 6 ? 300e9 : 31e9);
		ck_assert(ask(&w, t));
		ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
		worst = fmax(worst, fabs(ms(w.r.last.latency) - 5.1));
		end = answer(&w, t, 5e6, 200);
		acknowledge(&w, end);
		t = end + 40e6;
	}
	/* what is known of a clock grows uncertain in pauses: 8 ppm of 331 s */
	ck_assert_double_le(worst, periods[_i] / 1e6 + 3);
}
END_TEST

START_TEST(time_jumps)
{
	const double years = 8 * 365 * 86400e9;
	const double to[] = {years, 3e9, 1e9 + years, 2e9};
	struct world w;
	double t, end;

	t = set_off(&w, 10e9);
	for (unsigned int i = 0; i < 4; i++) {
		/* here, not at the server */
		w.offset += (t - to[i]) / 1e6;
		ask(&w, t);
		t = to[i];
		answer(&w, t, 1e6, 200);
		acknowledge(&w, t);
		w.r.samples = 0;
		t = warm_up(&w, t + 5e6);
		ck_assert_uint_ge(w.r.samples, 9);
		check_sane(&w.r.last);
		ck_assert_double_eq_tol(ms(w.r.last.latency), 3.47, 0.1);
		ask(&w, t);
		end = answer(&w, t, 5e6, 200);
		ck_assert(ask(&w, end + 300e6));
		ck_assert_double_le(ms(w.r.last.latency), 300 + 5.2);
		t = end + 400e6;
	}
}
END_TEST

/* ------------------------------------------------------------------ S */

START_TEST(path_cancels)
{
	struct world w;
	double t, end, sum = 0;
	int n = 0;

	/* a client 100 ms away whose first ACK came 60 ms late: the handshake's gap is not the path */
	for (int k = 0; k < 20; k++) {
		reset(&w, 1e6);
		w.offset += 0.05 * k;
		w.server.period = 2;
		start(&w.r, TG_ESTIMATOR_ECHO);
		w.r.server = &w.server;
		w.back = 100e6;
		w.seq = 1001;
		w.ack = 5001;
		echo(&w.r, (uint64_t)1e9, TG_TCP_SYN, 1000, 0, 0, 0);
		w.v = stamp(&w, 1e9 + w.there);
		echo(&w.r, (uint64_t)(1e9 + 160e6), ACK, 1001, 0, 5001, w.v);
		t = 1.2e9;
		for (int i = 0; i < 10; i++) {
			ask(&w, t);
			end = answer(&w, t, 7.3e6, 200);
			acknowledge(&w, end);
			t = end + 33.17e6;
			if (i > 0) {
				ck_assert(w.r.last.server != TG_SAMPLE_UNKNOWN);
				ck_assert_double_eq_tol(ms(w.r.last.server), 7.3, 1.1);
				sum += ms(w.r.last.server);
				n++;
			}
		}
	}
	ck_assert_double_eq_tol(sum / n, 7.3, 0.3);
}
END_TEST

START_TEST(time_in_here_is_not_the_servers)
{
	struct world w;
	struct tg_pkt p;
	double t, end;

	t = set_off(&w, 1e9);
	p = segment(PSH, w.seq, 100, w.ack);
	p.flags = TG_PKT_TS;
	p.tsecr = w.v;
	arrive(&w.r, &p, (uint64_t)t);
	depart(&w.r, &p, (uint64_t)t, (uint64_t)(t + 30e6));
	w.seq += 100;
	end = answer(&w, t + 30e6, 5e6, 200);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert_double_eq_tol(ms(w.r.last.latency), 35.1, 0.0002);
	ck_assert_double_eq_tol(ms(w.r.last.server), 5, 0.05);
}
END_TEST

START_TEST(syn_sent_again)
{
	struct world w;
	double t, end;

	reset(&w, 1e6);
	w.server.period = 2;
	start(&w.r, TG_ESTIMATOR_ECHO);
	w.r.server = &w.server;
	w.seq = 1001;
	w.ack = 5001;
	echo(&w.r, 1 * S, TG_TCP_SYN, 1000, 0, 0, 0);
	echo(&w.r, 2 * S, TG_TCP_SYN, 1000, 0, 0, 0);
	echo(&w.r, 2 * S + 100 * US, ACK, 1001, 0, 5001, stamp(&w, 1e9));
	t = warm_up(&w, 2.1e9);
	ask(&w, t);
	end = answer(&w, t, 5e6, 200);
	acknowledge(&w, end);
	ck_assert(ask(&w, end + 50e6));
	ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, 0.0002);
	ck_assert(w.r.last.server == TG_SAMPLE_UNKNOWN);
}
END_TEST

START_TEST(syn_cookies_are_not_believed)
{
	struct world w;
	double t, end;

	reset(&w, 1e6);
	w.there = 40e6;
	w.back = 40e6;
	for (int k = 0; k < 8; k++) {
		uint32_t v;

		t = 1e9 + k * 3.137e9;
		start(&w.r, TG_ESTIMATOR_ECHO);
		w.r.server = &w.server;
		w.server.period = 2;
		w.seq = 1001;
		w.ack = 5001;
		echo(&w.r, (uint64_t)t, TG_TCP_SYN, 1000, 0, 0, 0);
		v = stamp(&w, t + w.there);
		w.v = (v & ~63u) | 0x17;
		if (w.v > v)
			w.v -= 64;
		echo(&w.r, (uint64_t)(t + 80e6), ACK, 1001, 0, 5001, w.v);
		t += 90e6;
		for (int i = 0; i < 10; i++) {
			ask(&w, t);
			end = answer(&w, t, 5e6, 200);
			acknowledge(&w, end);
			t = end + 33.17e6;
			/* by the path: 5; by the cookie's timestamp up to 68 */
			if (k > 0 && i > 1)
				ck_assert_double_eq_tol(ms(w.r.last.server), 5, 0.01);
		}
	}
}
END_TEST

/* ------------------------------------------------------------------ many exchanges */

struct load {
	double period, path, takes, think, ppm;
};

/* Means over 40 connections of 50 exchanges: exponential answers and pauses, delayed acknowledgements. */
static void mean_error(const struct load *l, double *l_error, double *s_error)
{
	struct world w;
	double l_true = 0, s_true = 0, s_sum = 0, t = 1e9, sum = 0;
	uint64_t n = 0, s_n = 0, exchanges = 0;

	reset(&w, l->period);
	w.back = l->path;
	w.ppm = l->ppm;
	rnd_state = 0x1234567;
	for (int k = 0; k < 40; k++) {
		t += 30e9 * uniform();
		greet(&w, t);
		t += w.there + w.back + 1e6;
		for (int i = 0; i < 50; i++) {
			double takes = -l->takes * log(1 - uniform());
			double think = 2e3 - l->think * log(1 - uniform());
			double end;

			if (ask(&w, t) && w.r.last.server != TG_SAMPLE_UNKNOWN) {
				s_sum += (double)w.r.last.server;
				s_n++;
			}
			if (w.r.samples > 0)
				check_sane(&w.r.last);
			end = answer(&w, t, takes, 200);
			if (think > 40e6)
				acknowledge(&w, end + 40e6);
			l_true += end - t;
			s_true += takes;
			n++;
			t = end + think;
		}
		finish(&w.r);
		sum += (double)w.r.sum;
		exchanges += w.r.exchanges;
	}
	*l_error = (sum / (double)exchanges) / (l_true / (double)n) - 1;
	*s_error = (s_sum / (double)s_n - s_true / (double)n) / 1e6;
}

START_TEST(means_are_right)
{
	const struct load loads[] = {
		{1e3, 80e3, 5e6, 20e6, 0},   {1e6, 80e3, 5e6, 20e6, 20},
		{1e6, 20e6, 5e6, 20e6, -20}, {1e6, 100e6, 5e6, 200e6, 0},
		{1e6, 80e3, 2e6, 1e3, 0},    {4e6, 20e6, 10e6, 20e6, 0},
		{4e6, 80e3, 10e6, 20e6, 20}, {10e6, 20e6, 20e6, 20e6, 0},
	};
	double l, s;

	mean_error(&loads[_i], &l, &s);
	ck_assert_msg(fabs(l) < 0.08, "L %+.3f", l);
	ck_assert_msg(fabs(s) < fmax(0.3, loads[_i].takes / 1e6 * 0.08), "S %+.3f ms", s);
}
END_TEST

/* ------------------------------------------------------------------ who lies */

/* A thousand connections that echo and acknowledge at random. */
static void lie(struct tg_pirate_server *server, uint64_t *samples)
{
	rnd_state = 99;
	for (int k = 0; k < 1000; k++) {
		struct rig r;
		uint32_t seq = 1, ack = 1;
		uint64_t t = rnd() >> (rnd() & 31);

		start(&r, TG_ESTIMATOR_ECHO);
		r.server = server;
		for (int i = 0; i < 60; i++) {
			uint8_t flags = i == 0 ? TG_TCP_SYN : rnd() % 9 == 0 ? (uint8_t)rnd() : PSH;
			uint16_t len = (uint16_t)(rnd() % 3 * 100);

			t += rnd() % 50 == 0 ? rnd() : rnd() % (100 * MS);
			if (echo(&r, t, flags, seq, len, ack, (uint32_t)(rnd() >> (rnd() & 31))))
				check_sane(&r.last);
			seq += rnd() % 4 == 0 ? (uint32_t)rnd() : len;
			ack += rnd() % 4 == 0 ? (uint32_t)rnd() : 100;
		}
		if (finish(&r))
			check_sane(&r.last);
		*samples += r.samples;
	}
}

START_TEST(lies_stay_with_the_liar)
{
	struct world w;
	uint64_t samples = 0;
	double t, end;

	t = set_off(&w, 1e9);
	lie(&w.server, &samples);
	ck_assert_uint_gt(samples, 1000);
	ck_assert_uint_le(w.server.place, 1 << 15);
	/* a connection that stands is measured on, and a new one as soon as its own exchanges say */
	for (int k = 0; k < 2; k++) {
		ask(&w, t);
		end = answer(&w, t, 5e6, 200);
		acknowledge(&w, end + 40e6);
		ck_assert(ask(&w, end + 300e6));
		ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, 1);
		greet(&w, end + 1e9);
		t = warm_up(&w, end + 1.1e9);
		ck_assert_double_eq_tol(ms(w.r.last.latency), 3.47, 0.05);
	}
}
END_TEST

START_TEST(a_minority_does_not_set_the_period)
{
	struct world w, liar;
	double t = 1e9;

	reset(&w, 1e6);
	for (int k = 0; k < 20; k++) {
		if (k % 4 == 3) {
			reset(&liar, 4e6);
			liar.server = w.server;
			greet(&liar, t);
			t = warm_up(&liar, t + 5e6);
			w.server = liar.server;
		}
		greet(&w, t);
		t = warm_up(&w, t + 5e6) + 1e9;
		if (k > 0)
			ck_assert_uint_eq(w.server.period, 2);
	}
	ck_assert_uint_eq(w.server.votes[1], 20);
	ck_assert_uint_eq(w.server.votes[2], 5);
}
END_TEST

START_TEST(drift_is_what_three_clients_agree_on)
{
	struct world w;
	double t = 1e9;

	/* 30 ppm; the fourth client claims 1500 */
	reset(&w, 1e6);
	w.ppm = 30;
	for (int k = 0; k < 40; k++) {
		unsigned int client = (unsigned int)k / 2 % 4;
		struct tg_pkt p = segment(TG_TCP_SYN, 1000, 0, 0);
		double lie_by = client == 3 && k % 2 ? -300e9 * 1500e-6 : 0;

		start(&w.r, TG_ESTIMATOR_ECHO);
		w.r.server = &w.server;
		p.key.client.b[0] = (uint8_t)(client + 1);
		pass(&w.r, &p, (uint64_t)t);
		p = segment(ACK, 1001, 0, 5001);
		p.key.client.b[0] = (uint8_t)(client + 1);
		p.flags = TG_PKT_TS;
		p.tsecr = stamp(&w, t + w.there + lie_by);
		pass(&w.r, &p, (uint64_t)(t + w.there + w.back));
		w.seq = 1001;
		w.ack = 5001;
		w.v = p.tsecr;
		warm_up(&w, t + 5e6);
		t += 300e9;
		if (k >= 8)
			ck_assert_double_eq_tol(w.server.drift / 4294.967296, -30, 8);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate_echo");
	TCase *c = tcase_create("each");

	UNIT_CASE(s, "echo", long_advance_is_a_lower_bound, second_write_while_the_first_waits,
		  requests_in_flight_are_one_batch, burst_has_the_first_answers_s,
		  request_in_pieces, answers_that_come_with_requests_in_one_burst,
		  pieces_do_not_overflow, what_opens_and_closes_nothing, time_jumps);
	UNIT_CASE(s, "echo-ack", auto_takes_what_headers_show, server_without_timestamps,
		  syn_ack_that_says_nothing);
	UNIT_CASE(s, "echo-server", path_cancels, time_in_here_is_not_the_servers, syn_sent_again,
		  syn_cookies_are_not_believed);
	UNIT_CASE(s, "echo-lies", lies_stay_with_the_liar, a_minority_does_not_set_the_period,
		  drift_is_what_three_clients_agree_on);
	tcase_add_loop_test(c, pauses_and_delayed_acknowledgements_drop_out, 0, 4);
	tcase_add_loop_test(c, prompt_acknowledgement_is_exact, 0, 4);
	tcase_add_loop_test(c, no_clear_period, 0, 5);
	tcase_add_loop_test(c, timestamps_wrap, 0, 4);
	tcase_add_loop_test(c, means_are_right, 0, 8);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN(suite)
