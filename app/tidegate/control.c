/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <errno.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/watch.h"
#include "auction/auction.h"
#include "choice/costs.h"
#include "choice/load.h"
#include "health/health.h"
#include "kernel/exception.h"
#include "routes.h"

#define NEIGH_PERIOD_MS 100
#define COSTS_MIN_US    4900u /* each tick */
#define COSTS_MAX_US    50000u
#define TAKE_MS         1000u /* workers take a new snapshot within microseconds, if they run at all */

/* What workers may still look at is let go when each of them has turned. */
static void let_go(struct tg_gateway *g)
{
	g->leaving = true;
	g->retired_token = rte_rcu_qsbr_start(g->qsbr);
}

/* Frees the snapshot that was replaced, once every worker has taken the new one. */
static bool collect_retired(struct tg_gateway *g)
{
	if (!g->leaving)
		return true;
	if (rte_rcu_qsbr_check(g->qsbr, g->retired_token, false) == 0)
		return false;
	tg_snapshot_free(g->retired);
	g->retired = NULL;
	g->leaving = false;
	if (g->neigh != NULL)
		tg_neigh_purge(g->neigh);
	return true;
}

static bool collect(struct tg_gateway *g)
{
	bool gone;

	pthread_mutex_lock(&g->mutex);
	gone = collect_retired(g);
	pthread_mutex_unlock(&g->mutex);
	return gone;
}

/* What each worker cannot see: flows open at a server through the other workers. */
static void update_others(struct tg_gateway *g)
{
	for (unsigned int i = 0; g->n_workers > 1 && i < g->snapshot->n_servers; i++) {
		uint32_t all = 0;

		for (unsigned int w = 0; w < g->n_workers; w++)
			all += __atomic_load_n(&g->worker[w]->own[i], __ATOMIC_RELAXED);
		for (unsigned int w = 0; w < g->n_workers; w++)
			__atomic_store_n(&g->others[w][i],
					 all - __atomic_load_n(&g->worker[w]->own[i],
							       __ATOMIC_RELAXED),
					 __ATOMIC_RELAXED);
	}
}

/* A frame of control's own leaves through worker 0. */
static void send_frame(void *ctx, uint16_t port, const uint8_t *frame, uint16_t len)
{
	struct tg_gateway *g = ctx;
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool[0]);
	char *to = m != NULL ? rte_pktmbuf_append(m, len) : NULL;

	if (to != NULL) {
		memcpy(to, frame, len);
		m->port = port;
		if (rte_ring_mp_enqueue(g->control_out, m) == 0)
			return;
	}
	rte_pktmbuf_free(m); /* asked again at the next tick */
}

static void resolve_neighbours(struct tg_gateway *g, uint64_t now)
{
	struct tg_neigh_port ports[TG_PORTS_MAX];

	for (unsigned int p = 0; p < g->n_ports; p++) {
		memcpy(ports[p].mac, g->ports[p].mac, sizeof(ports[p].mac));
		ports[p].vlan = g->snapshot->config->ports[p].vlan;
	}
	tg_neigh_tick(g->neigh, ports, now, 64, send_frame, g);
}

/* Any period from 1 to 50 ms serves the choice alike; with thousands of servers control takes its
 * time rather than a core. */
static uint64_t costs_period(const struct tg_gateway *g)
{
	unsigned int us = g->snapshot->n_servers * 10;

	return tg_us_to_ticks(&g->clock, RTE_MAX(COSTS_MIN_US, RTE_MIN(us, COSTS_MAX_US)));
}

static struct tg_snapshot_env snapshot_env(struct tg_gateway *g)
{
	return (struct tg_snapshot_env){
		.registry = g->registry,
		.before = g->snapshot,
		.clock = g->clock,
		.ports = g->ports,
		.n_ports = g->n_ports,
		.neigh = g->neigh,
		.admission = &g->admission,
		.stopped = g->stopped,
		.now = tg_worker_now(g->worker[0]),
	};
}

