/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control makes of the workers' counters: service times, queues, predictions and costs. The
 * counters are written here, ticks of 5 ms go by on a clock of 1 GHz.
 */
#include "choice/load.h"
#include "api/api.h"
#include "unit.h"

#include <math.h>

#define SERVERS 4
#define WORKERS 2
#define MS      UINT64_C(1000000)
#define TICK    (5 * MS)

static struct tg_gateway gateway;
static struct tg_snapshot snapshot;
static struct tg_config_service service;
static struct tg_config_server config[SERVERS];
static const struct tg_config_server *server[SERVERS];
static const struct tg_config_service *services[1] = {&service};
static uint16_t generation[SERVERS], service_of[SERVERS];
static struct tg_server_stats *stats[SERVERS * WORKERS];
static struct tg_costs costs;
static uint64_t now;

static void set_up(void)
{
	memset(&costs, 0, sizeof(costs));
	service = (struct tg_config_service){.policy = TG_POLICY_LATENCY};
	snapshot = (struct tg_snapshot){.n_workers = WORKERS,
					.n_services = 1,
					.service = services,
					.n_servers = SERVERS,
					.generation = generation,
					.server = server,
					.service_of = service_of,
					.stats = stats};
	for (unsigned int i = 0; i < SERVERS; i++) {
		config[i] = (struct tg_config_server){.weight = 1, .workers = 1};
		server[i] = NULL;
		generation[i] = 1;
	}
	server[0] = &config[0];
	for (unsigned int i = 0; i < SERVERS * WORKERS; i++) {
		stats[i] = aligned_alloc(64, sizeof(*stats[i]));
		memset(stats[i], 0, sizeof(*stats[i]));
	}
	gateway = (struct tg_gateway){.clock = tg_clock_init(1000000000),
				      .n_workers = WORKERS,
				      .snapshot = &snapshot,
				      .costs = &costs};
	for (unsigned int w = 0; w < WORKERS; w++)
		gateway.worker[w] = calloc(1, sizeof(*gateway.worker[w]));
	ck_assert_int_eq(tg_load_create(&gateway.load), 0);
	now = MS;
}

static void tear_down(void)
{
	tg_load_free(gateway.load);
	for (unsigned int w = 0; w < WORKERS; w++)
		free(gateway.worker[w]);
	for (unsigned int i = 0; i < SERVERS * WORKERS; i++)
		free(stats[i]);
}

static void tick(void)
{
	tg_load_update(gateway.load, &gateway, now);
	tg_costs_update(&gateway, now);
	now += TICK;
}

/* n exchanges at a server, on one worker: S, and path more until the answer shows; crowd: requests
 * there a worker of the server then. */
static void exchange(unsigned int id, unsigned int w, unsigned int n, uint64_t s_ns,
		     uint64_t path_ns, double crowd)
{
	struct tg_server_stats *st = stats[w * SERVERS + id];

	st->requests += n;
	st->seen += n;
	st->seen_ns += n * (s_ns + path_ns);
	st->crowd_256 += (uint64_t)(n * crowd * 256);
	tg_hist_record(&st->latency, s_ns + path_ns, n);
	tg_hist_record(&st->server, s_ns, n);
}

/* n exchanges a tick, on the workers in turn. */
static void go_on(unsigned int id, unsigned int ticks, unsigned int n, uint64_t s_ns, double crowd)
{
	for (unsigned int i = 0; i < ticks; i++) {
		exchange(id, i % WORKERS, n, s_ns, 2 * MS, crowd);
		tick();
	}
}

static struct tg_load_view *view(unsigned int id)
{
	return tg_load_of(gateway.load, (uint16_t)id);
}

static void is_near(double value, double want, double part)
{
	ck_assert_msg(fabs(value - want) <= part * want, "%g is not within %g of %g", value, part,
		      want);
}

