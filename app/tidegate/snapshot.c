/* SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "health/health.h"
#include "mss.h"
#include "routes.h"
#include "true_server.h"

static int allocate(struct tg_snapshot *s, const struct tg_registry *r)
{
	/* one more than needed: a configuration may be empty */
	s->n_services = r->n_services;
	s->n_servers = r->n_servers;
	s->n_workers = r->n_workers;
	s->group = calloc(s->n_services + 1, sizeof(*s->group));
	s->pirate = calloc(s->n_services + 1, sizeof(*s->pirate));
	s->limit = calloc(s->n_services + 1, sizeof(*s->limit));
	s->bid = calloc(s->n_services + 1, sizeof(*s->bid));
	s->guard = calloc(s->n_services + 1, sizeof(*s->guard));
	s->mss = calloc(s->n_services + 1, sizeof(*s->mss));
	s->service = calloc(s->n_services + 1, sizeof(*s->service));
	s->admission = calloc(s->n_services + 1, sizeof(*s->admission));
	s->route = calloc(s->n_servers + 1, sizeof(*s->route));
	s->generation = calloc(s->n_servers + 1, sizeof(*s->generation));
	s->server = calloc(s->n_servers + 1, sizeof(*s->server));
	s->service_of = calloc(s->n_servers + 1, sizeof(*s->service_of));
	s->stats = calloc((size_t)s->n_servers * s->n_workers + 1, sizeof(*s->stats));
	if (s->group == NULL || s->pirate == NULL || s->limit == NULL || s->bid == NULL ||
	    s->guard == NULL || s->mss == NULL || s->service == NULL || s->admission == NULL ||
	    s->route == NULL || s->generation == NULL || s->server == NULL ||
	    s->service_of == NULL || s->stats == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->n_servers; i++) {
		s->generation[i] = r->server[i].generation;
		s->service_of[i] = r->server[i].service;
		for (unsigned int w = 0; w < s->n_workers; w++)
			s->stats[w * s->n_servers + i] = r->server[i].stats[w];
	}
	return 0;
}

static int count_rules(const struct tg_config *c)
{
	int n = 0;

	for (unsigned int i = 0; i < c->n_services; i++)
		n += c->services[i].n_ports > 0 ? (int)c->services[i].n_ports : 1;
	return n;
}

static int make_table(struct tg_snapshot *s, const uint16_t *service_id, char *err, size_t err_len)
{
	const struct tg_config *c = s->config;
	int n = 0, r;
	struct tg_service_rule *rules = calloc((size_t)count_rules(c) + 1, sizeof(*rules));
	unsigned int clash = 0;

	if (rules == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *v = &c->services[i];

		for (unsigned int p = 0; p < (v->n_ports > 0 ? v->n_ports : 1); p++)
			rules[n++] = (struct tg_service_rule){
				.address = v->address,
				.protocol = v->protocol,
				.port = v->n_ports > 0 ? htons(v->ports[p]) : TG_PORT_ANY,
				.service = service_id[i],
			};
	}
	r = tg_service_table_create(rules, (unsigned int)n, -1, &s->services, &clash);
	if (r == -EEXIST)
		snprintf(err, err_len, "service \"%s\" claims what another service has already",
			 s->service[rules[clash].service]->name);
	free(rules);
	return r;
}

static bool takes_flows(const struct tg_registry *known, const struct tg_config_server *e,
			uint16_t id)
{
	return e->state == TG_SERVER_UP && !known->server[id].failed;
}

/* New flows go to servers that are up and have a weight; the others keep their place in the
 * consistent hash, so that nobody else's flows move when one comes back. */
static int make_group(struct tg_snapshot *s, const struct tg_snapshot_env *env,
		      const struct tg_config_service *v, uint16_t service,
		      const uint16_t *server_id)
{
	const struct tg_snapshot *b = env->before;
	struct tg_select_group *before = b != NULL && service < b->n_services ? b->group[service]
									      : NULL;
	struct tg_select_server *servers = calloc(v->n_servers + 1, sizeof(*servers));
	unsigned int n = 0;
	int r;

	if (servers == NULL)
		return -ENOMEM;
	for (unsigned int j = 0; j < v->n_servers; j++) {
		const struct tg_config_server *e = &v->servers[j];

		servers[n++] = (struct tg_select_server){
			.id = server_id[j],
			.weight = takes_flows(env->registry, e, server_id[j]) ? e->weight : 0,
			.name_hash = tg_select_name_hash(e->name, &e->address),
		};
	}
	r = tg_select_group_renew(before, v->policy, servers, n, -1, &s->group[service]);
	free(servers);
	return r;
}

