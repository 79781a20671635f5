/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server with the fewest open flows for its weight, the new one counted: least
 * (connections + 1) / weight. This worker's own flows count at once; what workers know of each
 * other comes through control, which lags.
 */
#include "least_load.h"

static uint64_t load(const struct tg_select_view *v, uint16_t id)
{
	return tg_select_connections(v, id) + 1;
}

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	(void)hash;
	return tg_select_least_load(g, l, v, load);
}

const struct tg_policy_ops tg_policy_least_connections = {
	.name = "least-connections",
	.pick = pick,
};