/* A gateway stopped answering, or a better one answers again: the routes are made anew. */
static void follow_gateways(struct tg_gateway *g)
{
	const struct tg_snapshot_env env = snapshot_env(g);
	char text[256], err[512];

	bool moved;

	if (g->retired != NULL) /* a worker still reads the snapshot before: at another tick */
		return;
	pthread_mutex_lock(&g->mutex);
	moved = tg_routes_moved(&env, g->snapshot, text, sizeof(text));
	pthread_mutex_unlock(&g->mutex);
	if (!moved)
		return;
	if (tg_control_renew(g, err, sizeof(err)) == 0)
		printf("tidegate: %s\n", text);
	else
		fprintf(stderr, "tidegate: %s, but the routes cannot be made: %s\n", text, err);
	fflush(stdout);
}

void tg_control_tick(struct tg_gateway *g, uint64_t now)
{
	bool look = false;

	pthread_mutex_lock(&g->mutex);
	tg_watch_tick(g->watch, g, now);
	collect_retired(g);
	update_others(g);
	if (now >= g->costs_due) {
		g->costs_due = now + costs_period(g);
		tg_load_update(g->load, g, now);
		tg_costs_update(g, now);
		tg_admission_update(g, now);
	}
	for (unsigned int p = 0; p < g->n_ports; p++)
		tg_port_compare_clocks(&g->ports[p], &g->clock, now);
	if (g->neigh != NULL && now >= g->neigh_due) {
		g->neigh_due = now + tg_us_to_ticks(&g->clock, NEIGH_PERIOD_MS * 1000);
		resolve_neighbours(g, now);
		look = true;
	}
	tg_exception_tick(g, now);
	pthread_mutex_unlock(&g->mutex);
	if (look)
		follow_gateways(g);
	tg_health_tick(g, now);
}

/* The one before last must be gone: there is one place for it. */
static int wait_retired(struct tg_gateway *g, char *err, size_t err_len)
{
	for (unsigned int tries = 0; !collect(g); tries++) {
		if (tries == TAKE_MS * 10) {
			snprintf(err, err_len,
				 "a worker has not taken the last configuration for more than %u ms: is it held "
				 "up? (tidegatectl stats show) Nothing was changed: try again",
				 TAKE_MS);
			return -EBUSY;
		}
		rte_delay_us_sleep(100);
	}
	return 0;
}

/* Auctions take memory in every worker from the first service on that takes bids. Before anything
 * is changed: without, it is as if nothing was asked. */
static int make_auctions(struct tg_gateway *g, const struct tg_config *c, char *err, size_t err_len)
{
	bool bids = false;

	for (unsigned int i = 0; i < c->n_services; i++)
		bids |= c->services[i].policy == TG_POLICY_BID && g->neigh != NULL;
	for (unsigned int i = 0; bids && i < g->n_workers; i++)
		if (tg_auctions_create(g->worker[i], rte_rdtsc() + i) != 0) {
			snprintf(err, err_len, "not enough memory for auctions (policy \"bid\")");
			return -ENOMEM;
		}
	return 0;
}

int tg_control_apply(struct tg_gateway *g, struct tg_config *config, char *err, size_t err_len)
{
	struct tg_snapshot_env env = snapshot_env(g);
	struct tg_snapshot *s;
	int r = wait_retired(g, err, err_len);

	if (r != 0) {
		tg_config_free(config);
		return r;
	}
	pthread_mutex_lock(&g->mutex);
	r = make_auctions(g, config, err, err_len);
	if (r == 0)
		r = tg_snapshot_create(&env, config, &s, err, err_len);
	if (r == 0) {
		if (g->neigh != NULL)
			tg_neigh_commit(g->neigh);
		g->retired = (struct tg_snapshot *)(uintptr_t)g->snapshot;
		__atomic_store_n(&g->snapshot, s, __ATOMIC_RELEASE);
		let_go(g);
		tg_health_take(g, env.now);
	} else {
		tg_config_free(config);
		if (g->snapshot != NULL && g->neigh != NULL) { /* what it asked for is not wanted */
			tg_snapshot_keep_neighbours(&env, g->snapshot);
			tg_neigh_forget(g->neigh);
			let_go(g);
		}
	}
	pthread_mutex_unlock(&g->mutex);
	return r;
}

