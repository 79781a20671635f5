/* SPDX-License-Identifier: BSD-3-Clause */
/* clients[]: groups that ask. Which keys there may be depends on how their requests arrive. */
#include <stdio.h>
#include <string.h>

#include "scenario/scenario_reader.h"

#define WITHOUT_END 0 /* requests on a connection that nobody closes */

static const char *traffic_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_TRAFFIC_TCP] = "tcp",
		[TG_TRAFFIC_DATAGRAM] = "datagram",
		[TG_TRAFFIC_QUIC] = "quic",
		[TG_TRAFFIC_TUNNEL] = "tunnel",
		NULL,
	};

	return names[i];
}

static const char *arrivals_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_ARRIVALS_CLOSED] = "closed",
		[TG_ARRIVALS_POISSON] = "poisson",
		[TG_ARRIVALS_PACED] = "paced",
		[TG_ARRIVALS_VARYING] = "varying",
		[TG_ARRIVALS_ON_OFF] = "on-off",
		[TG_ARRIVALS_TRACE] = "trace",
		NULL,
	};

	return names[i];
}

/* What a group's table fills; enums as the readers of choices store them. */
struct raw_group {
	struct tg_group_params p;
	char service[TG_NAME_MAX];
	uint16_t traffic, arrivals;
};

static const struct tg_config_key tcp_keys[] = {
	{TG_UINT(tg_tcp_params, mss, 536, 9000)},
	{TG_UINT(tg_tcp_params, initial_window, 1, 1000)},
	{TG_UINT(tg_tcp_params, receive_window, 2048, 1073741824)},
	{TG_KEY(tg_tcp_params, timestamps, tg_read_bool)},
	{TG_KEY(tg_tcp_params, tick_us, tg_read_positive), .max = 1000000},
	{TG_REAL(tg_tcp_params, drift_ppm, 0, 1000)},
	{TG_KEY(tg_tcp_params, offset, tg_read_bool)},
	{TG_REAL(tg_tcp_params, delayed_ack_ms, 0, 500)},
	{TG_UINT(tg_tcp_params, quick_acks, 0, 1000)},
	{TG_KEY(tg_tcp_params, rto_min_ms, tg_read_positive), .max = 60000},
	{TG_KEY(tg_tcp_params, syn_rto_ms, tg_read_positive), .max = 60000},
};

static const struct tg_tcp_params tcp_standard = {
	.mss = 1448,
	.initial_window = 10,
	.receive_window = 1048576,
	.timestamps = true,
	.tick_us = 1000,
	.offset = true,
	.delayed_ack_ms = 40,
	.quick_acks = 16,
	.rto_min_ms = 200,
	.syn_rto_ms = 1000,
};

static void read_tcp(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_object(r, tcp_keys, TG_COUNT(tcp_keys), v, at);
}

/* [[time, rate], ...] */
static void read_point(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	static const struct tg_config_key time = {.max = TG_SIM_SECONDS_MAX},
					  rate = {.max = TG_SIM_RATE_MAX};
	struct tg_rate_point *points = at;
	char shown[TG_SHOWN_MAX];

	if (json_array_size(v) != 2) {
		tg_fault(r, "%s must be a pair [time in s, requests a second]", tg_show(v, shown));
		return;
	}
	tg_read_real(r, &time, json_array_get(v, 0), &points[i].time_s);
	tg_read_real(r, &rate, json_array_get(v, 1), &points[i].rate);
	if (i > 0 && points[i].time_s <= points[i - 1].time_s)
		tg_fault(r, "its time, %g, is not after that of the point before, %g",
			 points[i].time_s, points[i - 1].time_s);
}

static void read_points(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_group_params *p = at;
	size_t n = json_array_size(v);
	struct tg_rate_point *points = NULL;

	(void)k;
	if (n >= 1 && n <= 10000) {
		points = tg_scenario_own(r, n, sizeof(*points));
		if (points == NULL)
			return;
		p->points = points;
		p->n_points = (uint32_t)n;
	}
	tg_read_list(r, v, 1, 10000, "points", read_point, points);
}

static void read_times(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_group_params *p = at;

	(void)k;
	tg_read_numbers(r, v, TG_SIM_SECONDS_MAX, &p->times_s, &p->n_times);
	for (uint32_t i = 1; i < p->n_times; i++) {
		if (p->times_s[i] < p->times_s[i - 1]) {
			tg_fault(r, "number %u, %g, is before the one above it", i + 1,
				 p->times_s[i]);
			return;
		}
	}
}

