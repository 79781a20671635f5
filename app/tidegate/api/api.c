/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/api.h"

#include <rte_cycles.h>
#include <stdio.h>

#include "admission/report.h"
#include "api/explain.h"
#include "api/remedy.h"
#include "api/totals.h"
#include "api/watch.h"
#include "auction/report.h"
#include "capture/report.h"
#include "choice/load.h"
#include "control.h"
#include "guarding.h"
#include "health/health.h"
#include "recording/file.h"

struct command {
	const char *name;
	const char *arguments; /* as help shows them */
	int least, most;
	json_t *(*run)(struct tg_gateway *g, char **args, char *err, size_t err_len);
	const char *help;
};

static const char *state_name(enum tg_server_state s)
{
	return s == TG_SERVER_UP ? "up" : s == TG_SERVER_DRAIN ? "drain" : "down";
}

static const char *protocol_name(uint8_t p, char buf[8])
{
	if (p == TG_PROTOCOL_ANY || p == 6 || p == 17)
		return p == 6 ? "tcp" : p == 17 ? "udp" : "any";
	snprintf(buf, 8, "%u", p);
	return buf;
}

static json_t *service_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	const struct tg_snapshot *s = g->snapshot;
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; i < s->n_services; i++) {
		const struct tg_config_service *v = s->service[i];
		char text[TG_ADDR_STRLEN], number[8];
		json_t *ports = json_array();

		if (v == NULL)
			continue;
		for (unsigned int p = 0; p < v->n_ports; p++)
			json_array_append_new(ports, json_integer(v->ports[p]));
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:i, s:i}", "name", v->name,
					"address", tg_addr_format(&v->address, text, sizeof(text)),
					"protocol", protocol_name(v->protocol, number), "ports",
					ports, "forward", tg_forward_name(v->forward), "policy",
					tg_policy(v->policy)->name, "servers", (int)v->n_servers,
					"taking_new_flows", (int)tg_select_count(s->group[i])));
	}
	return list;
}

/* What it has to do now, as control sees it; null where nothing is known of it. */
static void add_load(json_t *row, const struct tg_load_view *v)
{
	bool known = v != NULL && v->service_ns > 0;
	enum tg_requests_kind kind = v != NULL ? v->in_system_kind : TG_REQUESTS_UNKNOWN;
	bool bound = kind == TG_REQUESTS_AT_LEAST || kind == TG_REQUESTS_AT_MOST;

	json_object_set_new(row, "waiting", v != NULL ? json_integer(v->waiting) : json_null());
	json_object_set_new(row, "in_system",
			    kind == TG_REQUESTS_COUNTED ? json_real(v->in_system) : json_null());
	json_object_set_new(row, "in_system_kind", json_string(tg_requests_kind_name(kind)));
	json_object_set_new(row, "in_system_bound",
			    bound ? json_real(v->in_system_bound) : json_null());
	json_object_set_new(row, "in_system_taken", known ? json_real(v->in_system) : json_null());
	json_object_set_new(row, "service_ns",
			    known ? json_integer((json_int_t)v->service_ns) : json_null());
	json_object_set_new(row, "overdue", v != NULL ? json_integer(v->overdue) : json_null());
}

static void add_health(json_t *row, const struct tg_gateway *g, uint16_t server)
{
	struct tg_health_view v;

	if (!tg_health_of(g, server, rte_rdtsc(), &v)) {
		json_object_set_new(row, "health", json_string("off"));
		return;
	}
	json_object_set_new(row, "health", json_string(v.up ? "up" : "down"));
	json_object_set_new(row, "health_left_out", json_boolean(v.out));
	json_object_set_new(row, "health_suspect", json_boolean(v.suspect));
	json_object_set_new(row, "health_checks", json_integer((json_int_t)v.checks));
	json_object_set_new(row, "health_failures", json_integer((json_int_t)v.failures));
	json_object_set_new(row, "health_changes", json_integer((json_int_t)v.changes));
	json_object_set_new(row, "health_changed_ago_ms",
			    v.changes > 0 ? json_integer((json_int_t)(v.changed_ns / 1000000))
					  : json_null());
	json_object_set_new(row, "health_reason",
			    json_string(tg_health_reason_name(v.up ? v.why : v.fell)));
}

