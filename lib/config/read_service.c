/* SPDX-License-Identifier: BSD-3-Clause */
/* services[], and their servers[] */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIELD(type, field)                                                                         \
	.offset = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)
#define SECONDS_MAX_US 10000000 /* 10 s, for times that are a fraction of one */
#define EXCHANGE_MAX_US 60000000 /* as long as an exchange may take (tg_pirate.h) */
#define ALPHA_MAX 1000

static const char *policy_name(unsigned int i)
{
	return i < TG_POLICY_COUNT ? tg_policy(i)->name : NULL;
}

static const char *forward_name(unsigned int i)
{
	return tg_forward_name(i);
}

static const char *estimator_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_ESTIMATOR_AUTO] = "auto", [TG_ESTIMATOR_GAP] = "gap", [TG_ESTIMATOR_ACK] = "ack",
		[TG_ESTIMATOR_OFF] = "off",   [TG_ESTIMATOR_COUNT] = NULL,
	};

	return names[i];
}

static const char *gap_rule_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_GAP_MODE_SUM] = "mode-sum", [TG_GAP_TOP_MODE] = "top-mode", NULL};

	return names[i];
}

static const char *gate_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_GATE_SHADOW] = "shadow", [TG_GATE_DROP] = "drop", NULL};

	return names[i];
}

static const char *state_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_SERVER_UP] = "up", [TG_SERVER_DRAIN] = "drain", [TG_SERVER_DOWN] = "down", NULL};

	return names[i];
}

static void read_mac(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_config_server *server = at;
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	char shown[TG_SHOWN_MAX];
	unsigned int b[6] = {0};
	int end = 0;

	(void)k;
	if (strspn(text, "0123456789abcdefABCDEF:") != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 || end != 17 || text[17] != '\0') {
		tg_fault(r, "%s is no link address (as 02:00:5e:10:00:01)", tg_show(v, shown));
		return;
	}
	if ((b[0] & 1) != 0 || (b[0] | b[1] | b[2] | b[3] | b[4] | b[5]) == 0) {
		tg_fault(r, "%s is a group address or all zero: no server has it", tg_show(v, shown));
		return;
	}
	for (unsigned int i = 0; i < 6; i++)
		server->mac[i] = (uint8_t)b[i];
	server->has_mac = true;
}

static void read_alpha(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	double alpha = json_number_value(v);
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_number(v) || (alpha != 0 && !(alpha > 2 && alpha <= ALPHA_MAX)))
		tg_fault(r, "%s is not allowed: 0 (learn), or above 2 up to %d", tg_show(v, shown),
			 ALPHA_MAX);
	else
		memcpy(at, &alpha, sizeof(alpha));
}

static const struct tg_config_key server_keys[] = {
	{.name = "name", .read = tg_read_name, FIELD(tg_config_server, name), .required = true},
	{.name = "address", .read = tg_read_address, FIELD(tg_config_server, address),
	 .required = true},
	{.name = "mac", .read = read_mac},
	{.name = "weight", .read = tg_read_uint, FIELD(tg_config_server, weight), .max = UINT16_MAX,
	 .standard = "1"},
	{.name = "workers", .read = tg_read_uint, FIELD(tg_config_server, workers), .min = 1,
	 .max = UINT16_MAX, .standard = "1", .no_effect = true},
	{.name = "service_time_us", .read = tg_read_uint, FIELD(tg_config_server, service_time_us),
	 .max = EXCHANGE_MAX_US, .standard = "0", .no_effect = true},
	{.name = "tier", .read = tg_read_name, FIELD(tg_config_server, tier)},
	{.name = "delay_us", .read = tg_read_uint, FIELD(tg_config_server, delay_us),
	 .max = SECONDS_MAX_US},
	{.name = "alpha", .read = read_alpha, FIELD(tg_config_server, alpha), .standard = "0",
	 .no_effect = true},
	{.name = "state", .read = tg_read_choice, FIELD(tg_config_server, state),
	 .choice = state_name, .standard = "up"},
};

/* A server's delay is its own, else its tier's, else 0. */
static void settle_delay(struct tg_reader *r, const json_t *v, struct tg_config_server *server)
{
	bool own = json_object_get(v, "delay_us") != NULL;
	const json_t *delay;

	if (server->tier[0] == '\0') {
		if (!own)
			tg_default(r, "delay_us", "0");
		return;
	}
	delay = json_object_get(r->tiers, server->tier);
	if (delay == NULL) {
		size_t mark = tg_path_push_member(r, "tier");

		tg_fault(r, "\"%s\" is none of the names in `tiers`", server->tier);
		tg_path_pop(r, mark);
	} else if (!own) {
		server->delay_us = (uint32_t)json_integer_value(delay);
		tg_default(r, "delay_us", "%u (of its tier)", server->delay_us);
	}
}

static void read_server(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_config_server *server;

	(void)i;
	if (r->n_servers++ >= TG_SERVERS_MAX) {
		if (r->n_servers == TG_SERVERS_MAX + 1)
			tg_fault(r, "is one server too many: %d in all services together",
				 TG_SERVERS_MAX);
		return;
	}
	server = tg_config_add_server(at);
	if (server == NULL) {
		r->no_memory = true;
		return;
	}
	if (tg_read_object(r, server_keys, COUNT(server_keys), v, server))
		settle_delay(r, v, server);
}

static void read_servers(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_list(r, v, 1, TG_SERVERS_MAX, "servers", read_server, at);
}

