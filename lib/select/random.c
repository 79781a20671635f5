/* SPDX-License-Identifier: BSD-3-Clause */
/* Any server, in proportion to its weight: a random place of the Maglev table. */
#include "group.h"

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	(void)hash;
	return tg_policy_maglev.pick(g, l, v, tg_select_random(l));
}

const struct tg_policy_ops tg_policy_random = {.name = "random", .pick = pick};
