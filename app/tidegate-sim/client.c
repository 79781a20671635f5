/* SPDX-License-Identifier: BSD-3-Clause */
/* A client: its connections, and which of them a request goes to. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "client_group.h"

#define RETRY_NS UINT64_C(10000000)

static uint64_t requests_of_connection(struct tg_client *u)
{
	double n = tg_dist_sample(&u->group->params->requests, &u->requests, &u->requests_place);

	return n >= 1 && n < 1e18 ? (uint64_t)(n + 0.5) : UINT64_MAX;
}

static uint16_t free_port(struct tg_client *u)
{
	struct tg_group *g = u->group;
	uint16_t port = tg_ports_next(&g->ports, u->address);

	if (port != 0)
		return port;
	fprintf(stderr,
		"tidegate-sim: clients \"%s\" have 64512 connections open from one address; give "
		"them more addresses (\"clients\"), a time-out, or fewer requests\n",
		g->params->name);
	exit(EXIT_FAILURE);
}

static void open_slot(struct tg_client *u, struct tg_slot *s)
{
	struct tg_group *g = u->group;
	bool inside = g->params->traffic == TG_TRAFFIC_TUNNEL;
	uint16_t port = inside ? g->tunnel[u->address]->client_port : free_port(u);

	s->left = requests_of_connection(u);
	s->open = 0;
	s->connection = tg_connection_open(u, g->params->traffic, u->address, port,
					   g->params->service);
	s->connection->slot = (uint16_t)(s - u->slot);
}

static void close_slot(struct tg_slot *s, uint64_t now)
{
	struct tg_connection *c = s->connection;

	s->connection = NULL;
	tg_connection_close(c, false, now);
}

void tg_client_close(struct tg_client *u, uint64_t now)
{
	for (uint16_t i = 0; i < u->slots; i++)
		if (u->slot[i].connection != NULL && u->slot[i].open == 0)
			close_slot(&u->slot[i], now);
}

/* Requests at once on a connection: a page's objects wait for each other there. */
static uint32_t limit_of(const struct tg_group *g)
{
	uint32_t depth = g->params->depth > 1 ? g->params->depth : 1;

	return g->params->objects == 0 && g->batch > depth ? g->batch : depth;
}

/* An open connection with room, else one to open; NULL: all are busy. */
static struct tg_slot *slot_for(struct tg_client *u)
{
	uint32_t limit = limit_of(u->group);
	struct tg_slot *closed = NULL;

	for (uint16_t i = 0; i < u->slots; i++) {
		struct tg_slot *s = &u->slot[i];

		if (s->connection == NULL)
			closed = closed == NULL ? s : closed;
		else if (s->left > 0 && s->open < limit)
			return s;
	}
	return closed;
}

static void failed(struct tg_client *u, struct tg_request *r)
{
	struct tg_group *g = u->group;

	g->counts.failed++;
	tg_results_failed(g->sim->results, r);
	tg_pool_give(&g->requests, r);
}

static void ask(struct tg_client *u, struct tg_slot *s, struct tg_request *r, uint64_t now)
{
	struct tg_group *g = u->group;

	s->left--;
	s->open++;
	u->open++;
	r->sent = now; /* until its last byte really is */
	if (g->timeout_ns != 0 && !tg_event_waiting(&u->limit))
		tg_event_at(g->sim->events, &u->limit, now + g->timeout_ns);
	tg_connection_ask(s->connection, r, now);
}

void tg_client_take(struct tg_client *u, struct tg_request *first, struct tg_request *last)
{
	if (u->wanted == NULL)
		u->wanted = first;
	else
		u->last_wanted->next = first;
	u->last_wanted = last;
	u->visits++;
	u->hold = u->group->params->objects > 0;
}

void tg_client_pump(struct tg_client *u, uint64_t now)
{
	while (u->wanted != NULL && !u->pausing && !(u->hold && u->open > 0)) {
		struct tg_request *r = u->wanted;
		struct tg_slot *s = slot_for(u);

		if (s == NULL)
			return;
		u->wanted = r->next;
		r->next = NULL;
		if (s->connection == NULL)
			open_slot(u, s);
		ask(u, s, r, now);
	}
}

