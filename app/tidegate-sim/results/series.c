/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency by group and answers by server in windows of time. Answers come in the order of time, so
 * one window is open; what is kept of a closed one is three numbers a group and one a server.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/private.h"

int tg_series_init(struct tg_series *s, const struct tg_sim *sim)
{
	const struct tg_scenario *sc = sim->scenario;

	if (sc->series_s <= 0)
		return 0;
	s->width = (uint64_t)fmax(1, sc->series_s * 1e9);
	s->room = (uint32_t)ceil(sc->duration_s / sc->series_s);
	s->open = calloc(sc->n_groups, sizeof(*s->open));
	s->open_answers = calloc(sc->n_servers, sizeof(*s->open_answers));
	s->mean = calloc((size_t)s->room * sc->n_groups, sizeof(*s->mean));
	s->p95 = calloc((size_t)s->room * sc->n_groups, sizeof(*s->p95));
	s->count = calloc((size_t)s->room * sc->n_groups, sizeof(*s->count));
	s->answers = calloc((size_t)s->room * sc->n_servers, sizeof(*s->answers));
	if (s->open == NULL || s->open_answers == NULL || s->mean == NULL || s->p95 == NULL ||
	    s->count == NULL || s->answers == NULL)
		return -ENOMEM;
	s->ends = s->width;
	return 0;
}

void tg_series_free(struct tg_series *s)
{
	free(s->open);
	free(s->open_answers);
	free(s->mean);
	free(s->p95);
	free(s->count);
	free(s->answers);
}

static void clear_open(struct tg_series *s, const struct tg_sim *sim)
{
	for (uint32_t g = 0; g < sim->scenario->n_groups; g++)
		tg_fine_reset(&s->open[g]);
	memset(s->open_answers, 0, sim->scenario->n_servers * sizeof(*s->open_answers));
}

void tg_series_begin(struct tg_series *s, const struct tg_sim *sim, uint64_t now)
{
	if (s->width == 0)
		return;
	clear_open(s, sim);
	s->n = 0;
	s->ends = now + s->width;
}

static void close_window(struct tg_series *s, const struct tg_sim *sim)
{
	uint32_t groups = sim->scenario->n_groups, servers = sim->scenario->n_servers;

	for (uint32_t g = 0; g < groups && s->n < s->room; g++) {
		size_t at = (size_t)s->n * groups + g;

		s->mean[at] = tg_fine_mean_ns(&s->open[g]);
		s->p95[at] = tg_fine_quantile_ns(&s->open[g], 0.95);
		s->count[at] = s->open[g].count;
	}
	if (s->n < s->room)
		memcpy(&s->answers[(size_t)s->n * servers], s->open_answers,
		       servers * sizeof(*s->answers));
	s->n += s->n < s->room;
	s->ends += s->width;
	clear_open(s, sim);
}

void tg_series_answered(struct tg_series *s, const struct tg_sim *sim, uint32_t group,
			uint32_t server, uint64_t latency_ns, uint64_t now)
{
	if (s->width == 0)
		return;
	while (now >= s->ends)
		close_window(s, sim);
	tg_fine_record(&s->open[group], latency_ns);
	s->open_answers[server]++;
}

static json_t *reals(const double *from, uint32_t n, uint32_t step)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_real(from[(size_t)i * step]));
	return list;
}

static json_t *counts(const uint64_t *from, uint32_t n, uint32_t step)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)from[(size_t)i * step]));
	return list;
}

json_t *tg_series_json(struct tg_series *s, const struct tg_sim *sim, uint64_t now)
{
	const struct tg_scenario *sc = sim->scenario;
	json_t *groups = json_array(), *servers = json_array();

	while (s->width > 0 && now >= s->ends && s->n < s->room)
		close_window(s, sim);
	for (uint32_t g = 0; g < sc->n_groups; g++)
		json_array_append_new(groups,
				      json_pack("{s:s, s:o, s:o, s:o}", "name", sc->group[g].name,
						"count", counts(s->count + g, s->n, sc->n_groups),
						"mean_ns", reals(s->mean + g, s->n, sc->n_groups),
						"p95_ns", reals(s->p95 + g, s->n, sc->n_groups)));
	for (uint32_t i = 0; i < sc->n_servers; i++)
		json_array_append_new(servers,
				      json_pack("{s:s, s:o}", "name", sc->server[i].station.name,
						"answers",
						counts(s->answers + i, s->n, sc->n_servers)));
	return json_pack("{s:f, s:f, s:o, s:o}", "start_s", sc->warmup_s, "width_s", sc->series_s,
			 "groups", groups, "servers", servers);
}
