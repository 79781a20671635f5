/* SPDX-License-Identifier: BSD-3-Clause */
/* How packets get into a gateway, through its workers' turns, and out on the wire. */
#include "gateway/sim_gateway.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "admission/admission.h"
#include "gateway/private.h"
#include "port/rx.h"
#include "port/tx.h"

#define IDLE_TURN_NS 2000

#define container(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

static struct tg_sim_buffer *buffer_of(struct rte_mbuf *m)
{
	return rte_mbuf_to_priv(m);
}

bool tg_sim_gateway_up(const struct tg_sim_gateway *g)
{
	return g->up;
}

void tg_sim_gateway_dropped(struct tg_sim_gateway *g, struct tg_sim_packet *p)
{
	g->dropped++;
	tg_sim_packet_free(g->sim, p);
}

/* The worker's next turn: as soon as the one before is over. An idle worker polls all the time: its
 * last empty polls, of which no event was made, were just now. */
static void wake(struct tg_sim_worker *w, uint64_t now)
{
	if (tg_event_waiting(&w->turn))
		return;
	for (unsigned int p = 0; w->free_at < now && p < PORTS; p++)
		for (unsigned int k = 0; k < 2; k++)
			tg_arrival_poll(&w->worker->rx[p].arrival, 0, now);
	tg_event_at(w->gateway->sim->events, &w->turn, RTE_MAX(now, w->free_at));
}

/* The client's address: its number within the group's prefix, from the second address on. */
struct tg_addr tg_sim_client_address(const struct tg_addr *prefix, uint32_t number)
{
	struct tg_addr a = *prefix;

	for (unsigned int i = 16, carry = number; i-- > 0 && carry > 0; carry >>= 8) {
		carry += a.b[i];
		a.b[i] = (uint8_t)carry;
	}
	return a;
}

static bool write_frame(struct tg_sim_gateway *g, struct rte_mbuf *m, const struct tg_sim_packet *p)
{
	const struct tg_connection *c = p->connection;
	struct tg_frame_path path = g->path[c->group];

	path.client = tg_sim_client_address(&path.client, c->client_index + 1);
	path.client_port = c->client_port;
	return tg_frame_write(m, &path, p);
}

/* Receive side scaling as a NIC would do it, though not by the gateway's own hash: packets cross
 * to their owner by ring. */
static struct tg_sim_worker *receiver(struct tg_sim_gateway *g, const struct tg_connection *c)
{
	uint64_t h = (c->id + 1) * UINT64_C(0xd1342543de82ef95);

	return &g->worker[(h >> 32) % g->params->workers];
}

void tg_sim_gateway_input(struct tg_sim_gateway *g, struct tg_sim_packet *p, uint64_t now)
{
	struct tg_sim_worker *w = receiver(g, p->connection);
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool);

	g->in++;
	if (m == NULL || !write_frame(g, m, p)) {
		rte_pktmbuf_free(m);
		g->missed++;
		tg_sim_packet_free(g->sim, p);
		return;
	}
	*buffer_of(m) = (struct tg_sim_buffer){NULL, now};
	tg_sim_stamp(g, m, now);
	if (rte_ring_sp_enqueue(w->rx[FRONT], m) != 0) {
		rte_pktmbuf_free(m);
		g->missed++;
		tg_sim_packet_free(g->sim, p);
		return;
	}
	buffer_of(m)->packet = p;
	wake(w, now);
}

/* Where the gateway sent it: the link address of server i is 02:00:00:01 and i. */
static bool destination(const struct tg_sim *s, const struct rte_mbuf *m, uint16_t *server)
{
	const uint8_t *mac = rte_pktmbuf_mtod(m, const uint8_t *);
	static const uint8_t ours[4] = {2, 0, 0, 1};

	*server = (uint16_t)(mac[4] << 8 | mac[5]);
	return memcmp(mac, ours, sizeof(ours)) == 0 && *server < s->scenario->n_servers;
}

/* Beyond its service's limit when its last bit was sent? */
static bool late(const struct tg_sim_gateway *g, const struct rte_mbuf *m, uint64_t now)
{
	const struct tg_sim_packet *p = buffer_of((struct rte_mbuf *)(uintptr_t)m)->packet;
	const struct tg_snapshot *s = g->gateway.snapshot;
	uint16_t service = p->connection->service;

	return service < s->n_services &&
	       now - buffer_of((struct rte_mbuf *)(uintptr_t)m)->arrival > s->limit[service].max;
}

