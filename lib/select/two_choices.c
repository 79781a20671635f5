/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of two different servers drawn at random by weight, the cheaper; of equals the one with fewer
 * open flows (the power of two choices: M. Mitzenmacher, IEEE TPDS 12(10), 2001). Control writes
 * the mean measured latency as cost. Unlike the policies by hash, gateways do not agree.
 */
#include "group.h"

static bool is_better(const struct tg_select_view *v, uint16_t a, uint16_t b)
{
	uint64_t x = tg_select_score(v, a), y = tg_select_score(v, b);

	return x != y ? x < y : tg_select_connections(v, a) < tg_select_connections(v, b);
}

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	uint64_t r = tg_select_random(l);
	struct tg_select_draw d;
	uint16_t probe;
	bool first, second;

	(void)hash;
	tg_select_draw_first(g, r, &d);
	tg_select_draw_to(g, &d, 2);
	if (d.n == 1)
		return d.id[0];
	probe = tg_select_probe(l, v, &d);
	if (probe != TG_NO_SERVER)
		return probe;
	first = tg_select_admits(v, d.id[0], r, 0);
	second = tg_select_admits(v, d.id[1], r, 1);
	if (first != second)
		return d.id[first ? 0 : 1];
	return d.id[is_better(v, d.id[1], d.id[0]) ? 1 : 0];
}

const struct tg_policy_ops tg_policy_two_choices = {.name = "two-choices", .pick = pick};
