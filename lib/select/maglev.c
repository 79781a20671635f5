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
	uint32_t weight, server, place, skip;
};

/* Servers of one weight have their turns in rounds, in their order. */
struct round {
	uint64_t due, stride; /* virtual time: of this round, and to the next */
	struct turn *first, *next, *end;
};

/* A table being filled. A full one has met some 14 taken places for each of its own: whether a place
 * is taken is asked of a bit, of which all fit a core's cache. */
struct filling {
	struct turn *turn;   /* by weight, then by server */
	struct round *round; /* as a heap: the next turn first */
	uint64_t *taken;
	uint32_t n_rounds;
};

static uint32_t seeded(uint64_t name_hash, uint64_t seed, uint32_t n)
{
	return (uint32_t)(XXH3_64bits_withSeed(&name_hash, sizeof(name_hash), seed) % n);
}

static bool before(const struct round *a, const struct round *b)
{
	return a->due != b->due ? a->due < b->due : a->next->server < b->next->server;
}

/* h[i], whose next turn is later than it was, to its place in the heap. */
static void sink(struct round *h, uint32_t n, uint32_t i)
{
	struct round moved = h[i];

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

static int by_weight(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return x->server < y->server ? -1 : 1;
}

static void make_turns(const struct tg_select_group *g, struct turn *t)
{
	for (uint32_t i = 0; i < g->n; i++) {
		t[i].weight = g->server[i].weight;
		t[i].server = i;
		t[i].place = seeded(g->server[i].name_hash, 1, g->table_size);
		t[i].skip = seeded(g->server[i].name_hash, 2, g->table_size - 1) + 1;
	}
	qsort(t, g->n, sizeof(*t), by_weight);
}

static void make_rounds(struct filling *f, uint32_t n)
{
	for (uint32_t from = 0, to; from < n; from = to) {
		uint64_t stride = (UINT64_C(1) << 40) / f->turn[from].weight;

		for (to = from + 1; to < n && f->turn[to].weight == f->turn[from].weight; to++)
			;
		f->round[f->n_rounds++] = (struct round){stride, stride, f->turn + from,
							 f->turn + from, f->turn + to};
	}
	for (uint32_t i = f->n_rounds / 2; i-- > 0;)
		sink(f->round, f->n_rounds, i);
}

/* The first place of its permutation that is free. As the size is prime, it gets to all. */
static void claim(struct tg_select_group *g, struct turn *t, uint64_t *taken)
{
	uint32_t place = t->place;

	while (taken[place / 64] >> (place % 64) & 1) {
		place += t->skip;
		if (place >= g->table_size)
			place -= g->table_size;
	}
	taken[place / 64] |= UINT64_C(1) << (place % 64);
	g->table[place] = g->server[t->server].id;
	t->place = place;
}

static void fill(struct tg_select_group *g, struct filling *f)
{
	make_turns(g, f->turn);
	make_rounds(f, g->n);
	for (uint32_t i = 0; i < g->table_size; i++) {
		struct round *r = f->round;

		claim(g, r->next, f->taken);
		if (++r->next == r->end) {
			r->next = r->first;
			r->due += r->stride;
		}
		if (f->n_rounds > 1)
			sink(r, f->n_rounds, 0);
	}
}

int tg_maglev_fill(struct tg_select_group *g)
{
	struct filling f = {
		.turn = calloc(g->n, sizeof(*f.turn)),
		.round = calloc(g->n, sizeof(*f.round)),
		.taken = calloc(g->table_size / 64 + 1, sizeof(*f.taken)),
	};
	bool possible = f.turn != NULL && f.round != NULL && f.taken != NULL;

	if (possible)
		fill(g, &f);
	free(f.turn);
	free(f.round);
	free(f.taken);
	return possible ? 0 : -ENOMEM;
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