/* Whom its auctions ask: who takes new flows. */
static int make_bid(struct tg_snapshot *s, const struct tg_snapshot_env *env,
		    const struct tg_config_service *v, uint16_t service, const uint16_t *server_id)
{
	struct tg_bid_config *c;

	if (v->policy != TG_POLICY_BID || env->neigh == NULL)
		return 0;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	*c = tg_bid_compile(&v->bid, &env->clock, s->n_workers);
	for (unsigned int j = 0; j < v->n_servers && c->n < TG_BID_SERVERS_MAX; j++)
		if (takes_flows(env->registry, &v->servers[j], server_id[j]) &&
		    v->servers[j].weight > 0)
			c->server[c->n++] = server_id[j];
	s->bid[service] = c;
	s->bids = true;
	return 0;
}

static int make_guard(struct tg_snapshot *s, const struct tg_snapshot_env *env,
		      const struct tg_config_service *v, uint16_t service)
{
	if (!tg_guard_wanted(&v->guard))
		return 0;
	s->guard[service] = malloc(sizeof(*s->guard[service]));
	if (s->guard[service] == NULL)
		return -ENOMEM;
	tg_guard_compile(&v->guard, &env->clock, s->n_workers, s->guard[service]);
	s->guards = true;
	return 0;
}

/* What fits to each of the service's servers. */
static void make_mss(struct tg_snapshot *s, const struct tg_config_service *v, uint16_t service,
		     const uint16_t *server_id)
{
	unsigned int room = UINT16_MAX;

	if (!v->mss_clamp)
		return;
	for (unsigned int j = 0; j < v->n_servers; j++)
		room = RTE_MIN(room, tg_encap_room(&s->route[server_id[j]]));
	s->mss[service] = tg_mss_of(room, !tg_addr_is_v4(&v->address));
	s->clamps = true;
}

static int compile(struct tg_snapshot *s, const struct tg_snapshot_env *env,
		   const uint16_t *service_id, const uint16_t *server_id, char *err, size_t err_len)
{
	const struct tg_config *c = s->config;
	const struct tg_gate_params off = {0};
	unsigned int k = 0;
	int r;

	/* packets of a service that is gone may still wait for a driver: they have no limit */
	for (unsigned int i = 0; i < s->n_services; i++)
		s->limit[i] = tg_gate_compile(&off, &env->clock);
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *v = &c->services[i];
		uint16_t id = service_id[i];

		s->service[id] = v;
		s->pirate[id] = tg_pirate_compile(&v->pirate, &env->clock);
		s->limit[id] = tg_gate_compile(&v->gate, &env->clock);
		s->early |= s->limit[id].early != UINT64_MAX;
		r = make_group(s, env, v, id, &server_id[k]);
		if (r == 0)
			r = make_bid(s, env, v, id, &server_id[k]);
		if (r == 0)
			r = make_guard(s, env, v, id);
		if (r != 0)
			return r;
		for (unsigned int j = 0; j < v->n_servers; j++) {
			s->server[server_id[k + j]] = &v->servers[j];
			if (env->neigh == NULL)
				continue;
			r = tg_route_make(env, c, v, &v->servers[j], &s->route[server_id[k + j]],
					  &s->gateway[!tg_addr_is_v4(&v->servers[j].address)], err,
					  err_len);
			if (r != 0)
				return r;
		}
		if (env->neigh != NULL)
			make_mss(s, v, id, &server_id[k]);
		k += v->n_servers;
	}
	s->strictest = tg_gate_strictest(s->limit, s->n_services);
	return make_table(s, service_id, err, err_len);
}

static int check_routes(const struct tg_snapshot_env *env, const struct tg_config *c, char *err,
			size_t err_len)
{
	for (unsigned int i = 0; env->neigh != NULL && i < c->n_services; i++)
		for (unsigned int j = 0; j < c->services[i].n_servers; j++) {
			int r = tg_route_check(c, &c->services[i], &c->services[i].servers[j], err,
					       err_len);

			if (r != 0)
				return r;
		}
	return 0;
}

/* Everything that a snapshot has, after the registry gave it ids. */
static int fill(struct tg_snapshot *s, const struct tg_snapshot_env *env,
		const uint16_t *service_id, const uint16_t *server_id, char *err, size_t err_len)
{
	int r = allocate(s, env->registry);

	if (r == 0 && env->neigh != NULL)
		tg_neigh_mark(env->neigh);
	if (r == 0)
		r = compile(s, env, service_id, server_id, err, err_len);
	for (unsigned int v6 = 0; r == 0 && s->bids && v6 < 2; v6++)
		r = tg_client_way_make(env, s->config, v6 == 0, &s->client_way[v6], err, err_len);
	if (r == 0 && env->neigh != NULL)
		r = tg_local_make(env, s->config, &s->local);
	if (r == 0)
		r = tg_health_sources_make(env, s, &s->probing);
	if (r == 0 && env->ports != NULL && env->neigh == NULL) {
		s->seen = tg_true_servers_create(s);
		r = s->seen == NULL ? -ENOMEM : 0;
	}
	if (r == 0 && env->admission != NULL)
		r = tg_admission_compile(s, env, service_id, err, err_len);
	return r;
}

