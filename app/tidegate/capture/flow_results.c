/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_results.h"

#include <stdlib.h>

#include "map.h"

struct tg_flow_results {
	struct tg_map *flows; /* struct tg_key -> struct tg_flow_result */
	uint64_t left_out;
};

struct tg_flow_results *tg_flow_results_create(void)
{
	struct tg_flow_results *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->flows = tg_map_create(sizeof(struct tg_key), sizeof(struct tg_flow_result),
				 TG_FLOW_RESULTS_MAX);
	if (r->flows == NULL) {
		free(r);
		return NULL;
	}
	return r;
}

static struct tg_flow_result *at(const struct tg_flow_results *r, uint32_t i)
{
	return tg_map_at(r->flows, i, NULL);
}

void tg_flow_results_free(struct tg_flow_results *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < tg_map_count(r->flows); i++) {
		free(at(r, i)->latency);
		free(at(r, i)->service);
	}
	tg_map_free(r->flows);
	free(r);
}

void tg_flow_results_placed(struct tg_flow_results *r, const struct tg_key *key, uint16_t server,
			    bool would_pick)
{
	uint32_t before = tg_map_count(r->flows);
	struct tg_flow_result *f = tg_map_add(r->flows, key);

	if (f == NULL) {
		r->left_out++;
		return;
	}
	if (tg_map_count(r->flows) == before)
		return;
	f->key = *key;
	f->server = server;
	f->would_pick = would_pick;
}

static void record(struct tg_hist **hist, uint64_t ns, uint32_t count)
{
	if (*hist == NULL)
		*hist = calloc(1, sizeof(**hist));
	if (*hist != NULL)
		tg_hist_record(*hist, ns, count);
}

void tg_flow_results_sample(void *ctx, const struct tg_flow *f, const struct tg_sample *s)
{
	struct tg_flow_results *r = ctx;
	struct tg_flow_result *to = tg_map_find(r->flows, &f->key);

	if (to == NULL)
		return;
	if (s->unsure) {
		to->unsure += s->count;
		return;
	}
	if (s->setup) {
		to->setup += s->count;
		return;
	}
	to->exchanges[s->kind] += s->count;
	to->grain2 += (double)s->grain * (double)s->grain;
	record(&to->latency, s->latency, s->count);
	if (s->server != TG_SAMPLE_UNKNOWN)
		record(&to->service, s->server, s->count);
}

uint32_t tg_flow_results_count(const struct tg_flow_results *r)
{
	return tg_map_count(r->flows);
}

const struct tg_flow_result *tg_flow_results_at(const struct tg_flow_results *r, uint32_t i)
{
	return at(r, i);
}

uint64_t tg_flow_results_left_out(const struct tg_flow_results *r)
{
	return r->left_out;
}