static bool names_alternatives(const struct tg_sim_gateway *g, const struct tg_sim_packet *p)
{
	const struct tg_snapshot *s = g->gateway.snapshot;
	uint16_t service = p->connection->service;

	return service < s->n_services && s->service[service]->forward == TG_FORWARD_GUE;
}

static void leave(struct tg_sim_gateway *g, struct rte_mbuf *m, uint64_t now)
{
	struct tg_sim_packet *p = buffer_of(m)->packet;

	if (p != NULL && destination(g->sim, m, &p->server)) {
		g->out++;
		if (names_alternatives(g, p))
			tg_sim_gue_read(g->sim, m, p);
		g->late_on_wire += late(g, m, now);
		tg_hist_record(&g->on_wire, now - buffer_of(m)->arrival, 1);
		buffer_of(m)->packet = NULL;
		tg_network_forwarded(g->sim, p, now);
	}
	rte_pktmbuf_free(m); /* frames of the gateway's own end here */
}

static struct rte_mbuf *next_frame(struct tg_sim_wire *wire)
{
	struct tg_sim_gateway *g = wire->gateway;
	uint32_t n = g->params->workers;
	void *m = NULL;

	for (uint32_t i = 0; i < n && m == NULL; i++) {
		struct tg_sim_worker *w = &g->worker[(wire->next + i) % n];

		if (rte_ring_sc_dequeue(w->tx[wire->port], &m) != 0)
			continue;
		wire->next = (wire->next + i + 1) % n;
		if (w->worker->tx[wire->port].n > 0) /* there is a free descriptor again */
			wake(w, tg_events_now(g->sim->events));
	}
	return m;
}

void tg_sim_wire_free(struct tg_event *e, uint64_t now)
{
	struct tg_sim_wire *wire = container(e, struct tg_sim_wire, event);

	if (wire->current != NULL)
		leave(wire->gateway, wire->current, now);
	while ((wire->current = next_frame(wire)) != NULL) {
		if (wire->byte_ns > 0) {
			double ns = (wire->current->pkt_len + 24) * wire->byte_ns;

			tg_event_at(wire->gateway->sim->events, e, now + (uint64_t)(ns + 0.5));
			return;
		}
		leave(wire->gateway, wire->current, now);
	}
}

/* The host takes the core away now and then. */
static uint64_t stall(struct tg_sim_gateway *g, uint64_t now)
{
	double us;

	if (g->params->stall_every_ms.mean <= 0 || now < g->next_stall)
		return 0;
	us = tg_dist_sample(&g->params->stall_us, &g->random, &g->stall_place);
	g->next_stall = now + (uint64_t)(tg_dist_sample(&g->params->stall_every_ms, &g->random,
							&g->stall_every_place) *
					 1e6);
	return (uint64_t)(us * 1000);
}

static bool has_input(const struct tg_sim_worker *w)
{
	return !rte_ring_empty(w->rx[FRONT]) || !rte_ring_empty(w->rx[BACK]) ||
	       !rte_ring_empty(w->worker->inbox[w->worker->index]);
}

static void start_wires(struct tg_sim_worker *w, uint64_t now)
{
	struct tg_sim_gateway *g = w->gateway;

	for (unsigned int p = 0; p < PORTS; p++) {
		struct tg_sim_wire *wire = &g->wire[p];

		if (tg_event_waiting(&wire->event) || rte_ring_empty(w->tx[p]))
			continue;
		if (w->time.now == now)
			tg_sim_wire_free(&wire->event, now);
		else
			tg_event_at(g->sim->events, &wire->event, w->time.now);
	}
}

void tg_sim_worker_turn(struct tg_event *e, uint64_t now)
{
	struct tg_sim_worker *w = container(e, struct tg_sim_worker, turn);
	struct tg_sim_gateway *g = w->gateway;

	w->time.now = now + stall(g, now);
	if (g->params->oracle)
		tg_sim_oracle(g);
	tg_worker_turn(w->worker);
	w->free_at = w->time.now;
	if (tg_admission_waits(
		    w->worker)) /* an event a turn, while there is something to try again */
		tg_event_at(g->sim->events, &w->turn, w->free_at + IDLE_TURN_NS);
	start_wires(w, now);
	for (uint32_t i = 0; i < g->params->workers; i++)
		if (has_input(&g->worker[i]))
			wake(&g->worker[i], w->free_at);
}

struct tg_sim_gateway_counts tg_sim_gateway_counts(const struct tg_sim_gateway *g)
{
	return (struct tg_sim_gateway_counts){
		.in = g->in,
		.missed = g->missed,
		.out = g->out,
		.dropped = g->dropped,
		.inside = g->in - g->missed - g->out - g->dropped,
	};
}
