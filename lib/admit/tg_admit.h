/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Burst isolation by two-level tokens. Requests belong to segments (a client prefix, a service, a
 * configured group). A segment is in burst while it asks for more than `hi` a second, and calm again
 * only after `calm_intervals` intervals below `lo`. All segments of a pool share its tokens:
 *
 *   each interval, R = rate * interval:   debt <- max(0, debt - R) + overshoot
 *   budget = max(0, R - debt), auxiliary = min(share * R, budget), base = budget - auxiliary
 *
 * Whoever asks takes base tokens; where there are none, calm segments take auxiliary ones. Only in the
 * interval in which a burst begins (none was in the interval before) there are extra tokens as well, as
 * many as the measured headroom allows; they are overshoot, which the next intervals pay back. Base
 * and extra tokens come steadily over the interval, so that a queue at the gateway does not become a
 * queue at the servers each time an interval begins; auxiliary tokens are there from its start. What an
 * interval does not use is gone. In the work-conserving variant auxiliary tokens that an interval's
 * past part has left may be taken by all.
 *
 * Segments are told apart by hashed slots. One that finds its slot another's, which has asked lately,
 * shares that one's class. It is a stranger, as one is with its first packet. Strangers are watched
 * together as well: when they ask for more than the whole rate they are one burst, so that a flood of
 * addresses that are never seen again waits behind those who have been there; these keep their slots then,
 * however long they pause.
 *
 * lcores lease tokens in chunks from the pool (compare and swap) and spend them alone. So over k
 * intervals at most k R + extra + lcores * (chunk + the largest cost) is admitted.
 *
 * Costs and tokens are whole: exchanges, connections, packets or bytes. Time in ticks, an argument.
 * Time that goes back by more than an interval, and intervals passed over, are counted faults; neither
 * gives tokens that were not due.
 *
 * Thread-safety: a pool is shared. tg_admit_tick, _ask and _take are for the lcore whose index is given,
 * each index used by one thread at a time; nothing waits for anything, though an lcore that the host
 * stops while it turns the interval keeps the others without new tokens for so long. tg_admit_set is
 * control's. Everything else reads relaxed single words.
 * Source: two-level token admission of a block store's proxies (NSDI '26); how tokens are leased, paced
 * and measured is ours: doc/admit.md.
 */
#ifndef TG_ADMIT_H
#define TG_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_addr.h"
#include "tg_clock.h"

#define TG_ADMIT_SECRET_SIZE 32
#define TG_ADMIT_RULES_MAX   64
#define TG_ADMIT_NAME_MAX    64
#define TG_ADMIT_LCORES_MAX  64
#define TG_ADMIT_POOLS_MAX   64 /* of a gateway */

enum tg_admit_cost { TG_ADMIT_EXCHANGE = 0, TG_ADMIT_CONNECTION, TG_ADMIT_PACKET, TG_ADMIT_BYTE };
enum tg_admit_by { TG_ADMIT_BY_PREFIX = 0, TG_ADMIT_BY_SERVICE, TG_ADMIT_BY_MATCH };
/* Auxiliary tokens for calm segments alone, or what is left of them for all. */
enum tg_admit_variant { TG_ADMIT_STRICT = 0, TG_ADMIT_WORK_CONSERVING };
enum tg_admit_class { TG_ADMIT_CALM = 0, TG_ADMIT_BURST, TG_ADMIT_CLASSES };

/* What a packet is worth at the entrance: who waits longer, and who is shed first. */
enum tg_admit_value {
	TG_ADMIT_PLATINUM = 0,
	TG_ADMIT_GOLD,
	TG_ADMIT_SILVER, /* without a rule */
	TG_ADMIT_BRONZE,
	TG_ADMIT_BEST_EFFORT,
	TG_ADMIT_VALUES
};

/* Clients inside prefix: one segment of this name (""; they stay what `by` makes them), this value. The
 * longest prefix decides. */
struct tg_admit_rule {
	struct tg_prefix prefix;
	char segment[TG_ADMIT_NAME_MAX];
	enum tg_admit_value value;
};

/* What the operator sets. */
struct tg_admit_params {
	char pool[TG_ADMIT_NAME_MAX]; /* services of one name share its tokens; "": alone */
	uint32_t budget_per_s;        /* 0: derived, see tg_admit_set */
	uint32_t interval_us;         /* 1000..1000000 */
	uint32_t auxiliary_percent;   /* 0..100 */
	enum tg_admit_variant variant;
	enum tg_admit_cost cost;
	enum tg_admit_by by;
	uint32_t ipv4_prefix, ipv6_prefix; /* 1..32, 1..128 */
	uint32_t slots;                    /* 2^6..2^20, a power of two: segments told apart */
	uint32_t hi_per_s, lo_per_s;       /* 0: an eighth of the budget, half of hi */
	uint32_t max_per_s;                /* hard cap on any one segment; 0: none */
	uint32_t calm_intervals;           /* 1..10000 */
	uint32_t n_rules;
	struct tg_admit_rule rule[TG_ADMIT_RULES_MAX];
};

