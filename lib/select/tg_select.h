/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which server gets a new flow. One file a policy, each ending in an ops struct. A policy sees
 * plain arrays indexed by server id; it knows no packet, no queueing model and no configuration.
 * Policies by cost differ in what control computes, not in what they do with it; doc/select.md has
 * them all, with sources.
 *
 * Three kinds of state:
 *   tg_select_group  per service, built per configuration, immutable: candidates, look-up table
 *   tg_select_view   per worker: what is known of the servers now
 *   tg_select_local  per worker and service: cursor, random state, exploration. Survives reloads
 *
 * Only servers that are up and have a weight above 0 are candidates; policies never return others.
 *
 * Thread-safety: a group is immutable. In a view, control writes and workers read relaxed single
 * words; `own` and `tally` are the worker's. A tally and a local are read by nobody else. A pick
 * takes no lock and writes no shared line, but for a mark in `stale` that it takes (about one a
 * second and server, by an atomic exchange: of several workers one gets it).
 */
#ifndef TG_SELECT_H
#define TG_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_packet.h"

enum tg_policy {
	TG_POLICY_MAGLEV,
	TG_POLICY_RENDEZVOUS,
	TG_POLICY_ROUND_ROBIN,
	TG_POLICY_WEIGHTED_ROUND_ROBIN,
	TG_POLICY_LEAST_CONNECTIONS,
	TG_POLICY_JSQ,
	TG_POLICY_TWO_CHOICES,
	TG_POLICY_RANDOM,
	TG_POLICY_MODEL,
	TG_POLICY_QUEUE,
	TG_POLICY_HYBRID_SEED,
	TG_POLICY_COMPLETION,
	TG_POLICY_LATENCY,
	TG_POLICY_BID, /* an auction for each connection: lib/bid */
	TG_POLICY_COUNT
};

struct tg_select_server {
	uint16_t id;        /* server id */
	uint16_t weight;    /* 0..65535; 0: no new flows */
	uint64_t name_hash; /* the same on every gateway: tg_select_name_hash(name and address) */
};

/* What a worker remembers of a server. All zero at first. */
struct tg_select_tally {
	uint32_t tick;   /* in which `picked` were */
	uint32_t picked; /* flows given to it since then by this worker */
	int32_t credit;  /* weighted round robin: its deficit counter */
};

/*
 * The view of one worker: arrays indexed by server id. Control writes those of the first block
 * every tick (1..50 ms), then *tick. An array that is NULL is all zeros: nothing is known.
 */
struct tg_select_view {
	/* What a flow given to the server now is expected to take, by the service's policy: wait,
	 * service and delay, ns; with the flows that other workers and this one gave it before the
	 * tick, those without a request yet included. 0: not known, counts as the median. */
	const uint32_t *cost_ns;
	const uint32_t *marginal_ns;  /* what one more flow adds to cost_ns */
	const uint32_t *median_ns;    /* of the known costs of its service's servers; 0: none */
	const uint32_t *load_256;     /* requests in the system, in 256ths (for jsq) */
	const uint32_t *withheld_256; /* slow start: so many of 256 flows go elsewhere, 0..255 */
	const uint32_t *others;       /* flows open at the server through other workers */
	uint32_t *stale;              /* control sets 1: a probe is due; a worker takes it */
	const uint32_t *tick;         /* one word: a number that changes with every tick */
	/* This worker's. */
	const uint32_t *own;           /* flows open at the server through this worker */
	struct tg_select_tally *tally; /* written by tg_select_pick */
	/* Workers of the gateway, 0 as 1: flows are spread over them by hash, so until the tick each
	 * takes it that the others gave as many flows to a server as it did itself. */
	uint32_t workers;
};

