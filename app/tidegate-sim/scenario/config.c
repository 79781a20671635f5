/* SPDX-License-Identifier: BSD-3-Clause */
/* config: what a gateway is configured with, read by the gateway's own tables. */
#include <netinet/in.h>
#include <stdio.h>

#include "scenario/scenario_reader.h"

/* Faults of keys that the simulator fills itself. */
static void refuse(struct tg_reader *r, json_t *v, const char *key, const char *why)
{
	if (json_object_get(v, key) == NULL)
		return;
	TG_MEMBER_FAULT(r, key, "must be left out: %s", why);
	json_object_del(v, key);
}

/* One text for one address, wherever it stands. */
static void write_address(json_t *object, const struct tg_addr *a)
{
	char text[TG_ADDR_STRLEN];

	json_object_set_new(object, "address", json_string(tg_addr_format(a, text, sizeof(text))));
}

static void write_addresses(json_t *config, const struct tg_config *c)
{
	for (unsigned int i = 0; i < c->n_services; i++) {
		json_t *service = json_array_get(json_object_get(config, "services"), i);

		write_address(service, &c->services[i].address);
		for (unsigned int j = 0; j < c->services[i].n_servers; j++)
			write_address(json_array_get(json_object_get(service, "servers"), j),
				      &c->services[i].servers[j].address);
	}
}

static void list_services(struct tg_reader *r, struct tg_scenario *s, const struct tg_config *c)
{
	if (c->n_services > TG_SIM_SERVICES_MAX) {
		TG_MEMBER_FAULT(r, "services", "has %u entries, a simulation takes up to %d",
				c->n_services, TG_SIM_SERVICES_MAX);
		return;
	}
	s->service = tg_scenario_own(r, c->n_services, sizeof(*s->service));
	for (unsigned int i = 0; s->service != NULL && i < c->n_services; i++) {
		const struct tg_config_service *v = &c->services[i];

		snprintf(s->service[i].name, sizeof(s->service[i].name), "%s", v->name);
		tg_addr_format(&v->address, s->service[i].address, sizeof(s->service[i].address));
		s->service[i].port = v->n_ports > 0 ? v->ports[0] : 80;
		/* of "any" protocol: what the groups ask by (cross check) */
		s->service[i].protocol = v->protocol;
		s->n_services = i + 1;
	}
}

void tg_read_gateway_config(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_scenario_reader *sr = tg_scenario_reader_of(r);
	unsigned int faults = r->report->n_faults + r->unsaid;
	struct tg_scenario *s = at;
	struct tg_config *c = tg_config_new();

	(void)k;
	if (c == NULL) {
		r->no_memory = true;
		return;
	}
	s->config = json_deep_copy(v);
	if (json_is_object(s->config) && json_object_get(s->config, "version") == NULL)
		json_object_set_new(s->config, "version", json_integer(1));
	refuse(r, s->config, "ports", "the simulator makes the ports");
	refuse(r, s->config, "control", "a simulated gateway has no control socket");
	if (tg_read_top(r, s->config, c))
		tg_cross_check(r, c);
	json_object_del(s->config, "control"); /* its defaults, put there by the reader */
	if (json_object_size(json_object_get(s->config, "flow_table")) == 0)
		json_object_del(s->config, "flow_table");
	sr->config = c;
	if (faults == r->report->n_faults + r->unsaid) {
		write_addresses(s->config, c);
		list_services(r, s, c);
	}
}