static int join_faults(const struct tg_config_report *report, char *err, size_t err_len)
{
	size_t used = 0;

	for (unsigned int i = 0; i < report->n_faults && used < err_len; i++) {
		int n = snprintf(err + used, err_len - used, "%s%s", i > 0 ? "\n" : "",
				 report->faults[i]);

		used += n > 0 ? (size_t)n : 0;
	}
	return -EINVAL;
}

/* The server of the configuration in force that this one continues; TG_NO_SERVER. */
static uint16_t same_server(const struct tg_gateway *g, const struct tg_config_service *v,
			    const struct tg_config_server *e)
{
	uint16_t service = tg_snapshot_service(g->snapshot, v->name);
	uint16_t id = service == TG_NO_SERVICE ? TG_NO_SERVER
					       : tg_snapshot_server(g->snapshot, service, e->name);

	return id != TG_NO_SERVER && tg_addr_eq(&g->snapshot->server[id]->address, &e->address)
		       ? id
		       : TG_NO_SERVER;
}

/* What an operator drained or took down stays so: a reload changes what the file changes. */
static void keep_states(struct tg_gateway *g, struct tg_config *c)
{
	for (unsigned int i = 0; i < c->n_services; i++)
		for (unsigned int j = 0; j < c->services[i].n_servers; j++) {
			struct tg_config_server *e = &c->services[i].servers[j];
			uint16_t id = same_server(g, &c->services[i], e);

			if (id != TG_NO_SERVER && e->state == g->file_state[id])
				e->state = g->snapshot->server[id]->state;
		}
}

/* The states as the file has them, in the order keep_states goes. NULL without memory. */
static uint8_t *states_of(const struct tg_config *c)
{
	uint8_t *all = calloc(TG_SERVERS_MAX, 1);
	unsigned int k = 0;

	for (unsigned int i = 0; all != NULL && i < c->n_services; i++)
		for (unsigned int j = 0; j < c->services[i].n_servers; j++)
			all[k++] = (uint8_t)c->services[i].servers[j].state;
	return all;
}

static void remember_states(struct tg_gateway *g, const uint8_t *all)
{
	const struct tg_config *c = g->snapshot->config;
	unsigned int k = 0;

	for (unsigned int i = 0; i < c->n_services; i++)
		for (unsigned int j = 0; j < c->services[i].n_servers; j++, k++) {
			uint16_t id = same_server(g, &c->services[i], &c->services[i].servers[j]);

			if (id != TG_NO_SERVER)
				g->file_state[id] = all[k];
		}
}

int tg_control_load(struct tg_gateway *g, struct tg_config *config, char *err, size_t err_len)
{
	uint8_t *states = states_of(config);
	int r = -ENOMEM;

	if (states == NULL) {
		tg_config_free(config);
		snprintf(err, err_len, "not enough memory");
		return r;
	}
	if (g->snapshot != NULL)
		keep_states(g, config);
	r = tg_control_apply(g, config, err, err_len);
	if (r == 0)
		remember_states(g, states);
	free(states);
	return r;
}

/* The SYN-ACKs that auctions hold need buffers, which are allocated at the start. */
static int check_auctions(const struct tg_gateway *g, const struct tg_config *c, char *err,
			  size_t err_len)
{
	unsigned int n = tg_config_auctions(c);

	if (n <= g->auctions)
		return 0;
	snprintf(err, err_len,
		 "services[].bid.auctions: %u in all services with policy \"bid\", and there are buffers for %u "
		 "as at the start: more needs a restart",
		 n, g->auctions);
	return -EBUSY;
}

