/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool's memory, and the way of most packets through it: a calm segment's,
 * counted before, well below the threshold, with a token at hand. All else is
 * tg_admit_segment's, tg_admit_ask's and tg_admit_take's.
 *
 * Packets go that way by the burst: what is the same for all of them is read
 * once, and what they take together is counted once.
 *
 * Thread-safety: of each structure it says who writes; others read relaxed.
 * tg_admit_quick_*: as tg_admit_ask.
 */
#ifndef TG_ADMIT_QUICK_H
#define TG_ADMIT_QUICK_H

#include <string.h>

#include <rte_branch_prediction.h>

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

/* What one lcore counts of a slot's segment: in interval `number` total - begun were asked for. Half a
 * cache line, so none lies in two. */
struct tg_admit_slot {
	uint32_t tag;
	uint32_t number;
	uint64_t begun, total;
	uint32_t admitted; /* in that interval */
	uint32_t seen;     /* the interval in which the slot's own segment last asked */
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
	uint32_t number;            /* low bits of the interval that base and auxiliary are of */
	int64_t base, auxiliary;    /* leased, not spent */
	struct tg_admit_slot *slot; /* one more than there are: strangers' */
	struct tg_admit_owner *owner;
	struct tg_admit_stats stats;
} LINE;

struct tg_admit_band {
	uint32_t hi, hi_own; /* hi_own: at least one of the lcores has as much when all have hi */
	uint32_t lo, lo_own;
};

/* Costs in one interval, of all lcores. */
struct tg_admit_thresholds {
	struct tg_admit_band segment, strangers;
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
	bool plain; /* segments are networks, without rules and caps */
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
	uint32_t *hot; /* by slot, and strangers': 0 calm; else 1 + the last interval not below lo, low bits */
	struct tg_admit_lcore lcore[];
};

static inline uint64_t tg_admit_read(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Counters have one writer. */
static inline void tg_admit_count(uint64_t *word, uint64_t more)
{
	__atomic_store_n(word, *word + more, __ATOMIC_RELAXED);
}

/* The slot as the lcore counts it in its interval. */
static inline struct tg_admit_slot *tg_admit_slot_now(struct tg_admit_lcore *l, uint32_t slot)
{
	struct tg_admit_slot *s = &l->slot[slot];

	if (s->number == l->number)
		return s;
	__atomic_store_n(&s->begun, s->total, __ATOMIC_RELAXED);
	__atomic_store_n(&s->admitted, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->number, l->number, __ATOMIC_RELEASE);
	return s;
}

/* Folded multiplication with secret words, twice: who does not know them cannot aim. */
static inline uint64_t tg_admit_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)a * b;

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

/* Where the segment is counted that these words and the service make. A tag is
 * never 0: nobody's. */
static inline void tg_admit_place(const struct tg_admit_pool *p, uint64_t a, uint64_t b,
				  uint16_t service, struct tg_admit_segment *s)
{
	uint64_t h = tg_admit_fold(a ^ p->key[0], b ^ p->key[1]);

	h = tg_admit_fold(h ^ p->key[2], service ^ p->key[3]);
	s->slot = (uint32_t)h & p->slot_mask;
	s->tag = (uint32_t)(h >> 32) | 1;
}

/* May any slot be in burst, as one lcore knows the time? One that another lcore
 * has just put back by an interval is still taken for one. */
static inline bool tg_admit_any_burst(const struct tg_admit_pool *p, uint32_t number)
{
	uint32_t seen = __atomic_load_n(&p->burst_seen, __ATOMIC_RELAXED);

	return seen != 0 && (int32_t)(number + 1 - seen) <= (int32_t)p->params.calm_intervals + 1;
}

/* An lcore's packets on the quick way. From begin to end it does nothing else
 * with the pool. */
struct tg_admit_quick {
	struct tg_admit_pool *pool;
	struct tg_admit_lcore *lcore;
	uint64_t left;  /* tokens at hand */
	uint64_t spent; /* of them */
	uint64_t hi_own;
	bool any_burst;
};

static inline void tg_admit_quick_begin(struct tg_admit_quick *q, struct tg_admit_pool *p,
					unsigned int lcore)
{
	struct tg_admit_lcore *l = &p->lcore[lcore];

	q->pool = p;
	q->lcore = l;
	q->left = p->plain ? (uint64_t)l->base : 0;
	q->spent = 0;
	q->hi_own = p->thresholds.segment.hi_own;
	q->any_burst = tg_admit_any_burst(p, l->number);
}

static inline void tg_admit_quick_end(const struct tg_admit_quick *q)
{
	if (q->spent == 0)
		return;
	q->lcore->base -= (int64_t)q->spent;
	tg_admit_count(&q->lcore->stats.asked[TG_ADMIT_CALM], q->spent);
	tg_admit_count(&q->lcore->stats.admitted[TG_ADMIT_CALM], q->spent);
}

/*
 * Counts a packet and takes its tokens, if that is all there is to do: true.
 * Else false, and nothing was done. What it does is what tg_admit_ask and
 * tg_admit_take would do.
 */
static inline bool tg_admit_quick_take(struct tg_admit_quick *q, const struct tg_addr *client,
				       uint16_t service, uint32_t cost)
{
	const struct tg_admit_pool *p = q->pool;
	const uint64_t *mask = p->mask[!tg_addr_is_v4(client)];
	struct tg_admit_segment s;
	struct tg_admit_slot *slot;
	uint64_t words[2], total;

	if (q->left < cost)
		return false;
	memcpy(words, client->b, sizeof(words));
	tg_admit_place(p, words[0] & mask[0], words[1] & mask[1], service, &s);
	slot = &q->lcore->slot[s.slot];
	if (unlikely(slot->tag != s.tag) ||
	    (q->any_burst && __atomic_load_n(&p->hot[s.slot], __ATOMIC_RELAXED) != 0))
		return false;
	slot = tg_admit_slot_now(q->lcore, s.slot);
	total = slot->total + cost;
	if (unlikely(total - slot->begun >= q->hi_own))
		return false;
	__atomic_store_n(&slot->total, total, __ATOMIC_RELAXED);
	slot->seen = slot->number;
	q->left -= cost;
	q->spent += cost;
	return true;
}

#endif
