/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the file at the start. */
#include "restart/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gateway.h"
#include "owner.h"
#include "tg_service.h"

_Static_assert(TG_FLOW_SERVICE_NAME == TG_NAME_MAX, "services' names fit");

struct reading {
	struct tg_restart *r;
	struct tg_flow_reader *file;
	uint16_t *service, *server; /* index in the file -> id here; TG_NO_SERVICE, TG_NO_SERVER */
	uint64_t wall_ns, now;      /* the same moment */
	char text[TG_FLOW_SNAPSHOT_TEXT];
};

uint64_t tg_restart_wall_ns(const struct tg_gateway *g)
{
	struct timespec t;

	if (g->worker[0]->virtual_time != NULL)
		return tg_ticks_to_ns(&g->clock, tg_worker_now(g->worker[0]));
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Only a plain file that nobody else could have written. NULL, and why in text ("" if there is none yet). */
static FILE *open_file(const char *path, char text[TG_FLOW_SNAPSHOT_TEXT])
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *in;

	text[0] = '\0';
	if (fd < 0) {
		if (errno != ENOENT)
			snprintf(text, TG_FLOW_SNAPSHOT_TEXT, "cannot be opened: %s",
				 strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		snprintf(text, TG_FLOW_SNAPSHOT_TEXT, "is no plain file");
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		snprintf(text, TG_FLOW_SNAPSHOT_TEXT,
			 "belongs to user %u, who is neither root nor this process's: remove it",
			 (unsigned int)st.st_uid);
	else if ((st.st_mode & 022) != 0)
		snprintf(text, TG_FLOW_SNAPSHOT_TEXT,
			 "may be written by others (mode %04o): chmod 0600",
			 (unsigned int)st.st_mode & 07777);
	in = text[0] == '\0' ? fdopen(fd, "rb") : NULL;
	if (in == NULL)
		close(fd);
	return in;
}

/* Which of the file's services and servers are here; the number of services. */
static unsigned int find_names(struct reading *x)
{
	const struct tg_flow_saved_names *n = tg_flow_reader_names(x->file);
	const struct tg_snapshot *s = x->r->g->snapshot;
	unsigned int known = 0;

	for (uint32_t i = 0; i < n->n_services; i++) {
		uint16_t id = tg_snapshot_service(s, n->service[i].name);

		if (id != TG_NO_SERVICE &&
		    !tg_addr_eq(&s->service[id]->address, &n->service[i].address))
			id = TG_NO_SERVICE;
		x->service[i] = id;
		known += id != TG_NO_SERVICE;
	}
	for (uint32_t i = 0; i < n->n_servers; i++) {
		uint16_t service = x->service[n->server[i].service], id = TG_NO_SERVER;

		if (service != TG_NO_SERVICE)
			id = tg_snapshot_server_at(s, service, &n->server[i].address);
		if (id != TG_NO_SERVER && s->server[id]->state == TG_SERVER_DOWN)
			id = TG_NO_SERVER;
		x->server[i] = id;
	}
	return known;
}

/* The worker whose table this flow's packets will look into. */
static struct tg_worker *owner(const struct tg_gateway *g, const struct tg_pkt *p)
{
	uint64_t hash = tg_flow_hash(g->worker[0]->flows, &p->key);

	if (g->n_workers == 1)
		return g->worker[0];
	return g->worker[tg_owner_of(&g->ports[0], g->n_workers, p, false, 0, hash)];
}

/* A key twice: the flow went and came back while the table was copied. The later one is right. */
static void put(struct tg_worker *w, const struct tg_flow_saved *saved, const struct tg_key *key,
		uint16_t server, uint64_t seen, struct tg_restart_stats *stats)
{
	uint64_t hash = tg_flow_hash(w->flows, key);
	struct tg_flow *f = tg_flow_find(w->flows, key, hash);

	if (f != NULL)
		w->own[f->server]--;
	else
		f = tg_flow_insert(w->flows, key, hash, seen);
	if (f == NULL) {
		stats->no_room++;
		return;
	}
	f->last_seen = seen;
	f->state = saved->state;
	f->server = server;
	f->server_generation = w->snapshot->generation[server];
	f->estimator = TG_ESTIMATOR_OFF; /* until its first packet */
	f->asking = TG_FLOW_ASKED | TG_FLOW_RESTORED | (saved->guess ? TG_FLOW_GUESS : 0);
	w->own[server]++;
}

static void restore(struct reading *x, const struct tg_flow_saved *saved, uint64_t seen_ns)
{
	struct tg_restart_stats *stats = &x->r->stats;
	struct tg_gateway *g = x->r->g;
	const struct tg_flow_params *idle = &g->snapshot->config->flow_table;
	uint16_t service = x->service[saved->key.service], server = x->server[saved->server];
	uint64_t age_ns = x->wall_ns > seen_ns ? x->wall_ns - seen_ns : 0, age, max_s;
	struct tg_pkt p = {.key = saved->key};
	bool vip;

	if (server == TG_NO_SERVER) {
		stats->strangers++;
		return;
	}
	p.dst = g->snapshot->service[service]->address;
	p.flags = tg_addr_is_v4(&p.key.client) ? 0 : TG_PKT_V6;
	if (tg_service_find(g->snapshot->services, &p, &vip) != service) {
		stats->strangers++; /* a port that the service does not have any more */
		return;
	}
	p.key.service = service;
	max_s = p.key.protocol == IPPROTO_TCP ? idle->tcp_idle_s : idle->udp_idle_s;
	age = tg_ns_to_ticks(&g->clock, age_ns);
	if (age_ns >= max_s * UINT64_C(1000000000) || age > x->now) {
		stats->expired++;
		return;
	}
	put(owner(g, &p), saved, &p.key, server, x->now - age, stats);
}

/* Every flow of the file: first to see whether all is sound, then in earnest. */
static int read_flows(struct reading *x, bool in_earnest)
{
	struct tg_flow_saved saved;
	uint64_t seen_ns;
	int rc;

	while ((rc = tg_flow_reader_next(x->file, &saved, &seen_ns, x->text)) == 1)
		if (in_earnest)
			restore(x, &saved, seen_ns);
	return rc;
}

/* 0, or a text why none of it is used. */
static int read_file(struct reading *x)
{
	const struct tg_flow_params *idle = &x->r->g->snapshot->config->flow_table;
	const struct tg_flow_saved_names *names = tg_flow_reader_names(x->file);
	uint64_t written_ns = tg_flow_reader_header(x->file)->written_ns;
	uint64_t age_ns = x->wall_ns > written_ns ? x->wall_ns - written_ns : 0;
	uint64_t max_s = RTE_MAX(idle->tcp_idle_s, idle->udp_idle_s);
	int rc;

	x->r->stats.restored_age_ns = age_ns;
	if (age_ns >= max_s * UINT64_C(1000000000)) {
		snprintf(x->text, sizeof(x->text),
			 "is too old: of %llu s ago, when flows are forgotten after %llu s",
			 (unsigned long long)(age_ns / 1000000000), (unsigned long long)max_s);
		return -ESTALE;
	}
	x->service = calloc(names->n_services + 1, sizeof(*x->service));
	x->server = calloc(names->n_servers + 1, sizeof(*x->server));
	if (x->service == NULL || x->server == NULL)
		return -ENOMEM;
	if (find_names(x) == 0 && names->n_services > 0) {
		snprintf(x->text, sizeof(x->text), "has other services: none of its %u is here",
			 names->n_services);
		return -ENOENT;
	}
	rc = read_flows(x, false);
	if (rc == 0)
		rc = tg_flow_reader_rewind(x->file);
	return rc == 0 ? read_flows(x, true) : rc;
}

static void tell(const struct tg_restart *r, uint64_t of)
{
	const struct tg_restart_stats *s = &r->stats;

	printf("tidegate: %llu of %llu flows restored from %s, written %.1f s ago, in %.0f ms",
	       (unsigned long long)s->restored, (unsigned long long)of, r->path,
	       (double)s->restored_age_ns / 1e9, (double)s->restore_ns / 1e6);
	if (s->expired > 0)
		printf("; %llu silent for too long", (unsigned long long)s->expired);
	if (s->strangers > 0)
		printf("; %llu of servers or ports that are not there now",
		       (unsigned long long)s->strangers);
	if (s->no_room > 0)
		printf("; %llu without room (flow_table.slots_per_worker)",
		       (unsigned long long)s->no_room);
	printf("\n");
	fflush(stdout);
}

void tg_restart_restore(struct tg_restart *r)
{
	struct reading x = {.r = r,
			    .now = tg_worker_now(r->g->worker[0]),
			    .wall_ns = tg_restart_wall_ns(r->g)};
	FILE *in = open_file(r->path, x.text);
	uint64_t of;
	int rc;

	if (in == NULL) {
		if (x.text[0] != '\0')
			fprintf(stderr, "tidegate: flow_table.snapshot: %s %s: ignored\n", r->path,
				x.text);
		return;
	}
	for (unsigned int i = 0; i < r->g->n_workers; i++)
		tg_worker_use(r->g->worker[i], r->g->snapshot);
	rc = tg_flow_reader_open(in, &x.file, x.text);
	if (rc == 0)
		rc = read_file(&x);
	if (rc == -ENOMEM || (rc != 0 && x.text[0] == '\0'))
		snprintf(x.text, sizeof(x.text), "cannot be read: %s", strerror(-rc));
	r->stats.restore_ns = tg_restart_wall_ns(r->g) - x.wall_ns;
	if (rc != 0) {
		fprintf(stderr, "tidegate: flow_table.snapshot: %s %s: ignored\n", r->path, x.text);
	} else {
		of = tg_flow_reader_header(x.file)->flows;
		r->stats.restored = of - r->stats.expired - r->stats.strangers - r->stats.no_room;
		if (r->g->worker[0]->virtual_time == NULL)
			tell(r, of);
	}
	tg_flow_reader_close(x.file);
	fclose(in);
	free(x.service);
	free(x.server);
}
