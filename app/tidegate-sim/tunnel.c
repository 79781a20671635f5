/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A WireGuard-like tunnel: one UDP flow that carries the TCP connections of a client. The carrier's
 * own packets are the two handshake messages; data messages are packets of the connections inside,
 * which share its 5-tuple. A server without the keys in use drops them, and after a while of
 * silence the client shakes hands again.
 *
 * Of the carrier's client end only this is used: state, una (1: keys are there), server (who has
 * them), the timer and last_received.
 */
#include <stddef.h>

#include "client_group.h"
#include "end.h"

#define INITIATION_BYTES 148
#define RESPONSE_BYTES   92
#define INITIATION       1
#define RESPONSE         2
#define REKEY_TIMEOUT    UINT64_C(5000000000)  /* the protocol's own constants */
#define SILENCE          UINT64_C(15000000000) /* KEEPALIVE_TIMEOUT + REKEY_TIMEOUT */

static void send_handshake(struct tg_connection *carrier, bool to_server, uint16_t server,
			   uint64_t now)
{
	struct tg_sim_packet *p = tg_sim_packet_new(carrier->sim, carrier);

	p->sent = now;
	p->to_server = to_server;
	p->server = server;
	p->first_byte = to_server ? INITIATION : RESPONSE;
	p->payload = to_server ? INITIATION_BYTES : RESPONSE_BYTES;
	tg_wire_send(carrier, p);
}

static void initiate(struct tg_end *e, uint64_t now)
{
	e->state = TG_END_SYN_SENT;
	send_handshake(e->connection, true, 0, now);
	e->rto_at = now + REKEY_TIMEOUT;
	tg_end_schedule(e);
}

static void again(struct tg_event *event, uint64_t now)
{
	struct tg_end *e = (struct tg_end *)((char *)event - offsetof(struct tg_end, timer));

	if (e->rto_at == 0)
		return;
	e->connection->owner->counts.syn_retransmitted++;
	initiate(e, now);
}

struct tg_connection *tg_tunnel_open(struct tg_group *g, uint32_t client_index, uint16_t port)
{
	struct tg_connection *c = tg_pool_take(&g->connections);

	c->sim = g->sim;
	c->owner = g;
	c->traffic = TG_TRAFFIC_TUNNEL;
	c->refs = 1;
	c->client_index = client_index;
	c->group = g->index;
	c->client_port = port;
	c->service = g->params->service;
	c->id = g->sim->next_connection++;
	c->client_end = tg_end_new(c, false, 0);
	c->client_end->timer.fire = again;
	c->client_end->state = TG_END_DEAD;
	tg_ports_add(&g->ports, c);
	return c;
}

void tg_tunnel_connect(struct tg_connection *c, uint64_t now)
{
	struct tg_connection *carrier = c->carrier;
	struct tg_end *e = carrier->client_end;

	if (e->una > 0) {
		tg_tcp_connect(c->client_end, now);
		return;
	}
	tg_connection_ref(c);
	c->waiting = carrier->waiting;
	carrier->waiting = c;
	if (e->state == TG_END_DEAD)
		initiate(e, now);
}

bool tg_tunnel_knows(const struct tg_connection *carrier, uint16_t server)
{
	return carrier->client_end->una > 0 && carrier->client_end->server == server;
}

void tg_tunnel_at_server(struct tg_connection *carrier, const struct tg_sim_packet *p, uint64_t now)
{
	enum tg_station_state state = (enum tg_station_state)carrier->sim->station[p->server].state;

	if (state == TG_STATION_UP || state == TG_STATION_HUNG)
		send_handshake(carrier, false, p->server, now);
}

void tg_tunnel_at_client(struct tg_connection *carrier, const struct tg_sim_packet *p, uint64_t now)
{
	struct tg_end *e = carrier->client_end;
	struct tg_connection *c = carrier->waiting;

	if (e->state != TG_END_SYN_SENT)
		return;
	e->state = TG_END_OPEN;
	e->una = 1;
	e->server = p->server;
	e->rto_at = 0;
	e->last_received = now;
	carrier->waiting = NULL;
	while (c != NULL) {
		struct tg_connection *next = c->waiting;

		c->waiting = NULL;
		if (!c->closed)
			tg_tcp_connect(c->client_end, now);
		tg_connection_unref(c);
		c = next;
	}
}

void tg_tunnel_doubt(struct tg_connection *carrier, uint64_t now)
{
	struct tg_end *e = carrier->client_end;

	if (e->state == TG_END_OPEN && now - e->last_received > SILENCE)
		initiate(e, now);
}
