/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/telemetry.h"

#include "kernel/exception.h"

#include <errno.h>
#include <rte_cycles.h>
#include <rte_telemetry.h>
#include <stdio.h>
#include <stdlib.h>

#include "admission/report.h"
#include "api/explain.h"
#include "api/totals.h"
#include "api/watch.h"
#include "auction/report.h"
#include "choice/load.h"
#include "health/health.h"
#include "restart/restart.h"
#include "tg_telemetry.h"

#define PAGE 16 /* rows of a listing a reply: a row has up to 15 numbers */

static struct tg_gateway *gateway; /* NULL: not running. Guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct query {
	struct tg_gateway *g;
	struct tg_totals totals;
	char text[256];
	char *arg[8];
	int n;
	struct rte_tel_data *d;
};

/* Parameter k as a number, `otherwise` when absent, UINT32_MAX when it is none. */
static uint32_t number(const struct query *q, int k, uint32_t otherwise)
{
	char *end;
	unsigned long v;

	if (k >= q->n || q->arg[k][0] == '\0')
		return otherwise;
	v = strtoul(q->arg[k], &end, 10);
	return *end == '\0' && v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* A service or server is named by its name or by its id. */
static uint16_t service_of(const struct query *q, int k)
{
	const struct tg_snapshot *s = q->g->snapshot;
	uint16_t id = k < q->n ? tg_snapshot_service(s, q->arg[k]) : TG_NO_SERVICE;
	uint32_t n;

	if (id != TG_NO_SERVICE || k >= q->n)
		return id;
	n = number(q, k, UINT32_MAX);
	return n < s->n_services && s->service[n] != NULL ? (uint16_t)n : TG_NO_SERVICE;
}

static void histogram(struct rte_tel_data *d, const char *what, const struct tg_hist *h)
{
	static const struct {
		const char *name;
		double p;
	} points[] = {{"p50", 50}, {"p95", 95}, {"p99", 99}};

	tg_tel_u64f(d, tg_hist_mean_ns(h), "%s_mean_ns", what);
	for (unsigned int i = 0; i < 3; i++)
		tg_tel_u64f(d, tg_hist_percentile_ns(h, points[i].p), "%s_%s_ns", what,
			    points[i].name);
}

/* Late packets of a service, and where their time went. */
static void late_packets(struct query *q, uint32_t service)
{
	const uint64_t *at = &q->totals.late[service * TG_GATE_PLACES];
	uint64_t n = 0;

	for (unsigned int i = 0; i < TG_GATE_PLACES; i++)
		n += at[i];
	tg_tel_u64f(q->d, n, "service_%u_late_packets", service);
	for (unsigned int i = 0; i < TG_GATE_PLACES; i++)
		tg_tel_u64f(q->d, at[i], "service_%u_late_at_%s", service, tg_gate_place_name(i));
}

/* From p99.9 to the largest. */
static void tail(struct rte_tel_data *d, const char *what, const struct tg_hist *h)
{
	tg_tel_u64f(d, tg_hist_percentile_ns(h, 99.9), "%s_p99_9_ns", what);
	tg_tel_u64f(d, tg_hist_percentile_ns(h, 99.99), "%s_p99_99_ns", what);
	tg_tel_u64f(d, tg_hist_percentile_ns(h, 99.999), "%s_p99_999_ns", what);
	tg_tel_u64f(d, h->max_ns, "%s_max_ns", what);
}

static int services(struct query *q)
{
	const struct tg_snapshot *s = q->g->snapshot;
	uint32_t from = number(q, 0, 0), shown = 0, i;
	uint64_t opened;

	for (i = from; i < s->n_services && shown < PAGE; i++) {
		if (s->service[i] == NULL)
			continue;
		tg_tel_stringf(q->d, s->service[i]->name, "service_%u_name", i);
		tg_tel_u64f(q->d, s->service[i]->n_servers, "service_%u_servers", i);
		tg_tel_u64f(q->d, tg_select_count(s->group[i]), "service_%u_servers_taking_flows",
			    i);
		tg_tel_u64f(q->d, tg_health_open(q->g, (uint16_t)i, &opened),
			    "service_%u_health_open", i);
		tg_tel_u64f(q->d, opened, "service_%u_health_opened", i);
		late_packets(q, i);
		shown++;
	}
	tg_tel_u64(q->d, "health_strays", tg_health_strays(q->g));
	tg_tel_u64(q->d, "health_unsent", tg_health_unsent(q->g));
	tg_tel_u64(q->d, "next", i < s->n_services ? i : 0);
	return 0;
}

static void health(struct query *q, uint16_t id)
{
	struct tg_health_view v;

	if (!tg_health_of(q->g, id, rte_rdtsc(), &v))
		return;
	tg_tel_u64f(q->d, v.up, "server_%u_health_up", id);
	tg_tel_u64f(q->d, v.out, "server_%u_health_left_out", id);
	tg_tel_u64f(q->d, v.checks, "server_%u_health_checks", id);
	tg_tel_u64f(q->d, v.failures, "server_%u_health_failures", id);
	tg_tel_u64f(q->d, v.changes, "server_%u_health_changes", id);
	tg_tel_u64f(q->d, v.up ? v.why : v.fell, "server_%u_health_reason", id);
}

static int servers(struct query *q)
{
	uint16_t service = service_of(q, 0);
	uint32_t skip = number(q, 1, 0), seen = 0, shown = 0;

	if (service == TG_NO_SERVICE)
		return -EINVAL;
	for (unsigned int i = 0; i < q->totals.n_servers; i++) {
		const struct tg_totals_server *e = &q->totals.server[i];

		if (e->service != service || seen++ < skip)
			continue;
		if (shown == PAGE) {
			tg_tel_u64(q->d, "next", seen - 1);
			return 0;
		}
		shown++;
		tg_tel_stringf(q->d, e->config->name, "server_%u_name", e->id);
		tg_tel_u64f(q->d, e->config->state, "server_%u_state", e->id);
		tg_tel_u64f(q->d, e->config->weight, "server_%u_weight", e->id);
		tg_tel_u64f(q->d, e->open, "server_%u_open_flows", e->id);
		tg_tel_u64f(q->d, e->flows, "server_%u_flows", e->id);
		tg_tel_u64f(q->d, e->packets, "server_%u_packets", e->id);
		tg_tel_u64f(q->d, e->bytes, "server_%u_bytes", e->id);
		tg_tel_u64f(q->d, e->latency.count, "server_%u_exchanges", e->id);
		tg_tel_u64f(q->d, q->g->costs->cost_ns[e->id], "server_%u_cost_ns", e->id);
		health(q, e->id);
	}
	tg_tel_u64(q->d, "next", 0);
	return 0;
}

static uint64_t whole(double x)
{
	return x > 0 ? (uint64_t)(x + 0.5) : 0;
}

/* What is not known has no key: any number would be wrong. */
static void requests_there(struct rte_tel_data *d, const struct tg_load_view *v)
{
	enum tg_requests_kind kind = v->in_system_kind;

	tg_tel_u64(d, "in_system_kind", kind);
	if (kind == TG_REQUESTS_COUNTED)
		tg_tel_u64(d, "in_system_milli", whole(v->in_system * 1000));
	else if (kind != TG_REQUESTS_UNKNOWN)
		tg_tel_u64(d, "in_system_bound_milli", whole(v->in_system_bound * 1000));
	tg_tel_u64(d, "in_system_taken_milli", whole(v->in_system * 1000));
	tg_tel_u64(d, "requests_an_exchange_milli", whole(v->each * 1000));
}

/* One server as control sees it now, and the last 5 to 10 s of it. */
static int load(struct query *q, const struct tg_totals_server *e)
{
	const struct tg_load_view *v = tg_load_of(q->g->load, e->id);
	struct tg_hist *window = calloc(2, sizeof(*window));
	uint32_t age[TG_AGE_BINS];

	if (v == NULL || window == NULL) {
		free(window);
		return v == NULL ? 0 : -ENOMEM;
	}
	tg_load_window(q->g->load, e->id, &e->latency, &e->server, &window[0], &window[1]);
	tg_tel_u64(q->d, "window_exchanges", window[0].count);
	histogram(q->d, "window_latency", &window[0]);
	histogram(q->d, "window_server", &window[1]);
	free(window);
	tg_tel_u64(q->d, "repeated_requests", e->repeated);
	tg_tel_u64(q->d, "repeated_syns", e->syns_repeated);
	tg_tel_u64(q->d, "waiting", v->waiting);
	tg_tel_u64(q->d, "fresh_connections", v->fresh);
	tg_tel_u64(q->d, "overdue", v->overdue);
	requests_there(q->d, v);
	tg_tel_u64(q->d, "requests_milli_per_s", whole(v->lambda_hz * 1000));
	tg_tel_u64(q->d, "service_ns", whole(v->service_ns));
	tg_tel_u64(q->d, "path_ns", whole(v->path_ns));
	tg_tel_u64(q->d, "ca2_milli", whole(v->ca2 * 1000));
	tg_tel_u64(q->d, "cs2_milli", whole(v->cs2 * 1000));
	tg_tel_u64(q->d, "predicted_ns", whole(v->predicted.completion_ns));
	tg_tel_u64(q->d, "prediction_error_milli", whole(v->mape * 1000));
	tg_tel_u64(q->d, "prediction_windows", v->mape_windows);
	tg_load_ages(q->g, e->id, age);
	for (unsigned int k = 0; k < TG_AGE_BINS; k++)
		tg_tel_u64f(q->d, age[k], "age_%u", k);
	return 0;
}

static int latency(struct query *q)
{
	uint16_t service = service_of(q, 0);
	const struct tg_totals_server *only = NULL;
	struct tg_hist *l, *s;
	uint64_t kind[TG_ESTIMATOR_COUNT] = {0}, unsure = 0;

	if (service == TG_NO_SERVICE)
		return -EINVAL;
	for (unsigned int i = 0; q->n > 1 && i < q->totals.n_servers; i++)
		if (q->totals.server[i].service == service &&
		    strcmp(q->totals.server[i].config->name, q->arg[1]) == 0)
			only = &q->totals.server[i];
	if (q->n > 1 && only == NULL)
		return -EINVAL;
	l = calloc(2, sizeof(*l));
	if (l == NULL)
		return -ENOMEM;
	s = l + 1;
	for (unsigned int i = 0; i < q->totals.n_servers; i++) {
		const struct tg_totals_server *e = &q->totals.server[i];

		if (e->service != service || (only != NULL && e != only))
			continue;
		tg_hist_add(l, &e->latency);
		tg_hist_add(s, &e->server);
		for (unsigned int k = 0; k < TG_ESTIMATOR_COUNT; k++)
			kind[k] += e->exchanges[k];
		unsure += e->unsure;
	}
	tg_tel_u64(q->d, "exchanges_gap", kind[TG_ESTIMATOR_GAP]);
	tg_tel_u64(q->d, "exchanges_ack", kind[TG_ESTIMATOR_ACK]);
	tg_tel_u64(q->d, "exchanges_unsure", unsure);
	tg_tel_u64(q->d, "exchanges_echo", kind[TG_ESTIMATOR_ECHO]);
	histogram(q->d, "latency", l);
	tg_tel_u64(q->d, "server_exchanges", s->count);
	histogram(q->d, "server", s);
	free(l);
	return only != NULL ? load(q, only) : 0;
}

static int flow(struct query *q)
{
	struct tg_explanation e;
	char tuple[256], err[256];

	if (q->n != 5)
		return -EINVAL;
	snprintf(tuple, sizeof(tuple), "%s,%s,%s,%s,%s", q->arg[0], q->arg[1], q->arg[2], q->arg[3],
		 q->arg[4]);
	if (tg_explain(q->g, tuple, &e, err, sizeof(err)) != 0)
		return -EINVAL;
	tg_tel_u64(q->d, "entry", e.entry);
	tg_tel_u64(q->d, "drop", e.drop);
	tg_tel_string(q->d, "drop_name", tg_reason_name(e.drop));
	if (e.service != TG_NO_SERVICE)
		tg_tel_string(q->d, "service_name", q->g->snapshot->service[e.service]->name);
	if (e.server != TG_NO_SERVER) {
		tg_tel_u64(q->d, "server", e.server);
		tg_tel_string(q->d, "server_name", q->g->snapshot->server[e.server]->name);
	}
	tg_tel_string(q->d, "why", e.why);
	return 0;
}

static void snapshot_of_flows(struct query *q, const struct tg_restart *r)
{
	const struct tg_restart_stats *s = &r->stats;
	uint64_t at = tg_stat_read(&s->saved_at), now = rte_rdtsc();

	tg_tel_u64(q->d, "restored", s->restored);
	tg_tel_u64(q->d, "restore_expired", s->expired);
	tg_tel_u64(q->d, "restore_strangers", s->strangers);
	tg_tel_u64(q->d, "restore_no_room", s->no_room);
	tg_tel_u64(q->d, "restore_ns", s->restore_ns);
	tg_tel_u64(q->d, "restored_snapshot_age_ms", s->restored_age_ns / 1000000);
	tg_tel_u64(q->d, "snapshot_flows", tg_stat_read(&s->saved));
	tg_tel_u64(q->d, "snapshot_age_ms",
		   at > 0 && now > at ? tg_ticks_to_ns(&q->g->clock, now - at) / 1000000 : 0);
	tg_tel_u64(q->d, "snapshot_write_ns", tg_stat_read(&s->write_ns));
	tg_tel_u64(q->d, "snapshot_writes", tg_stat_read(&s->writes));
	tg_tel_u64(q->d, "snapshot_failures", tg_stat_read(&s->failures));
}

static void kernel(struct query *q, const struct tg_exception *x)
{
	struct tg_exception_stats s;

	tg_exception_stats(x, &s);
	tg_tel_u64(q->d, "to_kernel", q->totals.all.to_kernel);
	tg_tel_u64(q->d, "kernel_delivered", s.delivered);
	tg_tel_u64(q->d, "kernel_refused", s.refused);
	tg_tel_u64(q->d, "from_kernel", s.sent);
	tg_tel_u64(q->d, "from_kernel_unsent", s.unsent);
	tg_tel_u64(q->d, "announced", tg_exception_announced(x));
}

static int flows(struct query *q)
{
	const struct tg_flow_stats *f = &q->totals.flows;

	tg_tel_u64(q->d, "slots", q->totals.flow_slots);
	tg_tel_u64(q->d, "used", f->inserted - f->expired - f->removed);
	tg_tel_u64(q->d, "inserted", f->inserted);
	tg_tel_u64(q->d, "expired", f->expired);
	tg_tel_u64(q->d, "removed", f->removed);
	tg_tel_u64(q->d, "full", f->full);
	tg_tel_u64(q->d, "stateless_packets", q->totals.all.stateless);
	tg_tel_u64(q->d, "repicked", q->totals.all.repicked);
	tg_tel_u64(q->d, "icmp_errors", q->totals.all.icmp_errors);
	tg_tel_u64(q->d, "fragments_followed", q->totals.all.fragments);
	tg_tel_u64(q->d, "mss_lowered", q->totals.all.mss_lowered);
	tg_tel_u64(q->d, "too_big_sent", q->totals.all.too_big_sent);
	if (q->g->exception != NULL)
		kernel(q, q->g->exception);
	if (q->g->restart != NULL)
		snapshot_of_flows(q, q->g->restart);
	return 0;
}

static int drops(struct query *q)
{
	for (unsigned int r = 1; r < TG_DROP_REASON_COUNT; r++)
		tg_tel_u64(q->d, tg_reason_name(r), q->totals.all.dropped[r]);
	tg_tel_u64(q->d, "total", q->totals.dropped);
	return 0;
}

/* What the arrivals of a port's packets are taken from. */
static void arrivals(struct query *q, unsigned int port)
{
	const struct tg_port *p = &q->g->ports[port];
	struct tg_stamp_stats sum;

	tg_tel_stringf(q->d, tg_arrival_name(tg_port_arrival(p)), "port_%u_arrival", port);
	if (p->stamp_offset < 0)
		return;
	tg_gateway_stamps(q->g, port, &sum);
	tg_tel_u64f(q->d, sum.used, "port_%u_stamps_used", port);
	tg_tel_u64f(q->d, sum.missing, "port_%u_stamps_missing", port);
	tg_tel_u64f(q->d, sum.future, "port_%u_stamps_future", port);
	tg_tel_u64f(q->d, sum.stale, "port_%u_stamps_stale", port);
	tg_tel_u64f(q->d, p->clock.restarts, "port_%u_clock_restarts", port);
}

static int gate(struct query *q)
{
	const struct tg_gate_stats *s = &q->totals.all.gate;

	tg_tel_u64(q->d, "checked", s->checked);
	tg_tel_u64(q->d, "late", s->late);
	tg_tel_u64(q->d, "late_dropped", s->late_dropped);
	tg_tel_u64(q->d, "late_uncertain", s->late_uncertain);
	tg_tel_u64(q->d, "max_sojourn_ns", s->max_sojourn_ns);
	tg_tel_u64(q->d, "late_early", s->late_early);
	for (unsigned int i = 0; i < TG_GATE_PLACES; i++)
		tg_tel_u64f(q->d, s->late_at[i], "late_at_%s", tg_gate_place_name(i));
	tg_tel_u64(q->d, "future_arrivals", s->future);
	histogram(q->d, "sojourn", &s->sojourn);
	tail(q->d, "sojourn", &s->sojourn);
	histogram(q->d, "handing", &s->handing);
	tail(q->d, "handing", &s->handing);
	tg_tel_u64(q->d, "first_copy_forwarded", s->again.count);
	histogram(q->d, "first_copy_forwarded_age", &s->again);
	tg_tel_u64(q->d, "first_copy_forwarded_age_max_ns", s->again.max_ns);
	tg_tel_u64(q->d, "first_copy_dropped", s->after_drop.count);
	histogram(q->d, "first_copy_dropped_age", &s->after_drop);
	tg_tel_u64(q->d, "first_copy_dropped_age_max_ns", s->after_drop.max_ns);
	for (unsigned int i = 0; i < q->g->n_ports; i++)
		arrivals(q, i);
	return 0;
}

static int bid(struct query *q)
{
	uint16_t service = service_of(q, 0);

	if (q->n < 1) {
		tg_auction_telemetry_all(q->g, q->d);
		return 0;
	}
	if (service == TG_NO_SERVICE)
		return -EINVAL;
	tg_auction_telemetry(q->g, service, number(q, 1, 0), q->d);
	return 0;
}

static int admit(struct query *q)
{
	uint32_t from = number(q, 0, 0);
	bool page = q->n == 0 || from != UINT32_MAX;

	return tg_admission_telemetry(q->g, page ? NULL : q->arg[0], from, q->d);
}

static uint64_t dropped(const struct tg_worker_stats *s)
{
	uint64_t n = 0;

	for (unsigned int r = 0; r < TG_DROP_REASON_COUNT; r++)
		n += tg_stat_read(&s->dropped[r]);
	return n;
}

static int lcore(struct query *q)
{
	uint32_t id = number(q, 0, UINT32_MAX);

	for (unsigned int i = 0; i < q->g->n_workers; i++) {
		const struct tg_worker *w = q->g->worker[i];
		const struct tg_worker_stats *s = &w->stats;

		if (w->lcore != id)
			continue;
		tg_tel_u64(q->d, "worker", i);
		tg_tel_u64(q->d, "received_packets", tg_stat_read(&s->received));
		tg_tel_u64(q->d, "forwarded_packets", tg_stat_read(&s->forwarded));
		tg_tel_u64(q->d, "dropped_packets", dropped(s));
		tg_tel_u64(q->d, "replied_packets", tg_stat_read(&s->replied));
		tg_tel_u64(q->d, "control_frames_lost", tg_stat_read(&s->control_lost));
		tg_tel_u64(q->d, "made_packets", tg_stat_read(&s->made));
		tg_tel_u64(q->d, "taken_in_packets", tg_stat_read(&s->taken_in));
		tg_tel_u64(q->d, "to_kernel_packets", tg_stat_read(&s->to_kernel));
		tg_tel_u64(q->d, "handed_over_packets", tg_stat_read(&s->handed_over));
		tg_tel_u64(q->d, "refused_packets", tg_stat_read(&s->refused));
		tg_tel_u64(q->d, "turns", tg_stat_read(&s->turns));
		tg_tel_u64(q->d, "busy_turns", tg_stat_read(&s->busy_turns));
		tg_tel_u64(q->d, "sleeps", tg_stat_read(&w->idle.sleeps));
		tg_tel_u64(q->d, "slept_ns", tg_stat_read(&w->idle.slept_ns));
		return 0;
	}
	return -EINVAL;
}

static void task(struct query *q, unsigned int worker, unsigned int k, uint64_t now)
{
	const struct tg_task *t = q->g->worker[worker]->sched.task[k];
	const struct tg_clock *c = &q->g->clock;

	tg_tel_stringf(q->d, t->name, "task_%u_name", k);
	tg_tel_u64f(q->d, tg_ticks_to_ns(c, tg_task_late(t, now)), "task_%u_late_ns", k);
	tg_tel_u64f(q->d, tg_task_backlog(t, now), "task_%u_backlog", k);
	tg_tel_u64f(q->d, tg_stat_read(&t->rounds), "task_%u_rounds", k);
	tg_tel_u64f(q->d, tg_stat_read(&t->steps), "task_%u_steps", k);
	tg_tel_u64f(q->d, tg_ticks_to_ns(c, tg_stat_read(&t->work)), "task_%u_work_ns", k);
	tg_tel_u64f(q->d, tg_ticks_to_ns(c, tg_stat_read(&t->step_max)), "task_%u_step_max_ns", k);
	tg_tel_u64f(q->d, tg_ticks_to_ns(c, tg_stat_read(&t->late_max)), "task_%u_late_max_ns", k);
	tg_tel_u64f(q->d, q->g->watch->task[worker][k].active, "task_%u_alarm", k);
	tg_tel_u64f(q->d, q->g->watch->task[worker][k].count, "task_%u_alarms", k);
}

static int tasks(struct query *q)
{
	uint32_t id = number(q, 0, UINT32_MAX);

	for (unsigned int i = 0; i < q->g->n_workers; i++) {
		const struct tg_worker *w = q->g->worker[i];

		if (w->lcore != id)
			continue;
		for (unsigned int k = 0; k < w->sched.n; k++)
			task(q, i, k, rte_rdtsc());
		return 0;
	}
	return -EINVAL;
}

static int alarms(struct query *q)
{
	for (unsigned int kind = 0; kind < TG_ALARM_KINDS; kind++) {
		unsigned int active;
		uint64_t count;

		tg_watch_count(q->g->watch, kind, &active, &count);
		tg_tel_u64f(q->d, active, "%s_active", tg_alarm_name(kind));
		tg_tel_u64f(q->d, count, "%s_count", tg_alarm_name(kind));
	}
	return 0;
}

static int stages(struct query *q)
{
	uint32_t id = number(q, 0, UINT32_MAX);

	for (unsigned int i = 0; i < q->g->n_workers; i++) {
		const struct tg_worker *w = q->g->worker[i];

		if (w->lcore != id)
			continue;
		for (unsigned int k = 0; k < TG_STAGE_COUNT; k++) {
			const struct tg_stage_stats *st = &w->stage[k];
			const char *name = tg_stage_name(k);

			tg_tel_u64f(q->d, tg_stat_read(&st->calls), "%s_calls", name);
			tg_tel_u64f(q->d, tg_stat_read(&st->packets), "%s_packets", name);
			tg_tel_u64f(q->d, tg_stat_read(&st->ticks), "%s_cycles", name);
			tg_tel_u64f(q->d, tg_hist_percentile_ns(&st->work, 50), "%s_p50_ns", name);
			tg_tel_u64f(q->d, tg_hist_percentile_ns(&st->work, 99.9), "%s_p99_9_ns",
				    name);
			if (k != TG_STAGE_RX && k != TG_STAGE_OWNER && k != TG_STAGE_ADMIT &&
			    k != TG_STAGE_TX)
				continue;
			tg_tel_u64f(q->d, tg_stat_read(&st->wait.count), "%s_waits", name);
			tg_tel_u64f(q->d, tg_hist_percentile_ns(&st->wait, 50), "%s_wait_p50_ns",
				    name);
			tg_tel_u64f(q->d, tg_hist_percentile_ns(&st->wait, 99.9),
				    "%s_wait_p99_9_ns", name);
			tg_tel_u64f(q->d, tg_stat_read(&st->wait.max_ns), "%s_wait_max_ns", name);
		}
		return 0;
	}
	return -EINVAL;
}

static int config(struct query *q)
{
	tg_tel_u64(q->d, "version", q->g->snapshot->version);
	tg_tel_u64(q->d, "services", q->g->snapshot->config->n_services);
	tg_tel_u64(q->d, "ports", q->g->n_ports);
	tg_tel_u64(q->d, "workers", q->g->n_workers);
	tg_tel_u64(q->d, "reloads", q->g->reloads);
	tg_tel_u64(q->d, "reloads_failed", q->g->reloads_failed);
	return 0;
}

static const struct {
	const char *name, *help;
	int (*run)(struct query *q);
} commands[] = {
	{"/tidegate/services",
	 "Services by id. Parameter: id to start from (`next` of the page before)", services},
	{"/tidegate/servers",
	 "Servers of a service. Parameters: service name or id[, how many to skip]", servers},
	{"/tidegate/latency",
	 "Latency (L) and server time (S); of one server also its last 5-10 s, load and prediction. "
	 "Parameters: service[, server name]",
	 latency},
	{"/tidegate/flow", "One flow. Parameters: protocol,source,port,destination,port", flow},
	{"/tidegate/flows", "Flow tables. No parameters", flows},
	{"/tidegate/drops", "Dropped packets by reason. No parameters", drops},
	{"/tidegate/gate", "The time gate. No parameters", gate},
	{"/tidegate/bid",
	 "Auctions. Parameters: none, or service[, how many of its servers to skip]", bid},
	{"/tidegate/admit",
	 "Admission. Parameter: a pool's name; without it the pools, or from an index on (`next` of the page "
	 "before)",
	 admit},
	{"/tidegate/lcore", "One worker. Parameter: lcore id", lcore},
	{"/tidegate/tasks",
	 "Background tasks of one worker: how late, what is left to do. Parameter: lcore id",
	 tasks},
	{"/tidegate/alarms", "What is late or lost: active now, how often it began. No parameters",
	 alarms},
	{"/tidegate/stages",
	 "One burst in 64, stage by stage: calls, packets, cycles, time of a burst. Parameter: lcore id",
	 stages},
	{"/tidegate/config", "The configuration in force. No parameters", config},
};

static int answer(struct query *q, const char *command, const char *params)
{
	q->n = tg_tel_params(params, q->text, sizeof(q->text), q->arg, 8);
	if (q->n < 0)
		return q->n;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(command, commands[i].name) == 0)
			return commands[i].run(q);
	return -EINVAL;
}

static int on_command(const char *command, const char *params, struct rte_tel_data *d)
{
	struct query q = {.d = d};
	int r = -ENODEV;

	tg_tel_start(d);
	pthread_mutex_lock(&lock);
	if (gateway != NULL) {
		q.g = gateway;
		pthread_mutex_lock(&gateway->mutex);
		r = tg_totals_collect(gateway->snapshot, gateway->worker, gateway->n_workers,
				      &q.totals);
		if (r == 0)
			r = answer(&q, command, params);
		tg_totals_free(&q.totals);
		pthread_mutex_unlock(&gateway->mutex);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

void tg_telemetry_start(struct tg_gateway *g)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		rte_telemetry_register_cmd(commands[i].name, on_command, commands[i].help);
	pthread_mutex_lock(&lock);
	gateway = g;
	pthread_mutex_unlock(&lock);
}

void tg_telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	gateway = NULL;
	pthread_mutex_unlock(&lock);
}
