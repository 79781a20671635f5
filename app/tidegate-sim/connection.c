/* SPDX-License-Identifier: BSD-3-Clause */
#include "connection.h"

#include "client_group.h"
#include "end.h"

void tg_connection_ref(struct tg_connection *c)
{
	c->refs++;
}

static void free_ends(struct tg_connection *c)
{
	while (c->server_ends != NULL) {
		struct tg_end *e = c->server_ends;

		c->server_ends = e->next;
		tg_end_free(e);
	}
	if (c->client_end != NULL)
		tg_end_free(c->client_end);
}

static bool busy(const struct tg_connection *c)
{
	if (c->client_end != NULL && tg_end_busy(c->client_end))
		return true;
	for (const struct tg_end *e = c->server_ends; e != NULL; e = e->next)
		if (tg_end_busy(e))
			return true;
	return false;
}

void tg_connection_unref(struct tg_connection *c)
{
	struct tg_connection *carrier = c->carrier;
	struct tg_group *g = c->owner;

	if (--c->refs > 0 || busy(c))
		return;
	free_ends(c);
	if (carrier == NULL)
		tg_ports_remove(&g->ports, c);
	tg_pool_give(&g->connections, c);
	if (carrier != NULL)
		tg_connection_unref(carrier);
}

struct tg_connection *tg_connection_open(struct tg_client *client, enum tg_traffic traffic,
					 uint32_t client_index, uint16_t client_port,
					 uint16_t service)
{
	struct tg_group *g = client->group;
	struct tg_connection *c = tg_pool_take(&g->connections);
	uint64_t now = tg_events_now(g->sim->events);

	c->sim = g->sim;
	c->client = client;
	c->owner = g;
	c->traffic = traffic;
	c->refs = 1;
	c->client_index = client_index;
	c->group = g->index;
	c->client_port = client_port;
	c->service = service;
	c->asked_end = tg_wire_handshake(traffic, false);
	g->counts.connections++;
	if (traffic == TG_TRAFFIC_TUNNEL) {
		c->carrier = g->tunnel[client_index];
		c->id = c->carrier->id;
		tg_connection_ref(c->carrier);
	} else {
		c->id = g->sim->next_connection++;
		tg_ports_add(&g->ports, c);
	}
	if (traffic == TG_TRAFFIC_DATAGRAM)
		return c;
	c->client_end = tg_end_new(c, false, 0);
	if (traffic == TG_TRAFFIC_TUNNEL)
		tg_tunnel_connect(c, now);
	else
		tg_tcp_connect(c->client_end, now);
	return c;
}

void tg_connection_ask(struct tg_connection *c, struct tg_request *r, uint64_t now)
{
	r->connection = c;
	r->next = NULL;
	if (c->first == NULL)
		c->first = r;
	else
		c->last->next = r;
	c->last = r;
	if (c->traffic == TG_TRAFFIC_DATAGRAM) {
		tg_datagram_ask(c, r, now);
		return;
	}
	c->asked_end += r->bytes;
	r->end = c->asked_end;
	r->answer_end = UINT64_MAX;
	if (c->sending == NULL)
		c->sending = r;
	if (c->arriving == NULL)
		c->arriving = r;
	if (tg_tcp_connected(c->client_end))
		tg_tcp_write(c->client_end, r->bytes, now);
}

static void forget_requests(struct tg_connection *c)
{
	c->first = c->last = c->sending = c->arriving = NULL;
}

void tg_connection_answered(struct tg_connection *c, struct tg_request *r, uint64_t now)
{
	struct tg_request *before = NULL;

	for (struct tg_request *i = c->first; i != r; i = i->next)
		before = i;
	if (before == NULL)
		c->first = r->next;
	else
		before->next = r->next;
	if (c->last == r)
		c->last = before;
	r->answered = now;
	if (c->client != NULL)
		tg_client_answered(c->client, c, r, now);
}

void tg_connection_broken(struct tg_connection *c, uint64_t now)
{
	struct tg_client *client = c->client;

	c->closed = true;
	if (c->client_end != NULL)
		tg_tcp_die(c->client_end);
	if (client == NULL)
		return;
	c->client = NULL;
	c->sending = c->arriving = NULL;
	tg_client_broken(client, c, now);
	forget_requests(c);
	tg_connection_unref(c);
}

void tg_connection_close(struct tg_connection *c, bool reset, uint64_t now)
{
	struct tg_end *e = c->client_end;

	c->closed = true;
	c->client = NULL;
	forget_requests(c);
	if (e != NULL && (reset || e->quic || e->state == TG_END_SYN_SENT)) {
		tg_tcp_abort(e, now);
	} else if (e != NULL) {
		e->fin = true;
		tg_tcp_push(e, now);
	}
	tg_connection_unref(c);
}

static void stream_at_server(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now)
{
	enum tg_station_state state = (enum tg_station_state)c->sim->station[p->server].state;
	struct tg_end *e = c->server_ends;

	while (e != NULL && e->server != p->server)
		e = e->next;
	if (e != NULL && (state == TG_STATION_REFUSES || state == TG_STATION_DOWN)) {
		tg_end_remove(e, now);
		e = NULL;
	}
	if (state == TG_STATION_DOWN)
		return;
	if (e == NULL && state != TG_STATION_REFUSES &&
	    (p->tcp_flags & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST)) == TG_TCP_SYN)
		tg_tcp_accept(c, p, now);
	else if (e == NULL)
		tg_tcp_refuse(c, p, now);
	else if (p->tcp_flags & TG_TCP_RST)
		tg_tcp_reset(e, p, now);
	else
		tg_tcp_input(e, p, now);
}

bool tg_connection_known(const struct tg_connection *c, uint16_t server)
{
	const struct tg_end *e = c->server_ends;

	while (e != NULL && (e->server != server || e->state == TG_END_DEAD))
		e = e->next;
	return e != NULL || c->traffic != TG_TRAFFIC_TCP;
}

void tg_connection_at_server(struct tg_connection *c, struct tg_sim_packet *p, uint64_t now)
{
	if (c->traffic == TG_TRAFFIC_DATAGRAM)
		tg_datagram_at_server(c, p, now);
	else if (c->traffic == TG_TRAFFIC_TUNNEL && c->carrier == NULL)
		tg_tunnel_at_server(c, p, now);
	else if (c->carrier == NULL || tg_tunnel_knows(c->carrier, p->server))
		stream_at_server(c, p, now);
	tg_sim_packet_free(c->sim, p);
}

static void stream_at_client(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now)
{
	struct tg_end *e = c->client_end;

	if (e->state == TG_END_DEAD)
		tg_tcp_refuse(c, p, now);
	else if (e->state == TG_END_SYN_SENT)
		tg_tcp_syn_answered(e, p, now);
	else if (p->tcp_flags & TG_TCP_RST)
		tg_tcp_reset(e, p, now);
	else
		tg_tcp_input(e, p, now);
}

void tg_connection_at_client(struct tg_connection *c, struct tg_sim_packet *p, uint64_t now)
{
	if (c->traffic == TG_TRAFFIC_DATAGRAM) {
		tg_datagram_at_client(c, p, now);
	} else if (c->traffic == TG_TRAFFIC_TUNNEL && c->carrier == NULL) {
		tg_tunnel_at_client(c, p, now);
	} else {
		if (c->carrier != NULL)
			c->carrier->client_end->last_received = now;
		stream_at_client(c, p, now);
	}
	tg_sim_packet_free(c->sim, p);
}
