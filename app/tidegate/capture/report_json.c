/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* jansson returns NULL or -1 without memory, and passes NULL on: the root is asked once. */
static void set(json_t *to, const char *key, json_t *value, bool *fits)
{
	if (json_object_set_new(to, key, value) != 0)
		*fits = false;
}

/* A file's name may be any bytes; JSON wants UTF-8. */
static json_t *any_text(const char *text)
{
	json_t *o = json_string(text);
	char plain[TG_CAPTURE_TEXT];
	size_t i;

	if (o != NULL)
		return o;
	for (i = 0; text[i] != '\0' && i < sizeof(plain) - 1; i++)
		plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	plain[i] = '\0';
	return json_string(plain);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)(value > INT64_MAX ? INT64_MAX : value));
}

static json_t *time_or_null(const struct tg_hist *h, uint64_t ns)
{
	return h != NULL && h->count > 0 ? number(ns) : json_null();
}

static json_t *percentile(const struct tg_hist *h, double p)
{
	return time_or_null(h, h != NULL ? tg_hist_percentile_ns(h, p) : 0);
}

static uint64_t exchange_sum(const uint64_t *exchanges)
{
	uint64_t sum = 0;

	for (unsigned int e = 0; e < TG_ESTIMATOR_COUNT; e++)
		sum += exchanges[e];
	return sum;
}

/* Where only a few exchanges are sure, those are so by chance: no figure. */
#define SURE_PART 4

static const struct tg_hist *if_sure(const struct tg_hist *h, const uint64_t *exchanges,
				     uint64_t unsure)
{
	uint64_t sure = exchange_sum(exchanges);

	return sure * SURE_PART >= sure + unsure ? h : NULL;
}

/*
 * An answer that timestamps alone tell is right to their period, evenly, so that a sum of them has a variance of
 * period^2 / 12 each. The mean must be right to 15 % with nine chances in ten, or is left out.
 */
#define RIGHT_TO    0.15
#define NINE_IN_TEN 1.645 /* standard deviations, either way */

static bool is_settled(const struct tg_flow_result *f)
{
	double sum = f->latency != NULL ? (double)f->latency->sum_ns : 0;

	return f->grain2 / 12 * NINE_IN_TEN * NINE_IN_TEN <= RIGHT_TO * RIGHT_TO * sum * sum;
}

/* {"mean", "p50"}, and with `tail` {"p95", "p99"} */
static json_t *times(const struct tg_hist *h, bool tail, bool *fits)
{
	json_t *o = json_object();

	set(o, "mean", time_or_null(h, h != NULL ? tg_hist_mean_ns(h) : 0), fits);
	set(o, "p50", percentile(h, 50), fits);
	if (tail) {
		set(o, "p95", percentile(h, 95), fits);
		set(o, "p99", percentile(h, 99), fits);
	}
	return o;
}

/* Exchanges by the estimator that found them. */
static json_t *kinds(const uint64_t *exchanges, bool *fits)
{
	json_t *o = json_object();

	set(o, "gap", number(exchanges[TG_ESTIMATOR_GAP]), fits);
	set(o, "ack", number(exchanges[TG_ESTIMATOR_ACK]), fits);
	set(o, "echo", number(exchanges[TG_ESTIMATOR_ECHO]), fits);
	return o;
}

static json_t *address(const struct tg_addr *a)
{
	char text[TG_ADDR_STRLEN];

	return json_string(tg_addr_format(a, text, sizeof(text)));
}

static json_t *server(const struct tg_totals_server *s, bool *fits)
{
	json_t *o = json_object();

	set(o, "name", json_string(s->config->name), fits);
	set(o, "address", address(&s->config->address), fits);
	set(o, "flows", number(s->flows), fits);
	set(o, "would_flows", number(s->picked), fits);
	set(o, "packets", number(s->packets), fits);
	set(o, "bytes", number(s->bytes), fits);
	set(o, "exchanges", number(exchange_sum(s->exchanges)), fits);
	set(o, "setup_exchanges", number(s->setup), fits);
	set(o, "unsure_exchanges", number(s->unsure), fits);
	set(o, "repeated_requests", number(s->repeated), fits);
	set(o, "repeated_syns", number(s->syns_repeated), fits);
	set(o, "estimator", kinds(s->exchanges, fits), fits);
	set(o, "latency_ns", times(if_sure(&s->latency, s->exchanges, s->unsure), true, fits),
	    fits);
	set(o, "server_ns", times(if_sure(&s->server, s->exchanges, s->unsure), true, fits), fits);
	return o;
}

