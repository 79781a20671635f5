/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of two different servers drawn at random, the one whose measured latency plus configured delay
 * is lower (the power of two choices: M. Mitzenmacher, IEEE TPDS 12(10), 2001). Costs lag; always
 * taking the lowest would send every worker's flows to one server until the next measurement.
 *
 * A server that has not been measured counts as the mean of those that have: it is preferred to
 * the slow half and yields to the fast half, so it gets samples and is not flooded. Equal costs
 * go by open flows. One flow in 64 goes anywhere, so that a server once found slow is measured
 * again.
 */
#include "group.h"

#define EXPLORE_ONE_IN 64

/* Mean of the known costs, 0 when none is. Only while a drawn server is unknown. */
static uint64_t mean_cost_ns(const struct tg_select_group *g, const struct tg_select_view *v)
{
	uint64_t sum = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t cost = __atomic_load_n(&v->cost_ns[g->server[i].id], __ATOMIC_RELAXED);

		sum += cost;
		known += cost != 0;
	}
	return known == 0 ? 0 : sum / known;
}

static uint64_t cost_ns(const struct tg_select_group *g, const struct tg_select_view *v,
			const struct tg_select_server *s)
{
	uint64_t cost = __atomic_load_n(&v->cost_ns[s->id], __ATOMIC_RELAXED);

	if (cost == 0)
		cost = mean_cost_ns(g, v);
	return cost + UINT64_C(1000) * s->delay_us;
}

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	uint32_t i = tg_select_scale(tg_select_random(l), g->n), j;
	const struct tg_select_server *a = &g->server[i], *b;
	uint64_t cost_a, cost_b;

	(void)hash;
	if (g->n == 1 || tg_select_scale(tg_select_random(l), EXPLORE_ONE_IN) == 0)
		return a->id;
	j = tg_select_scale(tg_select_random(l), g->n - 1);
	b = &g->server[j < i ? j : j + 1];
	cost_a = cost_ns(g, v, a);
	cost_b = cost_ns(g, v, b);
	if (cost_a == cost_b) {
		cost_a = tg_select_connections(v, a->id);
		cost_b = tg_select_connections(v, b->id);
	}
	return cost_b < cost_a ? b->id : a->id;
}

const struct tg_policy_ops tg_policy_latency = {.name = "latency", .pick = pick};
