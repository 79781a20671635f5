/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server with the fewest open flows for its weight, the new one counted: least
 * (connections + 1) / weight. Workers share what they know through control, which lags; each
 * starts its search at a random server, so that ties go round and workers that know the same do
 * not all send to the same.
 */
#include "group.h"

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	uint32_t i = tg_select_scale(tg_select_random(l), g->n);
	const struct tg_select_server *best = NULL;
	uint64_t least = 0;

	(void)hash;
	for (uint32_t left = g->n; left > 0; left--) {
		const struct tg_select_server *s = &g->server[i];
		uint64_t load = tg_select_connections(v, s->id) + 1;

		/* load / weight < least / best's weight; 34 bits by 16 */
		if (best == NULL || load * best->weight < least * s->weight) {
			best = s;
			least = load;
		}
		i = i + 1 < g->n ? i + 1 : 0;
	}
	return best->id;
}

const struct tg_policy_ops tg_policy_least_connections = {
	.name = "least-connections",
	.pick = pick,
};
