/* SPDX-License-Identifier: BSD-3-Clause */
/* When an open loop's visits arrive. Times are absolute, so a policy moves none. */
#include <math.h>

#include "client_group.h"

static double exponential(struct tg_group *g)
{
	return -log(tg_random_uniform(&g->arrivals));
}

/* Visits a second that make so many requests a second. */
static double visits(const struct tg_group *g, double requests)
{
	return requests / g->batch;
}

static double poisson(struct tg_group *g, double t)
{
	double rate = visits(g, g->params->rate);

	return rate > 0 ? t + exponential(g) / rate : INFINITY;
}

/* Inversion of the integral of the rate: straight lines between points, level before and after. */
static double varying(struct tg_group *g, double t)
{
	const struct tg_rate_point *point = g->params->points;
	uint32_t n = g->params->n_points;
	double left = exponential(g);

	for (; g->next_time < n; g->next_time++) {
		const struct tg_rate_point *b = &point[g->next_time], *a = b;
		double slope = 0, rate, area, until = b->time_s - t;

		if (g->next_time > 0)
			a = b - 1;
		if (until <= 0)
			continue;
		if (a != b)
			slope = visits(g, b->rate - a->rate) / (b->time_s - a->time_s);
		rate = visits(g, b->rate) - slope * until;
		area = (rate + visits(g, b->rate)) / 2 * until;
		if (left < area)
			return t + 2 * left / (rate + sqrt(rate * rate + 2 * slope * left));
		left -= area;
		t = b->time_s;
	}
	if (n == 0 || !(point[n - 1].rate > 0))
		return INFINITY;
	return t + left / visits(g, point[n - 1].rate);
}

static double on_off(struct tg_group *g, double t)
{
	const struct tg_group_params *p = g->params;

	for (;;) {
		double rate = visits(g, g->on ? p->rate : p->rate_off);
		double next = rate > 0 ? t + exponential(g) / rate : INFINITY;

		if (next < g->phase_until)
			return next;
		/* none in what is left of this period: nothing is remembered of it */
		t = g->phase_until;
		g->on = !g->on;
		g->phase_until += 1e-3 *
				  (g->on ? tg_dist_sample(&p->on_ms, &g->arrivals, &g->on_place)
					 : tg_dist_sample(&p->off_ms, &g->arrivals, &g->off_place));
		if (!isfinite(t) || t * 1e9 > (double)g->stop_ns)
			return INFINITY;
	}
}

static double traced(struct tg_group *g, double t)
{
	const struct tg_group_params *p = g->params;

	while (g->next_time < p->n_times && p->times_s[g->next_time] < t)
		g->next_time++;
	return g->next_time < p->n_times ? p->times_s[g->next_time++] : INFINITY;
}

void tg_arrivals_init(struct tg_group *g)
{
	tg_random_init(&g->arrivals, g->sim->seed, g->sim->replication, "arrivals", g->index);
	if (g->params->arrivals == TG_ARRIVALS_ON_OFF) {
		g->on = true;
		g->phase_until = g->params->start_s + 1e-3 * tg_dist_sample(&g->params->on_ms,
									    &g->arrivals,
									    &g->on_place);
	}
}

uint64_t tg_arrivals_next(struct tg_group *g, uint64_t from)
{
	double t = (double)from * 1e-9, next;

	switch (g->params->arrivals) {
	case TG_ARRIVALS_POISSON:
		next = poisson(g, t);
		break;
	case TG_ARRIVALS_PACED:
		next = t + 1e-6 * tg_dist_sample(&g->params->gap_us, &g->arrivals, &g->gap_place);
		break;
	case TG_ARRIVALS_VARYING:
		next = varying(g, t);
		break;
	case TG_ARRIVALS_ON_OFF:
		next = on_off(g, t);
		break;
	case TG_ARRIVALS_TRACE:
		next = traced(g, t);
		break;
	default:
		return UINT64_MAX;
	}
	return next * 1e9 < (double)g->stop_ns ? (uint64_t)(next * 1e9 + 0.5) : UINT64_MAX;
}