static void read_prefix(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_prefix prefix;
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_string(v) || tg_prefix_parse(json_string_value(v), &prefix) != 0)
		tg_fault(r, "%s is no prefix (as 198.18.0.0/16 or 2001:db8:c::/64)",
			 tg_show(v, shown));
	else if (!tg_is_host(&prefix.addr))
		tg_fault(r, "%s has no addresses that hosts may have", tg_show(v, shown));
	else
		snprintf(at, sizeof(((struct tg_group_params *)0)->prefix), "%s",
			 json_string_value(v));
}

static void read_work(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_group_params *p = at;

	p->has_work = true;
	tg_read_dist(r, k, v, &p->work_us);
}

#define FIELD(field, reader) \
	.name = #field, .read = (reader), .offset = offsetof(struct raw_group, p.field)
#define COUNT(field, from, to)                                                             \
	.name = #field, .read = tg_read_uint, TG_FIELD(raw_group, p.field), .min = (from), \
	.max = (to)

static const struct tg_config_key group_keys[] = {
	{FIELD(name, tg_read_name), .required = true},
	{TG_KEY(raw_group, service, tg_read_name), .required = true},
	{TG_KEY(raw_group, traffic, tg_read_choice), .choice = traffic_name},
	{TG_KEY(raw_group, arrivals, tg_read_choice), .choice = arrivals_name},
	{FIELD(prefix, read_prefix)},
	{COUNT(clients, 1, 1000000)},
	{FIELD(rate, tg_read_real), .max = TG_SIM_RATE_MAX},
	{FIELD(rate_off, tg_read_real), .max = TG_SIM_RATE_MAX},
	{FIELD(on_ms, tg_read_dist), .max = TG_SIM_MS_MAX},
	{FIELD(off_ms, tg_read_dist), .max = TG_SIM_MS_MAX},
	{FIELD(gap_us, tg_read_dist), .max = TG_SIM_US_MAX},
	{.name = "points", .read = read_points, .offset = offsetof(struct raw_group, p)},
	{.name = "times", .read = read_times, .offset = offsetof(struct raw_group, p)},
	{FIELD(start_s, tg_read_real), .max = TG_SIM_SECONDS_MAX},
	{FIELD(stop_s, tg_read_real), .max = TG_SIM_SECONDS_MAX},
	{FIELD(think_us, tg_read_dist), .max = TG_SIM_US_MAX},
	{FIELD(think_share, tg_read_real), .max = 1},
	{FIELD(requests, tg_read_dist), .min = 1, .max = 1000000000},
	{COUNT(connections, 1, 1000000)},
	{COUNT(depth, 1, 1000)},
	{COUNT(burst, 1, 10000)},
	{COUNT(objects, 0, 10000)},
	{COUNT(page_connections, 1, 64)},
	{FIELD(bytes, tg_read_dist), .min = 1, .max = 1000000000},
	{FIELD(answer_bytes, tg_read_dist), .min = 1, .max = 1000000000},
	{.name = "work_us",
	 .read = read_work,
	 .offset = offsetof(struct raw_group, p),
	 .max = 1000000000},
	{FIELD(writes, tg_read_dist), .min = 1, .max = 1000000},
	{FIELD(write_gap_us, tg_read_dist), .max = 60000000},
	{FIELD(timeout_s, tg_read_real), .max = TG_SIM_SECONDS_MAX},
	{FIELD(retry_ms, tg_read_positive), .max = 60000},
	{COUNT(tunnel_users, 1, 1000)},
	{FIELD(tcp, read_tcp)},
	{FIELD(server_tcp, read_tcp)},
	{FIELD(to_gateway, tg_read_link)},
	{FIELD(from_server, tg_read_link)},
};

/* Keys that mean something for some kinds of arrivals only. */
static const struct {
	const char *key;
	unsigned int kinds, needed_by; /* bits */
} fitting[] = {
#define BIT(kind) (1u << TG_ARRIVALS_##kind)
	{"rate", BIT(POISSON) | BIT(ON_OFF), BIT(POISSON) | BIT(ON_OFF)},
	{"rate_off", BIT(ON_OFF), 0},
	{"on_ms", BIT(ON_OFF), BIT(ON_OFF)},
	{"off_ms", BIT(ON_OFF), BIT(ON_OFF)},
	{"gap_us", BIT(PACED), BIT(PACED)},
	{"points", BIT(VARYING), BIT(VARYING)},
	{"times", BIT(TRACE), BIT(TRACE)},
	{"think_us", BIT(CLOSED), 0},
	{"think_share", BIT(CLOSED), 0},
	{"connections", ~BIT(CLOSED), 0},
};

