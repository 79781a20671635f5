/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes out, answers in. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <sys/random.h>

#include "health/private.h"
#include "tg_encap.h"
#include "tg_parse.h"

#define FRAME_MIN (RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN)
#define AGAIN_MS  20 /* what could not be sent for want of room is tried again then */

static bool is_own(const struct tg_health_sources *p, const struct tg_addr *a)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (tg_addr_eq(&p->own[i], a))
			return true;
	return false;
}

static uint16_t port_asked(const struct tg_config_service *v)
{
	return v->health.port != 0 ? v->health.port : v->ports[0];
}

/* It must come from where the probes of that server's checks go to, and to where they come from. */
static bool is_about(const struct tg_snapshot *s, uint16_t server, const struct tg_pkt *p)
{
	const struct tg_config_service *v;

	if (s->probing == NULL || server >= s->n_servers || s->server[server] == NULL)
		return false;
	v = s->service[s->service_of[server]];
	return p->key.protocol == (v->health.type == TG_HEALTH_UDP ? IPPROTO_UDP : IPPROTO_TCP) &&
	       tg_addr_eq(&p->key.client, &v->address) &&
	       tg_addr_eq(&p->dst, &s->probing->server[server].from) &&
	       ntohs(p->key.client_port) == port_asked(v);
}

static bool is_from_hop(const struct tg_snapshot *s, uint16_t server, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint64_t *mac = s->route[server].mac;

	return mac != NULL &&
	       ((__atomic_load_n(mac, __ATOMIC_RELAXED) ^ tg_mac_word(frame + RTE_ETHER_ADDR_LEN)) &
		(2 * TG_MAC_VALID - 1)) == 0;
}

/* Why not, of a packet at a port of checks; TG_DROP_NONE: control shall see it. Anybody can write
 * the addresses of an answer. What comes by the link that probes go out by is believed. Of the rest,
 * TCP's numbers tell control what is true (servers on bonded links and redundant routers do send
 * from other link addresses), and it has half of the ring: it cannot push out what is believed. UDP has no numbers:
 * a server on the link must answer by its own. */
static enum tg_reason refused(const struct tg_worker *w, const struct tg_burst *b, unsigned int i,
			      uint16_t port)
{
	const struct tg_snapshot *s = w->snapshot;
	uint16_t server = __atomic_load_n(&w->checked[port - TG_HEALTH_PORT_FIRST],
					  __ATOMIC_RELAXED);

	if (!is_about(s, server, &b->pkt[i]))
		return TG_DROP_PROBE_STRAY;
	if (is_from_hop(s, server, b->mbuf[i]))
		return TG_DROP_NONE;
	if (b->pkt[i].key.protocol == IPPROTO_UDP && s->probing->server[server].on_link)
		return TG_DROP_PROBE_STRAY;
	return rte_ring_count(w->answers) < TG_HEALTH_ANSWERS / 2 ? TG_DROP_NONE : TG_DROP_PROBE;
}

void tg_health_answers(struct tg_worker *w, struct tg_burst *b)
{
	if (w->ports[b->port].role ==
	    TG_ROLE_CLIENT) /* servers are not there; whoever is could pretend */
		return;
	for (unsigned int i = 0; i < b->n; i++) {
		uint16_t port = ntohs(b->pkt[i].key.service_port);
		enum tg_reason why;

		if (likely(port < TG_HEALTH_PORT_FIRST ||
			   port >= TG_HEALTH_PORT_FIRST + TG_HEALTH_PORTS) ||
		    b->verdict[i] != TG_FORWARD || !is_own(w->snapshot->probing, &b->pkt[i].dst))
			continue;
		why = refused(w, b, i, port);
		if (why == TG_DROP_NONE && rte_ring_mp_enqueue(w->answers, b->mbuf[i]) != 0)
			why = TG_DROP_PROBE;
		if (why != TG_DROP_NONE) {
			tg_drop(b, i, why);
			continue;
		}
		b->verdict[i] = TG_TAKEN;
		w->stats.taken_in++;
	}
}

/* Through the server's route, as a client's packet, and to worker 0. -EHOSTUNREACH: the link address
 * of its next hop is not known, or the packet does not fit; -ENOBUFS. */
