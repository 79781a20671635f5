/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each in turn, whatever its weight (but 0). Every worker has a cursor of its own. A server in slow
 * start lets part of its turns go to the next one.
 */
#include "group.h"

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	uint16_t id = TG_NO_SERVER;

	(void)hash;
	tg_select_keep_cursor(g, l);
	for (uint32_t left = g->n; left > 0; left--) {
		id = g->server[l->cursor].id;
		l->cursor = l->cursor + 1 < g->n ? l->cursor + 1 : 0;
		if (tg_select_share(v, id) == 256 ||
		    tg_select_admits(v, id, tg_select_random(l), 0))
			break;
	}
	return id;
}

const struct tg_policy_ops tg_policy_round_robin = {.name = "round-robin", .pick = pick};