static void check_fitting(struct tg_reader *r, const json_t *v, unsigned int arrivals)
{
	for (unsigned int i = 0; i < TG_COUNT(fitting); i++) {
		bool given = json_object_get(v, fitting[i].key) != NULL;

		if (given && (fitting[i].kinds >> arrivals & 1) == 0)
			TG_MEMBER_FAULT(r, fitting[i].key, "means nothing where arrivals is \"%s\"",
					arrivals_name(arrivals));
		if (!given && (fitting[i].needed_by >> arrivals & 1) != 0)
			TG_MEMBER_FAULT(r, fitting[i].key, "is missing (arrivals is \"%s\")",
					arrivals_name(arrivals));
	}
}

static void settle(struct tg_reader *r, const json_t *v, struct tg_group_params *p)
{
	check_fitting(r, v, p->arrivals);
	if (p->stop_s > 0 && p->stop_s <= p->start_s)
		TG_MEMBER_FAULT(r, "stop_s", "%g is not after start_s, %g", p->stop_s, p->start_s);
	if (p->arrivals == TG_ARRIVALS_ON_OFF &&
	    (tg_dist_mean(&p->on_ms) <= 0 || tg_dist_mean(&p->off_ms) <= 0))
		TG_MEMBER_FAULT(r, "on_ms", "and off_ms must be above 0 on average");
	if (p->arrivals == TG_ARRIVALS_PACED && tg_dist_mean(&p->gap_us) <= 0)
		TG_MEMBER_FAULT(r, "gap_us", "must be above 0 on average");
	if (p->traffic != TG_TRAFFIC_TCP && p->traffic != TG_TRAFFIC_TUNNEL &&
	    (json_object_get(v, "tcp") != NULL || json_object_get(v, "server_tcp") != NULL))
		TG_MEMBER_FAULT(r, "tcp", "means nothing where traffic is \"%s\"",
				traffic_name(p->traffic));
	if (json_object_get(v, "requests") == NULL &&
	    (p->arrivals == TG_ARRIVALS_CLOSED || p->connections > 0))
		p->requests.mean = WITHOUT_END;
}

static struct tg_group_params standard(void)
{
	return (struct tg_group_params){
		.service = TG_SERVICE_UNKNOWN,
		.clients = 1000,
		.think_share = 1,
		.requests = {.mean = 1},
		.depth = 1,
		.burst = 1,
		.page_connections = 6,
		.retry_ms = 10,
		.tunnel_users = 4,
		.bytes = {.mean = 200},
		.answer_bytes = {.mean = 1000},
		.writes = {.mean = 1},
		.tcp = tcp_standard,
		.server_tcp = tcp_standard,
		.to_gateway = tg_link_standard(100),
		.from_server = tg_link_standard(100),
	};
}

/* Index of a service's name; said as a fault when there is none. */
static uint16_t service_index(struct tg_reader *r, const char *name)
{
	const struct tg_config *c = tg_scenario_reader_of(r)->config;
	char known[400] = "";
	size_t len = 0;

	if (name[0] == '\0' || c == NULL)
		return TG_SERVICE_UNKNOWN;
	for (unsigned int i = 0; i < c->n_services; i++) {
		if (strcmp(c->services[i].name, name) == 0)
			return (uint16_t)i;
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s\"%s\"",
						i > 0 ? ", " : "", c->services[i].name);
	}
	TG_MEMBER_FAULT(r, "service", "\"%s\" is no service of config; there are %s", name, known);
	return TG_SERVICE_UNKNOWN;
}

static void read_group(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct raw_group raw = {.p = standard()};
	struct tg_scenario *s = at;

	/* the number of connections and the like: a closed loop begins with one client */
	if (json_object_get(v, "arrivals") == NULL ||
	    strcmp("closed", json_string_value(json_object_get(v, "arrivals")) ?: "") == 0)
		raw.p.clients = 1;
	if (tg_read_object(r, group_keys, TG_COUNT(group_keys), v, &raw)) {
		raw.p.traffic = (enum tg_traffic)raw.traffic;
		raw.p.arrivals = (enum tg_arrivals)raw.arrivals;
		settle(r, v, &raw.p);
		raw.p.service = service_index(r, raw.service);
	}
	s->group[i] = raw.p;
}

void tg_read_groups(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_scenario *s = at;
	size_t n = json_array_size(v);

	(void)k;
	if (n >= 1 && n <= TG_SIM_GROUPS_MAX) {
		s->group = tg_scenario_own(r, n, sizeof(*s->group));
		if (s->group == NULL)
			return;
		s->n_groups = (uint32_t)n;
	}
	tg_read_list(r, v, 1, TG_SIM_GROUPS_MAX, "groups of clients", read_group, s);
}