static json_t *flow(const struct tg_flow_result *f, const struct tg_snapshot *s, bool *fits)
{
	json_t *o = json_object();

	set(o, "client", address(&f->key.client), fits);
	set(o, "client_port", number(ntohs(f->key.client_port)), fits);
	set(o, "server", json_string(s->server[f->server]->name), fits);
	set(o, "would_pick", json_boolean(f->would_pick), fits);
	set(o, "exchanges", number(exchange_sum(f->exchanges)), fits);
	set(o, "setup_exchanges", number(f->setup), fits);
	set(o, "unsure_exchanges", number(f->unsure), fits);
	set(o, "estimator", kinds(f->exchanges, fits), fits);
	set(o, "latency_ns",
	    times(is_settled(f) ? if_sure(f->latency, f->exchanges, f->unsure) : NULL, false, fits),
	    fits);
	set(o, "server_ns", times(if_sure(f->service, f->exchanges, f->unsure), false, fits), fits);
	return o;
}

static json_t *protocol(uint8_t ip)
{
	switch (ip) {
	case TG_PROTOCOL_ANY:
		return json_string("any");
	case IPPROTO_TCP:
		return json_string("tcp");
	case IPPROTO_UDP:
		return json_string("udp");
	default:
		return json_integer(ip);
	}
}

/* `port` is the first of several, 0 for any. */
static json_t *service(const struct tg_config_service *c, bool *fits)
{
	json_t *o = json_object(), *ports = json_array();

	set(o, "name", json_string(c->name), fits);
	set(o, "address", address(&c->address), fits);
	set(o, "protocol", protocol(c->protocol), fits);
	set(o, "port", number(c->n_ports > 0 ? c->ports[0] : 0), fits);
	for (unsigned int i = 0; i < c->n_ports; i++)
		*fits &= json_array_append_new(ports, number(c->ports[i])) == 0;
	set(o, "ports", ports, fits);
	set(o, "servers", json_array(), fits);
	return o;
}

/* Services by id; what follows is put into them. NULL: id not in use. */
static void add_servers(const struct tg_report *r, json_t **by_id, bool *fits)
{
	for (unsigned int i = 0; i < r->totals->n_servers; i++) {
		const struct tg_totals_server *s = &r->totals->server[i];

		*fits &= json_array_append_new(json_object_get(by_id[s->service], "servers"),
					       server(s, fits)) == 0;
	}
}

static void add_flows(const struct tg_report *r, json_t **by_id, bool *fits)
{
	const struct tg_flow_results *results = r->capture->results;

	for (uint32_t i = 0; i < tg_flow_results_count(results); i++) {
		const struct tg_flow_result *f = tg_flow_results_at(results, i);

		*fits &= json_array_append_new(json_object_get(by_id[f->key.service], "flows"),
					       flow(f, r->totals->snapshot, fits)) == 0;
	}
}

static json_t *late_at(const uint64_t *by_place, bool *fits)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < TG_GATE_PLACES; i++)
		set(o, tg_gate_place_name(i), number(by_place[i]), fits);
	return o;
}

static json_t *services(const struct tg_report *r, bool *fits)
{
	const struct tg_snapshot *s = r->totals->snapshot;
	json_t **by_id = calloc(s->n_services + 1, sizeof(*by_id));
	json_t *all = json_array();

	if (by_id == NULL) {
		*fits = false;
		return all;
	}
	for (unsigned int i = 0; i < s->n_services; i++) {
		if (s->service[i] == NULL)
			continue;
		by_id[i] = service(s->service[i], fits);
		set(by_id[i], "late_at", late_at(&r->totals->late[i * TG_GATE_PLACES], fits), fits);
		if (r->capture != NULL)
			set(by_id[i], "flows", json_array(), fits);
		if (r->capture != NULL && r->capture->found != NULL)
			set(by_id[i], "found_by",
			    json_string(tg_found_name(
				    r->capture->found[s->service[i] - s->config->services])),
			    fits);
		if (json_array_append_new(all, by_id[i]) != 0) {
			by_id[i] = NULL;
			*fits = false;
		}
	}
	add_servers(r, by_id, fits);
	if (r->capture != NULL)
		add_flows(r, by_id, fits);
	free(by_id);
	return all;
}

static json_t *packets(const struct tg_totals *t, bool *fits)
{
	json_t *o = json_object();

	set(o, "received", number(t->all.received), fits);
	set(o, "forwarded", number(t->all.forwarded), fits);
	set(o, "dropped", number(t->dropped), fits);
	set(o, "replied", number(t->all.replied), fits);
	set(o, "made", number(t->all.made), fits);
	set(o, "taken_in", number(t->all.taken_in), fits);
	set(o, "to_kernel", number(t->all.to_kernel), fits);
	return o;
}

static json_t *drops(const struct tg_totals *t, bool *fits)
{
	json_t *o = json_object();

	for (unsigned int i = 1; i < TG_DROP_REASON_COUNT; i++)
		if (t->all.dropped[i] > 0)
			set(o, tg_reason_name(i), number(t->all.dropped[i]), fits);
	return o;
}

