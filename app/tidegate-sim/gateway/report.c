/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gateway measured after the warm-up: its cumulative counters now, less those then. */
#include "admission/report.h"
#include "choice/load.h"
#include "gateway/private.h"
#include "report.h"

/* Structures of counters alone, but for the largest values, which the caller keeps. */
static void subtract_words(void *now, const void *before, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t a, b;

		memcpy(&a, (char *)now + i, sizeof(a));
		memcpy(&b, (const char *)before + i, sizeof(b));
		a -= b;
		memcpy((char *)now + i, &a, sizeof(a));
	}
}

static void subtract_hist(struct tg_hist *now, const struct tg_hist *before)
{
	const struct tg_hist all = *now;

	tg_hist_sub(&all, before, now);
}

static void subtract_worker(struct tg_worker_stats *now, const struct tg_worker_stats *before)
{
	const struct tg_worker_stats all = *now;

	subtract_words(now, before, sizeof(*now));
	now->gate.max_sojourn_ns = all.gate.max_sojourn_ns;
	tg_hist_sub(&all.gate.sojourn, &before->gate.sojourn, &now->gate.sojourn);
	tg_hist_sub(&all.gate.handing, &before->gate.handing, &now->gate.handing);
	tg_hist_sub(&all.gate.again, &before->gate.again, &now->gate.again);
	tg_hist_sub(&all.gate.after_drop, &before->gate.after_drop, &now->gate.after_drop);
}

static void subtract_server(struct tg_totals_server *now, const struct tg_totals_server *before)
{
	now->flows -= before->flows;
	now->packets -= before->packets;
	now->bytes -= before->bytes;
	for (unsigned int k = 0; k < TG_ESTIMATOR_COUNT; k++)
		now->exchanges[k] -= before->exchanges[k];
	now->setup -= before->setup;
	subtract_hist(&now->latency, &before->latency);
	subtract_hist(&now->server, &before->server);
}

void tg_sim_gateway_begin(struct tg_sim_gateway *g)
{
	tg_totals_free(&g->before);
	memset(&g->before, 0, sizeof(g->before));
	g->late_before = g->late_on_wire;
	memset(&g->on_wire, 0, sizeof(g->on_wire));
	tg_sim_level_begin(g);
	if (g->made)
		tg_totals_collect(g->gateway.snapshot, g->gateway.worker, g->gateway.n_workers,
				  &g->before);
}

/* Since the warm-up ended. A gateway that was restarted since has counted from nothing. */
static int totals(const struct tg_sim_gateway *g, struct tg_totals *t)
{
	int r = tg_totals_collect(g->gateway.snapshot, g->gateway.worker, g->gateway.n_workers, t);

	if (r != 0 || g->before.snapshot != g->gateway.snapshot)
		return r;
	subtract_worker(&t->all, &g->before.all);
	t->dropped -= g->before.dropped;
	for (unsigned int i = 0; i < t->snapshot->n_services * TG_GATE_PLACES; i++)
		t->late[i] -= g->before.late[i];
	for (unsigned int i = 0; i < t->n_servers && i < g->before.n_servers; i++)
		subtract_server(&t->server[i], &g->before.server[i]);
	return 0;
}

/* The report has a service's servers in the order of the totals. Prediction errors are of the whole
 * run, warm-up included: a window of exchanges has no end in time. */
static void add_predictions(json_t *all, const struct tg_sim_gateway *g, const struct tg_totals *t)
{
	json_t *service, *row;
	size_t i, k;
	unsigned int at = 0;

	json_array_foreach(json_object_get(all, "services"), i, service) {
		json_array_foreach(json_object_get(service, "servers"), k, row) {
			const struct tg_load_view *v;

			if (at >= t->n_servers)
				return;
			json_object_set_new(row, "requests_there",
					    tg_sim_level_json(g, t->server[at].config));
			v = tg_load_of(g->gateway.load, t->server[at++].id);
			json_object_set_new(row, "prediction_error",
					    v != NULL && v->mape_windows > 0 ? json_real(v->mape)
									     : json_null());
		}
	}
}

json_t *tg_sim_gateway_json(struct tg_sim_gateway *g)
{
	struct tg_totals t;
	struct tg_report report = {.totals = &t};
	json_t *all = NULL;

	if (!g->made)
		return json_null();
	if (totals(g, &t) != 0)
		return NULL;
	all = tg_report_json(&report);
	add_predictions(all, g, &t);
	tg_totals_free(&t);
	json_object_set_new(all, "admission", tg_admission_list_json(&g->gateway, NULL, NULL, 0));
	json_object_set_new(all, "clock", json_string("virtual"));
	json_object_set_new(all, "wire",
			    json_pack("{s:I, s:I, s:I, s:I}", "missed", (json_int_t)g->missed,
				      "late", (json_int_t)(g->late_on_wire - g->late_before),
				      "p99_9_ns",
				      (json_int_t)tg_hist_percentile_ns(&g->on_wire, 99.9),
				      "max_ns", (json_int_t)g->on_wire.max_ns));
	return all;
}
