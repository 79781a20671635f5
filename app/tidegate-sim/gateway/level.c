/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests at the servers: what control makes of its counters (q, load.h) beside what is at the
 * stations at that moment, waiting or at work. Other gateways' requests are at a station too. Compared where q is
 * published; what new flows are placed by, always.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "choice/load.h"
#include "gateway/private.h"

#define WINDOW_NS UINT64_C(100000000)

/* Sums over samples: all since the warm-up ended, and of the open window. */
struct sums {
	uint64_t n;
	double there, said;
};

struct tg_sim_level {
	struct sums all, counted, open;
	double bound;
	double closed_there, off; /* over closed windows: means there; differences of the means */
	uint64_t ends;
};

int tg_sim_level_start(struct tg_sim_gateway *g)
{
	g->level = calloc(g->sim->scenario->n_servers, sizeof(*g->level));
	return g->level != NULL ? 0 : -ENOMEM;
}

void tg_sim_level_begin(struct tg_sim_gateway *g)
{
	memset(g->level, 0, g->sim->scenario->n_servers * sizeof(*g->level));
}

static void add(struct sums *s, double there, double said)
{
	s->n++;
	s->there += there;
	s->said += said;
}

static void sample(struct tg_sim_level *l, const struct tg_station *st,
		   const struct tg_load_view *v, uint64_t now)
{
	double there = (double)st->waiting + st->busy, said = v->in_system;

	add(&l->all, there, said);
	l->bound += v->in_system_bound;
	if (v->in_system_kind != TG_REQUESTS_COUNTED)
		return;
	if (now >= l->ends && l->open.n > 0) {
		l->closed_there += l->open.there / (double)l->open.n;
		l->off += fabs(l->open.said - l->open.there) / (double)l->open.n;
		l->open = (struct sums){0};
	}
	if (l->open.n == 0)
		l->ends = now + WINDOW_NS;
	add(&l->open, there, said);
	add(&l->counted, there, said);
}

void tg_sim_level_sample(struct tg_sim_gateway *g, uint64_t now)
{
	const struct tg_snapshot *s = g->gateway.snapshot;

	if (g->level_due == g->gateway.costs_due) /* control looks less often than it ticks */
		return;
	g->level_due = g->gateway.costs_due;
	for (unsigned int i = 0; i < s->n_servers; i++) {
		const struct tg_load_view *v = tg_load_of(g->gateway.load, (uint16_t)i);
		const struct tg_station *st;

		if (v == NULL || s->server[i] == NULL)
			continue;
		st = tg_sim_station_of(g, s->server[i]);
		sample(&g->level[st->index], st, v, now);
	}
}

json_t *tg_sim_level_json(const struct tg_sim_gateway *g, const struct tg_config_server *server)
{
	const struct tg_sim_level *l = &g->level[tg_sim_station_of(g, server)->index];
	double n = (double)l->all.n;
	/* published for a moment or two is as good as never */
	const struct sums *s = l->counted.n > l->all.n / 2 ? &l->counted : NULL;

	if (l->all.n == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:o}", "there",
			 s != NULL ? s->there / (double)s->n : l->all.there / n, "estimated",
			 s != NULL ? s->said / (double)s->n : 0., "counted",
			 (double)l->counted.n / n, "bound", l->bound / n, "taken", l->all.said / n,
			 "window_error",
			 l->closed_there > 0 ? json_real(l->off / l->closed_there) : json_null());
}
