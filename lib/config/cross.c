/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no single value shows, for services and servers. Runs after faults too, so that one look
 * shows them all: values that could not be read are unset ("" or an address of zeroes) and left
 * out.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

/* Remembers text as number i's; false, and whose it is already, if it is taken. */
static bool remember(struct tg_reader *r, json_t *seen, const char *text, unsigned int i,
		     unsigned int *whose)
{
	json_t *earlier = json_object_get(seen, text);

	if (earlier != NULL) {
		*whose = (unsigned int)json_integer_value(earlier);
		return false;
	}
	if (json_object_set_new(seen, text, json_integer(i)) < 0)
		r->no_memory = true;
	return true;
}

static void check_service_names(struct tg_reader *r, const struct tg_config *c)
{
	json_t *seen = json_object();
	unsigned int whose;

	for (unsigned int i = 0; i < c->n_services; i++) {
		const char *name = c->services[i].name;
		size_t mark = tg_path_push(r, "services[%u].name", i);

		if (name[0] != '\0' && !remember(r, seen, name, i, &whose))
			tg_fault(r, "\"%s\" is the name of services[%u] already", name, whose);
		tg_path_pop(r, mark);
	}
	json_decref(seen);
}

static void check_destination(struct tg_reader *r, json_t *seen, const struct tg_config *c,
			      unsigned int i, uint16_t port)
{
	static const char *const protocols[] = {
		[TG_PROTOCOL_ANY] = "any", [IPPROTO_TCP] = "tcp", [IPPROTO_UDP] = "udp"};
	const struct tg_config_service *s = &c->services[i];
	char address[TG_ADDR_STRLEN], text[TG_ADDR_STRLEN + 16];
	unsigned int whose;
	int n;

	tg_addr_format(&s->address, address, sizeof(address));
	n = snprintf(text, sizeof(text), "%s,%s", protocols[s->protocol], address);
	if (port != TG_PORT_ANY)
		snprintf(text + n, sizeof(text) - (size_t)n, ",%u", port);
	/* a port that its own list repeats has its fault already */
	if (!remember(r, seen, text, i, &whose) && whose != i)
		tg_fault(r, "%s is the destination of services[%u] (\"%s\") already", text, whose,
			 c->services[whose].name);
}

/* Overlaps that differ in how exact they are have an order (tg_service.h); equal ones have none. */
static void check_destinations(struct tg_reader *r, const struct tg_config *c)
{
	json_t *seen = json_object();

	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *s = &c->services[i];
		size_t mark = tg_path_push(r, "services[%u]", i);

		if (s->protocol != TG_PROTOCOL_UNREAD && tg_is_set(&s->address)) {
			if (s->n_ports == 0)
				check_destination(r, seen, c, i, TG_PORT_ANY);
			for (unsigned int p = 0; p < s->n_ports; p++)
				check_destination(r, seen, c, i, s->ports[p]);
		}
		tg_path_pop(r, mark);
	}
	json_decref(seen);
}

static void check_servers(struct tg_reader *r, const struct tg_config_service *s)
{
	json_t *names = json_object(), *addresses = json_object();
	unsigned int whose;

	for (unsigned int j = 0; j < s->n_servers; j++) {
		const struct tg_config_server *server = &s->servers[j];
		char address[TG_ADDR_STRLEN];
		size_t mark = tg_path_push(r, ".servers[%u]", j);

		tg_addr_format(&server->address, address, sizeof(address));
		if (server->name[0] != '\0' && !remember(r, names, server->name, j, &whose))
			tg_fault(r, "name \"%s\" is servers[%u]'s already", server->name, whose);
		if (tg_is_set(&server->address) && !remember(r, addresses, address, j, &whose))
			tg_fault(r, "address %s is servers[%u]'s already", address, whose);
		tg_path_pop(r, mark);
	}
	json_decref(names);
	json_decref(addresses);
}

static void check_gate(struct tg_reader *r, const struct tg_config_service *s)
{
	size_t mark = tg_path_push(r, ".gate_margin_us");

	if (s->gate.sojourn_max_us > 0 && s->gate.margin_us >= s->gate.sojourn_max_us)
		tg_fault(r, "%u must be below sojourn_max_us, which is %u (0 turns the gate off)",
			 s->gate.margin_us, s->gate.sojourn_max_us);
	tg_path_pop(r, mark);
}

