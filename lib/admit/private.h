/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool's memory.
 *
 * Thread-safety: of each structure it says who writes; others read relaxed.
 */
#ifndef TG_ADMIT_PRIVATE_H
#define TG_ADMIT_PRIVATE_H

#include "tg_admit.h"

#define LINE __attribute__((aligned(64)))

/* One interval's tokens. Written by the lcore that turns the interval, before it is published; what is
 * leased of them: by all (compare and swap). */
struct tg_admit_cell {
	uint64_t number; /* of the interval */
	uint64_t start;  /* ticks */
	int64_t base, auxiliary;
	uint64_t base_a_tick, auxiliary_a_tick; /* 2^-32 */
	int64_t extra;                          /* 0 until a burst begins in it */
	bool unlimited;                         /* it began without a rate */
	uint64_t extra_a_tick;
	LINE int64_t base_leased;
	int64_t auxiliary_leased, extra_leased;
};

/* What one lcore counts of a slot's segment; `count` and `admitted` are of interval `number`. */
struct tg_admit_slot {
	uint32_t tag;
	uint32_t number;
	uint32_t count;
	uint32_t admitted;
	uint64_t total;
};

/* Whose slot it is: for people. Read while it is written at worst: then what is shown is wrong once. */
struct tg_admit_owner {
	struct tg_addr client;
	uint16_t service;
	uint8_t value, rule;
	bool used;
};

/* One lcore's: it alone writes. */
struct tg_admit_lcore {
	uint32_t number;         /* low bits of the interval that base and auxiliary are of */
	int64_t base, auxiliary; /* leased, not spent */
	struct tg_admit_slot *slot;
	struct tg_admit_owner *owner;
	struct tg_admit_stats stats;
} LINE;

/* hi, lo and cap as costs in one interval, of all lcores. */
struct tg_admit_thresholds {
	uint32_t hi, hi_own; /* hi_own: at least one of the lcores has as much when all have hi */
	uint32_t lo, lo_own;
	uint32_t max, max_own; /* 0: none */
	uint64_t max_a_tick;   /* 2^-32 */
};

struct tg_admit_pool {
	/* immutable */
	struct tg_admit_params params;
	struct tg_clock clock;
	uint64_t interval;                       /* ticks */
	uint64_t key[4];                         /* secret */
	uint64_t mask[2][2];                     /* prefixes: of IPv4, of IPv6 */
	uint64_t rules[TG_ADMIT_RULES_MAX][4];   /* by falling length: address, mask */
	uint8_t rule_number[TG_ADMIT_RULES_MAX]; /* of params.rule */
	uint8_t named_by[TG_ADMIT_RULES_MAX]; /* of params.rule: 1 + the first rule of that name */
	uint32_t slot_mask;
	unsigned int n_lcores;
	/* control writes */
	LINE uint64_t rate_per_s;
	uint64_t headroom_per_s;
	struct tg_admit_thresholds thresholds; /* words may be of two settings for a moment */
	int64_t chunk;                         /* leased at once */
	/* whoever turns the interval */
	LINE uint64_t turn;  /* cell[turn & 1] is in force */
	uint64_t claim;      /* turn, or turn + 1 while it is being turned */
	uint64_t debt, rest; /* rest: 2^-32 tokens that R left over */
	/* who sees a burst */
	LINE uint32_t burst_seen; /* 1 + the last interval in which a segment in burst asked */
	struct tg_admit_cell cell[2];
	uint32_t *hot; /* by slot: 0 calm; else 1 + the last interval not below lo, low bits */
	struct tg_admit_lcore lcore[];
};

/* segment.c */
void tg_admit_compile_keys(struct tg_admit_pool *p, const uint8_t *secret);
/* monitor.c */
void tg_admit_compile_thresholds(struct tg_admit_pool *p, uint64_t rate_per_s);
/* The slot as the lcore counts it in its interval. */
struct tg_admit_slot *tg_admit_slot_now(struct tg_admit_lcore *l, uint32_t slot);
/* tokens.c */
bool tg_admit_lease(struct tg_admit_pool *p, struct tg_admit_lcore *l, enum tg_admit_class class,
		    int64_t cost, uint64_t now);
void tg_admit_first_cell(struct tg_admit_pool *p, uint64_t now);

static inline const struct tg_admit_cell *tg_admit_cell_now(const struct tg_admit_pool *p)
{
	return &p->cell[__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) & 1];
}

static inline uint64_t tg_admit_read(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Counters have one writer. */
static inline void tg_admit_count(uint64_t *word, uint64_t more)
{
	__atomic_store_n(word, *word + more, __ATOMIC_RELAXED);
}

/* Of n that come steadily, how many have after `ticks`? The first one at once. */
static inline int64_t tg_admit_accrued(int64_t n, uint64_t a_tick, uint64_t ticks)
{
	uint64_t due = (uint64_t)((unsigned __int128)ticks * a_tick >> 32) + 1;

	return due < (uint64_t)n ? (int64_t)due : n;
}

#endif
