/* SPDX-License-Identifier: BSD-3-Clause */
/* A station that slows, hangs, fails and recovers, and requests that are given up: exact times, and
 * at random with everything accounted for. */
#include <string.h>

#include "station_rig.h"

#define MANY 20000
#define MS   1000000

enum end { OPEN, ANSWERED, LOST, REFUSED, WITHDRAWN };

static struct {
	struct tg_request *request; /* freed as soon as it ends */
	enum end end;
	uint64_t at;
} log_of[MANY];
static uint32_t made;

static void ends(uint64_t id, enum end end, uint64_t now)
{
	if (log_of[id].end != OPEN)
		ck_abort_msg("request %u ends twice", (unsigned int)id);
	log_of[id].end = end;
	log_of[id].at = now;
	free(log_of[id].request);
	log_of[id].request = NULL;
}

static void done(struct tg_request *r, bool answer, uint64_t now)
{
	ends(r->id, answer ? ANSWERED : LOST, now);
}

/* work_us < 0: the station draws */
static uint32_t ask(double work_us)
{
	struct tg_request *r = calloc(1, sizeof(*r));
	uint32_t id = made++;
	uint64_t now = tg_events_now(sim.events);

	r->id = id;
	r->work_us = work_us;
	log_of[id].request = r;
	log_of[id].end = OPEN;
	if (!tg_station_submit(&station, r, now))
		ends(id, REFUSED, now);
	return id;
}

static void give_up(uint32_t id)
{
	uint64_t now = tg_events_now(sim.events);

	tg_station_withdraw(&station, log_of[id].request, now);
	ends(id, WITHDRAWN, now);
}

static struct tg_station_params params;
static struct tg_station_change change[4];

/* Up, changes by the tests. */
static void open_station(uint32_t workers, uint32_t listen_queue, uint32_t n_changes)
{
	params = (struct tg_station_params){.workers = workers,
					    .listen_queue = listen_queue,
					    .n_changes = n_changes,
					    .changes = change};
	made = 0;
	rig_open(&params, 1, done);
}

static void check_end(uint32_t id, enum end end, double ms)
{
	ck_assert_msg(log_of[id].end == end, "request %u ended as %d", id, log_of[id].end);
	ck_assert_uint_eq(log_of[id].at, (uint64_t)(ms * MS));
}

static void close_station(void)
{
	ck_assert(rig_conserved());
	rig_close();
}

START_TEST(queue_in_order)
{
	open_station(2, 0, 0);
	for (int i = 0; i < 5; i++)
		ask(1000 + i * 100);
	ck_assert_uint_eq(station.busy, 2);
	ck_assert_uint_eq(station.waiting, 3);
	rig_go_to(10 * MS);
	check_end(0, ANSWERED, 1.0);
	check_end(1, ANSWERED, 1.1);
	check_end(2, ANSWERED, 2.2);
	check_end(3, ANSWERED, 2.4);
	check_end(4, ANSWERED, 3.6);
	/* 3 wait 1 ms, 2 another 0.1, 1 until 2.2 */
	ck_assert_double_eq(station.sum_wait_ns, 1 * MS + 1.1 * MS + 2.2 * MS);
	ck_assert_double_eq(station.area_waiting, station.sum_wait_ns);
	ck_assert_double_eq(station.sum_service_ns, 6 * MS);
	close_station();
}
END_TEST

START_TEST(listen_queue)
{
	open_station(1, 2, 0);
	for (int i = 0; i < 5; i++)
		ask(1000);
	check_end(3, REFUSED, 0);
	check_end(4, REFUSED, 0);
	rig_go_to(10 * MS);
	check_end(2, ANSWERED, 3);
	ck_assert_uint_eq(station.refused, 2);
	ck_assert_uint_eq(station.arrivals, 3);
	close_station();
}
END_TEST

/* Services that run keep their speed. */
START_TEST(slows_down)
{
	change[0] = (struct tg_station_change){.at_ns = MS / 2, .slow = 3};
	change[1] = (struct tg_station_change){.at_ns = 2 * MS, .slow = 0.5};
	open_station(1, 0, 2);
	for (int i = 0; i < 3; i++)
		ask(1000);
	rig_go_to(10 * MS);
	check_end(0, ANSWERED, 1);
	check_end(1, ANSWERED, 4);
	check_end(2, ANSWERED, 4.5);
	ck_assert_double_eq(station.sum_service2, (1 + 9 + 0.25) * MS * MS);
	close_station();
}
END_TEST

