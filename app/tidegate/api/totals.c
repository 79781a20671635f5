/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/totals.h"

#include <errno.h>
#include <stdlib.h>

static void add_gate(struct tg_gate_stats *all, const struct tg_gate_stats *g)
{
	uint64_t max = tg_stat_read(&g->max_sojourn_ns);

	all->checked += tg_stat_read(&g->checked);
	all->late += tg_stat_read(&g->late);
	all->late_dropped += tg_stat_read(&g->late_dropped);
	all->late_uncertain += tg_stat_read(&g->late_uncertain);
	all->late_early += tg_stat_read(&g->late_early);
	all->future += tg_stat_read(&g->future);
	for (unsigned int i = 0; i < TG_GATE_PLACES; i++)
		all->late_at[i] += tg_stat_read(&g->late_at[i]);
	if (max > all->max_sojourn_ns)
		all->max_sojourn_ns = max;
	tg_hist_add(&all->sojourn, &g->sojourn);
	tg_hist_add(&all->handing, &g->handing);
	tg_hist_add(&all->again, &g->again);
	tg_hist_add(&all->after_drop, &g->after_drop);
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
	for (unsigned int i = 0; i < t->snapshot->n_services * TG_GATE_PLACES; i++)
		t->late[i] += tg_stat_read(&w->stats.gate.late_service[i]);
}

static void add_server(struct tg_totals_server *out, const struct tg_server_stats *st)
{
	out->flows += tg_stat_read(&st->flows);
	out->picked += tg_stat_read(&st->picked);
	out->packets += tg_stat_read(&st->packets);
	out->bytes += tg_stat_read(&st->bytes);
	out->setup += tg_stat_read(&st->setup);
	out->unsure += tg_stat_read(&st->unsure);
	out->repeated += tg_stat_read(&st->pirate.repeated);
	out->syns_repeated += tg_stat_read(&st->pirate.syns_repeated);
	for (unsigned int e = 0; e < TG_ESTIMATOR_COUNT; e++)
		out->exchanges[e] += tg_stat_read(&st->exchanges[e]);
	tg_hist_add(&out->latency, &st->latency);
	tg_hist_add(&out->server, &st->server);
}

struct row {
	uint16_t id, service;
	const struct tg_config_server *config;
};

/* By service, then as configured: ids of one service may be scattered after reloads. */
static int by_service(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	return x->config < y->config ? -1 : x->config > y->config;
}

/* The servers in use, in order. NULL without memory. */
static struct row *rows(const struct tg_snapshot *s, unsigned int *n)
{
	struct row *row = calloc(s->n_servers + 1, sizeof(*row));

	*n = 0;
	for (unsigned int i = 0; row != NULL && i < s->n_servers; i++)
		if (s->server[i] != NULL)
			row[(*n)++] = (struct row){(uint16_t)i, s->service_of[i], s->server[i]};
	if (row != NULL)
		qsort(row, *n, sizeof(*row), by_service);
	return row;
}

int tg_totals_collect(const struct tg_snapshot *s, struct tg_worker *const *workers, unsigned int n,
		      struct tg_totals *out)
{
	struct row *row;

	memset(out, 0, sizeof(*out));
	out->snapshot = s;
	row = rows(s, &out->n_servers);
	out->server = row != NULL ? calloc(out->n_servers + 1, sizeof(*out->server)) : NULL;
	out->late = calloc(s->n_services * TG_GATE_PLACES + 1, sizeof(*out->late));
	if (out->server == NULL || out->late == NULL) {
		free(row);
		tg_totals_free(out);
		return -ENOMEM;
	}
	for (unsigned int w = 0; w < n; w++)
		add_worker(out, workers[w]);
	for (unsigned int r = 1; r < TG_DROP_REASON_COUNT; r++)
		out->dropped += out->all.dropped[r];
	for (unsigned int k = 0; k < out->n_servers; k++) {
		struct tg_totals_server *e = &out->server[k];

		e->id = row[k].id;
		e->service = row[k].service;
		e->config = row[k].config;
		for (unsigned int w = 0; w < n; w++) {
			add_server(e, tg_snapshot_stats(s, e->id, w));
			e->open += __atomic_load_n(&workers[w]->own[e->id], __ATOMIC_RELAXED);
		}
	}
	free(row);
	return 0;
}

void tg_totals_free(struct tg_totals *t)
{
	free(t->server);
	free(t->late);
	t->server = NULL;
	t->late = NULL;
}
