/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each thing on the wire that might pass for a request or an answer and is none, by its name: of ack and of
 * echo. One exchange of 5 ms in the server and 100 us of path, with that thing before its answer and after.
 */
#include "pirate_world.h"

static const uint8_t clear[] = {TG_ESTIMATOR_ACK, TG_ESTIMATOR_ECHO};

#define TAKES 5e6 /* ns */
#define TRUTH 5.1 /* ms, path and all */

/* A connection whose timestamps' period is known; one unit is 1 ms. Returns the time. */
static double settled(struct world *w, uint8_t estimator)
{
	double t;

	reset(w, 1e6);
	greet(w, 1e9);
	t = warm_up(w, 1e9 + 5e6);
	/* the same packets under ack, which looks at no timestamp */
	if (estimator == TG_ESTIMATOR_ACK) {
		memset(&w->r.near, 0, sizeof(w->r.near));
		memset(w->r.far, 0, sizeof(w->r.far));
		w->r.estimator = estimator;
		ck_assert(!acknowledge(w, t));
		t += 5e6;
		ask(w, t);
		t = answer(w, t, 3e6, 200);
		acknowledge(w, t);
		t += 9e6;
	}
	return t;
}

/* back: from the next number; ahead: of what was acknowledged */
static bool put(struct world *w, double t, uint8_t flags, uint32_t back, uint16_t len,
		int32_t ahead)
{
	return echo(&w->r, (uint64_t)t, flags, w->seq - back, len, w->ack + (uint32_t)ahead, w->v);
}

/* That packet is nothing: neither while a request is open nor when its answer was seen. */
static void is_nothing(uint8_t estimator, uint8_t flags, uint32_t back, uint16_t len, int32_t ahead)
{
	struct world w;
	double t = settled(&w, estimator), end;
	uint64_t n, since;

	ask(&w, t);
	n = w.r.samples;
	ck_assert(!put(&w, t + 2e6, flags, back, len, ahead));
	ck_assert(is_open(&w.r, &since));
	ck_assert_uint_eq(since, (uint64_t)t);
	end = answer(&w, t, TAKES, 200);
	acknowledge(&w, end);
	ck_assert(!put(&w, end + 30e6, flags, back, len, ahead));
	ck_assert(!is_open(&w.r, &since));
	ck_assert_uint_eq(w.r.samples, n);
	ck_assert(ask(&w, end + 90e6));
	ck_assert_uint_eq(w.r.samples, n + 1);
	ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.0002);
}

START_TEST(retransmission)
{
	is_nothing(clear[_i], PSH, 100, 100, 0);
	is_nothing(clear[_i], PSH, 100, 40, 0); /* a part of it */
	is_nothing(clear[_i], PSH, 60, 60, 0);
	is_nothing(clear[_i], PSH, 200, 100, 0); /* of the request before */
}
END_TEST

START_TEST(keep_alive_probe)
{
	is_nothing(clear[_i], ACK, 1, 0, 0);
	is_nothing(clear[_i], ACK, 1, 1, 0);
	is_nothing(clear[_i], ACK, 1, 0, 50); /* with an acknowledgement that is ahead */
}
END_TEST

/* RFC 9293 section 3.8.6.1, as Linux has it: the byte before the window. */
START_TEST(zero_window_probe)
{
	is_nothing(clear[_i], PSH, 1, 1, 0);
	is_nothing(clear[_i], PSH, 1, 1, 50);
}
END_TEST

START_TEST(duplicate_ack)
{
	is_nothing(clear[_i], ACK, 0, 0, 0);
	is_nothing(clear[_i], ACK, 0, 0, -150); /* an older one, overtaken */
}
END_TEST

START_TEST(rst)
{
	is_nothing(clear[_i], TG_TCP_RST, 0, 0, 0);
	is_nothing(clear[_i], TG_TCP_RST | ACK, 0, 0, 100);
	is_nothing(clear[_i], TG_TCP_RST | ACK, 0, 20, 100); /* with a reason in it */
}
END_TEST

/* A frame is longer than what its IP header says: payload_len comes from there, and nothing else is asked. */
START_TEST(padding)
{
	struct world w;
	double t = settled(&w, clear[_i]), end;
	struct tg_pkt p;
	uint64_t n, since;

	ask(&w, t);
	n = w.r.samples;
	end = answer(&w, t, TAKES, 200);
	p = segment(ACK, w.seq, 0, w.ack);
	p.flags = TG_PKT_TS;
	p.tsecr = w.v;
	p.ip_len = 52;
	p.l4_off = 34;
	ck_assert(!pass(&w.r, &p, (uint64_t)end));
	ck_assert(!pass(&w.r, &p, (uint64_t)end + 40 * MS));
	ck_assert(!is_open(&w.r, &since));
	ck_assert_uint_eq(w.r.samples, n);
	ck_assert(ask(&w, end + 90e6));
	ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.0002);
}
END_TEST