static int send_probe(struct tg_gateway *g, uint16_t server, const uint8_t *frame, uint16_t len,
		      const struct tg_pkt *p)
{
	const struct tg_route *r = &g->snapshot->route[server];
	const struct tg_gue gue = {.hash = p->key.client_port};
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool[0]);
	char *to = m != NULL ? rte_pktmbuf_append(m, len) : NULL;
	int fault = -ENOBUFS;

	if (to != NULL) {
		memcpy(to, frame, len);
		m->port = r->out_port;
		if (tg_encap(r, m, p, &gue, &g->health->outer_id) != TG_DROP_NONE)
			fault = -EHOSTUNREACH;
		else if (m->pkt_len < FRAME_MIN &&
			 (to = rte_pktmbuf_append(m, (uint16_t)(FRAME_MIN - m->pkt_len))) != NULL)
			memset(to, 0,
			       (size_t)(rte_pktmbuf_mtod_offset(m, char *, m->pkt_len) - to));
		if (fault == -ENOBUFS && rte_ring_mp_enqueue(g->control_out, m) == 0)
			return 0;
	}
	rte_pktmbuf_free(m);
	return fault;
}

static struct tg_probe probe_of(const struct tg_gateway *g, uint16_t server)
{
	const struct tg_config_service *v = health_service(g, server);

	return (struct tg_probe){
		.from = g->snapshot->probing->server[server].from,
		.to = v->address,
		.from_port = g->health->entry[server].own_port,
		.to_port = port_asked(v),
	};
}

static int send_act(struct tg_gateway *g, uint16_t server, enum tg_check_act act)
{
	const struct tg_health_params *h = &health_service(g, server)->health;
	const struct tg_check *c = &g->health->entry[server].check;
	const struct tg_probe probe = probe_of(g, server);
	uint8_t frame[TG_PROBE_FRAME_MAX];
	char get[TG_PROBE_DATA_MAX];
	struct tg_pkt p;
	uint16_t len;

	switch (act) {
	case TG_ACT_SYN:
		len = tg_probe_tcp(&probe, c->seq - 1, 0, TG_TCP_SYN, NULL, 0, frame, &p);
		break;
	case TG_ACT_REQUEST:
		len = tg_probe_get(h->path, &probe.to, probe.to_port, get);
		len = tg_probe_tcp(&probe, c->seq, c->peer, TG_TCP_ACK | TG_TCP_PSH, get, len,
				   frame, &p);
		break;
	case TG_ACT_RESET: /* what was sent counts: an RST elsewhere than expected is answered */
		len = h->type == TG_HEALTH_HTTP
			      ? tg_probe_get(h->path, &probe.to, probe.to_port, get)
			      : 0;
		len = tg_probe_tcp(&probe, c->seq + len, 0, TG_TCP_RST, NULL, 0, frame, &p);
		break;
	case TG_ACT_DATAGRAM:
		len = tg_probe_udp(&probe, h->payload, h->payload_len, frame, &p);
		break;
	default:
		return 0;
	}
	return send_probe(g, server, frame, len, &p);
}

void health_release(struct tg_health *h, struct health_entry *e)
{
	if (e->own_port != 0)
		__atomic_store_n(&h->holder[e->own_port - TG_HEALTH_PORT_FIRST], TG_NO_SERVER,
				 __ATOMIC_RELAXED);
	e->own_port = 0;
}

void health_act(struct tg_gateway *g, uint16_t server, enum tg_check_act act, uint64_t now)
{
	struct health_entry *e = &g->health->entry[server];

	switch (send_act(g, server, act)) {
	case -EHOSTUNREACH:
		tg_check_failed(&e->check, &e->rule, TG_HEALTH_NEIGHBOUR, now);
		break;
	case -ENOBUFS:
		g->health->unsent++;
		if (e->check.phase != TG_CHECK_IDLE)
			tg_check_cancel(&e->check,
					now + tg_us_to_ticks(&g->clock, AGAIN_MS * 1000));
		break;
	default:
		break;
	}
	if (e->check.phase == TG_CHECK_IDLE)
		health_release(g->health, e);
}

