/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single value shows: names twice, addresses nobody has, clients who cannot speak to
 * their service. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "scenario/scenario_reader.h"

bool tg_scenario_serves(const struct tg_config *c, const struct tg_scenario *s, uint32_t j,
			uint32_t i)
{
	for (unsigned int k = 0; k < c->services[j].n_servers; k++) {
		char text[TG_ADDR_STRLEN];

		tg_addr_format(&c->services[j].servers[k].address, text, sizeof(text));
		if (strcmp(text, s->server[i].station.address) == 0)
			return true;
	}
	return false;
}

/* A server's name, where the scenario gives none, is that of the configuration. */
static void name_server(const struct tg_config *c, struct tg_station_params *p)
{
	for (unsigned int j = 0; j < c->n_services; j++) {
		for (unsigned int k = 0; k < c->services[j].n_servers; k++) {
			const struct tg_config_server *v = &c->services[j].servers[k];
			char text[TG_ADDR_STRLEN];

			tg_addr_format(&v->address, text, sizeof(text));
			if (p->name[0] == '\0' && strcmp(text, p->address) == 0)
				snprintf(p->name, sizeof(p->name), "%s", v->name);
		}
	}
}

/* Servers of the scenario: in the configuration, each address and name once. */
static void check_servers(struct tg_scenario_reader *sr, struct tg_scenario *s)
{
	struct tg_reader *r = &sr->r;

	for (uint32_t i = 0; i < s->n_servers; i++) {
		struct tg_station_params *p = &s->server[i].station;
		size_t mark = tg_path_push(r, ".servers[%u]", i);
		bool asked = false;

		name_server(sr->config, p);
		for (uint32_t j = 0; j < sr->config->n_services; j++)
			asked |= tg_scenario_serves(sr->config, s, j, i);
		if (!asked && p->address[0] != '\0')
			TG_MEMBER_FAULT(r, "address", "%s is no server of any service of config",
					p->address);
		for (uint32_t k = 0; k < i; k++) {
			const struct tg_station_params *before = &s->server[k].station;

			if (p->address[0] != '\0' && strcmp(before->address, p->address) == 0)
				TG_MEMBER_FAULT(r, "address", "%s is that of servers[%u] already",
						p->address, k);
			else if (p->name[0] != '\0' && strcmp(before->name, p->name) == 0)
				TG_MEMBER_FAULT(r, "name", "\"%s\" is that of servers[%u] already",
						p->name, k);
		}
		tg_path_pop(r, mark);
	}
}

static bool has_station(const struct tg_scenario *s, const struct tg_addr *a)
{
	char text[TG_ADDR_STRLEN];

	tg_addr_format(a, text, sizeof(text));
	for (uint32_t i = 0; i < s->n_servers; i++)
		if (strcmp(s->server[i].station.address, text) == 0)
			return true;
	return false;
}

/* Servers of the configuration: each is simulated. */
static void check_configured(struct tg_scenario_reader *sr, const struct tg_scenario *s)
{
	for (unsigned int j = 0; j < sr->config->n_services; j++) {
		const struct tg_config_service *v = &sr->config->services[j];

		for (unsigned int k = 0; k < v->n_servers; k++) {
			size_t mark = tg_path_push(&sr->r,
						   ".config.services[%u].servers[%u].address", j,
						   k);
			char text[TG_ADDR_STRLEN];

			if (tg_is_set(&v->servers[k].address) &&
			    !has_station(s, &v->servers[k].address))
				tg_fault(
					&sr->r,
					"%s: nobody has it: add a server with this address to servers",
					tg_addr_format(&v->servers[k].address, text, sizeof(text)));
			tg_path_pop(&sr->r, mark);
		}
	}
}

/* Where the clients of a group ask from, if the scenario does not say. */
static void standard_prefix(struct tg_group_params *g, uint32_t i, bool v4)
{
	if (v4)
		snprintf(g->prefix, sizeof(g->prefix), "100.%u.%u.0/20", 64 + i / 16, i % 16 * 16);
	else
		snprintf(g->prefix, sizeof(g->prefix), "2001:db8:c:%x::/64", i);
	/* 100.64.0.0/10 has room for one large group by itself */
	if (v4 && g->clients > 4000)
		snprintf(g->prefix, sizeof(g->prefix), "%u.0.0.0/8", 11 + i % 80);
}