/* Requests are out of the way. Where a client has several visits at once, each is one request. */
static void go_on(struct tg_client *u, uint32_t requests, uint64_t now)
{
	u->hold = false;
	tg_client_pump(u, now);
	if (u->group->depth > 1)
		tg_visit_over(u, requests, now);
	else if (u->open == 0 && u->wanted == NULL)
		tg_visit_over(u, 1, now);
}

void tg_client_answered(struct tg_client *client, struct tg_connection *c, struct tg_request *r,
			uint64_t now)
{
	struct tg_group *g = client->group;
	struct tg_slot *s = &client->slot[c->slot];

	s->open--;
	client->open--;
	g->counts.answered++;
	tg_results_answered(g->sim->results, r);
	tg_pool_give(&g->requests, r);
	if (s->left == 0 && s->open == 0)
		close_slot(s, now);
	go_on(client, 1, now);
}

static void fail_all(struct tg_client *u, struct tg_request *first)
{
	for (struct tg_request *next; first != NULL; first = next) {
		next = first->next;
		failed(u, first);
	}
}

/* The connection of this slot is gone, with what was asked on it; a page whose first answer was to
 * come, as a whole. */
static void lose(struct tg_client *u, struct tg_slot *s, struct tg_request *first, uint64_t now)
{
	struct tg_group *g = u->group;
	uint64_t retry = (uint64_t)(g->params->retry_ms * 1e6);
	uint32_t requests = s->open;

	s->connection = NULL;
	s->open = 0;
	u->open -= requests;
	g->counts.broken++;
	fail_all(u, first);
	if (requests == 0)
		return; /* it was idle */
	if (u->hold) {
		fail_all(u, u->wanted);
		u->wanted = NULL;
	}
	if (g->client != NULL || u->wanted != NULL) {
		u->pausing = true;
		tg_event_at(g->sim->events, &u->event, now + (retry > 0 ? retry : RETRY_NS));
	}
	go_on(u, requests, now);
}

void tg_client_broken(struct tg_client *client, struct tg_connection *c, uint64_t now)
{
	lose(client, &client->slot[c->slot], c->first, now);
}

/* Time-outs: fires when the oldest might be due; later ones have moved it on meanwhile. */
static void limit(struct tg_event *e, uint64_t now)
{
	struct tg_client *u = (struct tg_client *)((char *)e - offsetof(struct tg_client, limit));
	struct tg_group *g = u->group;
	uint64_t earliest = UINT64_MAX;
	uint16_t due[TG_CONNECTIONS_MAX], n = 0;

	for (uint16_t i = 0; i < u->slots; i++) {
		const struct tg_connection *c = u->slot[i].connection;

		if (c == NULL || c->first == NULL)
			continue;
		if (c->first->sent + g->timeout_ns <= now)
			due[n++] = i;
		else if (c->first->sent + g->timeout_ns < earliest)
			earliest = c->first->sent + g->timeout_ns;
	}
	if (earliest != UINT64_MAX)
		tg_event_at(g->sim->events, e, earliest);
	/* the last one may end the client, so nothing of it is touched afterwards */
	for (uint16_t i = 0; i < n; i++) {
		struct tg_slot *s = &u->slot[due[i]];
		struct tg_request *first = s->connection->first;

		tg_connection_close(s->connection, true, now);
		lose(u, s, first, now);
	}
}

static void wake(struct tg_event *e, uint64_t now)
{
	struct tg_client *u = (struct tg_client *)((char *)e - offsetof(struct tg_client, event));

	u->pausing = false;
	tg_client_pump(u, now);
	tg_visit_start(u, now);
}

struct tg_client *tg_client_new(struct tg_group *g, uint32_t address, struct tg_draw *draw)
{
	struct tg_client *u = tg_pool_take(&g->clients);

	u->group = g;
	u->address = address;
	u->draw = draw;
	u->slots = g->params->objects > 0 && g->params->page_connections > 1
			   ? (uint16_t)g->params->page_connections
			   : 1;
	u->event.fire = wake;
	u->limit.fire = limit;
	tg_random_init(&u->requests, g->sim->seed, g->sim->replication, "connections",
		       (uint64_t)g->index << 32 | g->n_clients++);
	return u;
}
