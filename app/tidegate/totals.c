/* SPDX-License-Identifier: BSD-3-Clause */
#include "totals.h"

#include <errno.h>
#include <stdlib.h>

static void add_gate(struct tg_gate_stats *all, const struct tg_gate_stats *g)
{
	uint64_t max = tg_stat_read(&g->max_sojourn_ns);

	all->checked += tg_stat_read(&g->checked);
	all->late += tg_stat_read(&g->late);
	all->late_dropped += tg_stat_read(&g->late_dropped);
	all->late_uncertain += tg_stat_read(&g->late_uncertain);
	if (max > all->max_sojourn_ns)
		all->max_sojourn_ns = max;
	tg_hist_add(&all->sojourn, &g->sojourn);
}

static void add_worker(struct tg_totals *t, const struct tg_worker *w)
{
	const struct tg_flow_stats *f = tg_flow_table_stats(w->flows);

	/* the counters before gate are one array of words */
	const uint64_t *from = (const uint64_t *)&w->stats;
	uint64_t *to = (uint64_t *)&t->all;

	for (size_t i = 0; i < offsetof(struct tg_worker_stats, gate) / sizeof(uint64_t); i++)
		to[i] += tg_stat_read(&from[i]);
	add_gate(&t->all.gate, &w->stats.gate);
	t->flows.inserted += tg_stat_read(&f->inserted);
	t->flows.expired += tg_stat_read(&f->expired);
	t->flows.removed += tg_stat_read(&f->removed);
	t->flows.full += tg_stat_read(&f->full);
	t->flow_slots += tg_flow_slots(w->flows);
}

static void add_server(struct tg_totals_server *out, const struct tg_server_stats *st)
{
	out->flows += tg_stat_read(&st->flows);
	out->packets += tg_stat_read(&st->packets);
	out->bytes += tg_stat_read(&st->bytes);
	out->setup += tg_stat_read(&st->setup);
	for (unsigned int e = 0; e < TG_ESTIMATOR_COUNT; e++)
		out->exchanges[e] += tg_stat_read(&st->exchanges[e]);
	tg_hist_add(&out->latency, &st->latency);
	tg_hist_add(&out->server, &st->server);
}

/* By service, then as configured: ids of one service may be scattered after reloads. */
static int by_service(const void *a, const void *b)
{
	const struct tg_totals_server *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	return x->config < y->config ? -1 : x->config > y->config;
}

int tg_totals_collect(const struct tg_snapshot *s, struct tg_worker *const *workers, unsigned int n,
		      struct tg_totals *out)
{
	memset(out, 0, sizeof(*out));
	out->snapshot = s;
	out->server = calloc(s->n_servers + 1, sizeof(*out->server));
	if (out->server == NULL)
		return -ENOMEM;
	for (unsigned int w = 0; w < n; w++)
		add_worker(out, workers[w]);
	for (unsigned int r = 1; r < TG_DROP_REASON_COUNT; r++)
		out->dropped += out->all.dropped[r];
	for (unsigned int i = 0; i < s->n_servers; i++) {
		struct tg_totals_server *e = &out->server[out->n_servers];

		if (s->server[i] == NULL)
			continue;
		e->id = (uint16_t)i;
		e->service = s->service_of[i];
		e->config = s->server[i];
		for (unsigned int w = 0; w < n; w++) {
			add_server(e, tg_snapshot_stats(s, i, w));
			e->open += __atomic_load_n(&workers[w]->own[i], __ATOMIC_RELAXED);
		}
		out->n_servers++;
	}
	qsort(out->server, out->n_servers, sizeof(*out->server), by_service);
	return 0;
}

void tg_totals_free(struct tg_totals *t)
{
	free(t->server);
	t->server = NULL;
}