struct tg_select_local {
	uint32_t cursor; /* round robins: next server; at first a share of 2^32, apart on every worker */
	int32_t debt_milli; /* exploration: thousandths of a request, -1000 and above */
	uint64_t random;    /* xorshift64* state, never 0 */
	bool probe;         /* the last pick was one: mark the flow, for tg_select_request */
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
 * table full, and draws candidates. -ENOMEM; -EINVAL: no such policy, or more than 10485 servers.
 */
int tg_select_group_create(enum tg_policy policy, const struct tg_select_server *servers,
			   unsigned int n, int socket, struct tg_select_group **out);

/* The same, but if *before (or NULL) is what would be built, that one: it then has one more user. So
 * a change of one service costs no other one's table. */
int tg_select_group_renew(struct tg_select_group *before, enum tg_policy policy,
			  const struct tg_select_server *servers, unsigned int n, int socket,
			  struct tg_select_group **out);

/* By its last user. Control's, as the two above. */
void tg_select_group_free(struct tg_select_group *g);

/* worker (0..workers-1) and workers spread the starting points. seed != 0. */
void tg_select_local_init(struct tg_select_local *l, unsigned int worker, unsigned int workers,
			  uint64_t seed);

/* The server for a new flow, TG_NO_SERVER when the group is empty. hash: of the flow key but the
 * same on every gateway (tg_select_flow_hash). Counts the pick in the tally. */
uint16_t tg_select_pick(const struct tg_select_group *g, struct tg_select_local *l,
			const struct tg_select_view *v, uint64_t hash);

/* By consistent hash, whatever the policy. */
uint16_t tg_select_consistent(const struct tg_select_group *g, uint64_t hash);

/*
 * The first n candidates of a flow: distinct servers in an order that is the same on every gateway
 * and whatever the policy, the first being the consistent hash's, each drawn by weight. A smaller n
 * gives the beginning of the same list. Returns how many there are: n, or all servers' number if
 * that is less. n up to TG_SELECT_CANDIDATES_MAX. The first TG_SELECT_CANDIDATES are where
 * `latency` and `completion` place nearly all flows.
 */
#define TG_SELECT_CANDIDATES     3
#define TG_SELECT_REDRAWS        3 /* rounds of as many again, when all of them are slow */
#define TG_SELECT_CANDIDATES_MAX (TG_SELECT_CANDIDATES * (1 + TG_SELECT_REDRAWS))
unsigned int tg_select_candidates(const struct tg_select_group *g, uint64_t hash, uint16_t *out,
				  unsigned int n);

unsigned int tg_select_count(const struct tg_select_group *g);

/*
 * A request of an established flow of this service was seen (probe: of a flow whose pick was a
 * probe). This is the budget of exploration: probe flows have at most 0.3 % of the requests, plus
 * what a worker may owe: TG_SELECT_DEBT_FLOOR_MILLI and the flow that exceeds it. The first request
 * of a probe flow is paid at its pick besides, so that two probes never start on one budget.
 */
#define TG_SELECT_DEBT_PROBE_MILLI 1000
#define TG_SELECT_DEBT_OTHER_MILLI 3
#define TG_SELECT_DEBT_FLOOR_MILLI (-1000)
#define TG_SELECT_DEBT_MAX_MILLI   1000000000
static inline void tg_select_request(struct tg_select_local *l, bool probe)
{
	if (!probe && l->debt_milli > TG_SELECT_DEBT_FLOOR_MILLI + TG_SELECT_DEBT_OTHER_MILLI)
		l->debt_milli -= TG_SELECT_DEBT_OTHER_MILLI;
	else if (!probe)
		l->debt_milli = TG_SELECT_DEBT_FLOOR_MILLI;
	else if (l->debt_milli < TG_SELECT_DEBT_MAX_MILLI)
		l->debt_milli += TG_SELECT_DEBT_PROBE_MILLI;
}

/* For control: withheld_256 of a server that came up (or came back) up_ms ago: its share grows from
 * 1/256 to all of it, linearly over TG_SELECT_RAMP_MS. */
#define TG_SELECT_RAMP_MS 30000
uint32_t tg_select_withheld_256(uint64_t up_ms);

/* Hashes that do not depend on the process: every gateway gets the same. (Not keyed: an attacker
 * can aim at one server, as with any ECMP or Maglev of public parameters.) The flow hash leaves
 * out the service id, which may differ between gateways. */
uint64_t tg_select_flow_hash(const struct tg_key *key);
uint64_t tg_select_name_hash(const char *name, const struct tg_addr *addr);

#endif
