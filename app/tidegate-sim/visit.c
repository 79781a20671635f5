/* SPDX-License-Identifier: BSD-3-Clause */
/* Visits: who starts them, and what comes after. */
#include <stddef.h>

#include "client_group.h"

struct tg_request *tg_visit_draw(struct tg_group *g, struct tg_draw *d, uint64_t now,
				 struct tg_request **last)
{
	struct tg_request *first = tg_draw_request(d, g, now);

	*last = first;
	for (uint32_t i = 1; i < g->batch; i++) {
		(*last)->next = tg_draw_request(d, g, now);
		*last = (*last)->next;
	}
	return first;
}

void tg_visit_start(struct tg_client *u, uint64_t now)
{
	struct tg_group *g = u->group;

	for (; u->owed > 0; u->owed--) {
		struct tg_request *first, *last;

		if (g->ended || now >= g->stop_ns)
			return;
		first = tg_visit_draw(g, u->draw, now, &last);
		tg_client_take(u, first, last);
		tg_client_pump(u, now);
	}
}

static void list(struct tg_client *u)
{
	struct tg_group *g = u->group;

	if (u->listed)
		return;
	u->listed = true;
	u->next = NULL;
	if (g->room == NULL)
		g->room = u;
	else
		g->last_room->next = u;
	g->last_room = u;
}

static struct tg_client *unlist(struct tg_group *g)
{
	struct tg_client *u = g->room;

	g->room = u->next;
	u->listed = false;
	return u;
}

/* Its connection would take another request. */
static bool lasting(const struct tg_client *u)
{
	for (uint16_t i = 0; i < u->slots; i++)
		if (u->slot[i].connection != NULL && u->slot[i].left > 0)
			return true;
	return false;
}

static void leave(struct tg_client *u, uint64_t now)
{
	struct tg_group *g = u->group;

	tg_client_close(u, now);
	tg_event_cancel(g->sim->events, &u->event);
	tg_event_cancel(g->sim->events, &u->limit);
	tg_pool_give(&g->clients, u);
}

static void give(struct tg_client *u, struct tg_request *first, struct tg_request *last,
		 uint64_t now)
{
	tg_client_take(u, first, last);
	if (u->visits < u->group->depth)
		list(u);
	tg_client_pump(u, now);
}

/* Who waits longest; a visit is `batch` requests in a row. */
static void serve_queue(struct tg_client *u, uint64_t now)
{
	struct tg_group *g = u->group;
	struct tg_request *first = g->queue, *last = first;

	for (uint32_t i = 1; i < g->batch; i++)
		last = last->next;
	g->queue = last->next;
	last->next = NULL;
	give(u, first, last, now);
}

static void over_in_open_loop(struct tg_client *u, uint64_t now)
{
	struct tg_group *g = u->group;

	while (g->queue != NULL && u->visits < g->depth)
		serve_queue(u, now);
	if (u->visits > 0 || (lasting(u) && !g->ended)) {
		if (u->visits < g->depth)
			list(u);
	} else if (u->listed) { /* there it stays, for a visit to come */
		tg_client_close(u, now);
	} else {
		leave(u, now);
	}
}

void tg_visit_over(struct tg_client *u, uint32_t visits, uint64_t now)
{
	struct tg_group *g = u->group;
	uint64_t think = 0;

	u->visits -= visits;
	if (g->client == NULL) {
		over_in_open_loop(u, now);
		return;
	}
	u->owed += visits;
	while (visits-- > 0)
		think = tg_draw_think(u->draw, g->params);
	if (g->ended || now >= g->stop_ns) {
		tg_client_close(u, now);
	} else if (!tg_event_waiting(&u->event)) {
		if (think == 0)
			tg_visit_start(u, now);
		else
			tg_event_at(g->sim->events, &u->event, now + think);
	}
}

static struct tg_client *client_for_visit(struct tg_group *g)
{
	uint32_t most = g->params->connections;
	struct tg_client *u;

	if (g->room != NULL)
		return unlist(g);
	if (most > 0 && g->clients.live >= most)
		return NULL;
	u = tg_client_new(g, g->next_address, &g->draw);
	g->next_address = (g->next_address + 1) % g->addresses;
	return u;
}

void tg_visit_arrival(struct tg_event *e, uint64_t now)
{
	struct tg_group *g = (struct tg_group *)((char *)e - offsetof(struct tg_group, arrival));
	struct tg_request *first, *last;
	struct tg_client *u;
	uint64_t next;

	if (g->ended)
		return;
	first = tg_visit_draw(g, &g->draw, now, &last);
	next = tg_arrivals_next(g, now);
	if (next != UINT64_MAX)
		tg_event_at(g->sim->events, e, next);
	u = g->queue == NULL ? client_for_visit(g) : NULL;
	if (u != NULL) {
		give(u, first, last, now);
		return;
	}
	if (g->queue == NULL)
		g->queue = first;
	else
		g->last_queue->next = first;
	g->last_queue = last;
}