START_TEST(nothing_known)
{
	set_up();
	ck_assert_ptr_null(view(0));
	tick();
	tick();
	ck_assert_double_eq(view(0)->service_ns, 0);
	ck_assert_double_eq(view(0)->mape, 0);
	ck_assert(isfinite(view(0)->predicted.score_ns));
	ck_assert(isfinite(view(0)->ca2));
	/* the policy takes it as the median; nobody is known, so there is none */
	ck_assert_uint_eq(costs.cost_ns[0], 0);
	ck_assert_uint_eq(costs.marginal_ns[0], 0);
	ck_assert_uint_eq(costs.median_ns[0], 0);
	ck_assert_uint_eq(costs.crowd_256[0], 256);
	ck_assert_ptr_null(view(1));
	tear_down();
}
END_TEST

START_TEST(service_and_path)
{
	set_up();
	tick();
	go_on(0, 400, 1, 10 * MS, 1);
	is_near(view(0)->service_ns, 10e6, .001);
	is_near(view(0)->server_ns, 10e6, .001);
	is_near(view(0)->path_ns, 2e6, .001);
	is_near(view(0)->lambda_hz, 200, .001);
	/* one at every tick: as even as can be */
	ck_assert_double_lt(view(0)->ca2, .01);
	tear_down();
}
END_TEST

/* Twice the work of one request while two share a worker is the same service. */
START_TEST(service_while_crowded)
{
	set_up();
	tick();
	go_on(0, 400, 1, 20 * MS, 2);
	is_near(view(0)->service_ns, 10e6, .001);
	tear_down();
}
END_TEST

START_TEST(slowness_shows_within_half_a_second)
{
	set_up();
	tick();
	go_on(0, 400, 1, 10 * MS, 1);
	go_on(0, 100, 1, 50 * MS, 1);
	/* 1 - 1/e of the way after the time constant of 500 ms */
	is_near(view(0)->service_ns, 50e6 - 40e6 * exp(-1), .02);
	tear_down();
}
END_TEST

START_TEST(requests_there)
{
	set_up();
	tick();
	go_on(0, 400, 1, 8 * MS, 1);
	stats[0]->waiting = 6;
	stats[SERVERS]->waiting = 4;
	stats[SERVERS]->fresh = 3;
	tick();
	ck_assert_uint_eq(view(0)->waiting, 10);
	ck_assert_uint_eq(view(0)->fresh, 3);
	is_near(view(0)->in_system, 10 * 8 / (8 + 2.), .001); /* q = waiting S / (S + P) */
	is_near(costs.load_256[0], (8 + 3) * 256, .001);
	is_near(costs.crowd_256[0], (8 + 1) * 256, .001);
	tear_down();
}
END_TEST

/* What clients write in pieces is one request or several: one a flow at least, and no number is published. */
START_TEST(requests_together)
{
	set_up();
	tick();
	ck_assert_int_eq(view(0)->in_system_kind, TG_REQUESTS_UNKNOWN); /* nothing came yet */
	go_on(0, 400, 10, 8 * MS, 1);
	stats[0]->waiting = 10;
	tick();
	ck_assert_int_eq(view(0)->in_system_kind, TG_REQUESTS_COUNTED);
	is_near(view(0)->in_system, 8, .001);
	for (unsigned int i = 0; i < 400; i++) { /* one more in twenty exchanges: still a count */
		stats[0]->pieces += i & 1;
		go_on(0, 1, 10, 8 * MS, 1);
	}
	ck_assert_int_eq(view(0)->in_system_kind, TG_REQUESTS_COUNTED);
	is_near(view(0)->in_system, 8, .001);
	for (unsigned int i = 0; i < 4000; i++) {
		stats[SERVERS]->pieces += 30;
		go_on(0, 1, 10, 8 * MS, 1);
	}
	ck_assert_int_eq(view(0)->in_system_kind, TG_REQUESTS_AT_LEAST);
	is_near(view(0)->in_system_bound, 8, .001);
	is_near(view(0)->in_system, 8, .001); /* they may be parts of requests */
	for (unsigned int i = 0; i < 12000; i++) {
		stats[SERVERS]->pieces += 30;
		stats[SERVERS]->joined += 30;
		go_on(0, 1, 10, 8 * MS, 1);
	}
	ck_assert_int_eq(view(0)->in_system_kind, TG_REQUESTS_AT_LEAST);
	is_near(view(0)->in_system_bound, 8, .001);
	is_near(view(0)->in_system, 4 * 8, .01); /* several answers: they are requests */
	is_near(costs.load_256[0], 4 * 8 * 256, .01);
	tear_down();
}
END_TEST

