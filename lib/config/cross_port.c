/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single value shows, for ports, and for servers as seen from them. */
#include <stdio.h>
#include <string.h>

#include "reader.h"

static bool same_family(const struct tg_addr *a, const struct tg_addr *b)
{
	return tg_addr_is_v4(a) == tg_addr_is_v4(b);
}

/* Is there an address on the port's own link? Link-local ones are on every IPv6 link. */
static bool is_on_link(const struct tg_config_port *p, const struct tg_addr *a)
{
	for (unsigned int i = 0; i < p->n_addresses; i++) {
		const struct tg_prefix *own = &p->addresses[i];

		if (!tg_is_set(&own->addr) || !same_family(&own->addr, a))
			continue;
		if (tg_prefix_contains(own, a) || tg_is_link_local(a))
			return true;
	}
	return false;
}

/* The first or last of one of the port's own networks? */
static bool is_end(const struct tg_config_port *p, const struct tg_addr *a)
{
	for (unsigned int i = 0; i < p->n_addresses; i++)
		if (tg_is_set(&p->addresses[i].addr) && tg_is_end_of(&p->addresses[i], a))
			return true;
	return false;
}

static void check_names(struct tg_reader *r, const struct tg_config *c, unsigned int i)
{
	const struct tg_config_port *p = &c->ports[i];

	for (unsigned int j = 0; j < i; j++) {
		if (p->name[0] != '\0' && strcmp(p->name, c->ports[j].name) == 0)
			tg_fault(r, "name \"%s\" is ports[%u]'s already", p->name, j);
		if (p->port[0] != '\0' && strcmp(p->port, c->ports[j].port) == 0)
			tg_fault(r, "port \"%s\" is ports[%u]'s already", p->port, j);
		if (p->kernel[0] != '\0' && strcmp(p->kernel, c->ports[j].kernel) == 0)
			tg_fault(r, "kernel \"%s\" is ports[%u]'s already", p->kernel, j);
	}
	for (unsigned int j = 0; j < c->n_ports; j++)
		if (p->kernel[0] != '\0' && strcmp(p->kernel, c->ports[j].port) == 0)
			tg_fault(r,
				 "kernel \"%s\" is the port of ports[%u]: the kernel needs a device of its own, "
				 "as --vdev=net_tap0,iface=tgk0",
				 p->kernel, j);
}

/* Whose own address is a, looking at what stands before ports[end_port].addresses[end]? */
static const struct tg_config_port *owner(const struct tg_config *c, const struct tg_addr *a,
					  unsigned int end_port, unsigned int end)
{
	for (unsigned int i = 0; i < c->n_ports && i <= end_port; i++) {
		unsigned int n = i < end_port ? c->ports[i].n_addresses : end;

		for (unsigned int j = 0; j < n; j++) {
			if (tg_addr_eq(&c->ports[i].addresses[j].addr, a))
				return &c->ports[i];
		}
	}
	return NULL;
}

static void check_addresses(struct tg_reader *r, const struct tg_config *c, unsigned int i)
{
	const struct tg_config_port *p = &c->ports[i], *other;

	for (unsigned int j = 0; j < p->n_addresses; j++) {
		const struct tg_addr *a = &p->addresses[j].addr;
		char text[TG_ADDR_STRLEN];

		/* a link-local address means something else on every link */
		if (!tg_is_set(a) || (tg_is_link_local(a) && owner(c, a, i, j) != p))
			continue;
		other = owner(c, a, i, j);
		if (other != NULL)
			tg_fault(r, "addresses[%u]: %s is an address of port \"%s\" already", j,
				 tg_addr_format(a, text, sizeof(text)), other->name);
	}
}

static bool overlap(const struct tg_prefix *a, const struct tg_prefix *b)
{
	const struct tg_prefix *wide = a->len <= b->len ? a : b, *narrow = wide == a ? b : a;

	return tg_is_set(&a->addr) && tg_is_set(&b->addr) && same_family(&a->addr, &b->addr) &&
	       !tg_is_link_local(&a->addr) && tg_prefix_contains(wide, &narrow->addr);
}

/* A server goes by the first port whose network holds it (find_way). */
static void note_overlaps(struct tg_reader *r, const struct tg_config *c, unsigned int i)
{
	const struct tg_config_port *p = &c->ports[i], *other;

	for (unsigned int k = 0; k < i; k++) {
		other = &c->ports[k];
		for (unsigned int j = 0; j < p->n_addresses; j++) {
			unsigned int n = 0;

			while (n < other->n_addresses &&
			       !overlap(&p->addresses[j], &other->addresses[n]))
				n++;
			if (n < other->n_addresses)
				tg_note(r,
					"addresses[%u]: its network overlaps addresses[%u] of port "
					"\"%s\": what is in both goes by the first port that is not a client's",
					j, n, other->name);
		}
	}
}