/* Ten exchanges, over the end of both sides' numbers. */
START_TEST(sequence_wrap)
{
	struct world w;
	double t = settled(&w, clear[_i]), end;

	memset(&w.r.near, 0, sizeof(w.r.near));
	w.seq = UINT32_MAX - 450;
	w.ack = UINT32_MAX - 900;
	acknowledge(&w, t);
	for (int i = 0; i < 10; i++) {
		ask(&w, t += 50e6);
		ck_assert(!put(&w, t + 1e6, PSH, 100, 100, 0));
		end = answer(&w, t, TAKES, 200);
		ck_assert(!acknowledge(&w, end));
		ck_assert(ask(&w, end + 20e6));
		ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.0002);
		t = answer(&w, end + 20e6, TAKES, 200);
		acknowledge(&w, t);
	}
	ck_assert_uint_lt(w.seq, 10000);
	ck_assert_uint_lt(w.ack, 10000);
}
END_TEST

/*
 * Every other answer is acknowledged 40 ms late, so that the echoed timestamp alone tells, and they pass 2^32: in
 * another exchange each time. All are by echo: none is lost on the way.
 */
START_TEST(timestamp_wrap)
{
	struct world w;
	double t, end;

	reset(&w, 1e6);
	w.offset = 4294967296.0 - 1600 - 11 * _i; /* half a second after the start */
	greet(&w, 1e9);
	t = warm_up(&w, 1e9 + 5e6);
	ck_assert_uint_gt(w.v, UINT32_MAX / 2);
	ask(&w, t);
	for (int i = 0; i < 40; i++) {
		end = answer(&w, t, TAKES, 200);
		acknowledge(&w, end + (i % 2 ? 40e6 : 0));
		t = end + 60e6;
		ck_assert(ask(&w, t));
		ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
		ck_assert(!w.r.last.batch);
		ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, i % 2 ? 1.01 : 0.0002);
	}
	ck_assert_uint_lt(w.v, UINT32_MAX / 2);
}
END_TEST

/*
 * The handshake's timestamp is three units old, and its low bits are the client's options: the same each time, which
 * is what tells. Its S would be three units more: a far client's L leaves room for them, and an exchange two seconds
 * later does not show that they cannot be.
 */
START_TEST(syn_cookie)
{
	struct world w;

	reset(&w, 1e6);
	w.there = 5e6;
	w.back = 15e6;
	w.server.period = 2;
	for (int k = 0; k < 4; k++) {
		double t = 10e9 + k * 6.4e9 + 137e3 * k, end;

		start(&w.r, TG_ESTIMATOR_ECHO);
		w.r.server = &w.server;
		w.seq = 1001;
		w.ack = 5001;
		w.offset = 100000 + 0x2b + 3.3 - (t + w.there) / w.period;
		w.offset += -floor(w.offset / 64) * 64; /* of a period; low bits are 0x2b + 3 */
		echo(&w.r, (uint64_t)t, TG_TCP_SYN, 1000, 0, 0, 0);
		w.v = stamp(&w, t + w.there) - 3;
		ck_assert_uint_eq(w.v & 63, (100000 + 0x2b) & 63);
		echo(&w.r, (uint64_t)(t + w.there + w.back), ACK, 1001, 0, 5001, w.v);
		t += 2e9;
		ask(&w, t);
		for (int i = 0; i < 6; i++) {
			end = answer(&w, t, TAKES, 200);
			acknowledge(&w, end);
			t = end + 33e6;
			ask(&w, t);
			if (k > 0)
				ck_assert_double_eq_tol(ms(w.r.last.server), 5, 0.01);
		}
	}
}
END_TEST

/* Of the request, of its answer or of the next request: nothing is closed but what fits in a minute. */
START_TEST(time_goes_back)
{
	const double jumps[] = {-1, -1e6, -5e8};
	/* echo would take the last one for a trip that nothing later matches */
	const unsigned int n_jumps = clear[_i] == TG_ESTIMATOR_ECHO ? 2 : 3;

	for (unsigned int k = 0; k < n_jumps; k++) {
		struct world w;
		double t = settled(&w, clear[_i]), end;
		uint64_t n;

		ask(&w, t);
		n = w.r.samples;
		answer(&w, t, TAKES, 200);
		acknowledge(&w, t + jumps[k]);
		ask(&w, t + 90e6);
		ck_assert_uint_eq(w.r.samples, n);
		/* echo took the jump for a faster trip, and forgets it */
		answer(&w, t + 90e6, TAKES, 200);
		t = warm_up(&w, t + 9e9);
		t = warm_up(&w, t + 9e9);
		ask(&w, t);
		end = answer(&w, t, TAKES, 200);
		acknowledge(&w, end);
		ck_assert(ask(&w, end + 90e6));
		ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.0002);
	}
}
END_TEST

