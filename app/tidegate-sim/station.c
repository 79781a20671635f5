/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"
#include "station.h"

static struct tg_request *request_of(struct tg_event *e)
{
	return (struct tg_request *)((char *)e - offsetof(struct tg_request, event));
}

static void list_add(struct tg_request_list *l, struct tg_request *r)
{
	r->after = NULL;
	r->before = l->last;
	if (l->last != NULL)
		l->last->after = r;
	else
		l->first = r;
	l->last = r;
}

static void list_remove(struct tg_request_list *l, struct tg_request *r)
{
	if (r->before != NULL)
		r->before->after = r->after;
	else
		l->first = r->after;
	if (r->after != NULL)
		r->after->before = r->before;
	else
		l->last = r->before;
}

void tg_station_count(struct tg_station *st, uint64_t now)
{
	double ns = (double)(now - st->area_since);

	st->area_since = now;
	st->area_waiting += ns * st->waiting;
	st->area_busy += ns * st->busy;
	st->area_system += ns * ((double)st->waiting + st->busy);
}

void tg_station_begin(struct tg_station *st, uint64_t now)
{
	st->arrivals = st->completions = st->in_vain = 0;
	st->refused = st->lost = st->unsent = st->withdrawn = 0;
	st->area_system = st->area_waiting = st->area_busy = 0;
	st->area_since = now;
	st->sum_wait_ns = st->sum_service_ns = st->sum_service2 = 0;
}

static bool takes_requests(const struct tg_station *st)
{
	return st->state == TG_STATION_UP || st->state == TG_STATION_HUNG;
}

/* A span that runs while the station is up. */
static void run(struct tg_station *st, struct tg_request *r, uint64_t ns, uint64_t now,
		void (*ends)(struct tg_event *e, uint64_t now))
{
	r->event.fire = ends;
	r->due = now + ns;
	tg_event_at(st->sim->events, &r->event, r->due);
}

static void leave(struct tg_request *r)
{
	r->stage = TG_REQUEST_AWAY;
	r->at = NULL;
}

static void answer_leaves(struct tg_event *e, uint64_t now)
{
	struct tg_request *r = request_of(e);
	struct tg_station *st = r->at;

	list_remove(&st->served, r);
	leave(r);
	st->done(r, true, now);
}

static void account(struct tg_station *st, const struct tg_request *r)
{
	double service = (double)(r->finished - r->started);

	st->completions++;
	st->sum_wait_ns += (double)(r->started - r->arrived);
	st->sum_service_ns += service;
	st->sum_service2 += service * service;
}

static void start_next(struct tg_station *st, uint64_t now);

/* The worker takes the next request before anybody hears of the answer. */
static void service_ends(struct tg_event *e, uint64_t now)
{
	struct tg_request *r = request_of(e);
	struct tg_station *st = r->at;

	tg_station_count(st, now);
	r->finished = now;
	account(st, r);
	st->busy--;
	start_next(st, now);
	if (r->stage == TG_REQUEST_IN_VAIN) {
		st->in_vain++;
		list_remove(&st->unwanted, r);
		free(r);
	} else if (st->delay_us > 0) {
		r->stage = TG_REQUEST_READY;
		run(st, r, tg_ns_from_us(st->delay_us), now, answer_leaves);
	} else {
		answer_leaves(e, now);
	}
}

static void start(struct tg_station *st, struct tg_request *r, uint64_t now)
{
	st->busy++;
	r->stage = TG_REQUEST_AT_WORK;
	r->started = now;
	list_add(&st->served, r);
	run(st, r, tg_ns_from_us(r->work_us * st->slow), now, service_ends);
}

/* Up and a worker idle: the first in the queue, if any. Areas are up to date. */
static void start_next(struct tg_station *st, uint64_t now)
{
	struct tg_request *r = st->queue.first;

	if (r == NULL)
		return;
	list_remove(&st->queue, r);
	st->waiting--;
	start(st, r, now);
}

bool tg_station_submit(struct tg_station *st, struct tg_request *r, uint64_t now)
{
	bool idle = st->state == TG_STATION_UP && st->busy < st->params->workers;
	uint32_t room = st->params->listen_queue;

	if (!takes_requests(st) || (!idle && room > 0 && st->waiting >= room)) {
		st->refused++;
		return false;
	}
	tg_station_count(st, now);
	st->arrivals++;
	r->at = st;
	r->station = st->index;
	r->arrived = now;
	r->started = r->finished = 0;
	if (r->work_us < 0)
		r->work_us = tg_dist_sample(&st->params->service_us, &st->random, &st->trace_place);
	if (idle) {
		start(st, r, now);
		return true;
	}
	r->stage = TG_REQUEST_WAITING;
	list_add(&st->queue, r);
	st->waiting++;
	return true;
}