static json_t *server_row(const struct tg_gateway *g, const struct tg_totals_server *e)
{
	const struct tg_snapshot *s = g->snapshot;
	char text[TG_ADDR_STRLEN];
	const uint64_t *mac = s->route[e->id].mac;
	bool reachable = mac != NULL && (__atomic_load_n(mac, __ATOMIC_RELAXED) & TG_MAC_VALID);
	json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:I, s:I, s:I, s:I, s:I}",
				"service", s->service[e->service]->name, "name", e->config->name,
				"address", tg_addr_format(&e->config->address, text, sizeof(text)),
				"state", state_name(e->config->state), "weight",
				(int)e->config->weight, "link_address_known", reachable,
				"open_flows", (json_int_t)e->open, "flows", (json_int_t)e->flows,
				"exchanges", (json_int_t)e->latency.count, "latency_p50_ns",
				(json_int_t)tg_hist_percentile_ns(&e->latency, 50),
				"latency_p99_ns",
				(json_int_t)tg_hist_percentile_ns(&e->latency, 99));

	if (row != NULL) {
		add_load(row, tg_load_of(g->load, e->id));
		add_health(row, g, e->id);
	}
	return row;
}

/* One burst in TG_LAP_EVERY is timed: the table is of those. */
static json_t *stage_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; i < g->n_workers; i++)
		for (unsigned int k = 0; k < TG_STAGE_COUNT; k++) {
			const struct tg_stage_stats *st = &g->worker[i]->stage[k];
			double calls = (double)tg_stat_read(&st->calls);
			double packets = (double)tg_stat_read(&st->packets);
			double cycles = (double)tg_stat_read(&st->ticks);

			json_array_append_new(
				list,
				json_pack("{s:i, s:s, s:I, s:f, s:f, s:I}", "lcore",
					  (int)g->worker[i]->lcore, "stage", tg_stage_name(k),
					  "calls", (json_int_t)calls, "packets_per_call",
					  calls > 0 ? packets / calls : 0.0, "cycles_per_packet",
					  packets > 0 ? cycles / packets : 0.0, "burst_p99_ns",
					  (json_int_t)tg_hist_percentile_ns(&st->work, 99)));
		}
	return list;
}

static json_t *bid_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args, (void)err, (void)err_len;
	return tg_auction_json(g);
}

static json_t *server_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	uint16_t only = args[0] != NULL ? tg_snapshot_service(g->snapshot, args[0]) : TG_NO_SERVICE;
	struct tg_totals t;
	json_t *list;

	if (args[0] != NULL && only == TG_NO_SERVICE) {
		snprintf(err, err_len, "no service \"%s\"; `service list` shows those there are",
			 args[0]);
		return NULL;
	}
	if (tg_totals_collect(g->snapshot, g->worker, g->n_workers, &t) != 0) {
		snprintf(err, err_len, "not enough memory");
		return NULL;
	}
	list = json_array();
	for (unsigned int i = 0; i < t.n_servers; i++)
		if (only == TG_NO_SERVICE || t.server[i].service == only)
			json_array_append_new(list, server_row(g, &t.server[i]));
	tg_totals_free(&t);
	return list;
}

static json_t *set_state(struct tg_gateway *g, char **args, enum tg_server_state state, char *err,
			 size_t err_len)
{
	if (tg_control_set_state(g, args[0], args[1], state, err, err_len) != 0)
		return NULL;
	return json_pack("{s:s, s:s, s:s}", "service", args[0], "server", args[1], "state",
			 state_name(state));
}

static json_t *server_drain(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	return set_state(g, args, TG_SERVER_DRAIN, err, err_len);
}

static json_t *server_enable(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	return set_state(g, args, TG_SERVER_UP, err, err_len);
}

static json_t *server_disable(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	return set_state(g, args, TG_SERVER_DOWN, err, err_len);
}

static json_t *config_reload(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args;
	if (tg_control_reload(g, err, err_len) != 0)
		return NULL;
	return json_pack("{s:I}", "version", (json_int_t)g->snapshot->version);
}

