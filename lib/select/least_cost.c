/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What model, queue and hybrid-seed have in common: the least cost of all servers, and with
 * epsilon = 0.05 any server, each as likely. Between equals weights decide: the search begins with
 * a server drawn by weight, and only a cheaper one takes its place.
 */
#include "group.h"

#define EXPLORE_ONE_IN 20

uint16_t tg_select_least_cost(const struct tg_select_group *g, struct tg_select_local *l,
			      const struct tg_select_view *v, uint64_t hash)
{
	uint64_t r = tg_select_random(l), least;
	uint16_t best;

	(void)hash;
	if (tg_select_scale(r, EXPLORE_ONE_IN) == 0)
		return g->server[tg_select_scale(tg_select_random(l), g->n)].id;
	r = tg_select_random(l);
	best = g->table[tg_select_scale(r, g->table_size)];
	least = tg_select_admits(v, best, r, 0) ? tg_select_score(v, best) : UINT64_MAX;
	for (uint32_t i = 0; i < g->n; i++) {
		uint16_t id = g->server[i].id;
		uint64_t score = tg_select_score(v, id);

		if (score < least && tg_select_admits(v, id, r, i)) {
			best = id;
			least = score;
		}
	}
	return best;
}
