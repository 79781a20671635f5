/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the policies share: private to this stage. A policy's pick is called with at least one
 * candidate in the group.
 */
#ifndef TG_SELECT_GROUP_H
#define TG_SELECT_GROUP_H

#include "tg_select.h"

#define TG_SELECT_PICKED_MAX 0xffffffu /* keeps every product below 2^64 */

struct tg_select_group {
	const struct tg_policy_ops *ops;
	struct tg_select_server *server; /* candidates, ordered by name_hash */
	uint16_t *table;                 /* Maglev: server ids */
	uint32_t n;
	uint32_t table_size; /* prime */
	uint32_t max_weight;
	uint32_t users; /* that free it; control's */
};

extern const struct tg_policy_ops tg_policy_maglev;
extern const struct tg_policy_ops tg_policy_rendezvous;
extern const struct tg_policy_ops tg_policy_round_robin;
extern const struct tg_policy_ops tg_policy_weighted_round_robin;
extern const struct tg_policy_ops tg_policy_least_connections;
extern const struct tg_policy_ops tg_policy_jsq;
extern const struct tg_policy_ops tg_policy_two_choices;
extern const struct tg_policy_ops tg_policy_bid;
extern const struct tg_policy_ops tg_policy_random;
extern const struct tg_policy_ops tg_policy_model;
extern const struct tg_policy_ops tg_policy_queue;
extern const struct tg_policy_ops tg_policy_hybrid_seed;
extern const struct tg_policy_ops tg_policy_completion;
extern const struct tg_policy_ops tg_policy_latency;

/* Table size for n servers, 0 when they are too many. */
uint32_t tg_maglev_size(unsigned int n);

/* Fills g->table from g->server (n > 0, weights > 0). -ENOMEM. */
int tg_maglev_fill(struct tg_select_group *g);

/* 0..n-1 from a 64-bit value whose high bits are good, without division. */
static inline uint32_t tg_select_scale(uint64_t value, uint32_t n)
{
	return (uint32_t)(((value >> 32) * n) >> 32);
}

/* xorshift64* (S. Vigna, "An experimental exploration of Marsaglia's xorshift generators") */
static inline uint64_t tg_select_random(struct tg_select_local *l)
{
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return l->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* Every bit of x in every bit of the result (the finalizer of S. Vigna's splitmix64). */
static inline uint64_t tg_select_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* One word that control may write at the same time. */
static inline uint32_t tg_select_word(const uint32_t *array, uint16_t id)
{
	return array != NULL ? __atomic_load_n(&array[id], __ATOMIC_RELAXED) : 0;
}

/* Flows open at a server, by all workers as far as this one knows: its own exactly, the others'
 * as control last summed them. */
static inline uint64_t tg_select_connections(const struct tg_select_view *v, uint16_t id)
{
	return (uint64_t)tg_select_word(v->own, id) + tg_select_word(v->others, id);
}

/* Flows that went to the server since the tick, which control does not know of yet: this worker's,
 * and as many by each of the others, whose lines it does not read. Below 2^30. */
static inline uint64_t tg_select_picked(const struct tg_select_view *v, uint16_t id)
{
	const struct tg_select_tally *t = v->tally;

	if (t == NULL || t[id].tick != tg_select_word(v->tick, 0))
		return 0;
	return (uint64_t)t[id].picked * (v->workers > 1 ? v->workers : 1);
}

/* 256 less what slow start withholds: 1..256. */
static inline uint32_t tg_select_share(const struct tg_select_view *v, uint16_t id)
{
	uint32_t withheld = tg_select_word(v->withheld_256, id);

	return withheld < 255 ? 256 - withheld : 1;
}

/* The weight that a server has for now, in 256ths: below 2^24, never 0. */
static inline uint64_t tg_select_weight(const struct tg_select_view *v,
					const struct tg_select_server *s)
{
	return (uint64_t)s->weight * tg_select_share(v, s->id);
}

/* May this flow go to the server, as its i-th candidate? Slow start lets a part of them. By the
 * flow's hash, so that gateways agree and a growing share only ever adds flows. */
static inline bool tg_select_admits(const struct tg_select_view *v, uint16_t id, uint64_t hash,
				    unsigned int i)
{
	uint32_t share = tg_select_share(v, id);

	return share == 256 || (tg_select_mix(~hash) >> (8 * (i % 8)) & 0xff) < share;
}

/* What the flow would take at the server, ns. */
static inline uint64_t tg_select_score(const struct tg_select_view *v, uint16_t id)
{
	uint32_t cost = tg_select_word(v->cost_ns, id);

	if (cost == 0)
		cost = tg_select_word(v->median_ns, id);
	return cost + tg_select_picked(v, id) * tg_select_word(v->marginal_ns, id);
}

/* A round robin's cursor among the servers. The first time, and when servers went, it is a fraction
 * of the 32-bit range (small if they went): to the same fraction of the servers. */
static inline void tg_select_keep_cursor(const struct tg_select_group *g, struct tg_select_local *l)
{
	if (l->cursor >= g->n)
		l->cursor = tg_select_scale((uint64_t)l->cursor << 32, g->n);
}

/* A flow's candidates as far as they were drawn. */
struct tg_select_draw {
	uint64_t at;
	unsigned int n;
	uint16_t id[TG_SELECT_CANDIDATES_MAX];
};

/* The first candidate; and as many as are missing to n (or to all there are). */
void tg_select_draw_first(const struct tg_select_group *g, uint64_t hash, struct tg_select_draw *d);
void tg_select_draw_to(const struct tg_select_group *g, struct tg_select_draw *d, unsigned int n);

/* If a probe is due at one of the drawn and the debt allows it: that server, else TG_NO_SERVER. */
uint16_t tg_select_probe(struct tg_select_local *l, const struct tg_select_view *v,
			 const struct tg_select_draw *d);

/* The cheapest of all servers, and one in 20 at random: model, queue, hybrid-seed. */
uint16_t tg_select_least_cost(const struct tg_select_group *g, struct tg_select_local *l,
			      const struct tg_select_view *v, uint64_t hash);

/* The cheapest of the flow's candidates, with redraw and probes: completion, latency. */
uint16_t tg_select_best_candidate(const struct tg_select_group *g, struct tg_select_local *l,
				  const struct tg_select_view *v, uint64_t hash);

#endif