/* A delayed answer holds no worker. */
START_TEST(answers_later)
{
	change[0] = (struct tg_station_change){.at_ns = 0, .slow = 1, .delay_us = 5000};
	change[1] = (struct tg_station_change){.at_ns = 2 * MS + 1, .slow = 1};
	open_station(1, 0, 2);
	rig_go_to(0);
	for (int i = 0; i < 3; i++)
		ask(1000);
	rig_go_to(20 * MS);
	check_end(0, ANSWERED, 6);
	check_end(1, ANSWERED, 7);
	check_end(2, ANSWERED, 3); /* the delay is over */
	ck_assert_double_eq(station.area_system, 6 * MS);
	close_station();
}
END_TEST

/* Down: waiting, at work, ready; and what comes. Idle and at once at work when up again. */
static void check_failure(enum tg_station_state state)
{
	change[0] = (struct tg_station_change){.at_ns = 0, .slow = 1, .delay_us = 5000};
	change[1] = (struct tg_station_change){.at_ns = 2 * MS - 1, .state = state, .slow = 1};
	change[2] = (struct tg_station_change){.at_ns = 4 * MS, .slow = 1};
	open_station(1, 0, 3);
	rig_go_to(0);
	for (int i = 0; i < 4; i++)
		ask(1000);
	rig_go_to(3 * MS);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(log_of[i].end, LOST);
		ck_assert_uint_eq(log_of[i].at, 2 * MS - 1);
	}
	ask(1000);
	check_end(4, REFUSED, 3);
	rig_go_to(5 * MS);
	ask(1000);
	rig_go_to(20 * MS);
	check_end(5, ANSWERED, 6);
	ck_assert_uint_eq(station.lost, 3);
	ck_assert_uint_eq(station.unsent, 1);
	ck_assert_uint_eq(station.completions, 2);
	close_station();
}

START_TEST(goes_down)
{
	check_failure(TG_STATION_DOWN);
	check_failure(TG_STATION_REFUSES);
}
END_TEST

/* What runs stands still for 5 ms: 0.5 ms of service and 4.5 ms of a delay are left. */
START_TEST(hangs)
{
	change[0] = (struct tg_station_change){.at_ns = 0, .slow = 1, .delay_us = 5000};
	change[1] = (struct tg_station_change){.at_ns = 3 * MS / 2,
					       .state = TG_STATION_HUNG,
					       .slow = 1,
					       .delay_us = 5000};
	change[2] = (struct tg_station_change){.at_ns = 13 * MS / 2, .slow = 1};
	open_station(1, 2, 3);
	rig_go_to(0);
	ask(1000);
	ask(1000);
	rig_go_to(2 * MS);
	for (int i = 0; i < 3; i++)
		ask(1000); /* the third finds the queue full */
	check_end(4, REFUSED, 2);
	rig_go_to(6 * MS);
	ck_assert_int_eq(log_of[0].end, OPEN);
	ck_assert_uint_eq(station.busy, 1);
	rig_go_to(50 * MS);
	check_end(0, ANSWERED, 11); /* 1 + 5 + 5 */
	check_end(1, ANSWERED, 7);
	check_end(2, ANSWERED, 8);
	check_end(3, ANSWERED, 9);
	ck_assert_double_eq(station.area_busy, 9 * MS); /* a hung worker is not idle */
	close_station();
}
END_TEST

/* The worker that works in vain stands still too. */
START_TEST(hangs_in_vain)
{
	change[0] =
		(struct tg_station_change){.at_ns = MS / 2, .state = TG_STATION_HUNG, .slow = 1};
	change[1] = (struct tg_station_change){.at_ns = 11 * MS / 2, .slow = 1};
	open_station(1, 0, 2);
	ask(1000);
	ask(1000);
	give_up(0);
	rig_go_to(50 * MS);
	check_end(1, ANSWERED, 7);
	ck_assert_double_eq(station.area_busy, 7 * MS);
	close_station();
}
END_TEST

/* Workers that were idle when it hung. */
START_TEST(hangs_idle)
{
	change[0] = (struct tg_station_change){.at_ns = 0, .state = TG_STATION_HUNG, .slow = 1};
	change[1] = (struct tg_station_change){.at_ns = MS, .state = TG_STATION_HUNG, .slow = 2};
	change[2] = (struct tg_station_change){.at_ns = 3 * MS, .slow = 2};
	open_station(2, 0, 3);
	rig_go_to(0);
	for (int i = 0; i < 3; i++)
		ask(1000);
	rig_go_to(50 * MS);
	check_end(0, ANSWERED, 5);
	check_end(1, ANSWERED, 5);
	check_end(2, ANSWERED, 7);
	close_station();
}
END_TEST

