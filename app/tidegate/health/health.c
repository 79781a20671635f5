/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "choice/load.h"
#include "control.h"
#include "health/private.h"
#include "routes.h"

#define BEGIN_MAX 64 /* checks that begin in one tick: control's ring has room for them */

int tg_health_create(struct tg_health **out)
{
	struct tg_health *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < TG_HEALTH_PORTS; i++)
		h->holder[i] = TG_NO_SERVER;
	*out = h;
	return 0;
}

void tg_health_free(struct tg_health *h)
{
	free(h);
}

const uint16_t *tg_health_checked(const struct tg_health *h)
{
	return h != NULL ? h->holder : NULL;
}

static void add_own(struct tg_health_sources *p, const struct tg_addr *a)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (tg_addr_eq(&p->own[i], a))
			return;
	if (p->n < TG_PORTS_MAX * TG_PORT_ADDRESSES_MAX)
		p->own[p->n++] = *a;
}

int tg_health_sources_make(const struct tg_snapshot_env *env, const struct tg_snapshot *s,
			   struct tg_health_sources **out)
{
	bool any = false;

	for (unsigned int i = 0; env->neigh != NULL && i < s->config->n_services; i++)
		any = any || s->config->services[i].health.type != TG_HEALTH_OFF;
	if (!any)
		return 0;
	*out = calloc(1, sizeof(**out) + s->n_servers * sizeof((*out)->server[0]));
	if (*out == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->n_servers; i++) {
		const struct tg_config_service *v;

		if (s->server[i] == NULL)
			continue;
		v = s->service[s->service_of[i]];
		if (v->health.type == TG_HEALTH_OFF ||
		    !tg_route_probe_source(s->config, v, s->server[i], &(*out)->server[i].from))
			continue;
		add_own(*out, &(*out)->server[i].from);
		(*out)->server[i].on_link = tg_route_on_link(s->config, s->server[i]);
	}
	return 0;
}

void tg_health_sources_free(struct tg_health_sources *p)
{
	free(p);
}

static bool is_checked(const struct tg_gateway *g, unsigned int server)
{
	static const struct tg_addr unset;
	const struct tg_snapshot *s = g->snapshot;

	return s->probing != NULL && server < s->n_servers && s->server[server] != NULL &&
	       health_service(g, (uint16_t)server)->health.type != TG_HEALTH_OFF &&
	       !tg_addr_eq(&s->probing->server[server].from, &unset);
}

/* One that is checked from now on, or still, perhaps by other rules. */
static void take_server(struct tg_gateway *g, uint16_t i, uint64_t now)
{
	struct health_entry *e = &g->health->entry[i];
	const struct tg_health_params *p = &health_service(g, i)->health;
	struct tg_check_rule rule = tg_check_compile(p, &g->clock);

	if (!e->used) {
		*e = (struct health_entry){.used = true};
		e->sums = health_traffic(g, i);
		/* not all of them at once */
		tg_check_init(&e->check, !p->initial_down,
			      p->initial_down ? now : now + rule.interval / 16 * (i % 16 + 1u));
		g->health->dirty = true;
	} else if (e->check.phase != TG_CHECK_IDLE && rule.type != e->rule.type) {
		tg_check_cancel(&e->check, now);
		health_release(g->health, e);
	}
	e->rule = rule;
}

void tg_health_take(struct tg_gateway *g, uint64_t now)
{
	struct tg_health *h = g->health;

	if (h == NULL) /* nothing is sent, so nothing is asked */
		return;
	for (unsigned int i = 0; i < g->snapshot->n_servers; i++) {
		struct health_entry *e = &h->entry[i];

		if (is_checked(g, i)) {
			take_server(g, (uint16_t)i, now);
			if (e->came_up && tg_load_of(g->load, (uint16_t)i) != NULL)
				tg_load_of(g->load, (uint16_t)i)->since = now | 1;
			e->came_up = false;
		} else if (e->used) {
			health_release(h, e);
			e->used = false;
			h->dirty = true;
		}
	}
	/* an operator's change may be what leaves a service without a server that passes */
	h->dirty = true;
}

void health_look(struct tg_gateway *g, uint16_t server, bool was_up)
{
	const struct health_entry *e = &g->health->entry[server];
	const struct tg_config_service *v = health_service(g, server);

	if (e->check.up == was_up)
		return;
	g->health->dirty = true;
	if (e->check.up)
		fprintf(stderr,
			"tidegate: health: service \"%s\", server \"%s\" is up: %u checks in a row passed\n",
			v->name, g->snapshot->server[server]->name, e->rule.rise);
	else
		fprintf(stderr,
			"tidegate: health: service \"%s\", server \"%s\" is down: %u checks in a row failed, the "
			"last one: %s\n",
			v->name, g->snapshot->server[server]->name, e->rule.fall,
			tg_health_reason_text(e->check.why));
}