/* What the workers counted by now. */
static json_t *forwarding_state(const struct tg_gateway *g)
{
	uint64_t received = 0, forwarded = 0, stopped = 0;

	for (unsigned int i = 0; i < g->n_workers; i++) {
		const struct tg_worker_stats *st = &g->worker[i]->stats;

		received += tg_stat_read(&st->received);
		forwarded += tg_stat_read(&st->forwarded);
		stopped += tg_stat_read(&st->dropped[TG_DROP_STOPPED]);
	}
	return json_pack("{s:b, s:I, s:I, s:I}", "forwarding", !g->stopped, "received",
			 (json_int_t)received, "forwarded", (json_int_t)forwarded,
			 "dropped_stopped", (json_int_t)stopped);
}

static json_t *forwarding_start(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args;
	return tg_control_set_stopped(g, false, err, err_len) == 0 ? forwarding_state(g) : NULL;
}

static json_t *forwarding_stop(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args;
	return tg_control_set_stopped(g, true, err, err_len) == 0 ? forwarding_state(g) : NULL;
}

static json_t *config_show(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args, (void)err, (void)err_len;
	return json_pack("{s:s, s:I, s:i, s:i, s:i, s:I, s:I, s:s, s:b}", "file",
			 g->options->config, "version", (json_int_t)g->snapshot->version, "ports",
			 (int)g->n_ports, "services", (int)g->snapshot->config->n_services,
			 "workers", (int)g->n_workers, "reloads", (json_int_t)g->reloads,
			 "reloads_failed", (json_int_t)g->reloads_failed, "mode",
			 g->mode == TG_MODE_SHADOW ? "shadow" : "inline", "forwarding",
			 !g->stopped);
}

static json_t *explanation(const struct tg_gateway *g, const struct tg_explanation *e)
{
	const struct tg_snapshot *s = g->snapshot;
	json_t *o = json_pack("{s:b, s:s}", "entry", e->entry, "why", e->why);

	if (e->service != TG_NO_SERVICE)
		json_object_set_new(o, "service", json_string(s->service[e->service]->name));
	if (e->server != TG_NO_SERVER)
		json_object_set_new(o, "server", json_string(s->server[e->server]->name));
	if (e->drop != TG_DROP_NONE) {
		json_object_set_new(o, "drop", json_string(tg_reason_name(e->drop)));
		json_object_set_new(o, "remedy", json_string(tg_remedy(e->drop)));
	}
	if (e->entry) {
		json_object_set_new(o, "worker", json_integer(e->worker));
		json_object_set_new(o, "idle_ms", json_integer((json_int_t)(e->idle_ns / 1000000)));
	}
	return o;
}

static json_t *flow_explain(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_explanation e;
	json_t *o;
	int r;

	pthread_mutex_lock(&g->mutex); /* telemetry may ask the workers too: one at a time */
	r = tg_explain(g, args[0], &e, err, err_len);
	pthread_mutex_unlock(&g->mutex);
	if (r != 0)
		return NULL;
	o = explanation(g, &e);
	json_object_set_new(o, "flow", json_string(args[0]));
	return o;
}

static json_t *packet_explain(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_explanation e;
	unsigned int port = 0;
	int r;

	while (args[1] != NULL && port < g->n_ports && strcmp(args[1], g->ports[port].name) != 0)
		port++;
	if (port == g->n_ports) {
		snprintf(err, err_len, "no port \"%s\"; `port list` shows those there are",
			 args[1]);
		return NULL;
	}
	pthread_mutex_lock(&g->mutex);
	r = tg_explain_frame(g, port, args[0], &e, err, err_len);
	pthread_mutex_unlock(&g->mutex);
	return r == 0 ? explanation(g, &e) : NULL;
}

static json_t *drop_explain(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	enum tg_reason why = tg_reason_by_name(args[0]);

	(void)g;
	if (why < TG_DROP_REASON_COUNT)
		return json_pack("{s:s, s:s, s:s}", "reason", args[0], "meaning",
				 tg_reason_text(why), "remedy", tg_remedy(why));
	snprintf(err, err_len, "no reason \"%s\"; `drop list` shows those that occurred", args[0]);
	return NULL;
}