/* What `server list` says of the requests at server 0. taken is there as soon as anything is known. */
static void is_told(const char *kind, double number, double bound, double taken)
{
	static const char *const key[] = {"in_system", "in_system_bound", "in_system_taken"};
	const double want[] = {number, bound, taken};
	char err[256] = "", *args[1] = {NULL};
	const json_t *row;
	json_t *list;

	gateway.n_workers = 0; /* their tables are not asked: they have none here */
	list = tg_api_handle(&gateway, "server list", args, 0, err, sizeof(err));
	gateway.n_workers = WORKERS;
	row = json_array_get(list, 0);
	ck_assert_msg(list != NULL, "%s", err);
	ck_assert_str_eq(json_string_value(json_object_get(row, "in_system_kind")), kind);
	for (unsigned int i = 0; i < 3; i++) {
		const json_t *value = json_object_get(row, key[i]);

		ck_assert_msg(value != NULL, "%s is missing", key[i]);
		if (isnan(want[i]))
			ck_assert_msg(json_is_null(value), "%s is a number", key[i]);
		else
			is_near(json_number_value(value), want[i], .01);
	}
	json_decref(list);
}

/* A number where headers tell it, else a bound or nothing, and always what flows are placed by. */
START_TEST(requests_as_published)
{
	static struct tg_route route[SERVERS];

	set_up();
	snapshot.route = route;
	strcpy(service.name, "web");
	strcpy(config[0].name, "a");
	tick();
	is_told("unknown", NAN, NAN, NAN);
	go_on(0, 400, 10, 8 * MS, 1);
	stats[0]->waiting = 10;
	tick();
	is_told("counted", 8, NAN, 8);
	for (unsigned int i = 0; i < 4000; i++) {
		stats[0]->pieces += 30;
		go_on(0, 1, 10, 8 * MS, 1);
	}
	is_told("at-least", NAN, 8, 8);
	for (unsigned int i = 0; i < 8000; i++) {
		stats[0]->unsure += 90;
		go_on(0, 1, 10, 8 * MS, 1);
	}
	is_told("at-most", NAN, 8, 8);
	for (unsigned int i = 0; i < 8000; i++) {
		stats[0]->carried += 10;
		go_on(0, 1, 10, 8 * MS, 1);
	}
	is_told("unknown", NAN, NAN, 8);
	tear_down();
}
END_TEST

static enum tg_requests_kind kind_of(double seen, double measured, double unsure, double pieces,
				     double carried)
{
	struct tg_vouch v = {seen, measured, unsure, pieces, 0, carried};

	return tg_vouch_kind(&v);
}

START_TEST(requests_by_what_is_known)
{
	ck_assert_int_eq(kind_of(0, 0, 0, 0, 0), TG_REQUESTS_COUNTED); /* idle */
	ck_assert_int_eq(kind_of(100, 100, 0, 0, 0), TG_REQUESTS_COUNTED);
	ck_assert_int_eq(kind_of(100, 40, 59, 0, 0), TG_REQUESTS_COUNTED);
	ck_assert_int_eq(kind_of(100, 39, 60, 0, 0), TG_REQUESTS_AT_MOST);
	ck_assert_int_eq(kind_of(100, 0, 0, 0, 0), TG_REQUESTS_AT_MOST); /* short flows */
	ck_assert_int_eq(kind_of(100, 100, 0, 9, 0), TG_REQUESTS_COUNTED);
	ck_assert_int_eq(kind_of(100, 100, 0, 11, 0), TG_REQUESTS_AT_LEAST);
	ck_assert_int_eq(kind_of(100, 30, 60, 40, 0), TG_REQUESTS_UNKNOWN);
	ck_assert_int_eq(kind_of(100, 100, 0, 0, 11), TG_REQUESTS_UNKNOWN);
	ck_assert_int_eq(kind_of(0, 100, 0, 0, 0),
			 TG_REQUESTS_UNKNOWN); /* the published gap rule */
}
END_TEST

