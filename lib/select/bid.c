/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers bid for each connection themselves (lib/bid). Where there is no auction - SYNs above the rate
 * that is broadcast, with data, of a capture - two choices decide.
 */
#include "group.h"

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	return tg_policy_two_choices.pick(g, l, v, hash);
}

const struct tg_policy_ops tg_policy_bid = {.name = "bid", .pick = pick};
