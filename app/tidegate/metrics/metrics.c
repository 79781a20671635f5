/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/metrics.h"

#include <errno.h>

#include "admission/report.h"
#include "api/totals.h"
#include "api/watch.h"
#include "gateway.h"
#include "health/health.h"
#include "port/rx.h"

#define LABELS_MAX (4 * TG_NAME_MAX + 64)

/* One scrape. */
struct page {
	FILE *out;
	struct tg_gateway *g;
	const struct tg_totals *t;
	unsigned int n_servers; /* that are shown */
	uint64_t now;
};

void tg_metrics_escape(const char *value, char *out, size_t len)
{
	size_t n = 0;

	for (; *value != '\0' && n + 2 < len; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			out[n++] = '\\';
		out[n++] = *value == '\n' ? 'n' : *value;
	}
	out[n] = '\0';
}

/* A family's head. unit "": a plain number; else the name ends in it. */
static void family(const struct page *p, const char *name, const char *type, const char *unit,
		   const char *help)
{
	fprintf(p->out, "# TYPE tidegate_%s %s\n", name, type);
	if (unit[0] != '\0')
		fprintf(p->out, "# UNIT tidegate_%s %s\n", name, unit);
	fprintf(p->out, "# HELP tidegate_%s %s\n", name, help);
}

static void counter(const struct page *p, const char *name, const char *labels, uint64_t v)
{
	fprintf(p->out, "tidegate_%s_total%s %llu\n", name, labels, (unsigned long long)v);
}

static void gauge(const struct page *p, const char *name, const char *labels, uint64_t v)
{
	fprintf(p->out, "tidegate_%s%s %llu\n", name, labels, (unsigned long long)v);
}

static void seconds(const struct page *p, const char *name, const char *labels, uint64_t ns)
{
	fprintf(p->out, "tidegate_%s%s %.9f\n", name, labels, (double)ns / 1e9);
}

static const char *label(const char *key, const char *value, char out[LABELS_MAX])
{
	char text[2 * TG_NAME_MAX + 2];

	tg_metrics_escape(value, text, sizeof(text));
	snprintf(out, LABELS_MAX, "{%s=\"%s\"}", key, text);
	return out;
}

static void process(const struct page *p)
{
	const struct tg_gateway *g = p->g;

	family(p, "build", "info", "", "The running program.");
	fprintf(p->out, "tidegate_build_info{version=\"" TG_VERSION "\",mode=\"%s\"} 1\n",
		g->mode == TG_MODE_SHADOW ? "shadow" : "inline");
	family(p, "uptime_seconds", "gauge", "seconds", "Since the start.");
	seconds(p, "uptime_seconds", "", tg_ticks_to_ns(&g->clock, p->now - g->started));
	family(p, "config_version", "gauge", "",
	       "The configuration in force: 1 at the start, one more with each change.");
	gauge(p, "config_version", "", g->snapshot->version);
	family(p, "config_reloads", "counter", "",
	       "Reloads of the configuration file that were applied.");
	counter(p, "config_reloads", "", g->reloads);
	family(p, "config_reload_failures", "counter", "",
	       "Reloads that were refused: the configuration in force stayed.");
	counter(p, "config_reload_failures", "", g->reloads_failed);
	family(p, "metrics_servers_left_out", "gauge", "",
	       "Servers beyond metrics.servers_max, of which this page shows nothing.");
	gauge(p, "metrics_servers_left_out", "", p->t->n_servers - p->n_servers);
}

/* X(family, unit, field of struct tg_worker_stats, help) */
#define WORKER_COUNTERS(X)                                                                       \
	X("received_packets", "packets", received, "Packets received by a worker.")              \
	X("received_bytes", "bytes", received_bytes, "Bytes of those, link header included.")    \
	X("forwarded_packets", "packets", forwarded, "Packets sent to servers.")                 \
	X("forwarded_bytes", "bytes", forwarded_bytes, "Bytes of those.")                        \
	X("replied_packets", "packets", replied,                                                 \
	  "Answers of the gateway's own: ARP, ND, ping, ICMP errors.")                           \
	X("made_packets", "packets", made,                                                       \
	  "Packets of the gateway's own that forwarded and dropped count too: auctions'.")       \
	X("taken_in_packets", "packets", taken_in, "Answers to health checks, for control.")     \
	X("to_kernel_packets", "packets", to_kernel, "Packets for no service, to the kernel.")   \
	X("control_lost_frames", "frames", control_lost,                                         \
	  "Frames of control's and the kernel's that no driver took in time.")                   \
	X("handed_over_packets", "packets", handed_over,                                         \
	  "Packets that crossed to the worker which owns their flow.")                           \
	X("stateless_packets", "packets", stateless,                                             \
	  "Packets forwarded by consistent hash, without an entry: the table is full.")          \
	X("repicked_flows", "flows", repicked,                                                   \
	  "Flows that got another server when theirs went away.")                                \
	X("icmp_errors_followed_packets", "packets", icmp_errors,                                \
	  "ICMP errors sent on to the server of the flow that they quote.")                      \
	X("mss_lowered_packets", "packets", mss_lowered, "SYNs whose segment size was lowered.") \
	X("too_big_sent_packets", "packets", too_big_sent, "Own ICMP errors \"too big\".")       \
	X("send_refused_packets", "packets", refused,                                            \
	  "Packets that a driver did not take at the first try.")                                \
	X("loop_turns", "turns", turns, "Turns of a worker's loop.")                             \
	X("loop_busy_turns", "turns", busy_turns, "Turns that received something.")

