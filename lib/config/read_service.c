/* SPDX-License-Identifier: BSD-3-Clause */
/* services[] */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define SOJOURN_MAX_US 10000000

#define AT(field)             TG_FIELD(tg_config_service, field)
#define KEY(field, reader)    TG_KEY(tg_config_service, field, reader)
#define UINT(field, from, to) TG_UINT(tg_config_service, field, from, to)

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
		[TG_ESTIMATOR_AUTO] = "auto", [TG_ESTIMATOR_GAP] = "gap",
		[TG_ESTIMATOR_ACK] = "ack",   [TG_ESTIMATOR_OFF] = "off",
		[TG_ESTIMATOR_ECHO] = "echo", [TG_ESTIMATOR_COUNT] = NULL,
	};

	return names[i];
}

static const char *gap_rule_name(unsigned int i)
{
	static const char *const names[] = {[TG_GAP_ENVELOPE] = "envelope",
					    [TG_GAP_MODE_SUM] = "mode-sum",
					    [TG_GAP_TOP_MODE] = "top-mode",
					    NULL};

	return names[i];
}

static const char *gate_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_GATE_SHADOW] = "shadow", [TG_GATE_DROP] = "drop", NULL};

	return names[i];
}

/* Clients beyond the link ask for it: one that means something else on every link is none. */
static void read_vip(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	static const struct tg_addr unset;
	char text[TG_ADDR_STRLEN];
	struct tg_addr *a = at;

	tg_read_address(r, k, v, a);
	if (!tg_is_link_local(a))
		return;
	tg_fault(r, "%s is a link-local address: routers forward nothing to it",
		 tg_addr_format(a, text, sizeof(text)));
	*a = unset;
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
	static const struct tg_config_key port = {.size = sizeof(uint16_t),
						  .min = 1,
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
	{KEY(name, tg_read_name), .required = true},
	{KEY(address, read_vip), .required = true},
	{KEY(protocol, read_protocol), .required = true},
	{.name = "ports", .read = read_service_ports},
	{KEY(forward, tg_read_choice), .choice = forward_name, .standard = "l2"},
	{KEY(policy, tg_read_choice), .choice = policy_name, .standard = "latency"},
	{.name = "estimator",
	 .read = tg_read_choice,
	 AT(pirate.estimator),
	 .choice = estimator_name,
	 .standard = "auto"},
	{.name = "gap_rule",
	 .read = tg_read_choice,
	 AT(pirate.gap_rule),
	 .choice = gap_rule_name,
	 .standard = "envelope"},
	{.name = "sojourn_max_us",
	 .read = tg_read_uint,
	 AT(gate.sojourn_max_us),
	 .max = SOJOURN_MAX_US,
	 .standard = "0 (off)"},
	{.name = "gate", .read = tg_read_choice, AT(gate.action), .choice = gate_name},
	{.name = "gate_margin_us",
	 .read = tg_read_uint,
	 AT(gate.margin_us),
	 .max = SOJOURN_MAX_US,
	 .standard = "20"},
	{.name = "gate_early", .read = tg_read_bool, AT(gate.early), .standard = "false"},
	{UINT(admission_wait_max_us, 0, 1000000), .standard = "10000"},
	{.name = "admission", .read = tg_read_admission, .standard = "none (off)"},
	{KEY(decrement_ttl, tg_read_bool), .standard = "true"},
	{KEY(mss_clamp, tg_read_bool), .standard = "false"},
	{KEY(answer_ping, tg_read_bool), .standard = "true"},
	{.name = "limits",
	 .read = tg_read_limits,
	 .offset = offsetof(struct tg_config_service, guard)},
	{.name = "access",
	 .read = tg_read_access,
	 .offset = offsetof(struct tg_config_service, guard),
	 .standard = "none (everybody may)"},
	{KEY(announce, tg_read_bool), .standard = "false"},
	{KEY(bid, tg_read_bid)},
	{.name = "health",
	 .read = tg_read_health,
	 .offset = offsetof(struct tg_config_service, health),
	 .standard = "none (off)"},
	{.name = "servers", .read = tg_read_servers, .required = true},
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

/* Without the object the defaults hold, which only an auction is interested in. */
static void settle_bid(struct tg_reader *r, const json_t *v, struct tg_config_service *s)
{
	json_t *none = json_object();
	size_t mark = tg_path_push_member(r, "bid");

	if (s->policy == TG_POLICY_BID && json_object_get(v, "bid") == NULL)
		tg_read_bid(r, NULL, none, &s->bid);
	tg_path_pop(r, mark);
	json_decref(none);
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
	if (!tg_read_object(r, service_keys, TG_COUNT(service_keys), v, s))
		return;
	/* what TCP loses to the gate it sends again, later still: dropping is asked for by name */
	if (json_object_get(v, "gate") == NULL) {
		s->gate.action = s->protocol == IPPROTO_TCP ? TG_GATE_SHADOW : TG_GATE_DROP;
		tg_default(r, "gate", "%s", gate_name(s->gate.action));
	}
	settle_ports(r, v, s);
	settle_bid(r, v, s);
}

void tg_read_services(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *config)
{
	(void)k;
	tg_read_list(r, v, 1, TG_SERVICES_MAX, "services", read_service, config);
}
