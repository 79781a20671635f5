/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of the model. General: sessions of several jobs with pauses between them, which stay open after the
 * last; a server shares its processor between the jobs and what runs in the background (M/G/1-PS, and k tasks
 * more). Heavy: one job a session, first come first served.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum kind { ARRIVAL, JOB, END, BACKGROUND, AGENT, REPORT, WEIGHTS };

struct event {
	double at;
	enum kind kind;
	uint32_t server, left; /* jobs left of the session */
};

struct heap {
	struct event *e;
	size_t n, room;
};

/* A job in a server that shares: it is done when the service that each of them has got is `due`. */
struct job {
	double due, came, asked;
	uint32_t left;
};

struct server {
	double service, at; /* what each job has got so far, as of `at` */
	double background;
	struct job *job; /* heap by due */
	size_t n, room;
	double free_at,
		*done; /* heavy: when the last one is done; all that are not done, in order */
	size_t first, last, room_done;
};

static struct heap events;
static struct server server[SERVERS_MAX];
static struct state st;
static struct outcome sum;
static double active_area, active_at;
static uint32_t active;

double uniform(uint64_t *random)
{
	uint64_t x = *random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*random = x;
	return (double)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / 9007199254740992.0;
}

double exponential(uint64_t *random, double mean)
{
	return -mean * log(1 - uniform(random));
}

/* Bounded Pareto by its mean, shape a and most/least = r. */
static double demand(const struct setting *s)
{
	double a = s->alpha, r = s->most, u = uniform(&st.random);
	double mean_of_1 = a / (a - 1) * (1 - pow(r, 1 - a)) / (1 - pow(r, -a));

	return s->job_s / mean_of_1 * pow(1 - u * (1 - pow(r, -a)), -1 / a);
}

static void *grown(void *list, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return list;
	*room = *room == 0 ? 64 : *room * 2;
	list = realloc(list, *room * size);
	if (list == NULL)
		abort();
	return list;
}