/* S of an exchange may be known a tick before or after its answer shows; the path is none the longer. */
START_TEST(path_over_ticks)
{
	static const uint64_t s_ns[2] = {20 * MS, 4 * MS};

	set_up();
	tick();
	for (unsigned int i = 0; i < 400; i++) {
		struct tg_server_stats *st = stats[0];

		exchange(0, 0, 1, s_ns[i & 1], 2 * MS, 1);
		/* what shows in this tick is the other one */
		st->seen_ns += s_ns[~i & 1] - s_ns[i & 1];
		tick();
	}
	is_near(view(0)->path_ns, 2e6, .1);
	stats[0]->waiting = 7;
	tick();
	is_near(view(0)->in_system, 7 * 12 / (12 + 2.), .02);
	tear_down();
}
END_TEST

/* A server that hangs answers nothing; the ages of what waits there tell. */
START_TEST(hung)
{
	set_up();
	tick();
	go_on(0, 400, 1, 10 * MS, 1);
	gateway.worker[0]->age_round = 4; /* the third is complete */
	stats[0]->waiting = 5;
	stats[0]->age[1].round = 3;
	stats[0]->age[1].n[10] = 5; /* 512 to 1024 ms */
	go_on(0, 100, 0, 0, 1);
	ck_assert_uint_eq(view(0)->overdue, 5);
	ck_assert_double_gt(view(0)->service_ns, 50e6);
	/* of a sweep that is not the last complete one, nothing counts */
	gateway.worker[0]->age_round = 5;
	tick();
	ck_assert_uint_eq(view(0)->overdue, 0);
	tear_down();
}
END_TEST

START_TEST(configured)
{
	set_up();
	config[0].service_time_us = 7000;
	config[0].alpha = 2.5;
	config[0].delay_us = 3000;
	config[0].workers = 4;
	tick();
	/* before anything came; one request of its own, no wait */
	is_near(view(0)->service_ns, 7e6, 1e-9);
	is_near(view(0)->cs2, .8, 1e-9);
	is_near(view(0)->predicted.completion_ns, 10e6, 1e-9);
	is_near(costs.cost_ns[0], 10e6, 1e-6);
	go_on(0, 400, 1, 20 * MS, 1);
	is_near(view(0)->service_ns, 7e6, 1e-9);
	tear_down();
}
END_TEST

/* Whatever the checker lets through, and loads that no server can take: costs are numbers. */
START_TEST(absurd)
{
	static const double crowds[] = {0, 1, 1e6};

	for (unsigned int i = 0; i < 3; i++) {
		set_up();
		for (unsigned int s = 0; s < SERVERS; s++) {
			server[s] = &config[s];
			config[s].service_time_us = s == 0 ? 60000000 : s == 1 ? 1 : 0;
			config[s].delay_us = s < 2 ? 10000000 : 0;
			config[s].workers = s & 1 ? UINT16_MAX : 1;
			config[s].alpha = s == 2 ? 2.000001 : s == 3 ? 1000 : 0;
		}
		tick();
		for (unsigned int t = 0; t < 40; t++) {
			for (unsigned int s = 0; s < SERVERS; s++) {
				exchange(s, 0, 1000000, s * 60000 * MS, 0, crowds[i]);
				stats[s]->waiting = UINT32_MAX / 2;
			}
			tick();
		}
		for (unsigned int s = 0; s < SERVERS; s++) {
			ck_assert(isfinite(view(s)->predicted.score_ns));
			ck_assert(isfinite(view(s)->one_more.score_ns));
			ck_assert(isfinite(view(s)->mape));
			ck_assert_double_ge(view(s)->predicted.score_ns, 0);
			ck_assert_double_ge(view(s)->predicted.completion_ns, 0);
		}
		tear_down();
	}
}
END_TEST

