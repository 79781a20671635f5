/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maglev hashing: D. Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load
 * Balancer", NSDI '16, section 3.4. Servers take turns at claiming the next free place of their
 * own permutation of the table, so shares are even and the loss of one moves little else.
 *
 * Weights are shares of turns, by stride scheduling (C. Waldspurger, W. Weihl, MIT/LCS/TM-528,
 * 1995): after a turn a server waits 1/weight. With equal weights that is the paper's round.
 */
#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "group.h"

#define ENTRIES_A_SERVER 100

uint32_t tg_maglev_size(unsigned int n)
{
	/* the greatest primes below powers of two */
	static const uint32_t primes[] = {1021,  2039,   4093,   8191,   16381,  32749,
					  65521, 131071, 262139, 524287, 1048573};

	for (unsigned int i = 0; i < sizeof(primes) / sizeof(primes[0]); i++) {
		if (primes[i] / ENTRIES_A_SERVER >= n)
			return primes[i];
	}
	return 0;
}

/* A server on its way through its permutation: place = (offset + j * skip) mod size. */
struct turn {
	uint64_t due; /* virtual time */
	uint32_t server, place, skip;
};

static uint32_t seeded(uint64_t name_hash, uint64_t seed, uint32_t n)
{
	return (uint32_t)(XXH3_64bits_withSeed(&name_hash, sizeof(name_hash), seed) % n);
}

static bool before(const struct turn *a, const struct turn *b)
{
	return a->due != b->due ? a->due < b->due : a->server < b->server;
}

/* h[i], due later than it was, to its place in the heap. */
static void sink(struct turn *h, uint32_t n, uint32_t i)
{
	struct turn moved = h[i];

	for (uint32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && before(&h[child + 1], &h[child]))
			child++;
		if (before(&moved, &h[child]))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = moved;
}

static uint64_t stride(const struct tg_select_group *g, uint32_t server)
{
	return (UINT64_C(1) << 40) / g->server[server].weight;
}

/* All turns, as a heap: the next one first. */
static struct turn *make_turns(const struct tg_select_group *g)
{
	struct turn *h = calloc(g->n, sizeof(*h));

	if (h == NULL)
		return NULL;
	for (uint32_t i = 0; i < g->n; i++) {
		h[i].due = stride(g, i);
		h[i].server = i;
		h[i].place = seeded(g->server[i].name_hash, 1, g->table_size);
		h[i].skip = seeded(g->server[i].name_hash, 2, g->table_size - 1) + 1;
	}
	for (uint32_t i = g->n / 2; i-- > 0;)
		sink(h, g->n, i);
	return h;
}

/* The first place of its permutation that is free. As the size is prime, it gets to all. */
static uint32_t claim(struct turn *t, const struct tg_select_group *g)
{
	while (g->table[t->place] != TG_NO_SERVER) {
		t->place += t->skip;
		if (t->place >= g->table_size)
			t->place -= g->table_size;
	}
	return t->place;
}

int tg_maglev_fill(struct tg_select_group *g)
{
	struct turn *next = make_turns(g);

	if (next == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->table_size; i++)
		g->table[i] = TG_NO_SERVER;
	for (uint32_t taken = 0; taken < g->table_size; taken++) {
		g->table[claim(next, g)] = g->server[next->server].id;
		next->due += stride(g, next->server);
		sink(next, g->n, 0);
	}
	free(next);
	return 0;
}

/* What slow start does not let to the flow's place goes to its next candidates. */
static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	struct tg_select_draw d;

	(void)l;
	tg_select_draw_first(g, hash, &d);
	if (tg_select_admits(v, d.id[0], hash, 0))
		return d.id[0];
	tg_select_draw_to(g, &d, TG_SELECT_CANDIDATES);
	for (unsigned int i = 1; i < d.n; i++) {
		if (tg_select_admits(v, d.id[i], hash, i))
			return d.id[i];
	}
	return d.id[0];
}

const struct tg_policy_ops tg_policy_maglev = {.name = "maglev", .pick = pick};