static void push(double at, enum kind kind, uint32_t to, uint32_t left)
{
	size_t i = events.n++;

	events.e = grown(events.e, i, &events.room, sizeof(*events.e));
	while (i > 0 && events.e[(i - 1) / 2].at > at) {
		events.e[i] = events.e[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	events.e[i] = (struct event){at, kind, to, left};
}

static struct event pop(void)
{
	struct event top = events.e[0], last = events.e[--events.n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < events.n) {
		if (child + 1 < events.n && events.e[child + 1].at < events.e[child].at)
			child++;
		if (events.e[child].at >= last.at)
			break;
		events.e[i] = events.e[child];
		i = child;
	}
	events.e[i] = last;
	return top;
}

static void count_active(double now, int change)
{
	if (now > st.set->warm_s)
		active_area += active * (now - fmax(active_at, st.set->warm_s));
	active_at = now;
	active = (uint32_t)((int)active + change);
}

static void finished(double now, double asked, double came, double wait)
{
	count_active(now, -1);
	if (came < st.set->warm_s)
		return;
	sum.jobs++;
	sum.ratio += (now - came) / asked;
	sum.turnaround += now - came;
	sum.wait += wait;
}

/* Sharing: brings what each has got up to now. */
static void share(struct server *s, double now)
{
	s->service += (now - s->at) / fmax(1, (double)s->n + s->background);
	s->at = now;
}

static void add_job(struct server *s, double now, double asked, double came, uint32_t left)
{
	size_t i;
	double due;

	share(s, now);
	i = s->n++;
	due = s->service + asked;
	s->job = grown(s->job, i, &s->room, sizeof(*s->job));
	while (i > 0 && s->job[(i - 1) / 2].due > due) {
		s->job[i] = s->job[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->job[i] = (struct job){due, came, asked, left};
}

static struct job take_job(struct server *s)
{
	struct job top = s->job[0], last = s->job[--s->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->n) {
		if (child + 1 < s->n && s->job[child + 1].due < s->job[child].due)
			child++;
		if (s->job[child].due >= last.due)
			break;
		s->job[i] = s->job[child];
		i = child;
	}
	if (s->n > 0)
		s->job[i] = last;
	return top;
}

static double next_done(const struct server *s)
{
	return s->n == 0 ? INFINITY
			 : s->at + (s->job[0].due - s->service) *
					   fmax(1, (double)s->n + s->background);
}

/* Heavy: who is done by now leaves. */
static void leave(struct server *s, uint32_t i, double now)
{
	for (; s->first < s->last && s->done[s->first] <= now; s->first++) {
		st.open[i]--;
		count_active(s->done[s->first], -1);
	}
}

static double load_of(struct server *s, uint32_t i, double now)
{
	if (!st.set->heavy)
		return (double)s->n + s->background;
	leave(s, i, now);
	return fmax(0, s->free_at - now);
}

static void look(double *at, double now)
{
	for (uint32_t i = 0; i < st.set->n; i++)
		at[i] = load_of(&server[i], i, now);
}

static void serve_in_order(struct server *s, uint32_t i, double now, double after)
{
	double asked = demand(st.set), start;

	leave(s, i, now);
	start = fmax(s->free_at, now + after);
	s->free_at = start + asked;
	s->done = grown(s->done, s->last, &s->room_done, sizeof(*s->done));
	s->done[s->last++] = s->free_at;
	if (now < st.set->warm_s)
		return;
	sum.jobs++;
	sum.wait += start - now;
	sum.turnaround += s->free_at - now;
	sum.ratio += (s->free_at - now) / asked;
}

static double sessions_a_second(const struct setting *s)
{
	return s->rho * s->n / s->job_s / (s->heavy ? 1 : s->jobs);
}

static void on_arrival(double now)
{
	double after;
	uint32_t i, left = 1;

	st.now = now;
	i = choose(&st, &after);
	st.open[i]++;
	push(now + exponential(&st.random, 1 / sessions_a_second(st.set)), ARRIVAL, 0, 0);
	if (st.set->heavy) {
		count_active(now, 1);
		serve_in_order(&server[i], i, now, after);
		return;
	}
	while (uniform(&st.random) > 1 / st.set->jobs) /* geometric */
		left++;
	push(now + after, JOB, i, left);
}

static void on_done(uint32_t i, double now)
{
	struct job j;

	share(&server[i], now);
	j = take_job(&server[i]);
	finished(now, j.asked, j.came, 0);
	if (j.left > 1)
		push(now + exponential(&st.random, st.set->think_s), JOB, i, j.left - 1);
	else
		push(now + exponential(&st.random, st.set->keep_s), END, i, 0);
}

/* Of three in four periods none, else some tasks: a backup, a compile job, another service. */
static void on_background(uint32_t i, double now)
{
	share(&server[i], now);
	server[i].background = uniform(&st.random) < 0.75
				       ? 0
				       : ceil(uniform(&st.random) * st.set->tasks);
	push(now + exponential(&st.random, st.set->phase_s), BACKGROUND, i, 0);
}

static void on_event(const struct event *e)
{
	switch (e->kind) {
	case ARRIVAL:
		on_arrival(e->at);
		break;
	case JOB:
		count_active(e->at, 1);
		add_job(&server[e->server], e->at, demand(st.set), e->at, e->left);
		break;
	case END:
		st.open[e->server]--;
		break;
	case BACKGROUND:
		on_background(e->server, e->at);
		break;
	case AGENT:
		look(st.bid, e->at);
		push(e->at + st.set->agent_s, AGENT, 0, 0);
		break;
	case WEIGHTS:
		look(st.weighed, e->at);
		push(e->at + st.set->weigh_s, WEIGHTS, 0, 0);
		break;
	case REPORT:
		look(st.report, e->at);
		push(e->at + st.set->report_s, REPORT, 0, 0);
		break;
	}
}

static void begin(const struct setting *set)
{
	memset(&sum, 0, sizeof(sum));
	memset(&st, 0, sizeof(st));
	st.set = set;
	st.random = set->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (int i = 0; i < 20; i++)
		uniform(&st.random);
	events.n = 0;
	active = 0;
	active_area = active_at = 0;
	for (uint32_t i = 0; i < set->n; i++) {
		struct server *s = &server[i];

		s->service = s->at = s->background = s->free_at = 0;
		s->n = s->first = s->last = 0;
		if (!set->heavy && set->tasks > 0)
			push(exponential(&st.random, st.set->phase_s), BACKGROUND, i, 0);
	}
	push(0, AGENT, 0, 0);
	push(0, REPORT, 0, 0);
	push(0, WEIGHTS, 0, 0);
	push(0, ARRIVAL, 0, 0);
	choose_start(set);
}

struct outcome run_model(const struct setting *set)
{
	begin(set);
	for (;;) {
		double first = INFINITY;
		uint32_t at = 0;

		for (uint32_t i = 0; !set->heavy && i < set->n; i++) {
			double t = next_done(&server[i]);

			if (t < first) {
				first = t;
				at = i;
			}
		}
		if (fmin(first, events.e[0].at) > set->time_s)
			break;
		if (first <= events.e[0].at) {
			on_done(at, first);
		} else {
			struct event e = pop();

			on_event(&e);
		}
	}
	count_active(set->time_s, 0);
	choose_end();
	sum.active = active_area / (set->time_s - set->warm_s);
	if (sum.jobs > 0) {
		sum.ratio /= (double)sum.jobs;
		sum.turnaround /= (double)sum.jobs;
		sum.wait /= (double)sum.jobs;
	}
	return sum;
}
