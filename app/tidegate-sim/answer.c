/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server does with requests: to the station, and the answers back in several writes. */
#include <stddef.h>

#include "client_group.h"
#include "end.h"

static struct tg_job *job_of(struct tg_request *r)
{
	return (struct tg_job *)((char *)r - offsetof(struct tg_job, request));
}

struct tg_request *tg_job_origin(const struct tg_job *j)
{
	struct tg_request *r = j->request.connection->first;

	while (r != NULL && r->id != j->request.id)
		r = r->next;
	return r;
}

void tg_job_free(struct tg_job *j)
{
	struct tg_connection *c = j->request.connection;

	tg_pool_give(&c->owner->jobs, j);
	tg_connection_unref(c);
}

struct tg_job *tg_job_submit(struct tg_connection *c, struct tg_end *e, const struct tg_request *r,
			     uint16_t server, uint64_t now)
{
	struct tg_job *j = tg_pool_take(&c->owner->jobs);

	tg_connection_ref(c);
	j->request = *r;
	j->request.next = NULL;
	j->request.event = (struct tg_event){0};
	j->request.station = server;
	j->end = e;
	if (tg_station_submit(&c->sim->station[server], &j->request, now))
		return j;
	tg_job_free(j);
	return NULL;
}

bool tg_answer_arrived(struct tg_end *e, uint64_t now)
{
	struct tg_connection *c = e->connection;

	while (c->arriving != NULL && c->arriving->end <= e->rcv_nxt) {
		struct tg_request *r = c->arriving;
		struct tg_job *j;

		c->arriving = r->next;
		j = tg_job_submit(c, e, r, e->server, now);
		if (j == NULL) {
			tg_tcp_abort(e, now);
			return false;
		}
		if (e->jobs == NULL)
			e->jobs = j;
		else
			e->last_job->next = j;
		e->last_job = j;
	}
	return true;
}

/* Which answer is written next: TCP has to keep the order of the requests. */
static struct tg_job *next_job(const struct tg_end *e)
{
	struct tg_job *j = e->jobs;

	while (e->quic && j != NULL && !j->ready)
		j = j->next;
	return j != NULL && j->ready ? j : NULL;
}

static void leave(struct tg_end *e, struct tg_job *j)
{
	struct tg_job *before = NULL;

	for (struct tg_job *i = e->jobs; i != j; i = i->next)
		before = i;
	if (before == NULL)
		e->jobs = j->next;
	else
		before->next = j->next;
	if (e->last_job == j)
		e->last_job = before;
}

static uint64_t part(const struct tg_request *r, uint32_t n)
{
	return (uint64_t)r->answer_bytes * n / r->writes;
}

static void write_more(struct tg_event *event, uint64_t now);

/* Writes what is left of an answer. False: the rest has to wait. */
static bool write_answer(struct tg_end *e, struct tg_job *j, uint64_t now)
{
	struct tg_request *r = &j->request, *origin;

	if (j->written == 0 && (origin = tg_job_origin(j)) != NULL)
		origin->answer_end = e->written + r->answer_bytes;
	do {
		j->written++;
		tg_tcp_write(e, part(r, j->written) - part(r, j->written - 1), now);
	} while (j->written < r->writes && r->write_gap_ns == 0);
	if (j->written == r->writes)
		return true;
	r->event.fire = write_more;
	tg_event_at(e->connection->sim->events, &r->event, now + r->write_gap_ns);
	return false;
}

/* One after another; `j` is what is being written, NULL: whatever is next. */
static void write_answers(struct tg_end *e, struct tg_job *j, uint64_t now)
{
	while (j != NULL || (j = next_job(e)) != NULL) {
		e->writing = j;
		if (!write_answer(e, j, now))
			return;
		leave(e, j);
		e->writing = NULL;
		tg_job_free(j);
		j = NULL;
	}
}

static void go_on(struct tg_end *e, uint64_t now)
{
	struct tg_connection *c = e->connection;

	tg_connection_ref(c);
	write_answers(e, e->writing, now);
	tg_tcp_finish(e, now);
	tg_connection_unref(c);
}

static void write_more(struct tg_event *event, uint64_t now)
{
	struct tg_job *j = job_of(
		(struct tg_request *)((char *)event - offsetof(struct tg_request, event)));

	go_on(j->end, now);
}

static void lost(struct tg_job *j, uint64_t now)
{
	struct tg_end *e = j->end;

	leave(e, j);
	j->end = NULL;
	tg_tcp_abort(e, now); /* of a host that is down, nothing leaves */
}

void tg_connection_request_done(struct tg_request *r, bool answer, uint64_t now)
{
	struct tg_job *j = job_of(r);
	struct tg_connection *c = r->connection;
	struct tg_request *origin = tg_job_origin(j);

	if (origin != NULL) {
		origin->arrived = r->arrived;
		origin->started = r->started;
		origin->finished = r->finished;
		origin->station = r->station;
	}
	if (c->traffic == TG_TRAFFIC_DATAGRAM && answer) {
		tg_datagram_answer(j, now);
		return;
	}
	if (j->end != NULL && answer) {
		j->ready = true;
		if (j->end->writing == NULL)
			go_on(j->end, now);
		return;
	}
	if (j->end != NULL)
		lost(j, now);
	tg_job_free(j);
}

void tg_answer_forget(struct tg_end *e, uint64_t now)
{
	struct tg_sim *s = e->connection->sim;
	struct tg_job *j = e->jobs;

	e->jobs = e->last_job = e->writing = NULL;
	while (j != NULL) {
		struct tg_job *next = j->next;

		if (j->ready)
			tg_event_cancel(s->events, &j->request.event);
		else
			tg_station_withdraw(&s->station[e->server], &j->request, now);
		tg_job_free(j);
		j = next;
	}
}
