/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow's candidates: places of the Maglev table, the first being the flow's own, the next ones
 * drawn by rehashing. So every gateway has the same list, weights are kept, and when a server goes
 * the lists of other flows change little. Choosing the best of a few instead of the best of all
 * keeps gateways and workers that know the same from choosing the same (M. Mitzenmacher, "How
 * useful is old information?", IEEE TPDS 11(1), 2000).
 */
#include "group.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Draws that may meet a candidate again, which all eight do where weights are very unequal. Then, and
 * for the last server there is, the next one by name hash: bounded, and the same on every gateway. */
#define TRIES 8

static bool is_drawn(const struct tg_select_draw *d, uint16_t id)
{
	for (unsigned int i = 0; i < d->n; i++) {
		if (d->id[i] == id)
			return true;
	}
	return false;
}

static uint16_t draw_one(const struct tg_select_group *g, struct tg_select_draw *d)
{
	uint64_t value = d->at;
	uint32_t i;

	for (unsigned int tries = 0; d->n + 1 < g->n && tries < TRIES; tries++) {
		uint16_t id;

		d->at += GOLDEN;
		value = tg_select_mix(d->at);
		id = g->table[tg_select_scale(value, g->table_size)];
		if (!is_drawn(d, id))
			return id;
	}
	i = tg_select_scale(value, g->n);
	while (is_drawn(d, g->server[i].id))
		i = i + 1 < g->n ? i + 1 : 0;
	return g->server[i].id;
}

void tg_select_draw_first(const struct tg_select_group *g, uint64_t hash, struct tg_select_draw *d)
{
	d->at = hash;
	d->n = 1;
	d->id[0] = g->table[tg_select_scale(hash, g->table_size)];
}

void tg_select_draw_to(const struct tg_select_group *g, struct tg_select_draw *d, unsigned int n)
{
	if (n > g->n)
		n = g->n;
	while (d->n < n) {
		uint16_t id = draw_one(g, d);

		d->id[d->n++] = id;
	}
}

unsigned int tg_select_candidates(const struct tg_select_group *g, uint64_t hash, uint16_t *out,
				  unsigned int n)
{
	struct tg_select_draw d;

	if (g->n == 0 || n == 0)
		return 0;
	tg_select_draw_first(g, hash, &d);
	tg_select_draw_to(g, &d, n < TG_SELECT_CANDIDATES_MAX ? n : TG_SELECT_CANDIDATES_MAX);
	for (unsigned int i = 0; i < d.n; i++)
		out[i] = d.id[i];
	return d.n;
}

/* Only among the flow's candidates: that is where another gateway, or this one after a restart,
 * looks for it. */
uint16_t tg_select_probe(struct tg_select_local *l, const struct tg_select_view *v,
			 const struct tg_select_draw *d)
{
	if (v->stale == NULL || l->debt_milli > 0)
		return TG_NO_SERVER;
	for (unsigned int i = 0; i < d->n; i++) {
		uint32_t *mark = &v->stale[d->id[i]];

		if (__atomic_load_n(mark, __ATOMIC_RELAXED) == 0 ||
		    __atomic_exchange_n(mark, 0, __ATOMIC_RELAXED) == 0)
			continue;
		tg_select_request(l, true);
		l->probe = true;
		return d->id[i];
	}
	return TG_NO_SERVER;
}

struct best {
	uint64_t score;
	uint16_t id;
};

/* The earlier of equals stays. */
static void compare(struct best *b, const struct tg_select_view *v, const struct tg_select_draw *d,
		    unsigned int from, uint64_t hash)
{
	for (unsigned int i = from; i < d->n; i++) {
		uint64_t score = tg_select_score(v, d->id[i]);

		if (score < b->score && tg_select_admits(v, d->id[i], hash, i)) {
			b->score = score;
			b->id = d->id[i];
		}
	}
}

/* Above twice the median: all that were drawn are slow, which a few slow servers already make likely
 * for some flows. As of the tick, both: what this worker gave since raises all alike. Without a
 * median there is nothing to compare with. */
static bool is_slow(const struct best *b, const struct tg_select_view *v)
{
	uint64_t median;

	if (b->id == TG_NO_SERVER)
		return true;
	median = tg_select_word(v->median_ns, b->id);
	return median != 0 && tg_select_word(v->cost_ns, b->id) > 2 * median;
}

uint16_t tg_select_best_candidate(const struct tg_select_group *g, struct tg_select_local *l,
				  const struct tg_select_view *v, uint64_t hash)
{
	struct best best = {UINT64_MAX, TG_NO_SERVER};
	struct tg_select_draw d;
	uint16_t probe;

	tg_select_draw_first(g, hash, &d);
	tg_select_draw_to(g, &d, TG_SELECT_CANDIDATES);
	probe = tg_select_probe(l, v, &d);
	if (probe != TG_NO_SERVER)
		return probe;
	compare(&best, v, &d, 0, hash);
	for (unsigned int round = 0; round < TG_SELECT_REDRAWS && is_slow(&best, v); round++) {
		unsigned int seen = d.n;

		tg_select_draw_to(g, &d, seen + TG_SELECT_CANDIDATES);
		compare(&best, v, &d, seen, hash);
	}
	return best.id != TG_NO_SERVER ? best.id : d.id[0];
}