/* What cannot be made a snapshot has changed nothing: the registry is as before. */
static int make(struct tg_snapshot *s, const struct tg_snapshot_env *env, char *err, size_t err_len)
{
	static uint16_t service_id[TG_SERVICES_MAX], server_id[TG_SERVERS_MAX]; /* control only */
	struct tg_registry_saved *before;
	int r = check_routes(env, s->config, err, err_len);

	if (r != 0)
		return r;
	before = tg_registry_save(env->registry);
	if (before == NULL)
		return -ENOMEM;
	r = tg_registry_assign(env->registry, s->config, service_id, server_id);
	if (r == -ENOSPC)
		snprintf(
			err, err_len,
			"too many services or servers are new at once: those that go keep their place (%u "
			"servers, %u services in all) until this configuration is in force; take the old "
			"ones away first, and add the new ones by another reload",
			TG_SERVERS_MAX, TG_SERVICES_MAX);
	if (r == 0)
		r = fill(s, env, service_id, server_id, err, err_len);
	if (r != 0)
		tg_registry_restore(env->registry, before);
	free(before);
	return r;
}

int tg_snapshot_create(const struct tg_snapshot_env *env, struct tg_config *config,
		       struct tg_snapshot **out, char *err, size_t err_len)
{
	static uint64_t version;
	struct tg_snapshot *s = calloc(1, sizeof(*s));
	int r;

	snprintf(err, err_len, "not enough memory for the configuration");
	if (s == NULL)
		return -ENOMEM;
	s->config = config;
	s->version = ++version;
	s->stopped = s->guards = env->stopped;
	r = make(s, env, err, err_len);
	if (r != 0) {
		s->config = NULL; /* stays the caller's */
		tg_snapshot_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void tg_snapshot_keep_neighbours(const struct tg_snapshot_env *env, const struct tg_snapshot *s)
{
	char err[256];

	tg_neigh_mark(env->neigh);
	for (unsigned int v6 = 0; s->bids && v6 < 2; v6++) {
		struct tg_route same;

		tg_client_way_make(env, s->config, v6 == 0, &same, err, sizeof(err));
	}
	for (unsigned int i = 0; i < s->n_servers; i++) {
		struct tg_route same;

		if (s->server[i] != NULL)
			tg_route_make(env, s->config, s->service[s->service_of[i]], s->server[i],
				      &same, NULL, err, sizeof(err));
	}
}

void tg_snapshot_free(struct tg_snapshot *s)
{
	if (s == NULL)
		return;
	for (unsigned int i = 0; s->group != NULL && i < s->n_services; i++)
		if (s->group[i] != NULL)
			tg_select_group_free(s->group[i]);
	if (s->services != NULL)
		tg_service_table_free(s->services);
	if (s->local != NULL)
		tg_neigh_local_free(s->local);
	tg_health_sources_free(s->probing);
	tg_true_servers_free(s->seen);
	tg_admission_drop(s);
	free(s->admission);
	free(s->group);
	free(s->pirate);
	free(s->limit);
	for (unsigned int i = 0; s->bid != NULL && i < s->n_services; i++)
		free(s->bid[i]);
	free(s->bid);
	for (unsigned int i = 0; s->guard != NULL && i < s->n_services; i++)
		free(s->guard[i]);
	free(s->guard);
	free(s->mss);
	free(s->service);
	free(s->route);
	free(s->generation);
	free(s->server);
	free(s->service_of);
	free(s->stats);
	if (s->config != NULL)
		tg_config_free(s->config);
	free(s);
}

uint16_t tg_snapshot_service(const struct tg_snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < s->n_services; i++)
		if (s->service[i] != NULL && strcmp(s->service[i]->name, name) == 0)
			return (uint16_t)i;
	return TG_NO_SERVICE;
}

uint16_t tg_snapshot_server(const struct tg_snapshot *s, uint16_t service, const char *name)
{
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->server[i] != NULL && s->service_of[i] == service &&
		    strcmp(s->server[i]->name, name) == 0)
			return (uint16_t)i;
	return TG_NO_SERVER;
}

uint16_t tg_snapshot_server_at(const struct tg_snapshot *s, uint16_t service,
			       const struct tg_addr *address)
{
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->server[i] != NULL && s->service_of[i] == service &&
		    tg_addr_eq(&s->server[i]->address, address))
			return (uint16_t)i;
	return TG_NO_SERVER;
}
