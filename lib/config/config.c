/* SPDX-License-Identifier: BSD-3-Clause */
/* The structures themselves: made with every default in place, grown, freed. */
#include <stdio.h>
#include <stdlib.h>

#include "tg_config.h"

struct tg_config *tg_config_new(void)
{
	struct tg_config *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->flow_table = (struct tg_flow_params){
		.slots = 1u << 20,
		.tcp_idle_s = 300,
		.udp_idle_s = 30,
		.closed_s = 5,
	};
	c->workers = (struct tg_config_workers){
		.background_us = 10,
		.background_share_percent = 25,
		.late_ms = 1000,
		.idle = TG_IDLE_POLL,
		.idle_sleep_max_us = 50,
	};
	c->flow_snapshot_s = 10;
	snprintf(c->control_socket, sizeof(c->control_socket), "/run/tidegate/control.sock");
	c->control_mode = 0660;
	snprintf(c->captures, sizeof(c->captures), TG_CAPTURES_STANDARD);
	c->metrics.servers_max = 256;
	return c;
}

/* Room doubles whenever the count reaches a power of two, so no capacity need be kept. */
static void *grow(void *list, unsigned int n, size_t size)
{
	if ((n & (n - 1)) != 0)
		return list;
	return realloc(list, (n == 0 ? 1 : (size_t)n * 2) * size);
}

struct tg_config_service *tg_config_add_service(struct tg_config *c)
{
	struct tg_config_service *list;

	if (c->n_services >= TG_SERVICES_MAX)
		return NULL;
	list = grow(c->services, c->n_services, sizeof(*list));
	if (list == NULL)
		return NULL;
	c->services = list;
	list += c->n_services++;
	*list = (struct tg_config_service){
		.protocol = TG_PROTOCOL_ANY,
		.forward = TG_FORWARD_L2,
		.policy = TG_POLICY_LATENCY,
		.pirate = {.estimator = TG_ESTIMATOR_AUTO, .gap_rule = TG_GAP_ENVELOPE},
		.gate = {.sojourn_max_us = 0, .margin_us = 20, .action = TG_GATE_SHADOW},
		.bid = {.window_us = 300,
			.syn_rate = 10000,
			.auctions = 1024,
			.missed = 3,
			.probe_s = 10},
		.health = {.interval_ms = 1000,
			   .timeout_ms = 500,
			   .rise = 2,
			   .fall = 3,
			   .path = "/",
			   .passive = true},
		.admission_wait_max_us = 10000,
		.decrement_ttl = true,
		.answer_ping = true,
	};
	return list;
}

struct tg_config_server *tg_config_add_server(struct tg_config_service *s)
{
	struct tg_config_server *list;

	if (s->n_servers >= TG_SERVERS_MAX)
		return NULL;
	list = grow(s->servers, s->n_servers, sizeof(*list));
	if (list == NULL)
		return NULL;
	s->servers = list;
	list += s->n_servers++;
	*list = (struct tg_config_server){.weight = 1,
					  .workers = 1,
					  .state = TG_SERVER_UP,
					  .hop_offset = TG_BID_HOPS_LEARN};
	return list;
}

void tg_config_free(struct tg_config *c)
{
	if (c == NULL)
		return;
	for (unsigned int i = 0; i < c->n_services; i++) {
		free(c->services[i].servers);
		free(c->services[i].admission);
	}
	free(c->services);
	free(c);
}
