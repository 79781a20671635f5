/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the workers run by: a configuration compiled into one immutable object that control
 * publishes by pointer. Ids of services and servers outlive it: the registry gives a name the
 * same id in the next snapshot, and a server that is removed or goes down gets a new generation,
 * by which its flows are recognised.
 *
 * Thread-safety: the registry belongs to control. A snapshot is read by all and freed by control
 * after every worker has passed a quiescent state (rte_rcu_qsbr).
 */
#ifndef TG_SNAPSHOT_H
#define TG_SNAPSHOT_H

#include "admission/pools.h"
#include "port/port.h"
#include "registry.h"
#include "stats.h"
#include "tg_config.h"
#include "tg_neigh.h"

struct tg_health_sources;
struct tg_true_servers;

struct tg_snapshot {
	uint64_t version; /* 1, 2, ... */
	struct tg_config *config;
	struct tg_service_table *services;
	struct tg_health_sources *probing; /* NULL: no server is checked */
	struct tg_neigh_local *local;      /* NULL offline and in shadow mode */
	struct tg_true_servers *seen;      /* shadow mode: to whom frames go; else NULL */
	unsigned int n_workers;
	/* by service id, 0..n_services-1; ids that are not in use have no group */
	unsigned int n_services;
	struct tg_select_group **group;
	struct tg_pirate_config *pirate;
	struct tg_gate_limit *limit;
	struct tg_bid_config **bid; /* NULL: the service takes no bids */
	bool bids;                  /* some service does, and packets are sent */
	struct tg_route client_way
		[2]; /* to clients beyond the link, IPv4 and IPv6: by a gateway; mac NULL: none */
	const uint64_t
		*gateway[2]; /* link word of that on the servers' side, IPv4 and IPv6; NULL: none */
	struct tg_gate_limit strictest; /* of them */
	bool early;              /* some service wants late packets dropped before the decision */
	struct tg_guard **guard; /* NULL: neither limits nor access */
	uint16_t *mss;           /* by service id: largest segment told; 0: not touched */
	bool clamps;             /* some service has one */
	bool stopped;            /* nothing for a service goes on */
	bool guards;             /* some service has them, or stopped */
	const struct tg_config_service **service; /* NULL: id not in use */
	struct tg_admission_rule *admission;
	/* by pool index; bits of `pools`: those in use */
	uint64_t pools;
	struct tg_admission_pool *pool[TG_ADMISSION_POOLS_MAX];
	/* by server id, 0..n_servers-1 */
	unsigned int n_servers;
	struct tg_route *route;
	uint16_t *generation;
	const struct tg_config_server **server; /* NULL: id not in use */
	uint16_t *service_of;
	struct tg_server_stats **stats; /* [worker * n_servers + server] */
};

/* By server id. */
static inline struct tg_server_stats *const *tg_snapshot_stats_of(const struct tg_snapshot *s,
								  unsigned int worker)
{
	return s->stats + (size_t)worker * s->n_servers;
}

static inline struct tg_server_stats *tg_snapshot_stats(const struct tg_snapshot *s,
							unsigned int server, unsigned int worker)
{
	return tg_snapshot_stats_of(s, worker)[server];
}

/* Does a server whose generation is the entry's take new connections? */
static inline bool tg_snapshot_takes_new(const struct tg_snapshot *s, uint16_t server)
{
	const struct tg_config_server *c = s->server[server];

	return c != NULL && c->state == TG_SERVER_UP && c->weight > 0;
}

/* Does the id still mean the server that it meant in this generation, and has that served since? */
static inline bool tg_snapshot_stands(const struct tg_snapshot *s, uint16_t server,
				      uint16_t generation)
{
	return server < s->n_servers && s->generation[server] == generation;
}

/* What a snapshot is compiled against. */
struct tg_snapshot_env {
	struct tg_registry *registry;
	const struct tg_snapshot
		*before; /* in force, or NULL: what stays the same is shared with it */
	struct tg_clock clock;
	const struct tg_port *ports; /* NULL offline */
	unsigned int n_ports;
	struct tg_neigh_table *neigh; /* NULL offline and in shadow mode: no routes are made */
	struct tg_admission_pools *admission; /* NULL offline: everything is admitted */
	bool stopped;                         /* `forwarding stop` */
	uint64_t now;                         /* ticks: when new pools begin */
};

/*
 * Compiles config, which the snapshot then owns. On failure the caller keeps it, and the registry is
 * as it was. err: a sentence. -ENOMEM, -EINVAL (a server that no port can reach), -EEXIST (two
 * services claim the same), -ENOSPC (ids).
 */
int tg_snapshot_create(const struct tg_snapshot_env *env, struct tg_config *config,
		       struct tg_snapshot **out, char *err, size_t err_len);
/* Marks the next hops of a snapshot as wanted, and only those (tg_neigh_forget forgets the rest). */
void tg_snapshot_keep_neighbours(const struct tg_snapshot_env *env, const struct tg_snapshot *s);

/* Frees a snapshot nobody reads any more. */
void tg_snapshot_free(struct tg_snapshot *s);

/* Ids by name; TG_NO_SERVICE, TG_NO_SERVER. */
uint16_t tg_snapshot_service(const struct tg_snapshot *s, const char *name);
uint16_t tg_snapshot_server(const struct tg_snapshot *s, uint16_t service, const char *name);
/* The server of a service with this address. */
uint16_t tg_snapshot_server_at(const struct tg_snapshot *s, uint16_t service,
			       const struct tg_addr *address);

#endif