static void check_gateways(struct tg_reader *r, const struct tg_config *c, unsigned int i)
{
	const struct tg_config_port *p = &c->ports[i];

	for (unsigned int j = 0; j < p->n_gateways; j++) {
		const struct tg_addr *a = &p->gateways[j];
		char text[TG_ADDR_STRLEN];
		size_t mark;

		if (!tg_is_set(a))
			continue;
		mark = tg_path_push(r, ".gateways[%u]", j);
		tg_addr_format(a, text, sizeof(text));
		if (!is_on_link(p, a))
			tg_fault(r, "%s is inside none of the port's networks (addresses)", text);
		else if (is_end(p, a))
			tg_fault(r,
				 "%s is a network's own or its broadcast address: no host has it",
				 text);
		else if (owner(c, a, c->n_ports, 0) != NULL)
			tg_fault(r, "%s is the gateway's own address", text);
		for (unsigned int k = 0; k < j; k++) {
			if (tg_addr_eq(&p->gateways[k], a))
				tg_fault(r, "%s is given twice", text);
		}
		tg_path_pop(r, mark);
	}
}

static void check_roles(struct tg_reader *r, const struct tg_config *c)
{
	bool client = false, server = false;
	size_t mark = tg_path_push(r, "ports");

	for (unsigned int i = 0; i < c->n_ports; i++) {
		client |= c->ports[i].role != TG_ROLE_SERVER;
		server |= c->ports[i].role != TG_ROLE_CLIENT;
	}
	if (!client)
		tg_fault(r, "none has role \"client\" or \"both\": no packet would come in");
	if (!server)
		tg_fault(r, "none has role \"server\" or \"both\": no packet would go out");
	tg_path_pop(r, mark);
}

/* l2 rewrites the link address only: the server must be on the link itself. The others also go
 * through a router, and need an address of ours of the same family. */
static bool is_reachable(const struct tg_config_port *p, const struct tg_config_service *s,
			 const struct tg_addr *server)
{
	if (p->role == TG_ROLE_CLIENT)
		return false;
	if (is_on_link(p, server))
		return true;
	for (unsigned int i = 0; s->forward != TG_FORWARD_L2 && i < p->n_gateways; i++) {
		if (tg_is_set(&p->gateways[i]) && same_family(&p->gateways[i], server))
			return true;
	}
	return false;
}

static bool any_reaches(const struct tg_config *c, const struct tg_config_service *s,
			const struct tg_addr *server)
{
	for (unsigned int i = 0; i < c->n_ports; i++) {
		if (is_reachable(&c->ports[i], s, server))
			return true;
	}
	return false;
}

static bool any_is_on_link(const struct tg_config *c, const struct tg_addr *server)
{
	for (unsigned int i = 0; i < c->n_ports; i++) {
		if (c->ports[i].role != TG_ROLE_CLIENT && is_on_link(&c->ports[i], server))
			return true;
	}
	return false;
}

static const struct tg_config_port *end_of(const struct tg_config *c, const struct tg_addr *a)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].role != TG_ROLE_CLIENT && is_end(&c->ports[i], a))
			return &c->ports[i];
	return NULL;
}

static void check_server(struct tg_reader *r, const struct tg_config *c,
			 const struct tg_config_service *s, const struct tg_config_server *server)
{
	const struct tg_addr *a = &server->address;
	char text[TG_ADDR_STRLEN];

	if (!tg_is_set(a) || (server->has_mac && s->forward == TG_FORWARD_L2))
		return;
	tg_addr_format(a, text, sizeof(text));
	if (tg_addr_eq(a, &s->address))
		tg_fault(r, "address %s is the service's own: its packets would come back to it",
			 text);
	else if (owner(c, a, c->n_ports, 0) != NULL)
		tg_fault(r, "address %s is the gateway's own: its packets would come back to it",
			 text);
	else if (end_of(c, a) != NULL)
		tg_fault(r,
			 "address %s is the own or the broadcast address of a network of port \"%s\": "
			 "no host has it",
			 text, end_of(c, a)->name);
	else if (!any_reaches(c, s, a))
		tg_note(r, "no port with role \"server\" or \"both\" reaches %s%s", text,
			s->forward == TG_FORWARD_L2 ? " directly, as forward \"l2\" needs" : "");
	else if (s->policy == TG_POLICY_BID && !server->has_mac && !any_is_on_link(c, a))
		tg_fault(r,
			 "address %s is behind a router: with policy \"bid\" a server must be on a "
			 "port's own link, to be known by its link address",
			 text);
}

/* Where a service's address is announced: on the kernel's interface of a port that clients come by. */
static void note_announced(struct tg_reader *r, const struct tg_config *c)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].kernel[0] != '\0' && c->ports[i].role != TG_ROLE_SERVER)
			return;
	for (unsigned int i = 0; i < c->n_services; i++) {
		size_t mark = tg_path_push(r, "services[%u].announce", i);

		if (c->services[i].announce)
			tg_note(r,
				"no port with role \"client\" or \"both\" has a `kernel` device: nothing is announced");
		tg_path_pop(r, mark);
	}
}

void tg_cross_check_ports(struct tg_reader *r, const struct tg_config *c)
{
	for (unsigned int i = 0; i < c->n_ports; i++) {
		size_t mark = tg_path_push(r, "ports[%u]", i);

		check_names(r, c, i);
		check_addresses(r, c, i);
		check_gateways(r, c, i);
		note_overlaps(r, c, i);
		tg_path_pop(r, mark);
	}
	check_roles(r, c);
	note_announced(r, c);
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *s = &c->services[i];

		for (unsigned int j = 0; j < s->n_servers; j++) {
			size_t mark = tg_path_push(r, "services[%u].servers[%u]", i, j);

			check_server(r, c, s, &s->servers[j]);
			tg_path_pop(r, mark);
		}
	}
}
