/* SPDX-License-Identifier: BSD-3-Clause */
/* Each in turn, whatever its weight (but 0). Every worker has a cursor of its own. */
#include "group.h"

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	uint32_t i = l->cursor;

	(void)v;
	(void)hash;
	/* the first time, and when servers went: a fraction of the 32-bit range (small if they
	 * went) to the same fraction of the servers */
	if (i >= g->n)
		i = tg_select_scale((uint64_t)i << 32, g->n);
	l->cursor = i + 1 < g->n ? i + 1 : 0;
	return g->server[i].id;
}

const struct tg_policy_ops tg_policy_round_robin = {.name = "round-robin", .pick = pick};