/* rho of 2 by the counters, while nothing waits long: the model is not asked for the edge of
 * overload. With rho of .99 it would answer a wait of some 50 services. */
START_TEST(model_keeps_to_what_was_seen)
{
	set_up();
	tick();
	go_on(0, 2000, 1, 10 * MS, 1);
	is_near(view(0)->lambda_hz * view(0)->service_ns / 1e9, 2, .01);
	is_near(view(0)->predicted.completion_ns, 10e6, .05);
	ck_assert_double_lt(view(0)->predicted.score_ns, 12e6);
	ck_assert_uint_ge(view(0)->mape_windows, 5);
	ck_assert_double_lt(view(0)->mape, .05);
	tear_down();
}
END_TEST

/* The law as its authors wrote it does not. */
START_TEST(model_as_written)
{
	set_up();
	service.policy = TG_POLICY_MODEL;
	config[0].alpha = 1000;
	tick();
	stats[0]->waiting = 1; /* makes arrivals uneven for the model, without an effect here */
	for (unsigned int i = 0; i < 1000; i++) {
		exchange(0, 0, i % 2 ? 4 : 0, 10 * MS, 2 * MS, 1);
		tick();
	}
	ck_assert_double_gt(view(0)->predicted.completion_ns, 100e6);
	tear_down();
}
END_TEST

/* S is three times what the law says (others load the server, unseen): given out is what came. */
START_TEST(predictions_are_mended)
{
	set_up();
	config[0].service_time_us = 10000;
	tick();
	go_on(0, 4000, 1, 30 * MS, 1);
	is_near(view(0)->predicted.completion_ns, 30e6, .05);
	/* 20 windows, in the first of which this is learnt; 0.67 without */
	ck_assert_double_lt(view(0)->mape, .2);
	tear_down();
}
END_TEST

/* A law that was right a hundred times, and then is not: lately it is wrong. */
START_TEST(what_was_right_once_is_forgotten)
{
	set_up();
	config[0].service_time_us = 10000;
	tick();
	go_on(0, 20000, 1, 10 * MS, 1);
	ck_assert_double_lt(view(0)->mape_lately, .05);
	go_on(0, 8000, 1, 400 * MS, 1); /* more than is mended */
	ck_assert_double_gt(view(0)->mape_lately, .35);
	ck_assert_double_lt(view(0)->mape, .35);
	tear_down();
}
END_TEST

/* S is 5 or 15 ms in turn, the law says 1 % more than their mean, which a thousand of them cannot
 * tell: given out is what the law says. Of 10 % too much, all but a little goes. */
START_TEST(chance_is_not_mended)
{
	for (unsigned int off = 1; off <= 10; off += 9) {
		set_up();
		config[0].service_time_us = 10000 + 100 * off;
		tick();
		for (unsigned int i = 0; i < 4000; i++)
			go_on(0, 1, 1, (i & 1 ? 15 : 5) * MS, 1);
		if (off == 1)
			is_near(view(0)->predicted.completion_ns, 10.1e6, 1e-6);
		else
			is_near(view(0)->predicted.completion_ns, 10e6, .006);
		tear_down();
	}
}
END_TEST

/* The same at a server that answers 20 times a second: what came lately is the window's own. */
START_TEST(few_are_mended_whole)
{
	set_up();
	config[0].service_time_us = 10100;
	tick();
	for (unsigned int i = 0; i < 800; i++) {
		go_on(0, 1, 1, (i & 1 ? 15 : 5) * MS, 1);
		for (unsigned int idle = 0; idle < 9; idle++)
			tick();
	}
	is_near(view(0)->predicted.completion_ns, 10e6, .006);
	tear_down();
}
END_TEST

/* Delay is the network's and not in S: it is in the prediction, and not in its error. */
START_TEST(delay_is_no_error)
{
	set_up();
	config[0].delay_us = 40000;
	tick();
	go_on(0, 2000, 1, 10 * MS, 1);
	is_near(view(0)->predicted.completion_ns, 50e6, .05);
	ck_assert_double_lt(view(0)->mape, .05);
	tear_down();
}
END_TEST

