/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may send to a service, and how fast.
 *
 * Access: rules by prefix, the longest one that holds the client decides, no rule allows. Compiled, they are a sorted
 * list of disjoint ranges of addresses, which a look-up halves: at most 8 comparisons for 64 rules,
 * IPv4 (mapped) and IPv6 alike, whatever the addresses.
 *
 * Rates: the generic cell rate algorithm (ITU-T I.371, virtual scheduling): one time per limit, no division. A limit
 * lets a tenth of a second's worth through at once. Rates of a service are shared out evenly among workers, as
 * flows are by RSS: each worker keeps its own part.
 *
 * Thread-safety: compiled structures are immutable; a tg_guard_state has one writer, its worker; others read counters.
 */
#ifndef TG_GUARD_H
#define TG_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_addr.h"
#include "tg_clock.h"

#define TG_GUARD_RULES_MAX 64

struct tg_guard_rule {
	struct tg_prefix prefix;
	uint32_t deny; /* 1: deny, 0: allow */
};

/* Per second, 0: no limit. The first of a pair limits, the second drops. */
struct tg_guard_params {
	uint32_t new_per_s;          /* flows that begin; above: served without an entry */
	uint32_t new_drop_per_s;     /* above: dropped */
	uint32_t packets_per_s;      /* above: packets of unknown flows are dropped */
	uint32_t packets_drop_per_s; /* above: all are */
	unsigned int n_rules;
	struct tg_guard_rule rules[TG_GUARD_RULES_MAX];
};

enum tg_guard_limit {
	TG_GUARD_NEW,
	TG_GUARD_NEW_DROP,
	TG_GUARD_PACKETS,
	TG_GUARD_PACKETS_DROP,
	TG_GUARD_LIMITS
};

struct tg_guard {
	uint64_t every[TG_GUARD_LIMITS]; /* ticks a token; 0: no limit */
	uint64_t burst[TG_GUARD_LIMITS]; /* ticks */
	unsigned int n;                  /* ranges; 0: everybody may */
	/* range i: from first[i] up to, not with, first[i + 1] */
	struct tg_addr first[2 * TG_GUARD_RULES_MAX + 1];
	bool deny[2 * TG_GUARD_RULES_MAX + 1];
};

struct tg_guard_state {
	uint64_t due[TG_GUARD_LIMITS];  /* ticks: when the next token would be on time */
	uint64_t over[TG_GUARD_LIMITS]; /* how often there was none */
	uint64_t crowded_until;         /* ticks: flows without an entry may go on so long */
};

/* Is anything limited or ruled? */
bool tg_guard_wanted(const struct tg_guard_params *p);

/* For one of n_workers. */
void tg_guard_compile(const struct tg_guard_params *p, const struct tg_clock *clock,
		      unsigned int n_workers, struct tg_guard *out);

/* May this client send? */
bool tg_guard_allows(const struct tg_guard *g, const struct tg_addr *client);

/* A token of one limit; true where there is no limit. */
static inline bool tg_guard_take(const struct tg_guard *g, struct tg_guard_state *s,
				 enum tg_guard_limit which, uint64_t now)
{
	uint64_t due = s->due[which];

	if (g->every[which] == 0)
		return true;
	if (due < now)
		due = now;
	if (due - now > g->burst[which]) {
		__atomic_store_n(&s->over[which], s->over[which] + 1, __ATOMIC_RELAXED);
		return false;
	}
	s->due[which] = due + g->every[which];
	return true;
}

/* Uses a token up, if there is one. */
static inline void tg_guard_use(const struct tg_guard *g, struct tg_guard_state *s,
				enum tg_guard_limit which, uint64_t now)
{
	uint64_t due = s->due[which] < now ? now : s->due[which];

	if (g->every[which] != 0 && due - now <= g->burst[which])
		s->due[which] = due + g->every[which];
}

#endif
