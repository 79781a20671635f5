/* SPDX-License-Identifier: BSD-3-Clause */
/* echo on paths that lose packets or jitter, and beside flows that lie: what S and L must not take from them. */
#include "pirate_world.h"

/* One exchange of 5 ms and 10 ms of rest; the next request carries the acknowledgement. */
static double exchange(struct world *w, double t, double takes)
{
	ask(w, t);
	return answer(w, t, takes, 200) + 10e6;
}

/* A connection whose server's usual S is known: nearly 5 ms. */
static double begin(struct world *w)
{
	double t = 100e9 + 200e6;

	reset(w, 1e6);
	greet(w, 100e9);
	t = warm_up(w, t);
	for (int i = 0; i < 64; i++)
		t = exchange(w, t, 5e6);
	return t;
}

static void send_again(struct world *w, double t)
{
	ck_assert(!echo(&w->r, (uint64_t)t, PSH, w->seq - 100, 100, w->ack, w->v));
}

START_TEST(request_sent_again_leaves_no_server_time)
{
	struct world w;
	double t = begin(&w), end;

	ask(&w, t);
	send_again(&w, t + 203e6);
	end = answer(&w, t, 206e6, 200); /* lost, and sent again */
	ask(&w, end + 10e6);
	ck_assert_double_eq_tol(ms(w.r.last.latency), 206.1, 1); /* which the client did wait */
	ck_assert_uint_eq(w.r.last.server, TG_SAMPLE_UNKNOWN);
	t = answer(&w, end + 10e6, 5e6, 200) + 10e6;
	ask(&w, t);
	ck_assert_double_eq_tol(ms(w.r.last.server), 5, 1);
}
END_TEST

START_TEST(part_that_was_overtaken_is_no_loss)
{
	struct world w;
	double t = begin(&w);

	ask(&w, t);
	ask(&w, t + 0.1e6);
	ck_assert(!echo(&w.r, (uint64_t)(t + 0.2e6), PSH, w.seq - 200, 100, w.ack, w.v));
	t = answer(&w, t + 0.1e6, 5e6, 200) + 10e6;
	ask(&w, t);
	ck_assert_double_eq_tol(ms(w.r.last.server), 5, 1);
}
END_TEST

START_TEST(acknowledgement_behind_a_hole_leaves_no_server_time)
{
	struct world w;
	double t = begin(&w), end;

	ask(&w, t);
	end = answer(&w, t, 205e6,
		     200); /* sent again: the next request had carried its acknowledgement */
	w.seq += 100;
	acknowledge(&w, end);
	w.seq -= 100;
	ask(&w, end + 8e6);
	ck_assert_uint_eq(w.r.last.server, TG_SAMPLE_UNKNOWN);
	/* one ahead is a FIN that was not seen */
	t = answer(&w, end + 8e6, 5e6, 200);
	w.seq++;
	acknowledge(&w, t);
	w.seq--;
	ask(&w, t + 10e6);
	ck_assert_double_eq_tol(ms(w.r.last.server), 5, 1);
}
END_TEST

static bool server_is_known(struct world *w, double *t, double takes)
{
	*t = exchange(w, *t, takes);
	ask(w, *t);
	if (w->r.last.server != TG_SAMPLE_UNKNOWN)
		ck_assert_double_eq_tol(ms(w->r.last.server), takes / 1e6, 1.2);
	*t = answer(w, *t, 5e6, 200) + 10e6;
	return w->r.last.server != TG_SAMPLE_UNKNOWN;
}

START_TEST(slow_answers_are_doubted_only_where_packets_are_lost)
{
	struct world w;
	double t = begin(&w);

	for (int i = 0; i < 8; i++) /* a server that is slow at times */
		ck_assert(server_is_known(&w, &t, 205e6));
	t = begin(&w);
	ask(&w, t);
	send_again(&w, t + 203e6);
	t = answer(&w, t, 206e6, 200) + 10e6;
	for (int i = 0; i < 4; i++) /* for one loss four that look like another */
		ck_assert(!server_is_known(&w, &t, 205e6));
	ck_assert(server_is_known(&w, &t, 205e6));
}
END_TEST

START_TEST(what_no_timer_explains_is_the_servers)
{
	struct world w;
	double t = begin(&w);

	ask(&w, t);
	send_again(&w, t + 203e6);
	t = answer(&w, t, 206e6, 200) + 10e6;
	ck_assert(server_is_known(&w, &t, 150e6));
	ck_assert(server_is_known(&w, &t, 450e6));
	ck_assert(server_is_known(&w, &t, 1900e6));
}
END_TEST

/* Mean L of 40 clients whose way back takes 30 ms and, on the average, 3 more. think: share of requests that
 * wait for 200 ms. */
