/* SPDX-License-Identifier: BSD-3-Clause */
#include "routes.h"

#include <errno.h>
#include <rte_common.h>
#include <stdio.h>
#include <stdlib.h>

#include "mss.h"

/* An own address of the port in the family of `like`; NULL if it has none. */
static const struct tg_addr *own_address(const struct tg_config_port *p, const struct tg_addr *like)
{
	for (unsigned int i = 0; i < p->n_addresses; i++)
		if (tg_addr_is_v4(&p->addresses[i].addr) == tg_addr_is_v4(like))
			return &p->addresses[i].addr;
	return NULL;
}

/* The own address from whose network `a` can be reached without a gateway. */
static const struct tg_addr *on_link(const struct tg_config_port *p, const struct tg_addr *a)
{
	for (unsigned int i = 0; i < p->n_addresses; i++)
		if (tg_addr_is_v4(&p->addresses[i].addr) == tg_addr_is_v4(a) &&
		    tg_prefix_contains(&p->addresses[i], a))
			return &p->addresses[i].addr;
	return NULL;
}

static const struct tg_addr *gateway_of(const struct tg_config_port *p, const struct tg_addr *like)
{
	for (unsigned int i = 0; i < p->n_gateways; i++)
		if (tg_addr_is_v4(&p->gateways[i]) == tg_addr_is_v4(like))
			return &p->gateways[i];
	return NULL;
}

struct way {
	unsigned int port;
	const struct tg_addr *hop, *source;
};

static bool find_way(const struct tg_config *c, const struct tg_config_server *server,
		     struct way *w)
{
	const struct tg_addr *to = &server->address;

	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct tg_config_port *p = &c->ports[i];

		if (p->role == TG_ROLE_CLIENT || on_link(p, to) == NULL)
			continue;
		*w = (struct way){i, to, on_link(p, to)};
		return true;
	}
	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct tg_config_port *p = &c->ports[i];

		if (p->role == TG_ROLE_CLIENT || gateway_of(p, to) == NULL)
			continue;
		*w = (struct way){i, gateway_of(p, to), own_address(p, to)};
		return true;
	}
	for (unsigned int i = 0; i < c->n_ports && server->has_mac; i++) {
		if (c->ports[i].role == TG_ROLE_CLIENT)
			continue;
		*w = (struct way){i, to, own_address(&c->ports[i], to)};
		return true;
	}
	return false;
}

static const struct tg_addr *probe_source(const struct tg_config *c,
					  const struct tg_config_service *service,
					  const struct way *w)
{
	if (w->source != NULL && tg_addr_is_v4(w->source) == tg_addr_is_v4(&service->address))
		return w->source;
	return own_address(&c->ports[w->port], &service->address);
}

static int choose_way(const struct tg_config *c, const struct tg_config_service *service,
		      const struct tg_config_server *server, struct way *way, char *err,
		      size_t err_len)
{
	char text[TG_ADDR_STRLEN];

	tg_addr_format(&server->address, text, sizeof(text));
	if (!find_way(c, server, way)) {
		snprintf(
			err, err_len,
			"service \"%s\": server \"%s\" (%s) is in no network of a server-side port and no "
			"gateway leads there; add the network to ports[].addresses, a gateway, or the server's mac",
			service->name, server->name, text);
		return -EINVAL;
	}
	if (way->source == NULL && (service->forward != TG_FORWARD_L2 || !server->has_mac)) {
		snprintf(err, err_len,
			 "service \"%s\": port \"%s\" has no address of the family of server \"%s\" (%s); add one to "
			 "its addresses",
			 service->name, c->ports[way->port].name, server->name, text);
		return -EINVAL;
	}
	if (service->health.type != TG_HEALTH_OFF && probe_source(c, service, way) == NULL) {
		snprintf(err, err_len,
			 "service \"%s\": its health checks need an address of the family of %s on port \"%s\"; add "
			 "one to its addresses",
			 service->name, tg_addr_format(&service->address, text, sizeof(text)),
			 c->ports[way->port].name);
		return -EINVAL;
	}
	if (service->policy == TG_POLICY_BID && way->hop != &server->address) {
		snprintf(
			err, err_len,
			"service \"%s\": server \"%s\" (%s) is behind a gateway; servers that bid are told apart by "
			"their link addresses: put it in a network of port \"%s\", or take another policy",
			service->name, server->name, text, c->ports[way->port].name);
		return -EINVAL;
	}
	return 0;
}

int tg_route_check(const struct tg_config *c, const struct tg_config_service *service,
		   const struct tg_config_server *server, char *err, size_t err_len)
{
	struct way way;

	return choose_way(c, service, server, &way, err, err_len);
}

int tg_route_make(const struct tg_snapshot_env *env, const struct tg_config *c,
		  const struct tg_config_service *service, const struct tg_config_server *server,
		  struct tg_route *out, char *err, size_t err_len)
{
	const struct tg_port *port;
	struct way way;
	int r = choose_way(c, service, server, &way, err, err_len);

