/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of clients: made, begun, ended. */
#include "client_group.h"

#include <errno.h>
#include <stdlib.h>

#include "end.h"

#define TUNNEL_USERS 4u

static uint64_t ns(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

static uint32_t slots(const struct tg_group_params *p)
{
	return p->objects > 0 && p->page_connections > 1 ? p->page_connections : 1;
}

static void make_pools(struct tg_group *g)
{
	tg_pool_init(&g->connections, sizeof(struct tg_connection));
	tg_pool_init(&g->ends, sizeof(struct tg_end));
	tg_pool_init(&g->ranges, sizeof(struct tg_ranges));
	tg_pool_init(&g->jobs, sizeof(struct tg_job));
	tg_pool_init(&g->requests, sizeof(struct tg_request));
	tg_pool_init(&g->draws, sizeof(struct tg_draw));
	tg_pool_init(&g->clients,
		     sizeof(struct tg_client) + slots(g->params) * sizeof(struct tg_slot));
}

/* Clients of a closed loop that share an address: those of one tunnel. */
static uint32_t sharers(const struct tg_group_params *p)
{
	if (p->traffic != TG_TRAFFIC_TUNNEL || p->arrivals != TG_ARRIVALS_CLOSED)
		return 1;
	return p->tunnel_users > 0 ? p->tunnel_users : TUNNEL_USERS;
}

static int make_addresses(struct tg_group *g)
{
	const struct tg_group_params *p = g->params;
	uint32_t clients = p->clients > 0 ? p->clients : 1;
	struct tg_random r;

	tg_random_init(&r, g->sim->seed, g->sim->replication, "ports", g->index);
	g->addresses = (clients + sharers(p) - 1) / sharers(p);
	if (tg_ports_init(&g->ports, g->addresses, &r) != 0)
		return -ENOMEM;
	if (p->traffic != TG_TRAFFIC_TUNNEL)
		return 0;
	g->tunnel = calloc(g->addresses, sizeof(struct tg_connection *));
	if (g->tunnel == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->addresses; i++)
		g->tunnel[i] = tg_tunnel_open(g, i, tg_ports_next(&g->ports, i));
	return 0;
}

/* A closed loop's clients think first, and do not start in the same instant. */
static int make_clients(struct tg_group *g)
{
	const struct tg_group_params *p = g->params;
	uint32_t n = p->clients > 0 ? p->clients : 1;

	g->client = calloc(n, sizeof(struct tg_client *));
	if (g->client == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct tg_draw *d = tg_pool_take(&g->draws);
		struct tg_client *u;

		tg_draw_init(d, g, i, n);
		u = g->client[i] = tg_client_new(g, i / sharers(p), d);
		u->owed = g->depth;
		tg_event_at(g->sim->events, &u->event,
			    ns(p->start_s) + i % 1000000 * UINT64_C(1000) + tg_draw_think(d, p));
	}
	return 0;
}

static void start_arrivals(struct tg_group *g)
{
	uint64_t first;

	tg_draw_init(&g->draw, g, 0, 1);
	tg_arrivals_init(g);
	g->arrival.fire = tg_visit_arrival;
	first = tg_arrivals_next(g, ns(g->params->start_s));
	if (first != UINT64_MAX)
		tg_event_at(g->sim->events, &g->arrival, first);
}

struct tg_group *tg_group_create(struct tg_sim *s, const struct tg_group_params *p, uint16_t index)
{
	struct tg_group *g = calloc(1, sizeof(*g));
	uint32_t burst = p->burst > 1 ? p->burst : 1;
	int rc;

	if (g == NULL)
		return NULL;
	g->sim = s;
	g->params = p;
	g->index = index;
	g->batch = p->objects > 0 ? 1 + p->objects : burst;
	g->depth = g->batch > 1 || p->depth < 1 ? 1 : p->depth;
	g->timeout_ns = ns(p->timeout_s);
	g->stop_ns = p->stop_s > 0 ? ns(p->stop_s) : UINT64_MAX;
	make_pools(g);
	rc = make_addresses(g);
	if (rc == 0 && p->arrivals == TG_ARRIVALS_CLOSED)
		rc = make_clients(g);
	if (rc != 0) {
		tg_group_free(g);
		return NULL;
	}
	if (p->arrivals != TG_ARRIVALS_CLOSED)
		start_arrivals(g);
	return g;
}

void tg_group_free(struct tg_group *g)
{
	if (g == NULL)
		return;
	tg_pool_free(&g->connections);
	tg_pool_free(&g->ends);
	tg_pool_free(&g->ranges);
	tg_pool_free(&g->jobs);
	tg_pool_free(&g->requests);
	tg_pool_free(&g->draws);
	tg_pool_free(&g->clients);
	tg_ports_free(&g->ports);
	free(g->tunnel);
	free(g->client);
	free(g);
}

void tg_group_begin(struct tg_group *g, uint64_t now)
{
	struct tg_group_counts kept = {.asked = g->counts.asked,
				       .answered = g->counts.answered,
				       .failed = g->counts.failed};

	(void)now;
	g->counts = kept;
}

void tg_group_end(struct tg_group *g, uint64_t now)
{
	g->ended = true;
	tg_event_cancel(g->sim->events, &g->arrival);
	if (g->client != NULL) {
		for (uint32_t i = 0; i < g->n_clients; i++)
			if (g->client[i]->visits == 0)
				tg_client_close(g->client[i], now);
		return;
	}
	for (struct tg_client *u = g->room; u != NULL; u = u->next)
		if (u->visits == 0)
			tg_client_close(u, now);
}

struct tg_group_counts tg_group_counts(const struct tg_group *g)
{
	struct tg_group_counts c = g->counts;

	c.open = c.asked - c.answered - c.failed;
	return c;
}
