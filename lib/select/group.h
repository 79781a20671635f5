/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the policies share: private to this stage. A policy's pick is called with at least one
 * candidate in the group.
 */
#ifndef TG_SELECT_GROUP_H
#define TG_SELECT_GROUP_H

#include "tg_select.h"

struct tg_select_group {
	const struct tg_policy_ops *ops;
	struct tg_select_server *server; /* candidates, ordered by name_hash */
	uint16_t *table;                 /* Maglev: server ids */
	uint32_t n;
	uint32_t table_size; /* prime */
};

extern const struct tg_policy_ops tg_policy_maglev;
extern const struct tg_policy_ops tg_policy_round_robin;
extern const struct tg_policy_ops tg_policy_least_connections;
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

/* Flows open at a server, by all workers as far as this one knows: its own exactly, the others'
 * as control last summed them. */
static inline uint64_t tg_select_connections(const struct tg_select_view *v, uint16_t id)
{
	return (uint64_t)__atomic_load_n(&v->own[id], __ATOMIC_RELAXED) +
	       __atomic_load_n(&v->others[id], __ATOMIC_RELAXED);
}

#endif