	if (r != 0)
		return r;
	port = &env->ports[way.port];
	*out = (struct tg_route){
		.remote = server->address,
		.local = way.source != NULL ? *way.source : (struct tg_addr){{0}},
		.out_port = (uint16_t)way.port,
		.mtu = port->mtu,
		.vlan = c->ports[way.port].vlan,
		.forward = (uint8_t)service->forward,
		.decrement_ttl = service->decrement_ttl,
	};
	memcpy(out->src_mac, port->mac, sizeof(out->src_mac));
	r = tg_neigh_add(env->neigh, (uint16_t)way.port, way.hop, &out->local,
			 server->has_mac ? server->mac : NULL, &out->mac);
	if (r != 0)
		snprintf(err, err_len, "more than %u next hops", TG_NEIGH_MAX);
	else
		tg_encap_prepare(out);
	return r;
}

bool tg_route_narrow(const struct tg_config *c, const struct tg_config_service *service,
		     const struct tg_config_server *server, char *text, size_t room)
{
	struct tg_route r = {.remote = server->address, .forward = (uint8_t)service->forward};
	unsigned int longest = 0, fits;
	const struct tg_config_port *p;
	struct way way;

	if (!find_way(c, server, &way))
		return false;
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].role != TG_ROLE_SERVER)
			longest = RTE_MAX(longest, c->ports[i].mtu);
	p = &c->ports[way.port];
	r.mtu = p->mtu;
	fits = tg_encap_room(&r);
	if (fits >= longest)
		return false;
	snprintf(
		text, room,
		"service \"%s\": packets above %u bytes do not fit to server \"%s\" (%s, mtu %u of port \"%s\"): who "
		"sends them is told \"too big\", and stalls where that is not heard; set ports[].mtu to %u and the "
		"link too (ip link set dev INTERFACE mtu %u), or have the servers ask for less (ip route change "
		"ROUTE advmss %u)",
		service->name, fits, server->name, tg_forward_name(service->forward), p->mtu,
		p->name, longest + p->mtu - fits, longest + p->mtu - fits,
		tg_mss_of(fits, !tg_addr_is_v4(&service->address)));
	return true;
}

bool tg_route_probe_source(const struct tg_config *c, const struct tg_config_service *service,
			   const struct tg_config_server *server, struct tg_addr *out)
{
	const struct tg_addr *source;
	struct way way;

	if (!find_way(c, server, &way))
		return false;
	source = probe_source(c, service, &way);
	if (source != NULL)
		*out = *source;
	return source != NULL;
}

int tg_client_way_make(const struct tg_snapshot_env *env, const struct tg_config *c, bool v4,
		       struct tg_route *out, char *err, size_t err_len)
{
	const struct tg_addr *like, *hop = NULL;
	unsigned int port = 0;
	int r;

	while (port < c->n_ports) {
		const struct tg_config_port *p = &c->ports[port];

		for (unsigned int i = 0; p->role != TG_ROLE_SERVER && i < p->n_gateways; i++)
			if (tg_addr_is_v4(&p->gateways[i]) == v4)
				hop = &p->gateways[i];
		if (hop != NULL)
			break;
		port++;
	}
	*out = (struct tg_route){.mac = NULL};
	if (hop == NULL)
		return 0;
	like = own_address(&c->ports[port], hop);
	*out = (struct tg_route){
		.remote = *hop,
		.local = like != NULL ? *like : (struct tg_addr){{0}},
		.out_port = (uint16_t)port,
		.mtu = env->ports[port].mtu,
		.vlan = c->ports[port].vlan,
		.forward = TG_FORWARD_L2,
	};
	memcpy(out->src_mac, env->ports[port].mac, sizeof(out->src_mac));
	r = tg_neigh_add(env->neigh, (uint16_t)port, hop, &out->local, NULL, &out->mac);
	if (r != 0)
		snprintf(err, err_len, "no way to the clients' gateway on port \"%s\": %s",
			 c->ports[port].name, strerror(-r));
	return r;
}

int tg_local_make(const struct tg_snapshot_env *env, const struct tg_config *c,
		  struct tg_neigh_local **out)
{
	size_t most = (size_t)c->n_ports * (TG_PORT_ADDRESSES_MAX + c->n_services) + 1;
	struct tg_neigh_address *a = calloc(most, sizeof(*a));
	struct tg_neigh_port ports[TG_PORTS_MAX];
	unsigned int n = 0;
	int r;

	if (a == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct tg_config_port *p = &c->ports[i];

		memcpy(ports[i].mac, env->ports[i].mac, sizeof(ports[i].mac));
		ports[i].vlan = p->vlan;
		for (unsigned int k = 0; k < p->n_addresses; k++)
			a[n++] = (struct tg_neigh_address){p->addresses[k].addr, (uint16_t)i, false,
							   true};
		for (unsigned int k = 0; p->role != TG_ROLE_SERVER && k < c->n_services; k++)
			a[n++] = (struct tg_neigh_address){c->services[k].address, (uint16_t)i,
							   true, c->services[k].answer_ping};
	}
	r = tg_neigh_local_create(a, n, ports, c->n_ports, -1, out);
	free(a);
	return r;
}
