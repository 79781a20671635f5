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

struct way {
	unsigned int port;
	const struct tg_addr *hop, *source;
	bool gateway; /* hop is one: others may stand in for it */
};

/* Gateway number `nth` of a family on ports that are not of role `but`, in the file's order. */
static bool gateway_way(const struct tg_config *c, enum tg_port_role but, bool v4, unsigned int nth,
			struct way *w)
{
	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct tg_config_port *p = &c->ports[i];

		for (unsigned int k = 0; p->role != but && k < p->n_gateways; k++) {
			if (tg_addr_is_v4(&p->gateways[k]) != v4 || nth-- > 0)
				continue;
			*w = (struct way){i, &p->gateways[k], own_address(p, &p->gateways[k]),
					  true};
			return true;
		}
	}
	return false;
}

/*
 * All gateways of a family become neighbours, and the first that answers is the way; if none does, the first of
 * all. Several are watched. false: there is none. -ENOSPC and others of tg_neigh_add in *r.
 */
static bool choose_gateway(struct tg_neigh_table *t, const struct tg_config *c,
			   enum tg_port_role but, bool v4, struct way *out, const uint64_t **mac,
			   int *r)
{
	const struct tg_addr none = {{0}};
	bool several, found = false;
	struct way w;

	*r = 0;
	if (!gateway_way(c, but, v4, 0, out))
		return false;
	several = gateway_way(c, but, v4, 1, &w);
	for (unsigned int n = 0; gateway_way(c, but, v4, n, &w); n++) {
		const uint64_t *word;

		*r = tg_neigh_add(t, (uint16_t)w.port, w.hop, w.source != NULL ? w.source : &none,
				  NULL, &word);
		if (*r != 0)
			return true;
		if (several)
			tg_neigh_watch(t, (uint16_t)w.port, w.hop);
		if (n == 0)
			*mac = word;
		if (found || (__atomic_load_n(word, __ATOMIC_RELAXED) & TG_MAC_VALID) == 0)
			continue;
		found = true;
		*out = w;
		*mac = word;
	}
	return true;
}

static bool find_way(const struct tg_config *c, const struct tg_config_server *server,
		     struct way *w)
{
	const struct tg_addr *to = &server->address;

	for (unsigned int i = 0; i < c->n_ports; i++) {
		const struct tg_config_port *p = &c->ports[i];

		if (p->role == TG_ROLE_CLIENT || on_link(p, to) == NULL)
			continue;
		*w = (struct way){i, to, on_link(p, to), false};
		return true;
	}
	if (gateway_way(c, TG_ROLE_CLIENT, tg_addr_is_v4(to), 0, w))
		return true;
	for (unsigned int i = 0; i < c->n_ports && server->has_mac; i++) {
		if (c->ports[i].role == TG_ROLE_CLIENT)
			continue;
		*w = (struct way){i, to, own_address(&c->ports[i], to), false};
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

/* Nobody sends shorter ones than this for being told so (RFC 8200 section 5). */
#define IPV6_LEAST 1280u

/* The longest packet that fits to the server. */
static unsigned int room_of(const struct tg_config *c, const struct tg_config_service *service,
			    const struct tg_config_server *server, const struct way *way)
{
	const struct tg_route r = {
		.remote = server->address,
		.forward = (uint8_t)service->forward,
		.mtu = c->ports[way->port].mtu,
	};

	return tg_encap_room(&r);
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
	if (!tg_addr_is_v4(&service->address) && room_of(c, service, server, way) < IPV6_LEAST) {
		snprintf(err, err_len,
			 "service \"%s\": IPv6 packets of up to %u bytes must fit to server \"%s\" (%s), and mtu %u of "
			 "port \"%s\" leaves %u: set it to %u at least, and the link too",
			 service->name, IPV6_LEAST, server->name, tg_forward_name(service->forward),
			 c->ports[way->port].mtu, c->ports[way->port].name,
			 room_of(c, service, server, way),
			 IPV6_LEAST + c->ports[way->port].mtu - room_of(c, service, server, way));
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
		  struct tg_route *out, const uint64_t **gateway, char *err, size_t err_len)
{
	const uint64_t *mac = NULL;
	const struct tg_port *port;
	struct way way;
	int r = choose_way(c, service, server, &way, err, err_len);

	if (r != 0)
		return r;
	if (way.gateway && !server->has_mac)
		choose_gateway(env->neigh, c, TG_ROLE_CLIENT, tg_addr_is_v4(&server->address), &way,
			       &mac, &r);
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
	out->mac = mac;
	if (gateway != NULL && mac != NULL)
		*gateway = mac;
	if (mac == NULL && r == 0)
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
	unsigned int longest = 0, fits;
	const struct tg_config_port *p;
	struct way way;

	if (!find_way(c, server, &way))
		return false;
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].role != TG_ROLE_SERVER)
			longest = RTE_MAX(longest, c->ports[i].mtu);
	p = &c->ports[way.port];
	fits = room_of(c, service, server, &way);
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

bool tg_route_on_link(const struct tg_config *c, const struct tg_config_server *server)
{
	struct way way;

	return find_way(c, server, &way) && way.hop == &server->address;
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
	const uint64_t *mac = NULL;
	struct way way;
	int r;

	*out = (struct tg_route){.mac = NULL};
	if (!choose_gateway(env->neigh, c, TG_ROLE_SERVER, v4, &way, &mac, &r))
		return 0;
	*out = (struct tg_route){
		.mac = mac,
		.remote = *way.hop,
		.local = way.source != NULL ? *way.source : (struct tg_addr){{0}},
		.out_port = (uint16_t)way.port,
		.mtu = env->ports[way.port].mtu,
		.vlan = c->ports[way.port].vlan,
		.forward = TG_FORWARD_L2,
	};
	memcpy(out->src_mac, env->ports[way.port].mac, sizeof(out->src_mac));
	if (r != 0)
		snprintf(err, err_len, "no way to the clients' gateway on port \"%s\": %s",
			 c->ports[way.port].name, strerror(-r));
	return r;
}

bool tg_routes_moved(const struct tg_snapshot_env *env, const struct tg_snapshot *s, char *text,
		     size_t room)
{
	char a[TG_ADDR_STRLEN];

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const struct tg_route *clients = &s->client_way[v6];
		const uint64_t *used = s->gateway[v6], *mac = NULL;
		bool moved = false;
		struct way way;
		int r = 0;

		if (used != NULL)
			moved = choose_gateway(env->neigh, s->config, TG_ROLE_CLIENT, v6 == 0, &way,
					       &mac, &r) &&
				r == 0 && mac != used;
		if (!moved && clients->mac != NULL)
			moved = choose_gateway(env->neigh, s->config, TG_ROLE_SERVER, v6 == 0, &way,
					       &mac, &r) &&
				r == 0 && mac != clients->mac;
		if (!moved)
			continue;
		snprintf(text, room, "gateway %s of port \"%s\" is the way now",
			 tg_addr_format(way.hop, a, sizeof(a)), s->config->ports[way.port].name);
		return true;
	}
	return false;
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