static void workers(const struct page *p)
{
	char labels[LABELS_MAX];

#define WORKER_COUNTER(name, unit, field, help)                                             \
	family(p, name, "counter", unit, help);                                             \
	for (unsigned int i = 0; i < p->g->n_workers; i++) {                                \
		snprintf(labels, sizeof(labels), "{lcore=\"%u\"}", p->g->worker[i]->lcore); \
		counter(p, name, labels, tg_stat_read(&p->g->worker[i]->stats.field));      \
	}
	WORKER_COUNTERS(WORKER_COUNTER)
#undef WORKER_COUNTER
}

static void drops(const struct page *p)
{
	char labels[LABELS_MAX];

	family(p, "dropped_packets", "counter", "packets",
	       "Packets that were not forwarded, by reason: tidegatectl drop list says what each means.");
	for (unsigned int r = 1; r < TG_DROP_REASON_COUNT; r++)
		counter(p, "dropped_packets", label("reason", tg_reason_name(r), labels),
			p->t->all.dropped[r]);
}

static void flows(const struct page *p)
{
	const struct tg_flow_stats *f = &p->t->flows;

	family(p, "flow_slots", "gauge", "", "Places of all workers' flow tables.");
	gauge(p, "flow_slots", "", p->t->flow_slots);
	family(p, "flows", "gauge", "", "Flows in them.");
	gauge(p, "flows", "", f->inserted - f->expired - f->removed);
	family(p, "flows_inserted", "counter", "", "Flows that got an entry.");
	counter(p, "flows_inserted", "", f->inserted);
	family(p, "flows_expired", "counter", "", "Entries that were idle for too long.");
	counter(p, "flows_expired", "", f->expired);
	family(p, "flows_removed", "counter", "", "Entries that were taken away.");
	counter(p, "flows_removed", "", f->removed);
	family(p, "flows_refused", "counter", "",
	       "Flows that found no place: served by consistent hash.");
	counter(p, "flows_refused", "", f->full);
}

static void gate(const struct page *p)
{
	const struct tg_gate_stats *s = &p->t->all.gate;

	family(p, "gate_checked_packets", "counter", "packets",
	       "Packets that the time gate looked at.");
	counter(p, "gate_checked_packets", "", s->checked);
	family(p, "gate_late_packets", "counter", "packets",
	       "Packets that were in the gateway for longer than their service allows.");
	counter(p, "gate_late_packets", "", s->late);
	family(p, "gate_late_dropped_packets", "counter", "packets",
	       "Those that were dropped for it.");
	counter(p, "gate_late_dropped_packets", "", s->late_dropped);
	family(p, "gate_sojourn_max_seconds", "gauge", "seconds",
	       "The longest time in the gateway since the start.");
	seconds(p, "gate_sojourn_max_seconds", "", s->max_sojourn_ns);
}

/* X(family, type, unit, field of struct tg_port_stats, help) */
#define PORT_NUMBERS(X)                                                                       \
	X("port_received_packets", counter, "packets", rx_packets,                            \
	  "Packets received, by the driver's count.")                                         \
	X("port_received_bytes", counter, "bytes", rx_bytes, "Bytes of those.")               \
	X("port_sent_packets", counter, "packets", tx_packets, "Packets sent.")               \
	X("port_sent_bytes", counter, "bytes", tx_bytes, "Bytes of those.")                   \
	X("port_missed_packets", counter, "packets", rx_missed,                               \
	  "Packets lost for want of room in the receive rings.")                              \
	X("port_no_buffer_packets", counter, "packets", rx_nombuf,                            \
	  "Packets lost for want of buffers.")                                                \
	X("port_receive_errors", counter, "errors", rx_errors, "Broken frames received.")     \
	X("port_send_errors", counter, "errors", tx_errors, "Frames that could not be sent.") \
	X("port_up", gauge, "", link_up, "1: the link is up.")

