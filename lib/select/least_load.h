/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least load for its weight over all servers: private to this stage. The search starts at a
 * random server, so that ties go round and workers that know the same do not all send to the same.
 */
#ifndef TG_SELECT_LEAST_LOAD_H
#define TG_SELECT_LEAST_LOAD_H

#include "group.h"

/* load(v, id): below 2^39, the new flow counted. Weights are below 2^24. */
static inline __attribute__((always_inline)) uint16_t tg_select_least_load(
	const struct tg_select_group *g, struct tg_select_local *l, const struct tg_select_view *v,
	uint64_t (*load)(const struct tg_select_view *v, uint16_t id))
{
	uint32_t i = tg_select_scale(tg_select_random(l), g->n);
	uint16_t best = g->server[i].id;
	uint64_t least = load(v, best), least_weight = tg_select_weight(v, &g->server[i]);

	for (uint32_t left = g->n; left > 1; left--) {
		uint64_t x, weight;

		i = i + 1 < g->n ? i + 1 : 0;
		x = load(v, g->server[i].id);
		weight = tg_select_weight(v, &g->server[i]);
		if (x * least_weight < least * weight) { /* x / weight < least / its weight */
			best = g->server[i].id;
			least = x;
			least_weight = weight;
		}
	}
	return best;
}

#endif