/* Any free port: nobody shall know which one is next (RFC 6056). */
static bool take_port(struct tg_health *h, uint16_t server, uint32_t random)
{
	for (unsigned int i = 0; i < TG_HEALTH_PORTS; i++) {
		uint16_t at = (uint16_t)((random + i) % TG_HEALTH_PORTS);

		if (h->holder[at] != TG_NO_SERVER)
			continue;
		__atomic_store_n(&h->holder[at], server, __ATOMIC_RELAXED);
		h->entry[server].own_port = (uint16_t)(TG_HEALTH_PORT_FIRST + at);
		return true;
	}
	return false;
}

void health_begin(struct tg_gateway *g, uint16_t server, uint64_t now)
{
	struct health_entry *e = &g->health->entry[server];
	uint32_t random[2]; /* port, sequence number */

	if (getrandom(random, sizeof(random), 0) != sizeof(random) ||
	    !take_port(g->health, server, random[0]))
		return; /* due it stays */
	health_act(g, server, tg_check_begin(&e->check, &e->rule, random[1], now), now);
}

/* The answer in a frame that tg_parse has read: false if it is none. */
static bool read_answer(const struct rte_mbuf *m, const struct tg_pkt *p, struct tg_check_answer *a)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t data = p->l4_off;

	*a = (struct tg_check_answer){
		.tcp_flags = p->tcp_flags,
		.seq = p->seq,
		.ack = p->ack,
	};
	if (p->flags & TG_PKT_ICMP_ERROR) {
		a->kind = TG_ANSWER_UNREACHABLE;
		return true;
	}
	if (p->flags & TG_PKT_FRAGMENT)
		return false;
	a->kind = p->key.protocol == IPPROTO_TCP ? TG_ANSWER_TCP : TG_ANSWER_UDP;
	data += a->kind == TG_ANSWER_TCP ? (uint32_t)(frame[p->l4_off + 12] >> 4) * 4 : 8;
	if (data + p->payload_len > m->data_len)
		return false;
	a->data = frame + data;
	a->len = p->payload_len;
	return true;
}

/* Whose check is a packet about? */
static uint16_t asker(const struct tg_gateway *g, const struct tg_pkt *p)
{
	uint16_t port = ntohs(p->key.service_port), server;

	if (port < TG_HEALTH_PORT_FIRST || port >= TG_HEALTH_PORT_FIRST + TG_HEALTH_PORTS)
		return TG_NO_SERVER;
	server = g->health->holder[port - TG_HEALTH_PORT_FIRST];
	return is_about(g->snapshot, server, p) ? server : TG_NO_SERVER;
}

static void take_answer(struct tg_gateway *g, const struct rte_mbuf *m, uint64_t now)
{
	struct tg_check_answer a;
	struct health_entry *e;
	enum tg_check_act act;
	uint16_t server;
	struct tg_pkt p;
	bool was_up;

	if (tg_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &p) !=
		    TG_DROP_NONE ||
	    (server = asker(g, &p)) == TG_NO_SERVER || !read_answer(m, &p, &a)) {
		g->health->stray++;
		return;
	}
	e = &g->health->entry[server];
	was_up = e->check.up;
	act = tg_check_answer(&e->check, &e->rule, &a, now);
	health_act(g, server, act, now);
	health_look(g, server, was_up);
}

void health_receive(struct tg_gateway *g, uint64_t now)
{
	struct rte_mbuf *m[TG_BURST_MAX];
	unsigned int n;

	for (unsigned int seen = 0; seen < TG_HEALTH_ANSWERS; seen += n) {
		n = rte_ring_sc_dequeue_burst(g->answers, (void **)m, TG_BURST_MAX, NULL);
		for (unsigned int i = 0; i < n; i++) {
			if (g->snapshot->probing != NULL)
				take_answer(g, m[i], now);
			rte_pktmbuf_free(m[i]);
		}
		if (n == 0)
			return;
	}
}

void tg_health_discard(struct tg_gateway *g)
{
	struct rte_mbuf *m;

	while (g->answers != NULL && rte_ring_sc_dequeue(g->answers, (void **)&m) == 0)
		rte_pktmbuf_free(m);
}
