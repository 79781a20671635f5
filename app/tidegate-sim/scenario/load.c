/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load that open-loop groups bring in the long run, as a share of what their servers can do.
 * 1 or more without end has no steady state: waits grow for as long as one looks.
 *
 * A group of rate r whose requests take m_i at server i of c_i workers could be served at
 * M = sum c_i/m_i; its load is r/M, spread over its servers in proportion to what each can do.
 */
#include <math.h>
#include <string.h>

#include "scenario/scenario_reader.h"

/* Share of its full speed that a server has in the long run: over a period of its changes, or
 * after the last. */
static double long_run_speed(const struct tg_station_params *p)
{
	double sum = 0, end;

	if (p->n_changes == 0)
		return 1;
	if (p->repeat_s <= 0) {
		const struct tg_station_change *last = &p->changes[p->n_changes - 1];

		return last->state == TG_STATION_UP ? 1 / last->slow : 0;
	}
	/* before its first change a period goes on as the one before ended */
	for (uint32_t i = 0; i < p->n_changes; i++) {
		const struct tg_station_change *c = &p->changes[i];
		bool last = i + 1 == p->n_changes;

		end = last ? p->repeat_s * 1e9 + (double)p->changes[0].at_ns
			   : (double)p->changes[i + 1].at_ns;
		if (c->state == TG_STATION_UP)
			sum += (end - (double)c->at_ns) / c->slow;
	}
	return sum / (p->repeat_s * 1e9);
}

static const struct tg_config_server *configured(const struct tg_config_service *v,
						 const char *address)
{
	for (unsigned int k = 0; k < v->n_servers; k++) {
		char text[TG_ADDR_STRLEN];

		tg_addr_format(&v->servers[k].address, text, sizeof(text));
		if (strcmp(text, address) == 0)
			return &v->servers[k];
	}
	return NULL;
}

/* Requests of this group that a server can answer a second; 0 if it gets none. */
static double capacity(const struct tg_scenario_reader *sr, const struct tg_group_params *g,
		       uint32_t server)
{
	const struct tg_station_params *p = &sr->all->s.server[server].station;
	const struct tg_config_server *c = configured(&sr->config->services[g->service],
						      p->address);
	double work_us = tg_dist_mean(g->has_work ? &g->work_us : &p->service_us);

	if (c == NULL || c->state != TG_SERVER_UP || c->weight == 0)
		return 0;
	return p->workers * long_run_speed(p) / fmax(work_us / 1e6, 1e-12);
}

/* Requests that arrive together, or one after another's answer. */
static double requests_of_visit(const struct tg_group_params *g)
{
	return g->objects > 0 ? 1.0 + g->objects : g->burst;
}

/* Requests a second without end; 0: closed loop, or it ends. */
static double long_run_rate(const struct tg_scenario *s, const struct tg_group_params *g)
{
	double on, off;

	if (g->stop_s > 0 && g->stop_s < s->warmup_s + s->duration_s)
		return 0;
	switch (g->arrivals) {
	case TG_ARRIVALS_POISSON:
		return g->rate;
	case TG_ARRIVALS_PACED:
		return 1e6 / tg_dist_mean(&g->gap_us) * requests_of_visit(g);
	case TG_ARRIVALS_VARYING:
		return g->n_points > 0 ? g->points[g->n_points - 1].rate : 0;
	case TG_ARRIVALS_ON_OFF:
		on = tg_dist_mean(&g->on_ms);
		off = tg_dist_mean(&g->off_ms);
		return (g->rate * on + g->rate_off * off) / (on + off);
	case TG_ARRIVALS_CLOSED:
	case TG_ARRIVALS_TRACE:
		break;
	}
	return 0;
}

/* Adds the group's share to each of its servers. */
static void add_group(const struct tg_scenario_reader *sr, const struct tg_group_params *g,
		      double *load)
{
	const struct tg_scenario *s = &sr->all->s;
	double rate = long_run_rate(s, g), all = 0;

	for (uint32_t i = 0; i < s->n_servers; i++)
		all += capacity(sr, g, i);
	for (uint32_t i = 0; i < s->n_servers; i++)
		if (rate > 0 && (all <= 0 ? configured(&sr->config->services[g->service],
						       s->server[i].station.address) != NULL
					  : capacity(sr, g, i) > 0))
			load[i] += all > 0 ? rate / all : INFINITY;
}

static double service_load(const struct tg_scenario_reader *sr, uint32_t j, const double *load,
			   bool *bounded)
{
	const struct tg_scenario *s = &sr->all->s;
	double sum = 0, workers = 0;

	*bounded = true;
	for (uint32_t i = 0; i < s->n_servers; i++) {
		const struct tg_station_params *p = &s->server[i].station;
		const struct tg_config_server *c = configured(&sr->config->services[j], p->address);

		if (c == NULL || c->state != TG_SERVER_UP || c->weight == 0)
			continue;
		sum += load[i] * p->workers;
		workers += p->workers;
		*bounded &= p->listen_queue > 0;
	}
	return workers > 0 ? sum / workers : load[0];
}

static void judge(struct tg_scenario_reader *sr, uint32_t j, const double *load)
{
	struct tg_scenario *s = &sr->all->s;
	double rho;
	bool bounded;

	rho = s->service[j].load = service_load(sr, j, load, &bounded);
	if (rho < 1)
		return;
	if (bounded) {
		tg_note(&sr->r,
			"service \"%s\" is overloaded for ever (load %.4g of what its servers "
			"can do); their listen_queue bounds what waits, and the rest is refused",
			s->service[j].name, rho);
		return;
	}
	for (uint32_t i = 0; i < s->n_groups; i++) {
		size_t mark;

		if (s->group[i].service != j || long_run_rate(s, &s->group[i]) <= 0)
			continue;
		mark = tg_path_push(&sr->r, ".clients[%u]", i);
		tg_fault(
			&sr->r,
			"service \"%s\" is overloaded without end: %.4g of what its servers can do "
			"(below 1 is allowed); lower the rate, stop it by stop_s, or give the servers "
			"a listen_queue",
			s->service[j].name, rho);
		tg_path_pop(&sr->r, mark);
	}
}

void tg_scenario_check_load(struct tg_scenario_reader *sr)
{
	struct tg_scenario *s = &sr->all->s;
	double *load = tg_scenario_own(&sr->r, s->n_servers, sizeof(*load));

	if (load == NULL)
		return;
	for (uint32_t i = 0; i < s->n_groups; i++)
		add_group(sr, &s->group[i], load);
	for (uint32_t j = 0; j < s->n_services; j++)
		judge(sr, j, load);
}