struct tg_admit_pool;

/* Whose packet it is. */
struct tg_admit_segment {
	uint32_t slot;
	uint32_t tag;  /* of the segments that share a slot */
	uint8_t value; /* enum tg_admit_value */
	uint8_t rule;  /* 1 + the rule that it is named by; 0: none */
};

/* Of one lcore, cumulative; in units of cost but for the last three. */
struct tg_admit_stats {
	uint64_t asked[TG_ADMIT_CLASSES], admitted[TG_ADMIT_CLASSES];
	uint64_t base, auxiliary, extra; /* leased */
	uint64_t auxiliary_burst;        /* auxiliary ones that burst took: work-conserving */
	uint64_t collisions;             /* asked while another segment had the slot */
	uint64_t bursts;                 /* segments that went into burst */
	uint64_t clock_back, overrun;    /* intervals turned at a time that went back, or late */
};

/* The pool as it is now. */
struct tg_admit_view {
	uint64_t interval;                   /* its number */
	uint64_t rate_per_s, headroom_per_s; /* as set; 0 rate: everything is admitted */
	uint64_t base, auxiliary, extra;     /* tokens of this interval */
	uint64_t base_leased, auxiliary_leased, extra_leased;
	uint64_t debt;
	bool strangers_burst; /* those without a slot of their own, together */
};

/* A segment's slot, summed over lcores. */
struct tg_admit_slot_view {
	uint64_t total; /* cost asked for since the pool was made */
	bool used, burst;
	uint8_t value;
	uint8_t rule;             /* 1 + its rule; 0: an address */
	uint16_t service;         /* of whom it counted first */
	struct tg_prefix address; /* its network, by the lcore that last took it up */
};

/*
 * secret: random bytes, so that who chooses addresses does not choose slots. socket[i]: NUMA node of
 * lcore i, -1 any. Rates are those of params until tg_admit_set. -ENOMEM; -EINVAL: out of range.
 */
int tg_admit_create(const struct tg_admit_params *params, const struct tg_clock *clock,
		    const uint8_t secret[TG_ADMIT_SECRET_SIZE], unsigned int n_lcores,
		    const int *socket, uint64_t now, struct tg_admit_pool **out);
void tg_admit_free(struct tg_admit_pool *p);
const struct tg_admit_params *tg_admit_params(const struct tg_admit_pool *p);

/*
 * Tokens a second from the next interval on, and how much more the servers could take (0: no extra
 * tokens). rate 0: not known; in an interval that begins so everything is admitted. Thresholds that are 0
 * follow the rate, none is above it.
 */
void tg_admit_set(struct tg_admit_pool *p, uint64_t rate_per_s, uint64_t headroom_per_s);

/* Once a turn of the loop: turns the interval if it is over. Cheap if not. */
void tg_admit_tick(struct tg_admit_pool *p, unsigned int lcore, uint64_t now);

/* The segment of a client of a service. */
struct tg_admit_segment tg_admit_segment(const struct tg_admit_pool *p,
					 const struct tg_addr *client, uint16_t service);

/* Somebody of the segment asks for `cost`: counts it and says the segment's class as of now. Once a
 * packet, when it arrives. client and service are remembered for people to read. */
enum tg_admit_class tg_admit_ask(struct tg_admit_pool *p, unsigned int lcore,
				 struct tg_admit_segment s, const struct tg_addr *client,
				 uint16_t service, uint32_t cost);

/* Takes the tokens if there are enough: the packet may go on. `class` is what tg_admit_ask said, however
 * long ago that was. Where fewer are left than a cost above 1 the whole is given, and is debt. */
bool tg_admit_take(struct tg_admit_pool *p, unsigned int lcore, struct tg_admit_segment s,
		   enum tg_admit_class class, uint32_t cost, uint64_t now);

/* Has the segment had all that max_per_s allows by now? Then tg_admit_take refuses it whatever is free. */
bool tg_admit_is_capped(const struct tg_admit_pool *p, unsigned int lcore,
			struct tg_admit_segment s, uint64_t now);

/* Control and telemetry. */
void tg_admit_look(const struct tg_admit_pool *p, struct tg_admit_view *out);
void tg_admit_slot(const struct tg_admit_pool *p, uint32_t slot, struct tg_admit_slot_view *out);
const struct tg_admit_stats *tg_admit_lcore_stats(const struct tg_admit_pool *p,
						  unsigned int lcore);

/* Names as the configuration has them; NULL after the last. */
const char *tg_admit_cost_name(unsigned int cost);
const char *tg_admit_by_name(unsigned int by);
const char *tg_admit_variant_name(unsigned int variant);
const char *tg_admit_value_name(unsigned int value);

#endif