static void read_protocol(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	uint8_t *protocol = at;
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (strcmp(text, "tcp") == 0)
		*protocol = IPPROTO_TCP;
	else if (strcmp(text, "udp") == 0)
		*protocol = IPPROTO_UDP;
	else if (strcmp(text, "any") == 0)
		*protocol = TG_PROTOCOL_ANY;
	else
		tg_fault(r, "%s is not allowed; this version has \"tcp\", \"udp\", \"any\"",
			 tg_show(v, shown));
}

static void read_service_port(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	static const struct tg_config_key port = {.size = sizeof(uint16_t), .min = 1,
						  .max = UINT16_MAX};
	struct tg_config_service *s = at;

	s->n_ports = i + 1;
	tg_read_uint(r, &port, v, &s->ports[i]);
	for (unsigned int j = 0; j < i && s->ports[i] != 0; j++) {
		if (s->ports[j] == s->ports[i])
			tg_fault(r, "%u is given twice", s->ports[i]);
	}
}

static void read_service_ports(struct tg_reader *r, const struct tg_config_key *k, json_t *v,
			       void *at)
{
	(void)k;
	if (!json_is_string(v) || strcmp(json_string_value(v), "any") != 0)
		tg_read_list(r, v, 1, TG_SERVICE_PORTS_MAX, "ports, or \"any\"", read_service_port,
			     at);
}

static const struct tg_config_key service_keys[] = {
	{.name = "name", .read = tg_read_name, FIELD(tg_config_service, name), .required = true},
	{.name = "address", .read = tg_read_address, FIELD(tg_config_service, address),
	 .required = true},
	{.name = "protocol", .read = read_protocol, FIELD(tg_config_service, protocol),
	 .required = true},
	{.name = "ports", .read = read_service_ports},
	{.name = "forward", .read = tg_read_choice, FIELD(tg_config_service, forward),
	 .choice = forward_name, .standard = "l2"},
	{.name = "policy", .read = tg_read_choice, FIELD(tg_config_service, policy),
	 .choice = policy_name, .standard = "latency"},
	{.name = "estimator", .read = tg_read_choice, FIELD(tg_config_service, pirate.estimator),
	 .choice = estimator_name, .standard = "auto"},
	{.name = "gap_rule", .read = tg_read_choice, FIELD(tg_config_service, pirate.gap_rule),
	 .choice = gap_rule_name, .standard = "mode-sum"},
	{.name = "sojourn_max_us", .read = tg_read_uint,
	 FIELD(tg_config_service, gate.sojourn_max_us), .max = SECONDS_MAX_US, .standard = "0 (off)"},
	{.name = "gate", .read = tg_read_choice, FIELD(tg_config_service, gate.action),
	 .choice = gate_name},
	{.name = "gate_margin_us", .read = tg_read_uint, FIELD(tg_config_service, gate.margin_us),
	 .max = SECONDS_MAX_US, .standard = "20"},
	{.name = "gate_early", .read = tg_read_bool, FIELD(tg_config_service, gate_early),
	 .standard = "false", .no_effect = true},
	{.name = "admission_wait_max_us", .read = tg_read_uint,
	 FIELD(tg_config_service, admission_wait_max_us), .max = 1000000, .standard = "10000",
	 .no_effect = true},
	{.name = "decrement_ttl", .read = tg_read_bool, FIELD(tg_config_service, decrement_ttl),
	 .standard = "true"},
	{.name = "answer_ping", .read = tg_read_bool, FIELD(tg_config_service, answer_ping),
	 .standard = "true"},
	{.name = "servers", .read = read_servers, .required = true},
};

static bool has_unread_port(const struct tg_config_service *s)
{
	for (unsigned int i = 0; i < s->n_ports; i++) {
		if (s->ports[i] == 0)
			return true;
	}
	return false;
}

/* Ports go with a protocol that has some. */
static void settle_ports(struct tg_reader *r, const json_t *v, struct tg_config_service *s)
{
	const json_t *ports = json_object_get(v, "ports");
	size_t mark = tg_path_push_member(r, "ports");

	if (s->protocol == TG_PROTOCOL_ANY && s->n_ports > 0)
		tg_fault(r, "must be left out: protocol \"any\" has no ports");
	else if ((s->protocol == IPPROTO_TCP || s->protocol == IPPROTO_UDP) && ports == NULL)
		tg_fault(r, "is missing: a list of 1..%d ports, or \"any\"", TG_SERVICE_PORTS_MAX);
	tg_path_pop(r, mark);
	if (ports == NULL ? s->protocol != TG_PROTOCOL_ANY
			  : has_unread_port(s) || (s->n_ports == 0 && !json_is_string(ports)))
		s->protocol = TG_PROTOCOL_UNREAD;
}

static void read_service(struct tg_reader *r, json_t *v, unsigned int i, void *config)
{
	struct tg_config_service *s = tg_config_add_service(config);

	(void)i;
	if (s == NULL) {
		r->no_memory = true;
		return;
	}
	s->protocol = TG_PROTOCOL_UNREAD;
	if (!tg_read_object(r, service_keys, COUNT(service_keys), v, s))
		return;
	/* what TCP loses to the gate it sends again, later still: dropping is asked for by name */
	if (json_object_get(v, "gate") == NULL) {
		s->gate.action = s->protocol == IPPROTO_TCP ? TG_GATE_SHADOW : TG_GATE_DROP;
		tg_default(r, "gate", "%s", gate_name(s->gate.action));
	}
	settle_ports(r, v, s);
}

void tg_read_services(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *config)
{
	(void)k;
	tg_read_list(r, v, 1, TG_SERVICES_MAX, "services", read_service, config);
}