static void check_prefix(struct tg_reader *r, struct tg_group_params *g, uint32_t i,
			 const struct tg_addr *vip)
{
	struct tg_prefix prefix;
	unsigned int host_bits;

	if (g->prefix[0] == '\0')
		standard_prefix(g, i, tg_addr_is_v4(vip));
	if (tg_prefix_parse(g->prefix, &prefix) != 0)
		return;
	host_bits = 128u - prefix.len;
	if (tg_addr_is_v4(&prefix.addr) != tg_addr_is_v4(vip))
		TG_MEMBER_FAULT(r, "prefix", "%s is not of the address family of its service",
				g->prefix);
	else if (host_bits < 32 && g->clients > (UINT32_C(1) << host_bits) - 2)
		TG_MEMBER_FAULT(r, "clients", "%u are more than %s has room for", g->clients,
				g->prefix);
}

/* Two groups behind one prefix would be the same clients to the gateway. */
static void check_overlap(struct tg_reader *r, const struct tg_scenario *s, uint32_t i)
{
	struct tg_prefix mine, other;

	if (tg_prefix_parse(s->group[i].prefix, &mine) != 0)
		return;
	for (uint32_t k = 0; k < i; k++) {
		if (tg_prefix_parse(s->group[k].prefix, &other) == 0 &&
		    s->group[k].service == s->group[i].service &&
		    (tg_prefix_contains(&other, &mine.addr) ||
		     tg_prefix_contains(&mine, &other.addr)))
			TG_MEMBER_FAULT(r, "prefix", "%s overlaps that of clients[%u], %s",
					s->group[i].prefix, k, s->group[k].prefix);
	}
}

static void check_protocol(struct tg_reader *r, struct tg_scenario *s,
			   const struct tg_group_params *g)
{
	uint8_t *protocol = &s->service[g->service].protocol;
	uint8_t wanted = g->traffic == TG_TRAFFIC_TCP ? IPPROTO_TCP : IPPROTO_UDP;

	if (*protocol == TG_PROTOCOL_ANY)
		*protocol = wanted;
	else if (*protocol != wanted)
		TG_MEMBER_FAULT(r, "traffic", "goes by %s, and service \"%s\" by %s%s",
				wanted == IPPROTO_TCP ? "TCP" : "UDP", s->service[g->service].name,
				wanted == IPPROTO_TCP ? "UDP" : "TCP",
				" (or another group asks it by that)");
}

/* Somebody has to say how long a request takes. */
static void check_work(struct tg_scenario_reader *sr, const struct tg_scenario *s, uint32_t i)
{
	const struct tg_group_params *g = &s->group[i];

	for (uint32_t k = 0; k < s->n_servers && !g->has_work; k++) {
		if (s->server[k].station.service_us.mean >= 0 ||
		    !tg_scenario_serves(sr->config, s, g->service, k))
			continue;
		TG_MEMBER_FAULT(&sr->r, "work_us",
				"is missing, and so is servers[%u].service_us: one of them must say "
				"how long a request takes",
				k);
		return;
	}
}

static void check_groups(struct tg_scenario_reader *sr, struct tg_scenario *s)
{
	struct tg_reader *r = &sr->r;

	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct tg_group_params *g = &s->group[i];
		size_t mark = tg_path_push(r, ".clients[%u]", i);

		for (uint32_t k = 0; k < i && g->name[0] != '\0'; k++)
			if (strcmp(s->group[k].name, g->name) == 0)
				TG_MEMBER_FAULT(r, "name", "\"%s\" is that of clients[%u] already",
						g->name, k);
		if (g->service < s->n_services) {
			check_prefix(r, g, i, &sr->config->services[g->service].address);
			check_overlap(r, s, i);
			check_protocol(r, s, g);
			check_work(sr, s, i);
		}
		if (g->start_s > s->warmup_s + s->duration_s && s->duration_s > 0)
			TG_MEMBER_FAULT(r, "start_s", "%g is after the end of the run, %g",
					g->start_s, s->warmup_s + s->duration_s);
		tg_path_pop(r, mark);
	}
}

/* A time that the server does not give: every group that asks it gives its own, and by their mean the
 * oracle knows the server. */
static double asked_us(const struct tg_scenario_reader *sr, const struct tg_scenario *s, uint32_t i)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->n_groups; k++) {
		const struct tg_group_params *g = &s->group[k];

		if (g->has_work && g->service < s->n_services &&
		    tg_scenario_serves(sr->config, s, g->service, i)) {
			sum += tg_dist_mean(&g->work_us);
			n++;
		}
	}
	return n > 0 ? sum / n : 0;
}

void tg_scenario_cross_check(struct tg_scenario_reader *sr)
{
	struct tg_scenario *s = &sr->all->s;

	if (sr->config == NULL)
		return;
	if (s->n_servers > 0) {
		check_servers(sr, s);
		check_configured(sr, s);
	}
	check_groups(sr, s);
	for (uint32_t i = 0; i < s->n_servers; i++)
		if (s->server[i].station.service_us.mean < 0)
			s->server[i].station.service_us.mean = asked_us(sr, s, i);
}