static double error_on_jitter(double think)
{
	struct world w;
	double said = 0, waited = 0, before = 0;

	reset(&w, 1e6);
	rnd_state = 99;
	for (int k = 0; k < 40; k++) {
		double t = 100e9 + k * 20e9;

		w.offset = 77777.3 + k * 1234.567;
		w.back = 30e6 - log(1 - uniform()) * 3e6;
		greet(&w, t);
		t += 40e6;
		for (int i = 0; i < 64; i++) {
			bool sampled = ask(&w, t);

			if (sampled && k >= 10) {
				said += ms(w.r.last.latency);
				waited += before;
			}
			w.back = 30e6 - log(1 - uniform()) * 3e6;
			before = -t;
			t = answer(&w, t, about(5e6, 0.1), 200);
			before = (before + t) / 1e6;
			t += uniform() < think ? 200e6 : 0;
		}
	}
	return said / waited - 1;
}

START_TEST(jitter_is_part_of_what_the_client_waits)
{
	ck_assert_double_lt(fabs(error_on_jitter(0)), 0.02);
	ck_assert_double_lt(fabs(error_on_jitter(0.2)), 0.03);
}
END_TEST

static int32_t fastest(const struct world *w)
{
	struct tg_ack_far f;

	memcpy(&f, w->r.far, sizeof(f));
	return f.d;
}

/* One packet of a connection seems to come 60 ms before the one ahead of it: the least distance is wrong for good, and
 * all later answers seem to predate their requests. After eight that were all late it is given up. */
START_TEST(packet_that_came_early_is_forgotten)
{
	struct world w;
	double t = begin(&w), end;
	int32_t before = fastest(&w);

	ask(&w, t);
	end = answer(&w, t, 5e6, 200);
	acknowledge(&w, end - 60e6);
	ck_assert_int_lt(fastest(&w), before);
	t = end + 20e6;
	for (int i = 0; i < 40; i++) {
		bool sampled = ask(&w, t);

		ck_assert(i < 18 || sampled);
		if (i >= 18) {
			ck_assert_uint_eq(w.r.last.kind, TG_ESTIMATOR_ECHO);
			ck_assert(!w.r.last.batch);
			ck_assert_double_eq_tol(ms(w.r.last.latency), 5.1, 1.1);
		}
		end = answer(&w, t, 5e6, 200);
		acknowledge(&w, end + (i % 3 ? 0 : 40e6));
		t = end + 50e6;
	}
}
END_TEST

/* Eight requests are always in flight, so that every answer predates the newest of them. It came at once: the least
 * distance stands. */
START_TEST(requests_in_flight_move_nothing)
{
	struct world w;
	double t, end;
	int32_t before;

	reset(&w, 1e6);
	w.back = 40e6;
	greet(&w, 100e9);
	t = warm_up(&w, 100e9 + 200e6);
	before = fastest(&w);
	for (int i = 0; i < 8; i++)
		ask(&w, t + i * 5e6);
	for (int i = 8; i < 400; i++) {
		end = answer(&w, t + (i - 8) * 5e6, 5e6, 200);
		ask(&w, fmax(end, t + i * 5e6));
	}
	ck_assert_int_le(fastest(&w), before + 40000); /* 1.3 ms: a unit of timestamps, and drift */
}
END_TEST

/* Whatever a flow says, another's S and L of the same server stay as they were, but for what the liar's
 * few voices weigh. */
START_TEST(liars_do_not_move_others)
{
	struct world honest, liar;
	double t = begin(&honest);

	rnd_state = 7 + (uint64_t)_i;
	for (int k = 0; k < 300; k++) {
		double at = t;

		liar = honest;
		start(&liar.r, TG_ESTIMATOR_ECHO);
		liar.r.server = &honest.server;
		echo(&liar.r, (uint64_t)at, TG_TCP_SYN, 1000, 0, 0, 0);
		for (int i = 0; i < 20; i++)
			echo(&liar.r, (uint64_t)(at += uniform() * 3e6), rnd() % 8 ? PSH : ACK,
			     1001 + (rnd() % 4 ? (uint32_t)i * 100 : (uint32_t)rnd()), rnd() % 300,
			     rnd() % 4 ? 5001 + (uint32_t)i * 200 : (uint32_t)rnd(),
			     rnd() % 2 ? (uint32_t)rnd() : honest.v + (uint32_t)rnd() % 40);
		t = exchange(&honest, fmax(t, at), 5e6);
		ask(&honest, t);
		ck_assert_double_eq_tol(ms(honest.r.last.latency), 5.1, 1.1);
		ck_assert(honest.r.last.server == TG_SAMPLE_UNKNOWN ||
			  fabs(ms(honest.r.last.server) - 5) < 1.1);
		t = answer(&honest, t, 5e6, 200) + 10e6;
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate_rough");
	TCase *c = tcase_create("each");

	UNIT_CASE(s, "loss", request_sent_again_leaves_no_server_time,
		  part_that_was_overtaken_is_no_loss,
		  acknowledgement_behind_a_hole_leaves_no_server_time,
		  slow_answers_are_doubted_only_where_packets_are_lost,
		  what_no_timer_explains_is_the_servers);
	UNIT_CASE(s, "early", packet_that_came_early_is_forgotten, requests_in_flight_move_nothing);
	UNIT_CASE(s, "jitter", jitter_is_part_of_what_the_client_waits);
	tcase_add_loop_test(c, liars_do_not_move_others, 0, 6);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN(suite)
