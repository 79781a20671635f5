/* SPDX-License-Identifier: BSD-3-Clause */
#include "registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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

/* What an assignment finds ids by: open addressing, at most half full. An id may be in it under the name of its
 * holder before, too; what it finds is compared. Control only. */
#define SERVER_PLACES  (4 * TG_SERVERS_MAX)
#define SERVICE_PLACES (4 * TG_SERVICES_MAX)

struct known {
	uint16_t server[SERVER_PLACES], service[SERVICE_PLACES]; /* id + 1; 0: free */
};
_Static_assert(TG_SERVERS_MAX < UINT16_MAX && TG_SERVICES_MAX < UINT16_MAX, "an id + 1 fits");

static uint32_t hash_service(const char *name)
{
	return (uint32_t)(XXH3_64bits(name, strlen(name)) % SERVICE_PLACES);
}

static uint32_t hash_server(uint16_t service, const struct tg_addr *address, const char *name)
{
	uint64_t at = XXH3_64bits_withSeed(address->b, sizeof(address->b), service);

	return (uint32_t)(XXH3_64bits_withSeed(name, strlen(name), at) % SERVER_PLACES);
}

static void note_service(struct known *k, const struct tg_registry *r, uint16_t id)
{
	uint32_t at = hash_service(r->service[id].name);

	while (k->service[at] != 0)
		at = (at + 1) % SERVICE_PLACES;
	k->service[at] = (uint16_t)(id + 1);
}

static void note_server(struct known *k, const struct tg_registry *r, uint16_t id)
{
	const struct tg_registry_server *e = &r->server[id];
	uint32_t at = hash_server(e->service, &e->address, e->name);

	while (k->server[at] != 0)
		at = (at + 1) % SERVER_PLACES;
	k->server[at] = (uint16_t)(id + 1);
}

static void note_all(struct known *k, const struct tg_registry *r)
{
	memset(k, 0, sizeof(*k));
	for (unsigned int i = 0; i < r->n_services; i++)
		if (r->service[i].used)
			note_service(k, r, (uint16_t)i);
	for (unsigned int i = 0; i < r->n_servers; i++)
		if (r->server[i].used)
			note_server(k, r, (uint16_t)i);
}

static int find_service(const struct known *k, const struct tg_registry *r, const char *name)
{
	uint32_t at = hash_service(name);

	for (; k->service[at] != 0; at = (at + 1) % SERVICE_PLACES) {
		const struct tg_registry_service *e = &r->service[k->service[at] - 1];

		if (e->used && strcmp(e->name, name) == 0)
			return k->service[at] - 1;
	}
	return -1;
}

/* The same server: same name and address in the same service. */
static int find_server(const struct known *k, const struct tg_registry *r, uint16_t service,
		       const struct tg_config_server *s)
{
	uint32_t at = hash_server(service, &s->address, s->name);

	for (; k->server[at] != 0; at = (at + 1) % SERVER_PLACES) {
		const struct tg_registry_server *e = &r->server[k->server[at] - 1];

		if (e->used && e->service == service && tg_addr_eq(&e->address, &s->address) &&
		    strcmp(e->name, s->name) == 0)
			return k->server[at] - 1;
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

/* *from: no id below it is free. */
static int new_service(struct tg_registry *r, const char *name, unsigned int *from)
{
	unsigned int i = *from;

	while (i < r->n_services && r->service[i].used)
		i++;
	*from = i;
	if (i == TG_SERVICES_MAX)
		return -ENOSPC;
	if (i == r->n_services)
		r->n_services++;
	snprintf(r->service[i].name, sizeof(r->service[i].name), "%s", name);
	r->service[i].used = true;
	return (int)i;
}

static int new_server(struct tg_registry *r, uint16_t service, const struct tg_config_server *s,
		      unsigned int *from)
{
	struct tg_registry_server *e;
	unsigned int i = *from;

	/* workers may still count for what this very round retires */
	while (i < r->n_servers && (r->server[i].used || r->server[i].retired == r->round))
		i++;
	*from = i;
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
	static struct known known;
	unsigned int k = 0, service_from = 0, server_from = 0;

	r->round++;
	note_all(&known, r);
	memset(keep_service, 0, sizeof(keep_service));
	memset(keep_server, 0, sizeof(keep_server));
	/* first what is known: so that ids given away below are really free */
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *s = &c->services[i];
		int id = find_service(&known, r, s->name);

		for (unsigned int j = 0; id >= 0 && j < s->n_servers; j++) {
			int server = find_server(&known, r, (uint16_t)id, &s->servers[j]);

			if (server >= 0)
				keep_server[server] = true;
		}
		if (id >= 0)
			keep_service[id] = true;
	}
	retire(r, keep_service, keep_server);
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *s = &c->services[i];
		int id = find_service(&known, r, s->name);

		if (id < 0) {
			id = new_service(r, s->name, &service_from);
			if (id < 0)
				return id;
			note_service(&known, r, (uint16_t)id);
		}
		service_id[i] = (uint16_t)id;
		for (unsigned int j = 0; j < s->n_servers; j++) {
			int server = find_server(&known, r, (uint16_t)id, &s->servers[j]);

			if (server < 0) {
				server = new_server(r, (uint16_t)id, &s->servers[j], &server_from);
				if (server < 0)
					return server;
				note_server(&known, r, (uint16_t)server);
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