START_TEST(hangs_and_dies)
{
	change[0] = (struct tg_station_change){.at_ns = MS, .state = TG_STATION_HUNG, .slow = 1};
	change[1] =
		(struct tg_station_change){.at_ns = 3 * MS, .state = TG_STATION_DOWN, .slow = 1};
	open_station(2, 0, 2);
	for (int i = 0; i < 4; i++)
		ask(5000);
	rig_go_to(2 * MS);
	give_up(0);
	rig_go_to(50 * MS);
	for (uint32_t i = 1; i < 4; i++)
		check_end(i, LOST, 3);
	ck_assert_uint_eq(station.lost, 4); /* the one worked on in vain too */
	close_station();
}
END_TEST

START_TEST(repeats)
{
	change[0] = (struct tg_station_change){.at_ns = MS, .slow = 2};
	change[1] = (struct tg_station_change){.at_ns = 3 * MS, .slow = 1};
	open_station(1, 0, 0);
	rig_close();
	params.n_changes = 2;
	params.repeat_s = 0.010;
	rig_open(&params, 1, done);
	for (uint32_t k = 0; k < 10; k++) {
		rig_go_to((uint64_t)(k * 10) * MS + 2 * MS);
		ck_assert_double_eq(station.slow, 2);
		rig_go_to((uint64_t)(k * 10) * MS + 4 * MS);
		ck_assert_double_eq(station.slow, 1);
	}
	ck_assert_uint_eq(tg_events_fired(sim.events), 20);
	rig_close();
}
END_TEST

/* From the queue at once; from work when it is done; a ready answer at once. r is freed each time. */
START_TEST(withdrawn)
{
	struct tg_request never = {.work_us = 1};

	change[0] = (struct tg_station_change){.at_ns = 0, .slow = 1, .delay_us = 5000};
	open_station(1, 0, 1);
	rig_go_to(0);
	for (int i = 0; i < 5; i++)
		ask(1000);
	rig_go_to(3 * MS / 2); /* 0 is ready, 1 at work, the others wait */
	tg_station_withdraw(&station, &never, 3 * MS / 2);
	give_up(0);
	give_up(1);
	give_up(3);
	ck_assert_uint_eq(station.busy, 1);
	ck_assert_uint_eq(station.waiting, 2);
	rig_go_to(50 * MS);
	check_end(2, ANSWERED, 8); /* at work from 2 to 3: the worker did not notice */
	check_end(4, ANSWERED, 9);
	ck_assert_uint_eq(station.completions, 4);
	ck_assert_uint_eq(station.in_vain, 1);
	ck_assert_uint_eq(station.withdrawn, 1);
	close_station();
}
END_TEST

START_TEST(ends_with_work_in_vain)
{
	open_station(1, 0, 0);
	ask(1000);
	give_up(0);
	close_station(); /* nothing leaks */
}
END_TEST

static void and_asks_again(struct tg_request *r, bool answer, uint64_t now)
{
	static const double work[] = {1000, 1000, 500};

	done(r, answer, now);
	if (made < 6)
		ask(work[made % 3]);
	if (log_of[1].end == OPEN)
		give_up(1);
}

/* done may ask, and give up what waits, even while everything is being lost. */
START_TEST(from_within)
{
	change[0] = (struct tg_station_change){.at_ns = MS, .state = TG_STATION_DOWN, .slow = 1};
	open_station(1, 0, 1);
	station.done = and_asks_again;
	for (int i = 0; i < 4; i++)
		ask(2000);
	rig_go_to(10 * MS);
	check_end(0, LOST, 1);
	check_end(1, WITHDRAWN, 1);
	check_end(2, LOST, 1);
	check_end(3, LOST, 1);
	check_end(4, REFUSED, 1);
	ck_assert_uint_eq(station.busy + station.waiting, 0);
	close_station();
}
END_TEST