START_TEST(another_server_by_the_same_id)
{
	set_up();
	tick();
	go_on(0, 400, 1, 10 * MS, 1);
	ck_assert_uint_eq(view(0)->since, 0); /* with the gateway */
	generation[0]++;
	tick();
	ck_assert_double_eq(view(0)->service_ns, 0);
	ck_assert_uint_eq(view(0)->since, now - TICK);
	ck_assert_uint_eq(costs.cost_ns[0], 0);
	ck_assert_uint_gt(costs.withheld_256[0], 250);
	/* counters go on from where they were */
	go_on(0, 200, 1, 20 * MS, 1);
	is_near(view(0)->service_ns, 20e6, .001);
	tear_down();
}
END_TEST

/* An operator takes the server away for longer than a slow start lasts, and back. */
static void away_and_back(enum tg_server_state state, uint16_t weight)
{
	set_up();
	go_on(0, 100, 1, 10 * MS, 1);
	ck_assert_uint_eq(costs.withheld_256[0], 0);
	config[0].state = state;
	config[0].weight = weight;
	generation[0] += state == TG_SERVER_DOWN;
	go_on(0, 2 * TG_SELECT_RAMP_MS / 5, 0, 0, 1);
	config[0].state = TG_SERVER_UP;
	config[0].weight = 1;
	tick();
	ck_assert_uint_gt(costs.withheld_256[0], 250);
	go_on(0, TG_SELECT_RAMP_MS / 5 / 2, 1, 10 * MS, 1);
	ck_assert_uint_gt(costs.withheld_256[0], 120);
	ck_assert_uint_lt(costs.withheld_256[0], 136);
	go_on(0, TG_SELECT_RAMP_MS / 5 / 2, 1, 10 * MS, 1);
	ck_assert_uint_eq(costs.withheld_256[0], 0);
	tear_down();
}

START_TEST(slow_start_begins_with_the_return)
{
	away_and_back(TG_SERVER_DOWN, 1);
	away_and_back(TG_SERVER_DRAIN, 1);
	away_and_back(TG_SERVER_UP, 0);
}
END_TEST

START_TEST(window_and_variability)
{
	struct tg_hist latency, server_time, sum = {0}, sum_s = {0};

	set_up();
	tick();
	/* 5 and 15 ms as often: Cs2 = .25; ten seconds and more, so that the window turns twice */
	for (unsigned int i = 0; i < 2500; i++)
		go_on(0, 1, 1, (i % 2 ? 5 : 15) * MS, 1);
	is_near(view(0)->cs2, .25, .1); /* from a histogram */
	for (unsigned int w = 0; w < WORKERS; w++) {
		tg_hist_add(&sum, &stats[w]->latency);
		tg_hist_add(&sum_s, &stats[w]->server);
	}
	tg_load_window(gateway.load, 0, &sum, &sum_s, &latency, &server_time);
	/* between the last 5 and the last 10 s */
	ck_assert_uint_ge(latency.count, 1000);
	ck_assert_uint_le(latency.count, 2001);
	ck_assert_uint_eq(latency.count, server_time.count);
	/* of a server that nothing is known of: all there is */
	tg_load_window(gateway.load, 1, &sum, &sum_s, &latency, &server_time);
	ck_assert_uint_eq(latency.count, 2500);
	tear_down();
}
END_TEST

/* Headers hidden: L stands for S, until S is known. */
START_TEST(latency_stands_for_s)
{
	set_up();
	tick();
	for (unsigned int i = 0; i < 400; i++) {
		stats[0]->requests++;
		stats[0]->seen++;
		stats[0]->seen_ns += 12 * MS;
		stats[0]->crowd_256 += 256;
		tg_hist_record(&stats[0]->latency, 12 * MS, 1);
		tick();
	}
	is_near(view(0)->service_ns, 12e6, .001);
	go_on(0, 800, 1, 10 * MS, 1);
	is_near(view(0)->service_ns, 10e6, .01);
	tear_down();
}
END_TEST