static void step(struct tg_gateway *g, uint16_t server, uint64_t now, unsigned int *budget)
{
	struct health_entry *e = &g->health->entry[server];
	bool was_up = e->check.up;

	if (e->check.phase != TG_CHECK_IDLE && now >= e->check.deadline)
		health_act(g, server, tg_check_expire(&e->check, &e->rule, now), now);
	if (*budget > 0 && tg_check_due(&e->check, now)) {
		health_begin(g, server, now);
		--*budget;
	}
	health_look(g, server, was_up);
}

static void step_all(struct tg_gateway *g, uint64_t now)
{
	unsigned int budget = BEGIN_MAX, n = g->snapshot->n_servers;
	unsigned int from = g->health->cursor < n ? g->health->cursor : 0;

	g->health->cursor = from;
	for (unsigned int k = 0; k < n; k++) {
		unsigned int i = from + k < n ? from + k : from + k - n;

		if (!g->health->entry[i].used)
			continue;
		step(g, (uint16_t)i, now, &budget);
		if (budget == 0 && g->health->cursor == from)
			g->health->cursor = i +
					    1; /* the next tick begins behind what had its turn */
	}
}

/* Servers of each service that could take flows, and those of them that fail. */
static void count(const struct tg_gateway *g, uint16_t *candidates, uint16_t *failing)
{
	const struct tg_snapshot *s = g->snapshot;

	memset(candidates, 0, TG_SERVICES_MAX * sizeof(*candidates));
	memset(failing, 0, TG_SERVICES_MAX * sizeof(*failing));
	for (unsigned int i = 0; i < s->n_servers; i++) {
		if (s->server[i] == NULL || s->server[i]->state != TG_SERVER_UP ||
		    s->server[i]->weight == 0)
			continue;
		candidates[s->service_of[i]]++;
		failing[s->service_of[i]] += g->health->entry[i].used &&
					     !g->health->entry[i].check.up;
	}
}

static void open_services(struct tg_gateway *g, const uint16_t *candidates, const uint16_t *failing)
{
	struct tg_health *h = g->health;

	for (unsigned int v = 0; v < g->snapshot->n_services; v++) {
		bool open = candidates[v] > 0 && failing[v] == candidates[v];

		if (g->snapshot->service[v] != NULL && open && !h->open[v]) {
			h->opened[v]++;
			fprintf(stderr,
				"tidegate: health: service \"%s\": all its servers fail; traffic goes to them all the "
				"same\n",
				g->snapshot->service[v]->name);
		}
		h->open[v] = open;
	}
}

/* Who is left out from now on? */
static void settle(struct tg_gateway *g)
{
	static uint16_t candidates[TG_SERVICES_MAX], failing[TG_SERVICES_MAX]; /* control only */
	const struct tg_snapshot *s = g->snapshot;

	count(g, candidates, failing);
	open_services(g, candidates, failing);
	for (unsigned int i = 0; i < s->n_servers; i++) {
		struct tg_registry_server *r = &g->registry->server[i];
		struct health_entry *e = &g->health->entry[i];
		bool out = e->used && !e->check.up;

		if (s->server[i] == NULL)
			continue;
		if (g->health->open[s->service_of[i]] && s->server[i]->state == TG_SERVER_UP)
			out = false;
		if (r->failed == out)
			continue;
		e->came_up = r->failed && e->used && e->check.up;
		r->failed = out;
		g->health->apply = true;
	}
	g->health->dirty = false;
}

/* What refuses it now, want of memory most likely, does so for a while. */
static void apply(struct tg_gateway *g, uint64_t now)
{
	struct tg_health *h = g->health;
	char err[512];

	if (tg_control_renew(g, err, sizeof(err)) == 0) {
		h->apply = h->refused = false;
		h->apply_due = 0;
		return;
	}
	if (!h->refused)
		fprintf(stderr,
			"tidegate: health: who is left out stays as it is: %s (tried again every second)\n",
			err);
	h->refused = true;
	h->apply_due = now + tg_s_to_ticks(&g->clock, 1);
}

void tg_health_tick(struct tg_gateway *g, uint64_t now)
{
	struct tg_health *h = g->health;

	if (h == NULL || g->n_workers == 0 || g->worker[0]->virtual_time != NULL ||
	    (g->snapshot->probing == NULL && !h->dirty && !h->apply))
		return;
	pthread_mutex_lock(&g->mutex);
	health_receive(g, now);
	step_all(g, now);
	health_passive(g, now);
	if (h->dirty)
		settle(g);
	pthread_mutex_unlock(&g->mutex);
	if (!h->apply || now < h->apply_due ||
	    g->leaving) /* a worker still reads the one before: at another tick */
		return;
	apply(g, now);
}
