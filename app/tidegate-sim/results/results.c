/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting while a replication runs. */
#include "results/private.h"

#include <stdlib.h>

struct tg_results *tg_results_create(struct tg_sim *s)
{
	const struct tg_scenario *sc = s->scenario;
	struct tg_results *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->sim = s;
	r->group = calloc(sc->n_groups, sizeof(*r->group));
	r->truth = calloc((size_t)sc->n_services * sc->n_servers, sizeof(struct tg_truth *));
	r->answers = calloc(sc->n_servers, sizeof(*r->answers));
	if (r->group == NULL || r->truth == NULL || r->answers == NULL ||
	    tg_series_init(&r->series, s) != 0) {
		tg_results_free(r);
		return NULL;
	}
	return r;
}

static size_t n_truths(const struct tg_results *r)
{
	return (size_t)r->sim->scenario->n_services * r->sim->scenario->n_servers;
}

void tg_results_free(struct tg_results *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; r->truth != NULL && i < n_truths(r); i++)
		free(r->truth[i]);
	free(r->truth);
	free(r->group);
	free(r->answers);
	tg_series_free(&r->series);
	free(r);
}

void tg_results_begin(struct tg_results *r, uint64_t now)
{
	const struct tg_scenario *sc = r->sim->scenario;

	r->begin = now;
	for (uint32_t i = 0; i < sc->n_groups; i++) {
		struct tg_group_result *g = &r->group[i];

		tg_fine_reset(&g->latency);
		tg_fine_reset(&g->response);
		g->failed = 0;
		g->wait_ns = g->service_ns = 0;
	}
	for (size_t i = 0; i < n_truths(r); i++) {
		if (r->truth[i] == NULL)
			continue;
		tg_fine_reset(&r->truth[i]->latency);
		tg_fine_reset(&r->truth[i]->server);
		tg_fine_reset(&r->truth[i]->wait);
	}
	for (uint32_t i = 0; i < sc->n_servers; i++)
		r->answers[i] = 0;
	tg_series_begin(&r->series, r->sim, now);
}

/* Memory for a pair that meets for the first time; without, the pair is left out. */
static struct tg_truth *truth_of(struct tg_results *r, uint32_t service, uint32_t server)
{
	struct tg_truth **t = &r->truth[(size_t)service * r->sim->scenario->n_servers + server];

	if (*t == NULL)
		*t = calloc(1, sizeof(**t));
	return *t;
}

void tg_results_answered(struct tg_results *r, const struct tg_request *q)
{
	uint32_t group = q->class;
	struct tg_group_result *g = &r->group[group];
	struct tg_truth *t = truth_of(r, r->sim->scenario->group[group].service, q->station);

	tg_fine_record(&g->latency, q->answered - q->created);
	tg_fine_record(&g->response, q->answered - q->sent);
	g->wait_ns += (double)(q->started - q->arrived);
	g->service_ns += (double)(q->finished - q->started);
	r->answers[q->station]++;
	tg_series_answered(&r->series, r->sim, group, q->station, q->answered - q->created,
			   q->answered);
	if (t == NULL)
		return;
	tg_fine_record(&t->latency, q->answered - q->sent);
	tg_fine_record(&t->server, q->finished - q->arrived);
	tg_fine_record(&t->wait, q->started - q->arrived);
}

void tg_results_failed(struct tg_results *r, const struct tg_request *q)
{
	/* its connection may be gone already */
	r->group[q->class].failed++;
}