START_TEST(time_by_years)
{
	const double year = 365 * 86400e9;

	for (int k = -1; k <= 1; k += 2) {
		struct world w;
		double t = settled(&w, clear[_i]) + 2 * year, end;
		uint64_t n;

		w.offset -= 2 * year / w.period;
		ask(&w, t - 2 * year);
		n = w.r.samples;
		t += k * year;
		w.offset -= k * year / w.period;
		answer(&w, t, TAKES, 200);
		acknowledge(&w, t);
		ask(&w, t + 1e6);
		ck_assert_uint_eq(w.r.samples, n);
		t = answer(&w, t + 1e6, TAKES, 200);
		acknowledge(&w, t);
		t = warm_up(&w, t + 50e6);
		ask(&w, t);
		end = answer(&w, t, TAKES, 200);
		acknowledge(&w, end);
		ck_assert(ask(&w, end + 20e6));
		ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.001);
	}
}
END_TEST

/* Eight requests before the first answer: one sample, by the last one, and no more. */
START_TEST(pipelining)
{
	struct world w;
	double t = settled(&w, clear[_i]), end = 0;
	uint64_t n;

	ask(&w, t);
	n = w.r.samples;
	for (int i = 1; i < 8; i++)
		ck_assert(!ask(&w, t + i * 20e3));
	t += 7 * 20e3;
	for (int i = 1; i <= 8; i++) {
		end = answer(&w, t, TAKES + i * 1e6, 200);
		ck_assert(!acknowledge(&w, end));
	}
	ck_assert_uint_eq(w.r.samples, n);
	ck_assert(ask(&w, end + 90e6));
	ck_assert_uint_eq(w.r.samples, n + 1);
	ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH + 8, 0.0002);
}
END_TEST

/* Four writes, 4 ms apart, each acknowledged: the answer is over with the last. */
START_TEST(several_writes_a_response)
{
	struct world w;
	double t = settled(&w, clear[_i]), end = 0;
	uint64_t n;

	ask(&w, t);
	n = w.r.samples;
	for (int i = 0; i < 4; i++) {
		end = answer(&w, t, TAKES + i * 4e6, 200);
		ck_assert(!acknowledge(&w, end));
	}
	ck_assert_uint_eq(w.r.samples, n);
	ck_assert(ask(&w, end + 90e6));
	ck_assert_uint_eq(w.r.samples, n + 1);
	ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH + 12, 0.0002);
}
END_TEST

/*
 * 40 ms late, alone. By timestamps the answer ended before; without them the interval says that 40 ms may be a
 * timer's.
 */
START_TEST(delayed_ack)
{
	struct world w;
	double t = settled(&w, clear[_i]), end;

	ask(&w, t);
	end = answer(&w, t, TAKES, 200);
	ck_assert(!acknowledge(&w, end + 40e6));
	ck_assert(ask(&w, end + 90e6));
	ck_assert_double_le(ms(w.r.last.lo), TRUTH + 0.0002);
	ck_assert_double_ge(ms(w.r.last.hi), TRUTH - 0.0002);
	if (clear[_i] == TG_ESTIMATOR_ECHO)
		ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.8);
	else
		ck_assert_uint_lt(w.r.last.confidence, TG_CONFIDENCE_GOOD);
}
END_TEST

/* One for many segments at once (a receiver that merges them): one advance, one answer. */
START_TEST(stretch_ack)
{
	struct world w;
	double t = settled(&w, clear[_i]), end;
	uint64_t n;

	ask(&w, t);
	n = w.r.samples;
	end = answer(&w, t, TAKES, 44 * 1448);
	ck_assert(!acknowledge(&w, end));
	ck_assert(ask(&w, end + 90e6));
	ck_assert_uint_eq(w.r.samples, n + 1);
	ck_assert_double_eq_tol(ms(w.r.last.latency), TRUTH, 0.0002);
}
END_TEST

static Suite *suite(void)
{
	const TTest *const tests[] = {
		retransmission,
		keep_alive_probe,
		zero_window_probe,
		duplicate_ack,
		rst,
		padding,
		sequence_wrap,
		time_goes_back,
		time_by_years,
		pipelining,
		several_writes_a_response,
		delayed_ack,
		stretch_ack,
	};
	Suite *s = suite_create("pirate: no false sample");
	TCase *both = tcase_create("by ack and by echo");
	TCase *wrap = tcase_create("by echo, each time in another exchange");

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_loop_test(both, tests[i], 0, 2);
	suite_add_tcase(s, both);
	UNIT_CASE(s, "by echo", syn_cookie);
	tcase_add_loop_test(wrap, timestamp_wrap, 0, 12);
	suite_add_tcase(s, wrap);
	return s;
}

UNIT_MAIN(suite)