/* The caller may free the request, so a copy of it holds the worker. */
static void finish_in_vain(struct tg_station *st, struct tg_request *r)
{
	struct tg_request *copy = malloc(sizeof(*copy));

	if (copy == NULL) {
		fprintf(stderr, "tidegate-sim: no memory for a request that was given up; lower "
				"the load, or the number of clients, of the scenario\n");
		exit(EXIT_FAILURE);
	}
	tg_event_cancel(st->sim->events, &r->event);
	*copy = *r;
	copy->next = NULL;
	copy->connection = NULL;
	copy->stage = TG_REQUEST_IN_VAIN;
	list_remove(&st->served, r);
	list_add(&st->unwanted, copy);
	if (st->state == TG_STATION_UP)
		tg_event_at(st->sim->events, &copy->event, copy->due);
}

void tg_station_withdraw(struct tg_station *st, struct tg_request *r, uint64_t now)
{
	if (r->at != st)
		return;
	if (r->stage == TG_REQUEST_WAITING) {
		tg_station_count(st, now);
		list_remove(&st->queue, r);
		st->waiting--;
		st->withdrawn++;
	} else if (r->stage == TG_REQUEST_AT_WORK) {
		finish_in_vain(st, r);
	} else {
		tg_event_cancel(st->sim->events, &r->event);
		list_remove(&st->served, r);
	}
	leave(r);
}

/* The first of a list is lost. done may withdraw others of the list, so nothing is kept of it. */
static void lose(struct tg_station *st, struct tg_request_list *l, uint64_t now)
{
	struct tg_request *r = l->first;
	enum tg_request_stage stage = r->stage;

	list_remove(l, r);
	tg_event_cancel(st->sim->events, &r->event);
	if (stage == TG_REQUEST_WAITING)
		st->waiting--;
	else if (stage != TG_REQUEST_READY)
		st->busy--;
	if (stage == TG_REQUEST_READY)
		st->unsent++;
	else
		st->lost++;
	if (stage == TG_REQUEST_IN_VAIN) {
		free(r);
		return;
	}
	leave(r);
	st->done(r, false, now);
}

static void lose_all(struct tg_station *st, uint64_t now)
{
	struct tg_request_list *all[] = {&st->served, &st->unwanted, &st->queue};

	for (unsigned int i = 0; i < 3; i++) {
		while (all[i]->first != NULL)
			lose(st, all[i], now);
	}
}

static void stand_still(struct tg_station *st, const struct tg_request_list *l, uint64_t now)
{
	for (struct tg_request *r = l->first; r != NULL; r = r->after) {
		tg_event_cancel(st->sim->events, &r->event);
		r->due -= now;
	}
}

static void go_on(struct tg_station *st, const struct tg_request_list *l, uint64_t now)
{
	for (struct tg_request *r = l->first; r != NULL; r = r->after)
		run(st, r, r->due, now, r->event.fire);
}

static void hang(struct tg_station *st, uint64_t now)
{
	stand_still(st, &st->served, now);
	stand_still(st, &st->unwanted, now);
}

/* Nothing waits for a worker that is idle, but what came while the station hung. */
static void rise(struct tg_station *st, uint64_t now)
{
	go_on(st, &st->served, now);
	go_on(st, &st->unwanted, now);
	while (st->busy < st->params->workers && st->queue.first != NULL)
		start_next(st, now);
}

static void enter(struct tg_station *st, const struct tg_station_change *c, uint64_t now)
{
	enum tg_station_state before = st->state;

	tg_station_count(st, now);
	st->state = c->state;
	st->slow = c->slow;
	st->delay_us = c->delay_us;
	if (!takes_requests(st))
		lose_all(st, now);
	else if (before == TG_STATION_UP && c->state == TG_STATION_HUNG)
		hang(st, now);
	else if (before != TG_STATION_UP && c->state == TG_STATION_UP)
		rise(st, now);
}

static void schedule_change(struct tg_station *st)
{
	const struct tg_station_params *p = st->params;

	if (st->next_change == p->n_changes) {
		uint64_t repeat = tg_ns_from_us(p->repeat_s * 1e6);

		if (repeat == 0)
			return;
		st->next_change = 0;
		st->round += repeat;
	}
	tg_event_at(st->sim->events, &st->change, st->round + p->changes[st->next_change].at_ns);
}

static void changes(struct tg_event *e, uint64_t now)
{
	struct tg_station *st = (struct tg_station *)((char *)e -
						      offsetof(struct tg_station, change));

	enter(st, &st->params->changes[st->next_change++], now);
	schedule_change(st);
}

void tg_station_init(struct tg_station *st, struct tg_sim *s, const struct tg_station_params *p,
		     uint16_t index)
{
	uint64_t now = tg_events_now(s->events);

	*st = (struct tg_station){.params = p, .sim = s, .index = index, .slow = 1};
	tg_random_init(&st->random, s->seed, s->replication, "station", index);
	st->area_since = st->round = now;
	st->change.fire = changes;
	if (p->n_changes > 0)
		schedule_change(st);
}

void tg_station_free(struct tg_station *st)
{
	struct tg_request *after;

	for (struct tg_request *r = st->unwanted.first; r != NULL; r = after) {
		after = r->after;
		free(r);
	}
	st->unwanted = (struct tg_request_list){NULL, NULL};
}