/* Servers that bid are told apart by their link addresses. */
static void check_bidders(struct tg_reader *r, const struct tg_config_service *s)
{
	json_t *macs = json_object();
	unsigned int whose;

	for (unsigned int j = 0; j < s->n_servers; j++) {
		const uint8_t *m = s->servers[j].mac;
		size_t mark = tg_path_push(r, ".servers[%u].mac", j);
		char text[18];

		snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2],
			 m[3], m[4], m[5]);
		if (s->servers[j].has_mac && !remember(r, macs, text, j, &whose))
			tg_fault(r,
				 "%s is servers[%u]'s already: with policy \"bid\" a server is known "
				 "by it",
				 text, whose);
		tg_path_pop(r, mark);
	}
	json_decref(macs);
}

/* The winner's answer waits for the others' at most as long as a packet may be here. */
static void check_window(struct tg_reader *r, const struct tg_config_service *s)
{
	size_t mark = tg_path_push(r, ".bid.window_us");
	uint32_t most = s->gate.sojourn_max_us - s->gate.margin_us;

	if (s->gate.sojourn_max_us > s->gate.margin_us && s->bid.window_us >= most &&
	    s->gate.action == TG_GATE_DROP)
		tg_fault(r,
			 "%u must be below sojourn_max_us less gate_margin_us, which is %u: the gate "
			 "would drop what waited for the window",
			 s->bid.window_us, most);
	else if (s->gate.sojourn_max_us > s->gate.margin_us && s->bid.window_us >= most)
		tg_note(r,
			"%u is not below sojourn_max_us less gate_margin_us, %u: answers that "
			"waited for the window count as late",
			s->bid.window_us, most);
	tg_path_pop(r, mark);
}

/* An auction is about TCP's handshake, and asks each server of the service. */
static void check_bid(struct tg_reader *r, const struct tg_config_service *s)
{
	size_t mark = tg_path_push(r, ".policy");

	if (s->policy == TG_POLICY_BID && s->protocol != IPPROTO_TCP &&
	    s->protocol != TG_PROTOCOL_UNREAD)
		tg_fault(r, "\"bid\" is for protocol \"tcp\" only: servers bid in their SYN-ACKs");
	if (s->policy == TG_POLICY_BID && s->n_servers > TG_BID_SERVERS_MAX)
		tg_fault(r,
			 "\"bid\" asks %d servers at most, there are %u; split the service, or take "
			 "another policy",
			 TG_BID_SERVERS_MAX, s->n_servers);
	tg_path_pop(r, mark);
	if (s->policy != TG_POLICY_BID)
		return;
	check_bidders(r, s);
	check_window(r, s);
}

/* A check that outlasts its interval would never end; and it must ask some port. */
static void check_health(struct tg_reader *r, const struct tg_config_service *s)
{
	size_t mark = tg_path_push(r, ".health");

	if (s->health.timeout_ms > s->health.interval_ms)
		tg_fault(r, "timeout_ms, %u, must not be above interval_ms, which is %u",
			 s->health.timeout_ms, s->health.interval_ms);
	if (s->health.type != TG_HEALTH_OFF && s->health.port == 0 && s->n_ports == 0 &&
	    s->protocol != TG_PROTOCOL_UNREAD)
		tg_fault(r, "port is missing: the service has none of its own to be asked at");
	tg_path_pop(r, mark);
}

static void note_idle_service(struct tg_reader *r, const struct tg_config_service *s)
{
	for (unsigned int j = 0; j < s->n_servers; j++) {
		if (s->servers[j].weight > 0 && s->servers[j].state == TG_SERVER_UP)
			return;
	}
	if (s->n_servers > 0)
		tg_note(r, "takes no new flows: no server is up with a weight above 0");
}

void tg_cross_check(struct tg_reader *r, const struct tg_config *c)
{
	check_service_names(r, c);
	check_destinations(r, c);
	for (unsigned int i = 0; i < c->n_services; i++) {
		size_t mark = tg_path_push(r, "services[%u]", i);

		check_servers(r, &c->services[i]);
		check_gate(r, &c->services[i]);
		tg_cross_check_guard(r, &c->services[i].guard);
		check_bid(r, &c->services[i]);
		check_health(r, &c->services[i]);
		note_idle_service(r, &c->services[i]);
		tg_note_sleep(r, &c->workers, &c->services[i]);
		tg_path_pop(r, mark);
	}
	tg_cross_check_admission(r, c);
	if (c->n_ports > 0)
		tg_cross_check_ports(r, c);
}