static json_t *neighbour_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	json_t *list = json_array();
	struct tg_neigh_info n;

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; g->neigh != NULL && tg_neigh_get(g->neigh, i, rte_rdtsc(), &n);
	     i++) {
		char text[TG_ADDR_STRLEN], mac[18];

		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", n.mac[0], n.mac[1],
			 n.mac[2], n.mac[3], n.mac[4], n.mac[5]);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:b, s:b, s:o}", "address",
					tg_addr_format(&n.address, text, sizeof(text)), "port",
					g->ports[n.port].name, "mac", n.valid ? mac : "unknown",
					"valid", n.valid, "fixed", n.fixed, "age_ms",
					n.age_ns == UINT64_MAX
						? json_null()
						: json_integer((json_int_t)(n.age_ns / 1000000))));
	}
	return list;
}

static json_t *port_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; i < g->n_ports; i++) {
		const struct tg_port *p = &g->ports[i];
		struct tg_port_stats st = {0};
		char mac[18];

		pthread_mutex_lock(&g->mutex);
		tg_port_stats(p, &st);
		pthread_mutex_unlock(&g->mutex);
		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1],
			 p->mac[2], p->mac[3], p->mac[4], p->mac[5]);
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:i, s:i, s:i, s:I, s:I, s:I, s:I}",
				  "name", p->name, "device", p->device, "driver", p->driver, "mac",
				  mac, "link_up", st.link_up, "mtu", (int)p->mtu, "numa_node",
				  p->socket, "rx_queues", (int)p->rx_queues, "rx_packets",
				  (json_int_t)st.rx_packets, "tx_packets",
				  (json_int_t)st.tx_packets, "rx_missed", (json_int_t)st.rx_missed,
				  "tx_errors", (json_int_t)st.tx_errors));
	}
	return list;
}

static json_t *drop_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int r = 1; r < TG_DROP_REASON_COUNT; r++) {
		uint64_t n = 0;

		for (unsigned int w = 0; w < g->n_workers; w++)
			n += tg_stat_read(&g->worker[w]->stats.dropped[r]);
		if (n > 0)
			json_array_append_new(list,
					      json_pack("{s:s, s:I, s:s, s:s}", "reason",
							tg_reason_name(r), "packets", (json_int_t)n,
							"meaning", tg_reason_text(r), "remedy",
							tg_remedy(r)));
	}
	return list;
}

static json_t *worker_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; i < g->n_workers; i++) {
		const struct tg_worker *w = g->worker[i];
		const struct tg_flow_stats *f = tg_flow_table_stats(w->flows);

		json_array_append_new(
			list,
			json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "worker", (int)i,
				  "lcore", (int)w->lcore, "numa_node", w->socket, "turns",
				  (json_int_t)tg_stat_read(&w->stats.turns), "busy_turns",
				  (json_int_t)tg_stat_read(&w->stats.busy_turns), "received",
				  (json_int_t)tg_stat_read(&w->stats.received), "forwarded",
				  (json_int_t)tg_stat_read(&w->stats.forwarded), "handed_over",
				  (json_int_t)tg_stat_read(&w->stats.handed_over), "flows",
				  (json_int_t)(tg_stat_read(&f->inserted) -
					       tg_stat_read(&f->expired) -
					       tg_stat_read(&f->removed))));
	}
	return list;
}

static json_t *task_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args, (void)err, (void)err_len;
	return tg_watch_tasks(g, rte_rdtsc());
}

static json_t *alarm_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	(void)args, (void)err, (void)err_len;
	return tg_watch_alarms(g, rte_rdtsc());
}

static json_t *stats_show(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_totals t;
	json_t *o;

	(void)args;
	if (tg_totals_collect(g->snapshot, g->worker, g->n_workers, &t) != 0) {
		snprintf(err, err_len, "not enough memory");
		return NULL;
	}
	o = tg_report_json(&(struct tg_report){.totals = &t});
	tg_totals_free(&t);
	return o;
}

static json_t *help(struct tg_gateway *g, char **args, char *err, size_t err_len);

