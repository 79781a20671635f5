/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Join the shortest queue: the server with the fewest requests in its system for its weight, the
 * new one and those given since the tick counted. With the servers' speeds as weights this is the
 * JSQ that is weighted by speed.
 */
#include "least_load.h"

/* in 256ths of a request */
static uint64_t load(const struct tg_select_view *v, uint16_t id)
{
	return (uint64_t)tg_select_word(v->load_256, id) + (tg_select_picked(v, id) + 1) * 256;
}

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	(void)hash;
	return tg_select_least_load(g, l, v, load);
}

const struct tg_policy_ops tg_policy_jsq = {.name = "jsq", .pick = pick};
