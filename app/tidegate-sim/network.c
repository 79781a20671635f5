/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of a packet: from its sender by links and a gateway to whoever gets it. */
#include "gateway/sim_gateway.h"
#include "sim.h"

#define IP_TCP   (14 + 20 + 20 + 24) /* headers, frame check, preamble and gap on an Ethernet link */
#define IP_UDP   (14 + 20 + 8 + 24)
#define TS_BYTES 12

static uint32_t wire_bytes(const struct tg_sim_packet *p)
{
	bool udp = p->connection->traffic != TG_TRAFFIC_TCP;

	return p->payload + (udp ? IP_UDP : IP_TCP + (p->timestamps ? TS_BYTES : 0));
}

static struct tg_sim_packet *packet_of(struct tg_event *e)
{
	return (struct tg_sim_packet *)((char *)e - offsetof(struct tg_sim_packet, event));
}

/* ECMP: the router before the gateways hashes the connection over those that are up. A change of
 * the group moves connections, as routers do that have no resilient hashing. */
struct tg_sim_gateway *tg_network_gateway(const struct tg_sim *s, const struct tg_connection *c)
{
	struct tg_sim_gateway *up[64];
	uint64_t h = (c->id + 1) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->scenario->n_gateways && n < 64; i++)
		if (tg_sim_gateway_up(s->gateway[i]))
			up[n++] = s->gateway[i];
	return n == 0 ? NULL : up[(h >> 32) % n];
}

static void at_gateway(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);
	struct tg_sim *s = p->connection->sim;
	struct tg_sim_gateway *g = tg_network_gateway(s, p->connection);

	if (g != NULL) {
		tg_sim_gateway_input(g, p, now);
		return;
	}
	s->unrouted++;
	tg_sim_packet_free(s, p);
}

void tg_network_to_service(struct tg_sim *s, struct tg_sim_packet *p)
{
	tg_link_send(s, &s->to_gateway[p->connection->group], p, wire_bytes(p), at_gateway);
}

/* What has no socket here goes to the next that the gateway named (doc/encap.md). */
static bool pass_on(struct tg_sim *s, struct tg_sim_packet *p, uint64_t now)
{
	if (p->n_next == 0 || tg_connection_known(p->connection, p->server))
		return false;
	s->passed_on++;
	p->server = p->next_server[0];
	p->n_next--;
	for (unsigned int i = 0; i < p->n_next; i++)
		p->next_server[i] = p->next_server[i + 1];
	tg_network_forwarded(s, p, now);
	return true;
}

static void at_server(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);
	struct tg_sim *s = p->connection->sim;

	if (s->station[p->server].state == TG_STATION_DOWN) {
		s->vanished++;
		tg_sim_packet_free(s, p);
		return;
	}
	if (!pass_on(s, p, now))
		tg_connection_at_server(p->connection, p, now);
}

void tg_network_forwarded(struct tg_sim *s, struct tg_sim_packet *p, uint64_t now)
{
	(void)now;
	tg_link_send(s, &s->server_in[p->server], p, wire_bytes(p), at_server);
}

static void at_client(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);

	tg_connection_at_client(p->connection, p, now);
}

/* The server's own link is behind it: now the path to this client. */
static void on_the_way_back(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);
	struct tg_sim *s = p->connection->sim;

	(void)now;
	tg_link_send(s, &s->from_server[p->connection->group], p, wire_bytes(p), at_client);
}

void tg_network_to_client(struct tg_sim *s, struct tg_sim_packet *p)
{
	if (s->station[p->server].state == TG_STATION_DOWN) { /* nobody is there to send it */
		s->vanished++;
		tg_sim_packet_free(s, p);
		return;
	}
	tg_link_send(s, &s->server_out[p->server], p, wire_bytes(p), on_the_way_back);
}