static void ports(const struct page *p)
{
	struct tg_port_stats st[TG_PORTS_MAX] = {{0}};
	char labels[LABELS_MAX];

	for (unsigned int i = 0; i < p->g->n_ports; i++)
		tg_port_stats(&p->g->ports[i], &st[i]);
#define PORT_NUMBER(metric, kind, unit, field, help)     \
	family(p, metric, #kind, unit, help);            \
	for (unsigned int i = 0; i < p->g->n_ports; i++) \
		kind(p, metric, label("port", p->g->ports[i].name, labels), st[i].field);
	PORT_NUMBERS(PORT_NUMBER)
#undef PORT_NUMBER
}

static void alarms(const struct page *p)
{
	char labels[LABELS_MAX];
	unsigned int active;
	uint64_t count;

	family(p, "alarms_active", "gauge", "", "What is late or lost now, by kind.");
	for (enum tg_alarm_kind k = 0; k < TG_ALARM_KINDS; k++) {
		tg_watch_count(p->g->watch, k, &active, &count);
		gauge(p, "alarms_active", label("alarm", tg_alarm_name(k), labels), active);
	}
	family(p, "alarms", "counter", "", "How often that began.");
	for (enum tg_alarm_kind k = 0; k < TG_ALARM_KINDS; k++) {
		tg_watch_count(p->g->watch, k, &active, &count);
		counter(p, "alarms", label("alarm", tg_alarm_name(k), labels), count);
	}
}

static const char *service_label(const struct page *p, unsigned int id, char out[LABELS_MAX])
{
	return label("service", p->g->snapshot->service[id]->name, out);
}

static void services(const struct page *p)
{
	const struct tg_snapshot *s = p->g->snapshot;
	char labels[LABELS_MAX];

	family(p, "service_servers", "gauge", "", "Servers of a service.");
	for (unsigned int i = 0; i < s->n_services; i++)
		if (s->service[i] != NULL)
			gauge(p, "service_servers", service_label(p, i, labels),
			      s->service[i]->n_servers);
	family(p, "service_servers_taking_flows", "gauge", "", "Those that get new flows.");
	for (unsigned int i = 0; i < s->n_services; i++)
		if (s->service[i] != NULL)
			gauge(p, "service_servers_taking_flows", service_label(p, i, labels),
			      tg_select_count(s->group[i]));
	family(p, "service_late_packets", "counter", "packets",
	       "Late packets of a service, by where their time went.");
	for (unsigned int i = 0; i < s->n_services; i++)
		for (unsigned int k = 0; s->service[i] != NULL && k < TG_GATE_PLACES; k++) {
			char name[2 * TG_NAME_MAX + 2];

			tg_metrics_escape(s->service[i]->name, name, sizeof(name));
			snprintf(labels, sizeof(labels), "{service=\"%s\",place=\"%s\"}", name,
				 tg_gate_place_name(k));
			counter(p, "service_late_packets", labels,
				p->t->late[i * TG_GATE_PLACES + k]);
		}
}

/* service="…",server="…" without braces. */
static const char *server_label(const struct page *p, const struct tg_totals_server *e,
				char out[LABELS_MAX])
{
	char service[2 * TG_NAME_MAX + 2], server[2 * TG_NAME_MAX + 2];

	tg_metrics_escape(p->g->snapshot->service[e->service]->name, service, sizeof(service));
	tg_metrics_escape(e->config->name, server, sizeof(server));
	snprintf(out, LABELS_MAX, "service=\"%s\",server=\"%s\"", service, server);
	return out;
}

/* X(family, type, unit, value of e, help) */
#define SERVER_NUMBERS(X)                                                                \
	X("server_flows", counter, "flows", e->flows, "Flows placed on a server.")       \
	X("server_packets", counter, "packets", e->packets, "Packets sent to it.")       \
	X("server_bytes", counter, "bytes", e->bytes, "Bytes of those.")                 \
	X("server_open_flows", gauge, "flows", e->open, "Flows that are open now.")      \
	X("server_weight", gauge, "", e->config->weight, "Its weight.")                  \
	X("server_state", gauge, "", e->config->state, "0: up, 1: drains, 2: down.")     \
	X("server_repeated_requests", counter, "requests", e->repeated,                  \
	  "Requests that clients sent again.")                                           \
	X("server_repeated_syns", counter, "syns", e->syns_repeated, "SYNs sent again.") \
	X("server_unsure_exchanges", counter, "exchanges", e->unsure,                    \
	  "Exchanges known only by an upper bound.")                                     \
	X("server_setup_exchanges", counter, "exchanges", e->setup, "TLS handshakes.")

static void servers(const struct page *p)
{
	char inner[LABELS_MAX], labels[LABELS_MAX + 2];

#define SERVER_NUMBER(name, kind, unit, value, help)                                 \
	family(p, name, #kind, unit, help);                                          \
	for (unsigned int i = 0; i < p->n_servers; i++) {                            \
		const struct tg_totals_server *e = &p->t->server[i];                 \
                                                                                     \
		snprintf(labels, sizeof(labels), "{%s}", server_label(p, e, inner)); \
		kind(p, name, labels, value);                                        \
	}
	SERVER_NUMBERS(SERVER_NUMBER)
#undef SERVER_NUMBER
}

static void server_cost_and_health(const struct page *p)
{
	char inner[LABELS_MAX], labels[LABELS_MAX + 2];
	struct tg_health_view v;

	family(p, "server_cost_seconds", "gauge", "seconds",
	       "What a new flow is reckoned to wait for there; 0: not known.");
	for (unsigned int i = 0; i < p->n_servers; i++) {
		snprintf(labels, sizeof(labels), "{%s}", server_label(p, &p->t->server[i], inner));
		seconds(p, "server_cost_seconds", labels, p->g->costs->cost_ns[p->t->server[i].id]);
	}
	family(p, "server_health_up", "gauge", "",
	       "1: its health checks succeed. Servers without checks have no series.");
	for (unsigned int i = 0; i < p->n_servers; i++)
		if (tg_health_of(p->g, p->t->server[i].id, p->now, &v)) {
			snprintf(labels, sizeof(labels), "{%s}",
				 server_label(p, &p->t->server[i], inner));
			gauge(p, "server_health_up", labels, v.up);
		}
	family(p, "server_health_failures", "counter", "", "Health checks that failed.");
	for (unsigned int i = 0; i < p->n_servers; i++)
		if (tg_health_of(p->g, p->t->server[i].id, p->now, &v)) {
			snprintf(labels, sizeof(labels), "{%s}",
				 server_label(p, &p->t->server[i], inner));
			counter(p, "server_health_failures", labels, v.failures);
		}
}

/* A log-linear histogram has 1/32 steps: cut at these, a sample may be told one step too high. */
static const uint64_t edges_us[] = {100,   250,    500,    1000,   2500,    5000,    10000,   25000,
				    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

static void histogram(const struct page *p, const char *name, const char *labels,
		      const struct tg_hist *h)
{
	unsigned int b = 0;
	uint64_t n = 0, all = 0;

	for (unsigned int i = 0; i < RTE_DIM(edges_us); i++) {
		for (; b + 1 < TG_HIST_BUCKETS && tg_hist_low_ns(b + 1) <= edges_us[i] * 1000; b++)
			n += h->bucket[b];
		fprintf(p->out, "tidegate_%s_bucket{%s,le=\"%g\"} %llu\n", name, labels,
			(double)edges_us[i] / 1e6, (unsigned long long)n);
	}
	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++)
		all += h->bucket[i];
	fprintf(p->out, "tidegate_%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels,
		(unsigned long long)all);
	fprintf(p->out, "tidegate_%s_count{%s} %llu\n", name, labels, (unsigned long long)all);
	fprintf(p->out, "tidegate_%s_sum{%s} %.9f\n", name, labels, (double)h->sum_ns / 1e9);
}

static void latencies(const struct page *p)
{
	char labels[LABELS_MAX];

	family(p, "response_latency_seconds", "histogram", "seconds",
	       "From a request's departure to its answer at the client, as clients' packets tell.");
	for (unsigned int i = 0; i < p->n_servers; i++)
		histogram(p, "response_latency_seconds", server_label(p, &p->t->server[i], labels),
			  &p->t->server[i].latency);
	family(p, "server_time_seconds", "histogram", "seconds",
	       "The part of it that the server took, where it can be told apart.");
	for (unsigned int i = 0; i < p->n_servers; i++)
		histogram(p, "server_time_seconds", server_label(p, &p->t->server[i], labels),
			  &p->t->server[i].server);
}

int tg_metrics_write(struct tg_gateway *g, uint64_t now, FILE *out)
{
	struct tg_totals t;
	struct page p = {.out = out, .g = g, .t = &t, .now = now};

	if (tg_totals_collect(g->snapshot, g->worker, g->n_workers, &t) != 0)
		return -ENOMEM;
	p.n_servers = RTE_MIN(t.n_servers, g->snapshot->config->metrics.servers_max);
	process(&p);
	workers(&p);
	drops(&p);
	flows(&p);
	gate(&p);
	ports(&p);
	alarms(&p);
	services(&p);
	servers(&p);
	server_cost_and_health(&p);
	latencies(&p);
	fprintf(out, "# EOF\n");
	tg_totals_free(&t);
	return ferror(out) ? -ENOMEM : 0;
}
