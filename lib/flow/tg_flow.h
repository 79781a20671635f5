/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow table of one worker. Buckets of 16 two-byte tags (32 bytes, one vector compare), two
 * candidate buckets a key, no displacement; the entry of a tag is implied by its place, so a
 * look-up touches one entry and one tag line (two for the few in their second bucket). An entry is
 * two cache lines: `near` state that every packet touches, `far` state of the latency estimator.
 * 130 bytes a slot in all. Never grows: when both buckets of a key are full the insert fails and
 * the caller goes on without state (consistent hash), counted. The first insert fails at about
 * 85 % of 2^21 slots, 87 % of 2^16.
 *
 * The hash is XXH3-64 of the 24-byte key with a random secret, so that who chooses addresses and
 * ports does not choose buckets.
 *
 * States. What is not TCP: NEW, and OPEN from the second packet on. TCP:
 *   NEW   a SYN was seen; a repeated SYN changes nothing
 *   OPEN  any other packet was seen
 *   SHUT  FIN or RST was seen. Bare acknowledgements leave it so (RFC 9293 section 3.6: after its
 *         FIN the client goes on to acknowledge what it receives); payload without FIN opens it
 *         again. A SYN leaves it SHUT: whether a new connection takes over the ports, and gets a
 *         server of its own, is for the caller to decide (remove and insert).
 * Every packet of a hit sets last_seen, so a long download over a half-closed connection stays.
 * A RST that somebody guessed (RFC 5961) removes nothing: it shortens the time the flow may be
 * silent until the client's next payload.
 * An entry is removed once it was silent for: SHUT closed_s; TCP NEW closed_s but at least
 * TG_FLOW_HANDSHAKE_S (and at most tcp_idle_s), so that a SYN flood does not stay; TCP OPEN
 * tcp_idle_s; others udp_idle_s. An entry from the future counts as just seen.
 *
 * Thread-safety: one lcore reads and writes; counters may be read by others (relaxed).
 * Sources: two-choice buckets: Azar, Broder, Karlin, Upfal, "Balanced Allocations" (1994); tags
 * beside the entries: Fan, Andersen, Kaminsky, "MemC3" (NSDI '13), without its displacement.
 */
#ifndef TG_FLOW_H
#define TG_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_burst.h"
#include "tg_clock.h"

#define TG_FLOW_BUCKET      16
#define TG_FLOW_SECRET_SIZE 192 /* XXH3_SECRET_DEFAULT_SIZE */
#define TG_FLOW_HANDSHAKE_S 5u  /* least time that a SYN's answer and the client's ACK are given */

enum tg_flow_state {
	TG_FLOW_FREE = 0,
	TG_FLOW_NEW,  /* TCP: SYN seen, nothing after it; UDP and others: first packet */
	TG_FLOW_OPEN, /* second packet seen */
	TG_FLOW_SHUT, /* TCP: FIN or RST seen from the client */
};

/* tg_flow.asking */
#define TG_FLOW_ASKED    1  /* has sent its first request, or is not expected to */
#define TG_FLOW_WAITS    2  /* a request of it is certainly at the server */
#define TG_FLOW_PROBE    4  /* it was placed to learn how its server does */
#define TG_FLOW_GUESS    8  /* it began elsewhere: its server is the consistent hash's guess */
#define TG_FLOW_RESTORED 16 /* read from a snapshot, no packet since: no estimator chosen yet */
#define TG_FLOW_ENDED    32 /* the client has sent FIN or RST: no load of its server any more */

#define TG_FLOW_TLS_BEGAN 2 /* tg_flow.tls: its first exchange is over, the second is not */

struct tg_flow {
	/* first line: every packet */
	struct tg_key key;
	uint64_t last_seen;         /* ticks: arrival of the newest packet. Written by flow */
	uint16_t server;            /* id. Written by select's caller */
	uint16_t server_generation; /* of that id when it was picked */
	uint8_t state;              /* enum tg_flow_state. Written by flow */
	uint8_t estimator;          /* private to the estimator */
	uint8_t tls; /* 1: a payload began like a TLS handshake; or TG_FLOW_TLS_BEGAN. Written by the pipeline */
	uint8_t asking;               /* TG_FLOW_ASKED and so on. Written by the pipeline */
	_Alignas(8) uint8_t near[24]; /* private to the estimator */
	/* second line */
	uint8_t far[64]; /* private to the estimator */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct tg_flow) == 128, "an entry is two cache lines");