static const struct command commands[] = {
	{"service list", "", 0, 0, service_list, "services and how they choose"},
	{"server list", "[SERVICE]", 0, 1, server_list, "servers, their state and latency"},
	{"server drain", "SERVICE SERVER", 2, 2, server_drain,
	 "no new flows; established ones stay"},
	{"server enable", "SERVICE SERVER", 2, 2, server_enable, "takes flows again"},
	{"server disable", "SERVICE SERVER", 2, 2, server_disable,
	 "its flows move to other servers"},
	{"config show", "", 0, 0, config_show, "which configuration is in force"},
	{"config reload", "", 0, 0, config_reload, "read the file again, apply differences"},
	{"forwarding stop", "", 0, 0, forwarding_stop,
	 "drops what is for services; ARP, ND, ping, the kernel and health checks go on"},
	{"forwarding start", "", 0, 0, forwarding_start, "forwards again"},
	{"flow explain", "PROTOCOL,SRC,SPORT,DST,DPORT", 1, 1, flow_explain,
	 "which server, and why, or which drop"},
	{"packet explain", "HEX [PORT]", 1, 2, packet_explain,
	 "the same of a whole frame, as hexadecimal digits"},
	{"neighbour list", "", 0, 0, neighbour_list, "next hops and their link addresses"},
	{"port list", "", 0, 0, port_list, "ports and their counters"},
	{"drop list", "", 0, 0, drop_list, "dropped packets by reason"},
	{"drop explain", "REASON", 1, 1, drop_explain, "what a reason means, and what to do"},
	{"worker list", "", 0, 0, worker_list, "workers and their counters"},
	{"task list", "", 0, 0, task_list, "background tasks: how late, what is left to do"},
	{"alarm list", "", 0, 0, alarm_list, "what was late or lost, and whether it still is"},
	{"bid list", "", 0, 0, bid_list, "auctions of services that take bids, and who won them"},
	{"stage list", "", 0, 0, stage_list,
	 "calls, packets a call and cycles a packet of each stage"},
	{"admission list", "", 0, 0, tg_admission_list_json,
	 "pools of tokens: budget, debt, what waits"},
	{"segment top", "[POOL]", 0, 1, tg_admission_top_json,
	 "who asked for most in the last second, and is it a burst"},
	{"access list", "[SERVICE]", 0, 1, tg_guarding_access_json,
	 "which clients may send, by prefix"},
	{"limit list", "", 0, 0, tg_guarding_limits_json,
	 "limits of rates, and how often each was reached"},
	{"capture start", "NAME [FILTER [OPTIONS]]", 1, 3, tg_recording_start,
	 "packets into a pcapng file, by a pcap-filter(7) expression"},
	{"capture stop", "", 0, 0, tg_recording_stop, "ends the capture"},
	{"capture list", "", 0, 0, tg_recording_list, "the capture that is under way"},
	{"stats show", "", 0, 0, stats_show, "the report: totals, latency, drops, gate"},
	{"help", "", 0, 0, help, "this list"},
};

static json_t *help(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	json_t *list = json_array();

	(void)g, (void)args, (void)err, (void)err_len;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s}", "command", commands[i].name,
						"arguments", commands[i].arguments, "does",
						commands[i].help));
	return list;
}

bool tg_api_command(size_t i, const char **name, const char **arguments, const char **text)
{
	if (i >= sizeof(commands) / sizeof(commands[0]))
		return false;
	*name = commands[i].name;
	*arguments = commands[i].arguments;
	*text = commands[i].help;
	return true;
}

json_t *tg_api_handle(void *gateway, const char *command, char **args, int n, char *err,
		      size_t err_len)
{
	char *argument[3] = {NULL, NULL, NULL}; /* absent ones are NULL */

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *c = &commands[i];

		if (strcmp(command, c->name) != 0)
			continue;
		if (n < c->least || n > c->most) {
			snprintf(err, err_len, "usage: %s %s", c->name, c->arguments);
			return NULL;
		}
		for (int k = 0; k < n; k++)
			argument[k] = args[k];
		return c->run(gateway, argument, err, err_len);
	}
	snprintf(err, err_len, "no command \"%s\"; `help` lists them", command);
	return NULL;
}