START_TEST(draws_work)
{
	static const double times[] = {500, 1500};

	open_station(1, 0, 0);
	params.service_us = (struct tg_dist){.kind = TG_DIST_TRACE, .trace = times, .n_trace = 2};
	ask(-1);
	ck_assert_double_eq(log_of[0].request->work_us, 500);
	ck_assert_uint_eq(log_of[0].request->station, 3);
	ask(100);
	ask(-1);
	rig_go_to(10 * MS);
	check_end(0, ANSWERED, 0.5);
	check_end(1, ANSWERED, 0.6);
	check_end(2, ANSWERED, 2.1);
	close_station();
}
END_TEST

START_TEST(warm_up_is_forgotten)
{
	open_station(1, 0, 0);
	ask(1000);
	ask(1000);
	rig_go_to(3 * MS / 2);
	tg_station_begin(&station, 3 * MS / 2);
	ask(1000);
	rig_go_to(5 * MS / 2);
	tg_station_count(&station, 5 * MS / 2);
	ck_assert_uint_eq(station.arrivals, 1);
	ck_assert_uint_eq(station.completions, 1);
	ck_assert_double_eq(station.area_busy, MS);
	ck_assert_double_eq(station.area_waiting, MS / 2);
	ck_assert_double_eq(station.area_system, 3 * MS / 2.0);
	rig_go_to(10 * MS);
	rig_close();
}
END_TEST

static struct tg_random luck;
static double time_in_system;

/* Area as the requests see it: what a station reports on each that leaves. */
static void random_done(struct tg_request *r, bool answer, uint64_t now)
{
	uint64_t until = r->finished != 0 ? r->finished : now;

	time_in_system += (double)(until - r->arrived);
	done(r, answer, now);
}

static void random_give_up(uint32_t id)
{
	struct tg_request *r = log_of[id].request;
	uint64_t now = tg_events_now(sim.events);

	if (r == NULL)
		return;
	if (r->stage == TG_REQUEST_READY)
		time_in_system += (double)(r->finished - r->arrived);
	else if (r->stage == TG_REQUEST_WAITING)
		time_in_system += (double)(now - r->arrived);
	else
		return; /* at work: only the station will know when it ended */
	give_up(id);
}

static void random_run(uint64_t seed)
{
	uint64_t now = 0;

	tg_random_init(&luck, seed, 0, "states", 0);
	for (uint32_t i = 0; i < 4; i++)
		change[i] = (struct tg_station_change){
			.at_ns = (i + 1) * 20 * MS + tg_random_below(&luck, 10 * MS),
			.state = i < 3 ? (enum tg_station_state)tg_random_below(&luck, 4)
				       : TG_STATION_UP,
			.slow = 0.5 + tg_random_uniform(&luck),
			.delay_us = tg_random_below(&luck, 2) * 3000.0};
	open_station(1 + (uint32_t)tg_random_below(&luck, 3), 10, 0);
	rig_close();
	params.n_changes = 4;
	params.repeat_s = 0.1;
	rig_open(&params, seed, random_done);
	time_in_system = 0;
	while (made < 1000) {
		now += tg_random_below(&luck, MS);
		rig_go_to(now);
		ask(1000 * tg_random_uniform(&luck) * params.workers);
		if (tg_random_below(&luck, 5) == 0)
			random_give_up(made - 1 -
				       (uint32_t)tg_random_below(&luck, made < 9 ? made : 9));
		if (!rig_conserved() || station.busy > params.workers || station.waiting > 10)
			ck_abort_msg("seed %u, request %u", (unsigned int)seed, made);
	}
	rig_go_to(now + 1000 * (uint64_t)MS);
	for (uint32_t i = 0; i < made; i++) {
		if (log_of[i].end == OPEN)
			ck_abort_msg("seed %u: request %u never ended", (unsigned int)seed, i);
	}
	ck_assert(rig_conserved());
	ck_assert_double_eq(station.area_system, time_in_system);
	ck_assert_double_eq(station.area_system, station.area_waiting + station.area_busy);
	rig_close();
}

START_TEST(at_random)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		random_run(seed);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sim station states");

	UNIT_CASE(s, "queue", queue_in_order, listen_queue, draws_work, warm_up_is_forgotten);
	UNIT_CASE(s, "changes", slows_down, answers_later, goes_down, hangs, hangs_in_vain,
		  hangs_idle, hangs_and_dies, repeats);
	UNIT_CASE(s, "withdrawn", withdrawn, ends_with_work_in_vain, from_within);
	UNIT_CASE(s, "random", at_random);
	return s;
}
UNIT_MAIN(suite)
