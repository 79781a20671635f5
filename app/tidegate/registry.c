/* SPDX-License-Identifier: BSD-3-Clause */
#include "registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tg_mem.h"

int tg_registry_create(unsigned int n_workers, const int *worker_socket, struct tg_registry **out)
{
	struct tg_registry *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->n_workers = n_workers;
	memcpy(r->worker_socket, worker_socket, n_workers * sizeof(*worker_socket));
	*out = r;
	return 0;
}

void tg_registry_free(struct tg_registry *r)
{
	if (r == NULL)
		return;
	/* beyond n_servers too: memory of an assignment that was taken back */
	for (unsigned int s = 0; s < TG_SERVERS_MAX; s++)
		for (unsigned int w = 0; w < r->n_workers; w++)
			tg_mem_free(r->server[s].stats[w]);
	free(r);
}

static int find_service(const struct tg_registry *r, const char *name)
{
	for (unsigned int i = 0; i < r->n_services; i++)
		if (r->service[i].used && strcmp(r->service[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* The same server: same name and address in the same service. */
static int find_server(const struct tg_registry *r, uint16_t service,
		       const struct tg_config_server *s)
{
	for (unsigned int i = 0; i < r->n_servers; i++) {
		const struct tg_registry_server *e = &r->server[i];

		if (e->used && e->service == service && tg_addr_eq(&e->address, &s->address) &&
		    strcmp(e->name, s->name) == 0)
			return (int)i;
	}
	return -1;
}

/* Statistics for every worker; those of an earlier holder of the id start again at nothing. */
static int make_stats(struct tg_registry *r, struct tg_registry_server *e)
{
	for (unsigned int w = 0; w < r->n_workers; w++) {
		if (e->stats[w] != NULL) {
			memset(e->stats[w], 0, sizeof(*e->stats[w]));
			continue;
		}
		e->stats[w] = tg_mem_zalloc("server statistics", sizeof(*e->stats[w]), 64,
					    r->worker_socket[w]);
		if (e->stats[w] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int new_service(struct tg_registry *r, const char *name)
{
	unsigned int i = 0;

	while (i < r->n_services && r->service[i].used)
		i++;
	if (i == TG_SERVICES_MAX)
		return -ENOSPC;
	if (i == r->n_services)
		r->n_services++;
	snprintf(r->service[i].name, sizeof(r->service[i].name), "%s", name);
	r->service[i].used = true;
	return (int)i;
}

static int new_server(struct tg_registry *r, uint16_t service, const struct tg_config_server *s)
{
	struct tg_registry_server *e;
	unsigned int i = 0;

	/* workers may still count for what this very round retires */
	while (i < r->n_servers && (r->server[i].used || r->server[i].retired == r->round))
		i++;
	if (i == TG_SERVERS_MAX)
		return -ENOSPC;
	e = &r->server[i];
	if (make_stats(r, e) != 0)
		return -ENOMEM;
	if (i == r->n_servers)
		r->n_servers++;
	snprintf(e->name, sizeof(e->name), "%s", s->name);
	e->service = service;
	e->address = s->address;
	e->used = true;
	e->up = true;
	return (int)i;
}

/* keep[]: ids that the configuration names. Everything else is retired, and what keeps its id but
 * stops serving gets a new generation. */
static void retire(struct tg_registry *r, const bool *keep_service, const bool *keep_server)
{
	for (unsigned int i = 0; i < r->n_services; i++)
		r->service[i].used = r->service[i].used && keep_service[i];
	for (unsigned int i = 0; i < r->n_servers; i++) {
		struct tg_registry_server *e = &r->server[i];

		if (!e->used || keep_server[i])
			continue;
		e->used = false;
		e->retired = r->round;
		e->generation++;
	}
}

static void set_up(struct tg_registry_server *e, enum tg_server_state state)
{
	bool up = state != TG_SERVER_DOWN && !e->failed;

	if (e->up && !up)
		e->generation++;
	e->up = up;
}

int tg_registry_assign(struct tg_registry *r, const struct tg_config *c, uint16_t *service_id,
		       uint16_t *server_id)
{
	static bool keep_service[TG_SERVICES_MAX], keep_server[TG_SERVERS_MAX]; /* control only */
	unsigned int k = 0;

	r->round++;
	memset(keep_service, 0, sizeof(keep_service));
	memset(keep_server, 0, sizeof(keep_server));
	/* first what is known: so that ids given away below are really free */
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *s = &c->services[i];
		int id = find_service(r, s->name);

		for (unsigned int j = 0; id >= 0 && j < s->n_servers; j++) {
			int server = find_server(r, (uint16_t)id, &s->servers[j]);

			if (server >= 0)
				keep_server[server] = true;
		}
		if (id >= 0)
			keep_service[id] = true;
	}
	retire(r, keep_service, keep_server);
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *s = &c->services[i];
		int id = find_service(r, s->name);

		if (id < 0)
			id = new_service(r, s->name);
		if (id < 0)
			return id;
		service_id[i] = (uint16_t)id;
		for (unsigned int j = 0; j < s->n_servers; j++) {
			int server = find_server(r, (uint16_t)id, &s->servers[j]);

			if (server < 0) {
				server = new_server(r, (uint16_t)id, &s->servers[j]);
				if (server < 0)
					return server;
				r->server[server].failed = s->health.type != TG_HEALTH_OFF &&
							   s->health.initial_down;
			}
			set_up(&r->server[server], s->servers[j].state);
			server_id[k++] = (uint16_t)server;
		}
	}
	return 0;
}

struct tg_registry_saved {
	unsigned int n_services, n_servers;
	struct tg_registry_service *service;
	struct tg_registry_server server[];
};

struct tg_registry_saved *tg_registry_save(const struct tg_registry *r)
{
	size_t servers = r->n_servers * sizeof(r->server[0]);
	size_t services = r->n_services * sizeof(r->service[0]);
	struct tg_registry_saved *x = malloc(sizeof(*x) + servers + services);

	if (x == NULL)
		return NULL;
	x->n_services = r->n_services;
	x->n_servers = r->n_servers;
	x->service = (struct tg_registry_service *)&x->server[r->n_servers];
	memcpy(x->server, r->server, servers);
	memcpy(x->service, r->service, services);
	return x;
}

void tg_registry_restore(struct tg_registry *r, const struct tg_registry_saved *x)
{
	for (unsigned int i = x->n_servers; i < r->n_servers; i++)
		r->server[i].used = false;
	for (unsigned int i = x->n_services; i < r->n_services; i++)
		r->service[i].used = false;
	r->n_servers = x->n_servers;
	r->n_services = x->n_services;
	memcpy(r->server, x->server, x->n_servers * sizeof(r->server[0]));
	memcpy(r->service, x->service, x->n_services * sizeof(r->service[0]));
}