int tg_control_reload(struct tg_gateway *g, char *err, size_t err_len)
{
	struct tg_config_report report = {0};
	struct tg_config *config = NULL;
	int r = tg_config_load(g->options->config, &config, &report);

	if (r == 0)
		r = tg_config_reloadable(g->snapshot->config, config, &report);
	if (r != 0) {
		join_faults(&report, err, err_len);
	} else {
		r = check_auctions(g, config, err, err_len);
	}
	if (r != 0) {
		if (config != NULL)
			tg_config_free(config);
	} else {
		r = tg_control_load(g, config, err, err_len);
	}
	tg_config_report_free(&report);
	g->reloads += r == 0;
	g->reloads_failed += r != 0;
	return r;
}

/* A copy of the configuration in force, to be changed. */
static struct tg_config *copy_config(const struct tg_config *from)
{
	struct tg_config *c = tg_config_new(), empty;

	if (c == NULL)
		return NULL;
	empty = *c;
	*c = *from;
	c->n_services = empty.n_services;
	c->services = empty.services;
	for (unsigned int i = 0; i < from->n_services; i++) {
		const struct tg_config_service *v = &from->services[i];
		struct tg_config_service *n = tg_config_add_service(c);

		if (n == NULL)
			goto fail;
		*n = *v;
		n->n_servers = 0;
		n->servers = NULL;
		n->admission = tg_config_copy_admission(v);
		if (n->admission == NULL && v->admission != NULL)
			goto fail;
		for (unsigned int j = 0; j < v->n_servers; j++) {
			struct tg_config_server *e = tg_config_add_server(n);

			if (e == NULL)
				goto fail;
			*e = v->servers[j];
		}
	}
	return c;
fail:
	tg_config_free(c);
	return NULL;
}

int tg_control_renew(struct tg_gateway *g, char *err, size_t err_len)
{
	struct tg_config *c = copy_config(g->snapshot->config);

	if (c == NULL) {
		snprintf(err, err_len, "not enough memory");
		return -ENOMEM;
	}
	return tg_control_apply(g, c, err, err_len);
}

int tg_control_set_stopped(struct tg_gateway *g, bool stopped, char *err, size_t err_len)
{
	bool before = g->stopped;
	int r;

	if (stopped == before)
		return 0;
	g->stopped = stopped;
	r = tg_control_renew(g, err, err_len);
	if (r != 0) {
		g->stopped = before;
		return r;
	}
	r = wait_retired(g, err, err_len); /* every worker acts by it then */
	if (r != 0)
		snprintf(
			err, err_len,
			"a worker is held up and will act by it later: `alarm list`, `worker list`");
	return r;
}

int tg_control_set_state(struct tg_gateway *g, const char *service, const char *server,
			 enum tg_server_state state, char *err, size_t err_len)
{
	const struct tg_snapshot *s = g->snapshot;
	uint16_t v = tg_snapshot_service(s, service);
	uint16_t e = v == TG_NO_SERVICE ? TG_NO_SERVER : tg_snapshot_server(s, v, server);
	struct tg_config *c;

	if (e == TG_NO_SERVER) {
		snprintf(err, err_len,
			 v == TG_NO_SERVICE ? "no service \"%s\""
					    : "service \"%s\" has no server \"%s\"",
			 service, server);
		return -ENOENT;
	}
	c = copy_config(s->config);
	if (c == NULL) {
		snprintf(err, err_len, "not enough memory");
		return -ENOMEM;
	}
	c->services[s->service[v] - s->config->services]
		.servers[s->server[e] -
			 s->config->services[s->service[v] - s->config->services].servers]
		.state = state;
	return tg_control_apply(g, c, err, err_len);
}
