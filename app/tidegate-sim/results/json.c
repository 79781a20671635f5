/* SPDX-License-Identifier: BSD-3-Clause */
/* One replication as JSON. Holds nothing of the host's: the same seed gives the same bytes. */
#include <math.h>

#include "gateway/sim_gateway.h"
#include "results/private.h"

static const double tail[] = {0.99, 0.995, 0.999, 0.9995, 0.9999};

/* The curve that plots draw: quantiles of 1 % .. 98 %, then the tail. */
static json_t *quantiles(const struct tg_fine_hist *h)
{
	json_t *list = json_array();

	for (unsigned int i = 1; i < 99; i++)
		json_array_append_new(list, json_real(tg_fine_quantile_ns(h, i / 100.0)));
	for (unsigned int i = 0; i < sizeof(tail) / sizeof(tail[0]); i++)
		json_array_append_new(list, json_real(tg_fine_quantile_ns(h, tail[i])));
	return list;
}

static double deviation(const struct tg_fine_hist *h)
{
	double mean = tg_fine_mean_ns(h);

	return h->count > 1 ? sqrt(fmax(0, h->sum2 / (double)h->count - mean * mean)) : 0;
}

/* null where nothing was seen: a time that is not known is not 0. */
static json_t *times(const struct tg_fine_hist *h)
{
	if (h->count == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "mean",
			 tg_fine_mean_ns(h), "sd", deviation(h), "p50", tg_fine_quantile_ns(h, 0.5),
			 "p95", tg_fine_quantile_ns(h, 0.95), "p99", tg_fine_quantile_ns(h, 0.99),
			 "p99_9", tg_fine_quantile_ns(h, 0.999), "p99_99",
			 tg_fine_quantile_ns(h, 0.9999), "p99_999", tg_fine_quantile_ns(h, 0.99999),
			 "max", (double)h->max_ns);
}

static json_t *group_json(const struct tg_results *r, uint32_t i, double seconds)
{
	const struct tg_group_params *p = &r->sim->scenario->group[i];
	const struct tg_group_result *g = &r->group[i];
	struct tg_group_counts c = tg_group_counts(r->sim->group[i]);
	double n = fmax(1, (double)g->latency.count);
	json_t *j = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:o, s:o, s:f, s:f}", "name", p->name,
			      "service", r->sim->scenario->service[p->service].name, "requests",
			      (json_int_t)(g->latency.count + g->failed), "answered",
			      (json_int_t)g->latency.count, "failed", (json_int_t)g->failed,
			      "per_second", (double)g->latency.count / seconds, "latency_ns",
			      times(&g->latency), "response_ns", times(&g->response),
			      "wait_mean_ns", g->wait_ns / n, "service_mean_ns", g->service_ns / n);

	json_object_set_new(j, "quantiles_ns", quantiles(&g->latency));
	/* since the start, as is conservation */
	json_object_set_new(j, "whole_run",
			    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "asked",
				      (json_int_t)c.asked, "open", (json_int_t)c.open,
				      "connections", (json_int_t)c.connections, "broken",
				      (json_int_t)c.broken, "moved", (json_int_t)c.moved,
				      "moved_first", (json_int_t)c.moved_first, "moved_named",
				      (json_int_t)c.moved_named, "syn_retransmitted",
				      (json_int_t)c.syn_retransmitted, "retransmitted",
				      (json_int_t)c.retransmitted, "timeouts",
				      (json_int_t)c.timeouts));
	return j;
}

/* What the server did for each service: beside it stands what a gateway measured. */
static json_t *truths_json(const struct tg_results *r, uint32_t server)
{
	const struct tg_scenario *sc = r->sim->scenario;
	json_t *list = json_array();

	for (uint32_t j = 0; j < sc->n_services; j++) {
		const struct tg_truth *t = r->truth[(size_t)j * sc->n_servers + server];

		if (t == NULL)
			continue;
		json_array_append_new(list,
				      json_pack("{s:s, s:I, s:o, s:o, s:o}", "service",
						sc->service[j].name, "answered",
						(json_int_t)t->latency.count, "latency_ns",
						times(&t->latency), "server_ns", times(&t->server),
						"wait_ns", times(&t->wait)));
	}
	return list;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* Squared coefficient of variation of the service times. */
static double service_scv(const struct tg_station *st)
{
	double n = fmax(1, (double)st->completions), mean = st->sum_service_ns / n;

	return mean > 0 ? fmax(0, st->sum_service2 / n / (mean * mean) - 1) : 0;
}

static json_t *server_json(const struct tg_results *r, uint32_t i, uint64_t all, uint64_t now)
{
	const struct tg_station *st = &r->sim->station[i];
	double span = fmax(1, (double)(now - r->begin));
	double n = fmax(1, (double)st->completions);
	double sojourn = (st->sum_wait_ns + st->sum_service_ns) / n;
	double number = st->area_system / span;
	json_t *j = json_pack(
		"{s:s, s:s, s:i, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
		st->params->name, "address", st->params->address, "workers",
		(int)st->params->workers, "share", ratio((double)r->answers[i], (double)all),
		"arrivals", (json_int_t)st->arrivals, "completions", (json_int_t)st->completions,
		"refused", (json_int_t)st->refused, "lost", (json_int_t)st->lost, "utilisation",
		st->area_busy / span / st->params->workers, "wait_mean_ns", st->sum_wait_ns / n,
		"service_mean_ns", st->sum_service_ns / n, "service_scv", service_scv(st),
		"number_waiting", st->area_waiting / span, "number_in_system", number);

	/* Little's law: number in the system = rate of arrival * time in it */
	json_object_set_new(j, "little",
			    json_pack("{s:f, s:f}", "rate_times_sojourn",
				      (double)st->arrivals / span * sojourn, "ratio",
				      ratio(number, (double)st->arrivals / span * sojourn)));
	json_object_set_new(j, "services", truths_json(r, i));
	return j;
}

json_t *tg_results_json(const struct tg_results *r, const struct tg_sim *s, uint64_t now)
{
	const struct tg_scenario *sc = s->scenario;
	json_t *groups = json_array(), *servers = json_array(), *gateways = json_array(), *j;
	double seconds = fmax(1, (double)(now - r->begin)) / 1e9;
	uint64_t all = 0;

	for (uint32_t i = 0; i < sc->n_groups; i++)
		json_array_append_new(groups, group_json(r, i, seconds));
	for (uint32_t i = 0; i < sc->n_servers; i++)
		all += r->answers[i];
	for (uint32_t i = 0; i < sc->n_servers; i++)
		json_array_append_new(servers, server_json(r, i, all, now));
	for (uint32_t i = 0; i < sc->n_gateways; i++)
		json_array_append_new(gateways, tg_sim_gateway_json(s->gateway[i]));
	j = json_pack("{s:o, s:o, s:o, s:o}", "clients", groups, "servers", servers, "gateways",
		      gateways, "conservation", tg_conservation_json(s));
	if (j != NULL && sc->series_s > 0)
		json_object_set_new(j, "series",
				    tg_series_json((struct tg_series *)(uintptr_t)&r->series, s,
						   now));
	return j;
}
