/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which server gets a new flow. One file a policy, each ending in an ops struct. A policy sees
 * plain arrays indexed by server id; it knows no packet, no queueing model and no configuration.
 *
 * Three kinds of state:
 *   tg_select_group  per service, built per configuration, immutable: candidates, look-up table
 *   tg_select_view   per worker: what is known of the servers now. cost_ns and others are written
 *                    by control (relaxed), own by this worker
 *   tg_select_local  per worker and service: cursor and random state. Survives reloads
 *
 * Only servers that are up and have a weight above 0 are candidates; policies never return others.
 *
 * Thread-safety: as said above. A pick takes no lock and shares no written line.
 */
#ifndef TG_SELECT_H
#define TG_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_packet.h"

enum tg_policy {
	TG_POLICY_MAGLEV,
	TG_POLICY_ROUND_ROBIN,
	TG_POLICY_LEAST_CONNECTIONS,
	TG_POLICY_LATENCY, /* first form: the lower measured latency of two random candidates */
	TG_POLICY_COUNT
};

struct tg_select_server {
	uint16_t id;        /* server id */
	uint16_t weight;    /* 0..65535; 0: no new flows */
	uint32_t delay_us;  /* configured network delay, added to the measured cost */
	uint64_t name_hash; /* the same on every gateway: tg_select_name_hash(name and address) */
};

/* The view of one worker, arrays indexed by server id. */
struct tg_select_view {
	const uint32_t *cost_ns; /* latest mean latency, 0: not known yet. Written by control */
	const uint32_t
		*others; /* flows open at the server through other workers. Written by control */
	const uint32_t *own; /* flows open at the server through this worker. Written by it */
};

struct tg_select_local {
	uint32_t cursor; /* round robin: next server; at first a share of 2^32, apart on every worker */
	uint64_t random; /* xorshift64* state, never 0 */
};

struct tg_select_group;

struct tg_policy_ops {
	const char *name; /* as in the configuration */
	uint16_t (*pick)(const struct tg_select_group *g, struct tg_select_local *l,
			 const struct tg_select_view *v, uint64_t hash);
};

/* NULL outside the enum; and by name, -ENOENT. */
const struct tg_policy_ops *tg_policy(enum tg_policy p);
int tg_policy_by_name(const char *name);

/*
 * Builds a group from n servers, n may be 0. Those with weight 0 are no candidates but count for
 * the size of the Maglev table: name a server that is down or draining with weight 0, and the
 * others' flows stay where they are. The table (prime size, at least 100 entries a server,
 * weights as shares of turns) is built for every policy: it also serves flows that find the flow
 * table full. -ENOMEM; -EINVAL: no such policy, or more than 10485 servers.
 */
int tg_select_group_create(enum tg_policy policy, const struct tg_select_server *servers,
			   unsigned int n, int socket, struct tg_select_group **out);
void tg_select_group_free(struct tg_select_group *g);

/* worker (0..workers-1) and workers spread the starting points. seed != 0. */
void tg_select_local_init(struct tg_select_local *l, unsigned int worker, unsigned int workers,
			  uint64_t seed);

/* The server for a new flow, TG_NO_SERVER when the group is empty. hash: of the flow key but the
 * same on every gateway (tg_select_flow_hash). */
uint16_t tg_select_pick(const struct tg_select_group *g, struct tg_select_local *l,
			const struct tg_select_view *v, uint64_t hash);

/* By consistent hash, whatever the policy. */
uint16_t tg_select_consistent(const struct tg_select_group *g, uint64_t hash);

unsigned int tg_select_count(const struct tg_select_group *g);

/* Hashes that do not depend on the process: every gateway gets the same. (Not keyed: an attacker
 * can aim at one server, as with any ECMP or Maglev of public parameters.) The flow hash leaves
 * out the service id, which may differ between gateways. */
uint64_t tg_select_flow_hash(const struct tg_key *key);
uint64_t tg_select_name_hash(const char *name, const struct tg_addr *addr);

#endif
