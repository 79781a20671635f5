/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control tells the workers about the servers, each tick: plain arrays by server id, which
 * tg_select_view points at. Made from what load.h knows.
 *
 * Thread-safety: control writes relaxed single words; workers read. `stale` is also cleared by them.
 */
#ifndef TG_COSTS_H
#define TG_COSTS_H

#include <stdint.h>

#include "tg_config.h"

struct tg_costs {
	uint32_t tick; /* changes last of all */
	uint32_t cost_ns[TG_SERVERS_MAX];
	uint32_t marginal_ns[TG_SERVERS_MAX];
	uint32_t median_ns[TG_SERVERS_MAX];
	uint32_t load_256[TG_SERVERS_MAX];
	uint32_t withheld_256[TG_SERVERS_MAX];
	uint32_t stale[TG_SERVERS_MAX];
	uint32_t crowd_256[TG_SERVERS_MAX]; /* requests a worker of the server, at least 256 */
};

struct tg_gateway;

/* After tg_load_update: publishes it in g->costs. */
void tg_costs_update(struct tg_gateway *g, uint64_t now);

#endif