START_TEST(median_of_the_service)
{
	set_up();
	for (unsigned int i = 0; i < 3; i++) {
		server[i] = &config[i];
		config[i].service_time_us = 1000 * (i + 1);
	}
	server[3] = &config[3]; /* nothing known: no part in it, but gets it */
	tick();
	ck_assert_uint_eq(costs.cost_ns[3], 0);
	for (unsigned int i = 0; i < SERVERS; i++)
		is_near(costs.median_ns[i], 2e6, 1e-6);
	tear_down();
}
END_TEST

/* `latency`: a request there counts three times its share of a worker, at the median server's
 * speed; and the same for each flow given since. Other policies know nothing of it. */
START_TEST(crowding)
{
	set_up();
	for (unsigned int i = 0; i < 3; i++) {
		server[i] = &config[i];
		config[i].workers = 4;
		config[i].service_time_us = 10000 * (i + 1);
	}
	stats[2]->fresh = 2;
	tick();
	is_near(costs.cost_ns[0], 10e6, 1e-6);
	is_near(costs.cost_ns[2], 30e6 + 4 * 20e6 * 2 / 4 * 2 / 4, 1e-6);
	is_near(costs.marginal_ns[0], 4 * 20e6 / 4 / 4, 1e-6);
	ck_assert_uint_ge(costs.marginal_ns[2], 25000000); /* of the third, and what it waits */
	service.policy = TG_POLICY_COMPLETION;
	tick();
	is_near(costs.cost_ns[2], 30e6 * 1.25, 1e-6);
	tear_down();
}
END_TEST

/* The median of one server is its own cost. */
START_TEST(one_server)
{
	set_up();
	config[0].service_time_us = 5000;
	tick();
	ck_assert_uint_eq(costs.median_ns[0], costs.cost_ns[0]);
	ck_assert_uint_ge(costs.marginal_ns[0], 2500000);
	tear_down();
}
END_TEST

/* The seed's form does not count the flows given since the tick. */
START_TEST(own_picks)
{
	set_up();
	service.policy = TG_POLICY_HYBRID_SEED;
	config[0].service_time_us = 5000;
	tick();
	ck_assert_uint_gt(costs.cost_ns[0], 0);
	ck_assert_uint_eq(costs.marginal_ns[0], 0);
	tear_down();
}
END_TEST

START_TEST(probes)
{
	set_up();
	tick();
	go_on(0, 100, 1, 10 * MS, 1);
	ck_assert_uint_eq(costs.stale[0], 0);
	go_on(0, 199, 0, 0, 1);
	ck_assert_uint_eq(costs.stale[0], 0);
	go_on(0, 3, 0, 0, 1); /* a second without a sample */
	ck_assert_uint_eq(costs.stale[0], 1);
	costs.stale[0] = 0; /* a worker takes it: the probe has its time */
	go_on(0, 199, 0, 0, 1);
	ck_assert_uint_eq(costs.stale[0], 0);
	go_on(0, 3, 0, 0, 1);
	ck_assert_uint_eq(costs.stale[0], 1);
	tear_down();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("load");

	UNIT_CASE(s, "observed", nothing_known, service_and_path, service_while_crowded,
		  slowness_shows_within_half_a_second, requests_there, requests_together,
		  requests_as_published, requests_by_what_is_known, path_over_ticks, hung,
		  latency_stands_for_s);
	UNIT_CASE(s, "configured", configured, absurd);
	UNIT_CASE(s, "predicted", model_keeps_to_what_was_seen, model_as_written,
		  predictions_are_mended, what_was_right_once_is_forgotten, chance_is_not_mended,
		  few_are_mended_whole, delay_is_no_error);
	UNIT_CASE(s, "windows", another_server_by_the_same_id, slow_start_begins_with_the_return,
		  window_and_variability);
	UNIT_CASE(s, "costs", median_of_the_service, crowding, one_server, own_picks, probes);
	return s;
}
UNIT_MAIN(suite)