/* {"mean", "p50" ... "p99_999", "max"} of packets */
static json_t *tail(const struct tg_hist *h, bool *fits)
{
	json_t *o = times(h, true, fits);

	set(o, "p99_9", percentile(h, 99.9), fits);
	set(o, "p99_99", percentile(h, 99.99), fits);
	set(o, "p99_999", percentile(h, 99.999), fits);
	set(o, "max", time_or_null(h, h->max_ns), fits);
	return o;
}

/* How old a repeated request's first copy is. */
static json_t *first_copy(const struct tg_hist *h, bool *fits)
{
	json_t *o = json_object();

	set(o, "packets", number(h->count), fits);
	set(o, "age_ns", tail(h, fits), fits);
	return o;
}

static json_t *gate(const struct tg_gate_stats *g, bool *fits)
{
	json_t *o = json_object();

	set(o, "checked", number(g->checked), fits);
	set(o, "late", number(g->late), fits);
	set(o, "late_uncertain", number(g->late_uncertain), fits);
	set(o, "late_dropped", number(g->late_dropped), fits);
	set(o, "late_early", number(g->late_early), fits);
	set(o, "late_at", late_at(g->late_at, fits), fits);
	set(o, "future_arrivals", number(g->future), fits);
	set(o, "max_sojourn_ns", number(g->max_sojourn_ns), fits);
	set(o, "sojourn_ns", tail(&g->sojourn, fits), fits);
	set(o, "handing_ns", tail(&g->handing, fits), fits);
	set(o, "first_copy_forwarded", first_copy(&g->again, fits), fits);
	set(o, "first_copy_dropped", first_copy(&g->after_drop, fits), fits);
	return o;
}

/* Of new flows whose server was seen. */
static json_t *placing(const struct tg_worker_stats *all, bool *fits)
{
	json_t *o = json_object();

	set(o, "flows_compared", number(all->compared), fits);
	set(o, "flows_elsewhere", number(all->elsewhere), fits);
	return o;
}

static json_t *flow_table(const struct tg_totals *t, bool *fits)
{
	json_t *o = json_object();

	set(o, "slots", number(t->flow_slots), fits);
	set(o, "inserted", number(t->flows.inserted), fits);
	set(o, "expired", number(t->flows.expired), fits);
	set(o, "full", number(t->flows.full), fits);
	set(o, "stateless", number(t->all.stateless), fits);
	return o;
}

static json_t *capture(const struct tg_report_capture *c, bool *fits)
{
	json_t *o = json_object(), *warnings = json_array();

	set(o, "file", any_text(c->file), fits);
	set(o, "format", json_string(c->info->format), fits);
	set(o, "frames", number(c->info->frames), fits);
	set(o, "unsupported_frames", number(c->link->unsupported), fits);
	set(o, "malformed_frames", number(c->link->malformed), fits);
	set(o, "first_ns", number(c->first_ns), fits);
	set(o, "last_ns", number(c->last_ns), fits);
	set(o, "flows_not_listed", number(tg_flow_results_left_out(c->results)), fits);
	for (unsigned int i = 0; i < c->n_warnings; i++)
		*fits &= json_array_append_new(warnings, any_text(c->warnings[i])) == 0;
	set(o, "warnings", warnings, fits);
	if (c->replay != NULL)
		set(o, "replay", tg_replay_json(c->replay), fits);
	return o;
}

json_t *tg_report_json(const struct tg_report *r)
{
	json_t *o = json_object();
	bool fits = o != NULL;

	set(o, "version", json_integer(1), &fits);
	set(o, "clock", json_string(r->capture != NULL ? "capture" : "tsc"), &fits);
	set(o, "packets", packets(r->totals, &fits), &fits);
	set(o, "drops", drops(r->totals, &fits), &fits);
	set(o, "services", services(r, &fits), &fits);
	set(o, "gate", gate(&r->totals->all.gate, &fits), &fits);
	set(o, "flow_table", flow_table(r->totals, &fits), &fits);
	set(o, "placing", placing(&r->totals->all, &fits), &fits);
	if (r->capture != NULL)
		set(o, "capture", capture(r->capture, &fits), &fits);
	if (fits)
		return o;
	json_decref(o);
	return NULL;
}

int tg_report_write(const struct tg_report *r, const char *path, char *text, size_t room)
{
	json_t *o = tg_report_json(r);
	FILE *file;
	bool good;

	if (o == NULL) {
		snprintf(text, room, "report '%s' is not written: out of memory", path);
		return -ENOMEM;
	}
	file = fopen(path, "we");
	good = file != NULL && json_dumpf(o, file, JSON_INDENT(1)) == 0 && fputc('\n', file) != EOF;
	json_decref(o);
	if (file != NULL && fclose(file) != 0)
		good = false;
	if (good)
		return 0;
	snprintf(text, room, "report '%s' cannot be written: %s", path, strerror(errno));
	return errno > 0 ? -errno : -EIO;
}