/* What the operator sets. */
struct tg_flow_params {
	uint32_t slots;                            /* 2^10..2^28, rounded up to a power of two */
	uint32_t tcp_idle_s, udp_idle_s, closed_s; /* 1..86400 */
};

/* Cumulative; live = inserted - expired - removed. */
struct tg_flow_stats {
	uint64_t inserted, expired, removed;
	uint64_t full; /* inserts refused */
};

struct tg_flow_table;

/* secret: random bytes shared by all workers of the process. socket: NUMA node. -ENOMEM, -EINVAL. */
int tg_flow_table_create(const struct tg_flow_params *params, const struct tg_clock *clock,
			 const uint8_t secret[TG_FLOW_SECRET_SIZE], int socket,
			 struct tg_flow_table **out);
void tg_flow_table_free(struct tg_flow_table *t);

/* New idle times (slots is ignored): takes effect with the next sweep. */
void tg_flow_table_set_idle(struct tg_flow_table *t, const struct tg_flow_params *params);

uint64_t tg_flow_hash(const struct tg_flow_table *t, const struct tg_key *key);

/* The burst: hash[] and flow[] of every packet on its way; NULL for a miss. Prefetches tags,
 * entries and far lines in waves, for a miss those of the slot that an insert would take. Touches
 * last_seen and state of hits. */
void tg_flow_lookup(struct tg_flow_table *t, struct tg_burst *b);

/* A packet of the flow arrived: what tg_flow_lookup does to a hit. For the packet whose look-up
 * missed because an earlier one of the same burst made the entry. */
void tg_flow_touch(struct tg_flow *f, const struct tg_pkt *p, uint64_t arrival);

/* One key, as tg_flow_lookup. Does not touch last_seen: also for telemetry on the same thread. */
struct tg_flow *tg_flow_find(struct tg_flow_table *t, const struct tg_key *key, uint64_t hash);

/* A zeroed entry for a key that is not in the table, state TG_FLOW_NEW, last_seen = now.
 * NULL when both buckets are full (counted). */
struct tg_flow *tg_flow_insert(struct tg_flow_table *t, const struct tg_key *key, uint64_t hash,
			       uint64_t now);
void tg_flow_remove(struct tg_flow_table *t, struct tg_flow *f);

/*
 * Ageing: looks at the next `buckets` buckets (where the last sweep stopped) and removes idle
 * entries; gone(ctx, f) is called for each before its slot is free, stays(ctx, f) for the others;
 * either may be NULL. Returns the number removed.
 * Call it steadily: the caller bounds the time in a row. Time may jump by years.
 */
unsigned int tg_flow_sweep(struct tg_flow_table *t, uint64_t now, unsigned int buckets,
			   void (*gone)(void *ctx, struct tg_flow *f),
			   void (*stays)(void *ctx, struct tg_flow *f), void *ctx);

/* Entries in order of place, for snapshots on the owning thread: *cursor starts at 0; NULL at the end. */
struct tg_flow *tg_flow_next(struct tg_flow_table *t, uint64_t *cursor);

/* The entries of the next `buckets` buckets from *bucket on, which moves; false at the end of the table.
 * For copying a table in bounded steps while it is in use: what is inserted behind *bucket is not seen,
 * and a flow that is removed and comes back ahead of it is seen twice. */
bool tg_flow_visit(const struct tg_flow_table *t, uint64_t *bucket, unsigned int buckets,
		   void (*seen)(void *ctx, const struct tg_flow *f), void *ctx);

unsigned int tg_flow_buckets(const struct tg_flow_table *t);
uint64_t tg_flow_slots(const struct tg_flow_table *t);
const struct tg_flow_stats *tg_flow_table_stats(const struct tg_flow_table *t);

#endif
