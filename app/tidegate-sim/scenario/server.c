/* SPDX-License-Identifier: BSD-3-Clause */
/* servers[]: the stations behind the addresses of the gateways' configuration. */
#include <stdio.h>

#include "scenario/scenario_reader.h"

static const char *state_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_STATION_UP] = "up",
		[TG_STATION_DOWN] = "down",
		[TG_STATION_HUNG] = "hung",
		[TG_STATION_REFUSES] = "refuses",
		NULL,
	};

	return names[i];
}

struct raw_change {
	double at_s, slow, delay_us;
	uint16_t state;
};

static const struct tg_config_key change_keys[] = {
	{TG_REAL(raw_change, at_s, 0, TG_SIM_SECONDS_MAX), .required = true},
	{TG_KEY(raw_change, state, tg_read_choice), .choice = state_name},
	{TG_KEY(raw_change, slow, tg_read_positive), .max = 1000000},
	{TG_REAL(raw_change, delay_us, 0, 60000000)},
};

struct changes {
	struct tg_station_change *list;
	unsigned int n;
	struct raw_change last; /* what is not given stays as it was */
};

static void read_change(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct changes *c = at;
	struct raw_change now = c->last;

	if (!tg_read_object(r, change_keys, TG_COUNT(change_keys), v, &now))
		return;
	if (i > 0 && now.at_s < c->last.at_s)
		TG_MEMBER_FAULT(r, "at_s", "%g is before the change above it, at %g", now.at_s,
				c->last.at_s);
	c->list[i] = (struct tg_station_change){
		.at_ns = (uint64_t)(now.at_s * 1e9),
		.state = (enum tg_station_state)now.state,
		.slow = now.slow,
		.delay_us = now.delay_us,
	};
	c->n = i + 1;
	c->last = now;
}

static void read_changes(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_server_params *s = at;
	size_t n = json_array_size(v);
	struct changes c = {.last = {.slow = 1}};

	(void)k;
	if (n > 0 && n <= TG_SIM_CHANGES_MAX) {
		c.list = tg_scenario_own(r, n, sizeof(*c.list));
		if (c.list == NULL)
			return;
	}
	tg_read_list(r, v, 1, TG_SIM_CHANGES_MAX, "changes", read_change, &c);
	s->station.changes = c.list;
	s->station.n_changes = c.n;
}

struct raw_server {
	struct tg_server_params p;
	struct tg_addr address;
};

static const struct tg_config_key server_keys[] = {
	{.name = "address",
	 .read = tg_read_address,
	 .offset = offsetof(struct raw_server, address),
	 .required = true},
	{.name = "name",
	 .read = tg_read_name,
	 .offset = offsetof(struct raw_server, p.station.name)},
	{.name = "workers",
	 .read = tg_read_uint,
	 TG_FIELD(raw_server, p.station.workers),
	 .min = 1,
	 .max = 65535},
	{.name = "listen_queue",
	 .read = tg_read_uint,
	 TG_FIELD(raw_server, p.station.listen_queue),
	 .max = 100000000},
	{.name = "service_us",
	 .read = tg_read_dist,
	 .offset = offsetof(struct raw_server, p.station.service_us),
	 .max = 1000000000},
	{.name = "changes", .read = read_changes, .offset = offsetof(struct raw_server, p)},
	{.name = "repeat_s",
	 .read = tg_read_real,
	 .offset = offsetof(struct raw_server, p.station.repeat_s),
	 .max = TG_SIM_SECONDS_MAX},
	{.name = "in", .read = tg_read_link, .offset = offsetof(struct raw_server, p.in)},
	{.name = "out", .read = tg_read_link, .offset = offsetof(struct raw_server, p.out)},
};

static void settle(struct tg_reader *r, struct tg_server_params *s)
{
	const struct tg_station_params *p = &s->station;

	if (p->repeat_s > 0 && p->n_changes == 0)
		TG_MEMBER_FAULT(r, "repeat_s", "repeats changes, and there are none");
	else if (p->repeat_s > 0 && p->repeat_s * 1e9 <= (double)p->changes[p->n_changes - 1].at_ns)
		TG_MEMBER_FAULT(r, "repeat_s", "%g is not after the last change, at %g",
				p->repeat_s, (double)p->changes[p->n_changes - 1].at_ns / 1e9);
}

static void read_station(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_scenario *s = at;
	struct raw_server raw = {
		.p = {.station = {.workers = 1, .service_us = {.mean = -1}},
		      .in = tg_link_standard(20),
		      .out = tg_link_standard(20)},
	};

	if (tg_read_object(r, server_keys, TG_COUNT(server_keys), v, &raw))
		settle(r, &raw.p);
	if (tg_is_set(&raw.address))
		tg_addr_format(&raw.address, raw.p.station.address, sizeof(raw.p.station.address));
	s->server[i] = raw.p;
}

void tg_read_stations(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_scenario *s = at;
	size_t n = json_array_size(v);

	(void)k;
	if (n >= 1 && n <= TG_SIM_SERVERS_MAX) {
		s->server = tg_scenario_own(r, n, sizeof(*s->server));
		if (s->server == NULL)
			return;
		s->n_servers = (uint32_t)n;
	}
	tg_read_list(r, v, 1, TG_SIM_SERVERS_MAX, "servers", read_station, s);
}
