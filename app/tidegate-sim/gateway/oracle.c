/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: what a choice could do at best that knew every server's speed, state and every request
 * on its way. It writes the true time to completion where control writes its prediction, before
 * each turn, so that the production policies choose by it.
 */
#include <math.h>

#include "gateway/private.h"

struct tg_station *tg_sim_station_of(const struct tg_sim_gateway *g,
				     const struct tg_config_server *c)
{
	/* link address 02:00:00:01 and the station's number: see sim_gateway_make.c */
	return &g->sim->station[c->mac[4] << 8 | c->mac[5]];
}

/* Requests that are there or certainly coming: by what the gateway's own counters say. */
static uint32_t outstanding(const struct tg_gateway *g, unsigned int server)
{
	uint32_t n = 0;

	for (unsigned int w = 0; w < g->n_workers; w++) {
		const struct tg_server_stats *st = tg_snapshot_stats(g->snapshot, server, w);

		n += st->waiting + st->fresh;
	}
	return n;
}

static double completion_us(struct tg_sim_gateway *g, const struct tg_station *st, uint32_t n)
{
	const struct tg_server_params *p = &g->sim->scenario->server[st->index];
	double service = tg_dist_mean(&p->station.service_us) * st->slow;
	double c = p->station.workers, wait = n >= p->station.workers ? (n - c + 1) / c : 0;

	if (st->state != TG_STATION_UP)
		return INFINITY;
	return service * (1 + wait) + st->delay_us + p->in.delay_us + p->out.delay_us;
}

static uint32_t word(double us)
{
	return us * 1000 < UINT32_MAX ? (uint32_t)(us * 1000) + 1 : UINT32_MAX;
}

void tg_sim_oracle(struct tg_sim_gateway *g)
{
	const struct tg_snapshot *s = g->gateway.snapshot;
	struct tg_costs *c = g->gateway.costs;

	for (unsigned int i = 0; i < s->n_servers; i++) {
		const struct tg_station *st;
		uint32_t n;

		if (s->server[i] == NULL)
			continue;
		st = tg_sim_station_of(g, s->server[i]);
		n = outstanding(&g->gateway, i);
		c->cost_ns[i] = word(completion_us(g, st, n));
		c->marginal_ns[i] = word(tg_dist_mean(&st->params->service_us) * st->slow /
					 st->params->workers);
		c->stale[i] = 0;
	}
	c->tick++;
}
