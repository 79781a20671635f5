/* SPDX-License-Identifier: BSD-3-Clause */
/* The course of an auction: SYNs out, SYN-ACKs in, one of them on. */
#include "auction/auction.h"

#include <errno.h>
#include <netinet/in.h>
#include <rte_mbuf.h>

#include "auction/private.h"
#include "pipeline.h"
#include "port/tx.h"
#include "tg_mem.h"
#include "tg_parse.h"
#include "tg_service.h"

static void free_all(struct tg_auctions *x)
{
	if (x->table != NULL)
		tg_bid_table_free(x->table);
	tg_mem_free(x->peer);
	tg_mem_free(x->service);
	tg_mem_free(x->server);
	tg_mem_free(x);
}

int tg_auctions_create(struct tg_worker *w, uint64_t seed)
{
	struct tg_auctions *x;

	if (w->auctions != NULL)
		return 0;
	x = tg_mem_zalloc("auctions", sizeof(*x), 64, w->socket);
	if (x == NULL)
		return -ENOMEM;
	x->server = tg_mem_zalloc("bids", TG_SERVERS_MAX * sizeof(*x->server), 64, w->socket);
	x->service = tg_mem_zalloc("bids", TG_SERVICES_MAX * sizeof(*x->service), 64, w->socket);
	x->peer = tg_mem_zalloc("clients", PEER_SETS * PEER_WAYS * sizeof(*x->peer), 64, w->socket);
	x->peer_seed = seed;
	x->stateless = tg_us_to_ticks(&w->clock, TG_BID_GIVE_UP_MS * 1000);
	if (x->server != NULL && x->service != NULL && x->peer != NULL &&
	    tg_bid_table_create(x->server, x->service, seed, w->socket, &x->table) == 0) {
		/* a reload: the worker runs, and looks at every turn */
		__atomic_store_n(&w->auctions, x, __ATOMIC_RELEASE);
		return 0;
	}
	free_all(x);
	return -ENOMEM;
}

void tg_auctions_free(struct tg_worker *w)
{
	if (w->auctions != NULL)
		free_all(w->auctions);
	w->auctions = NULL;
}

void tg_auctions_forget_server(struct tg_worker *w, uint16_t server)
{
	if (w->auctions != NULL)
		memset(&w->auctions->server[server], 0, sizeof(w->auctions->server[server]));
}

/* As from the client, with its first SYN's sequence number. */
static void reset_slot(struct tg_worker *w, const struct tg_auction *a, uint8_t slot, uint64_t now)
{
	tg_auction_reset_server(w, &a->syn, a->hash, a->link, a->link_len, a->syn.seq + 1,
				a->server[slot], now);
}

/* May the server have the connection now? The configuration may be another one than when it was asked, and its id
 * another server's: that one has no such connection. */
static bool may_serve(const struct tg_worker *w, const struct tg_auction *a, uint8_t slot)
{
	const struct tg_snapshot *s = w->snapshot;
	const uint16_t server = a->server[slot];

	return tg_snapshot_stands(s, server, a->generation[slot]) && s->server[server] != NULL &&
	       s->service_of[server] == a->syn.key.service &&
	       s->server[server]->state != TG_SERVER_DOWN;
}

/*
 * The winner gets the connection: its flow's entry. What it waited here for the others is not the path's, nor
 * the server's: the handshake is measured as if the SYN had left so much later. Without room for an entry the
 * consistent hash will be asked for every packet, so nobody else can win.
 */
static bool settle(struct tg_worker *w, const struct tg_auction *a, const struct tg_bid_offer *won,
		   uint64_t now)
{
	uint16_t server = a->server[a->winner];
	uint64_t waited = now > won->at ? now - won->at : 0;

	if (tg_pipeline_settle(w, &a->syn, a->hash, server, a->opened + waited))
		return true;
	w->auctions->stateless_until = now + w->auctions->stateless;
	return tg_select_consistent(w->snapshot->group[a->syn.key.service],
				    tg_select_flow_hash(&a->syn.key)) == server;
}

/* The header of a packet that was held, as tg_auction_mark made it. */
static struct tg_pkt header_again(const struct rte_mbuf *m, const struct tg_auction *a)
{
	struct tg_pkt p;

	tg_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &p);
	p.key = a->syn.key;
	p.dst = a->syn.dst;
	p.flags |= TG_PKT_RETURN;
	return p;
}

static void send_answer(struct tg_worker *w, const struct tg_auction *a, struct rte_mbuf *m,
			uint64_t at)
{
	const struct tg_pkt p = header_again(m, a);
	const struct tg_peer by = {.mac = tg_mac_word(a->link + 6), .port = a->port};

	tg_auction_to_client(w, m, &p, TG_BID_TTL, &by, at);
}

static void swallow(struct tg_worker *w, struct rte_mbuf *m)
{
	w->auctions->stats.swallowed++;
	tg_auction_drop(w, m, TG_DROP_AUCTION);
}

/* Whoever bid and is gone by now does not win. */
static void forget_gone(struct tg_worker *w, struct tg_auction *a)
{
	for (unsigned int k = a->n_held; k-- > 0;)
		if (!may_serve(w, a, a->held[k].slot)) {
			swallow(w, a->held[k].packet);
			a->held[k] = a->held[--a->n_held];
		}
}

/* The decision: the winner's answer goes on, whoever else was asked is reset. */
static void decide(struct tg_worker *w, const struct tg_bid_config *c, struct tg_auction *a,
		   uint64_t now)
{
	struct tg_auctions *x = w->auctions;
	struct tg_bid_offer won = {.packet = NULL};
	void *let_go[TG_BID_HELD];
	unsigned int n;
	bool settled;

	forget_gone(w, a);
	settled = tg_bid_close(x->table, c, a, w->own, now, &won, let_go, &n);
	for (unsigned int k = 0; k < n; k++)
		swallow(w, let_go[k]);
	if (settled && !settle(w, a, &won, now)) {
		swallow(w, won.packet);
		settled = false;
	}
	for (uint8_t slot = 0; slot < a->n; slot++)
		if (!settled || slot != a->winner)
			reset_slot(w, a, slot, now);
	if (settled)
		send_answer(w, a, won.packet, won.at);
	else
		tg_bid_forget(x->table, a);
}

/* The auction is of no use any more: nobody wins. */
static void abandon(struct tg_worker *w, struct tg_auction *a, uint64_t now)
{
	for (unsigned int k = 0; k < a->n_held; k++)
		swallow(w, a->held[k].packet);
	for (uint8_t slot = 0; slot < a->n; slot++)
		reset_slot(w, a, slot, now);
	tg_bid_forget(w->auctions->table, a);
}

/* Copies to those that have not answered; the packet itself is the last one. */
static void broadcast(struct tg_worker *w, const struct tg_auction *a, struct rte_mbuf *m,
		      const struct tg_pkt *p, uint64_t arrival)
{
	struct tg_auctions *x = w->auctions;
	uint64_t left = ~a->answered & (a->n == 64 ? UINT64_MAX : (UINT64_C(1) << a->n) - 1);

	x->pool = m->pool;
	while (left != 0) {
		uint16_t server = a->server[__builtin_ctzll(left)];
		struct rte_mbuf *copy = m;

		left &= left - 1;
		if (left != 0)
			copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
		if (copy == NULL) {
			x->stats.uncopied++;
			continue;
		}
		w->stats.made += copy != m;
		tg_auction_to_server(w, copy, p, a->hash, server, arrival);
	}
}

/* A new auction for the SYN of packet i; false: there is none. */
static bool begin(struct tg_worker *w, struct tg_burst *b, unsigned int i,
		  const struct tg_bid_config *c, uint16_t except)
{
	struct tg_auctions *x = w->auctions;
	const struct tg_pkt *p = &b->pkt[i];
	struct rte_mbuf *m = b->mbuf[i];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tg_auction *a;

	if (b->now < x->stateless_until || p->l3_off > TG_BID_LINK_MAX)
		return false;
	/* the window begins now: the burst's clock is from before a wait for tokens */
	a = tg_bid_open(x->table, c, p, b->hash[i], except, tg_worker_now(w));
	if (a == NULL)
		return false;
	a->port = tg_worker_came_by(w, m);
	a->link_len = p->l3_off;
	memcpy(a->link, frame, p->l3_off);
	for (uint8_t slot = 0; slot < a->n; slot++)
		a->generation[slot] = w->snapshot->generation[a->server[slot]];
	if (!tg_auction_behind_router(w, &p->key.client))
		tg_peer_learn(x, &p->key.client, frame + 6, a->port);
	b->verdict[i] = TG_TAKEN;
	broadcast(w, a, m, p, b->arrival[i]);
	return true;
}

/* The same SYN again, while nothing is decided: those who have said nothing may not have got it, once the window
 * is over. */
static void repeated(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_auction *a)
{
	w->auctions->service[a->syn.key.service].repeated++;
	if (a->state != TG_AUCTION_WAITING) {
		tg_drop(b, i, TG_DROP_AUCTION);
		return;
	}
	b->verdict[i] = TG_TAKEN;
	broadcast(w, a, b->mbuf[i], &b->pkt[i], b->arrival[i]);
}

/* What a SYN means where its ports had an auction before. */
enum meaning { MEANS_TAKEN, MEANS_FLOW, MEANS_NEW };

static enum meaning meaning_of(struct tg_worker *w, struct tg_burst *b, unsigned int i,
			       struct tg_auction *a, const struct tg_flow *f, uint16_t *except)
{
	struct tg_bid_service *s = &w->auctions->service[a->syn.key.service];

	if (a->syn.seq != b->pkt[i].seq) {
		s->renewed++;
		if (a->state != TG_AUCTION_CLOSED) {
			abandon(w, a, b->now);
			return MEANS_NEW;
		}
		if (f != NULL && f->state == TG_FLOW_NEW)
			reset_slot(w, a, a->winner, b->now);
		tg_bid_forget(w->auctions->table, a);
		return MEANS_NEW;
	}
	if (a->state != TG_AUCTION_CLOSED) {
		repeated(w, b, i, a);
		return MEANS_TAKEN;
	}
	s->repeated++;
	if (f != NULL && f->state == TG_FLOW_NEW && a->repeats++ == 0)
		return MEANS_FLOW; /* the winner answers again */
	/* it did not: somebody else */
	*except = a->server[a->winner];
	reset_slot(w, a, a->winner, b->now);
	tg_bid_forget(w->auctions->table, a);
	return MEANS_NEW;
}

/*
 * A SYN that anybody may have sent, or the network a second time, moves no connection that lives. An open one stays
 * where it is: its server answers with an ACK that makes a client that has really begun anew send a RST (RFC 5961
 * section 4.2, RFC 9293 section 3.5.1). One that ended, as a FIN or RST says that may be made up too, begins again
 * on its server while that takes new ones: if it lives there after all, the same answer goes back.
 */
static bool belongs_to(const struct tg_worker *w, const struct tg_flow *f)
{
	return f != NULL &&
	       (f->state == TG_FLOW_OPEN ||
		(f->state == TG_FLOW_SHUT && tg_snapshot_takes_new(w->snapshot, f->server)));
}

bool tg_auction_syn(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_flow *f)
{
	const struct tg_pkt *p = &b->pkt[i];
	const struct tg_bid_config *c = tg_auction_config(w, p->key.service);
	uint16_t except = TG_NO_SERVER;
	struct tg_auction *a;

	if (c == NULL || w->auctions == NULL ||
	    (p->tcp_flags & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST | TG_TCP_FIN)) != TG_TCP_SYN)
		return false;
	if (f != NULL && !tg_snapshot_stands(w->snapshot, f->server, f->server_generation))
		f = NULL; /* its server went away */
	a = tg_bid_find(w->auctions->table, &p->key, b->hash[i]);
	if (belongs_to(w, f)) {
		if (a != NULL && a->state == TG_AUCTION_CLOSED)
			tg_bid_forget(w->auctions->table, a); /* of the handshake that is over */
		return false;
	}
	if ((p->flags & TG_PKT_FRAGMENT) != 0)
		return false;
	if (p->payload_len > 0) { /* TCP Fast Open (RFC 7413): N servers would do it N times */
		w->auctions->stats.with_data++;
		return false;
	}
	if (a != NULL) {
		enum meaning meaning = meaning_of(w, b, i, a, f, &except);

		if (meaning != MEANS_NEW)
			return meaning == MEANS_TAKEN;
	} else if (f != NULL && f->state == TG_FLOW_NEW) {
		return false; /* its server has it by another way than an auction */
	} else if ((p->flags & TG_PKT_NO_ENTRY) != 0) {
		return false; /* above the service's limit: by consistent hash, without an entry */
	}
	return begin(w, b, i, c, except);
}

bool tg_auction_turn(struct tg_worker *w, uint64_t now)
{
	struct tg_auctions *x = w->auctions;
	struct tg_auction *a;

	while ((a = tg_bid_due(x->table, now)) != NULL) {
		const struct tg_bid_config *c = tg_auction_config(w, a->syn.key.service);

		if (c == NULL)
			abandon(w, a, now);
		else if (tg_bid_ripe(c, a, now) || tg_bid_given_up(c, a, now))
			decide(w, c, a, now);
		else
			tg_bid_wait_on(x->table, c, a);
	}
	tg_auction_flush(w);
	return tg_bid_is_open(x->table);
}

void tg_auctions_discard(struct tg_worker *w)
{
	struct tg_auctions *x = w->auctions;
	struct tg_auction *a;

	if (x == NULL)
		return;
	while ((a = tg_bid_due(x->table, UINT64_MAX)) != NULL)
		abandon(w, a, tg_worker_now(w));
	tg_auction_flush(w);
	tg_tx_discard(w);
}

/* An answer to an auction that is open: the SYN-ACK, or a RST of one that will not (m NULL). */
static void answered(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_auction *a)
{
	const struct tg_bid_config *c = tg_auction_config(w, a->syn.key.service);
	struct rte_mbuf *m = b->mbuf[i], *gone;
	const struct tg_pkt *p = &b->pkt[i];
	bool refuses = (p->tcp_flags & TG_TCP_RST) != 0;
	uint8_t slot = 0, hops;

	while (slot < a->n && !tg_auction_is_from(w, m, a->server[slot]))
		slot++;
	if (c == NULL || slot == a->n || p->ack != a->syn.seq + 1 || !may_serve(w, a, slot)) {
		swallow(w, m);
		return;
	}
	hops = (uint8_t)w->snapshot->server[a->server[slot]]->hop_offset;
	if (hops == TG_BID_HOPS_LEARN)
		hops = w->auctions->server[a->server[slot]].hops;
	gone = tg_bid_answer(w->auctions->table, c, a, slot, p->ttl, hops, refuses ? NULL : m,
			     b->arrival[i]);
	if (refuses)
		gone = m;
	if (gone != NULL)
		swallow(w, gone);
	if (c->window == 0 && tg_bid_ripe(c, a, b->now))
		decide(w, c, a, b->now);
}

/* What is known of an auction's answers is known when the burst is through: those that came together compete,
 * in a burst that was late too. */
static void decide_ripe(struct tg_worker *w, struct tg_auction *const *asked, unsigned int n,
			uint64_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		struct tg_auction *a = asked[i];
		const struct tg_bid_config *c = tg_auction_config(w, a->syn.key.service);

		if (a->state != TG_AUCTION_FREE && a->state != TG_AUCTION_CLOSED && c != NULL &&
		    tg_bid_ripe(c, a, now))
			decide(w, c, a, now);
	}
}

/* A SYN-ACK that no auction waits for: the winner's once more, of a flow without an auction, or of one that
 * lost. */
static void late_answer(struct tg_worker *w, struct tg_burst *b, unsigned int i,
			struct tg_auction *a, const struct tg_flow *f)
{
	const struct tg_bid_config *c = tg_auction_config(w, b->pkt[i].key.service);
	struct rte_mbuf *m = b->mbuf[i];
	const struct tg_pkt *p = &b->pkt[i];
	uint16_t right = f != NULL ? f->server
				   : tg_select_consistent(w->snapshot->group[p->key.service],
							  tg_select_flow_hash(&p->key));

	if ((f != NULL || a == NULL) && right != TG_NO_SERVER && tg_auction_is_from(w, m, right)) {
		if (a != NULL)
			a->repeats = 0;
		tg_auction_to_client(w, m, p, TG_BID_TTL, NULL, b->arrival[i]);
		return;
	}
	for (unsigned int k = 0; c != NULL && k < c->n; k++) {
		uint8_t link_len = p->l3_off;

		if (!tg_auction_is_from(w, m, c->server[k]) || link_len > TG_BID_LINK_MAX)
			continue;
		tg_bid_late(w->auctions->table, c, c->server[k]);
		tg_auction_reset_server(w, p, b->hash[i], rte_pktmbuf_mtod(m, const uint8_t *),
					link_len, p->ack, c->server[k], b->now);
		break;
	}
	swallow(w, m);
}

static bool is_from_any(const struct tg_worker *w, const struct rte_mbuf *m, uint16_t service)
{
	const struct tg_bid_config *c = tg_auction_config(w, service);

	for (unsigned int k = 0; c != NULL && k < c->n; k++)
		if (tg_auction_is_from(w, m, c->server[k]))
			return true;
	return false;
}

/* Anything else that a server sends a client. Nobody else speaks for the service. */
static void pass_on(struct tg_worker *w, struct tg_burst *b, unsigned int i,
		    const struct tg_flow *f)
{
	bool its = f != NULL && tg_auction_is_from(w, b->mbuf[i], f->server);

	if (its)
		tg_bid_learn_hops(&w->auctions->server[f->server], b->pkt[i].ttl);
	if (!its &&
	    ((f != NULL && (b->pkt[i].tcp_flags & TG_TCP_RST) != 0) || /* of one that lost */
	     !is_from_any(w, b->mbuf[i], b->pkt[i].key.service)))
		swallow(w, b->mbuf[i]);
	else
		tg_auction_to_client(w, b->mbuf[i], &b->pkt[i], 0, NULL, b->arrival[i]);
}

void tg_auction_answers(struct tg_worker *w, struct tg_burst *b)
{
	const uint8_t kind = TG_TCP_SYN | TG_TCP_ACK;
	struct tg_auction *asked[TG_BURST_MAX];
	unsigned int n = 0;

	if (w->auctions == NULL || likely(!w->auctions->answers))
		return;
	w->auctions->answers = false;
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_pkt *p = &b->pkt[i];
		struct tg_auction *a;
		struct tg_flow *f;
		bool syn_ack;

		if (b->verdict[i] != TG_FORWARD || (p->flags & TG_PKT_RETURN) == 0)
			continue;
		b->verdict[i] = TG_TAKEN;
		b->hash[i] = tg_flow_hash(w->flows, &p->key);
		w->auctions->pool = b->mbuf[i]->pool;
		a = tg_bid_find(w->auctions->table, &p->key, b->hash[i]);
		f = tg_flow_find(w->flows, &p->key, b->hash[i]);
		if (f != NULL && !tg_snapshot_stands(w->snapshot, f->server, f->server_generation))
			f = NULL;
		syn_ack = (p->tcp_flags & (kind | TG_TCP_RST)) == kind;
		if (a != NULL && a->state != TG_AUCTION_CLOSED &&
		    (syn_ack || (f == NULL && (p->tcp_flags & TG_TCP_RST) != 0)))
			answered(w, b, i, asked[n++] = a);
		else if (syn_ack)
			late_answer(w, b, i, a, f);
		else if (a != NULL && a->state != TG_AUCTION_CLOSED && f == NULL)
			swallow(w, b->mbuf[i]); /* about an older connection of these ports */
		else
			pass_on(w, b, i, f);
	}
	decide_ripe(w, asked, n, b->now);
}

/* Is it from a service that takes bids, as its source says? Then it is turned round. */
static bool turn_round(const struct tg_worker *w, struct tg_pkt *p)
{
	struct tg_pkt r = *p;
	uint16_t service;
	bool is_vip;

	if (p->key.protocol != IPPROTO_TCP ||
	    (p->flags & (TG_PKT_FRAGMENT | TG_PKT_ICMP_ERROR)) != 0)
		return false;
	r.dst = p->key.client;
	r.key.client = p->dst;
	r.key.client_port = p->key.service_port;
	r.key.service_port = p->key.client_port;
	service = tg_service_find(w->snapshot->services, &r, &is_vip);
	if (service == TG_NO_SERVICE || tg_auction_config(w, service) == NULL)
		return false;
	r.key.service = service;
	r.flags |= TG_PKT_RETURN;
	*p = r;
	return true;
}

/* A server that answers by the tunnel that its requests came in. */
static bool is_tunnel(const struct tg_pkt *p)
{
	return p->key.protocol == IPPROTO_IPIP || p->key.protocol == IPPROTO_IPV6 ||
	       p->key.protocol == IPPROTO_GRE ||
	       (p->key.protocol == IPPROTO_UDP && p->key.service_port == htons(TG_GUE_PORT));
}

/* The entrance refuses frames for other stations by the same reason: those stay refused. */
static bool is_for_us(const struct tg_worker *w, const struct tg_burst *b, unsigned int i)
{
	return memcmp(rte_pktmbuf_mtod(b->mbuf[i], const uint8_t *), w->ports[b->port].mac, 6) == 0;
}

void tg_auction_mark(struct tg_worker *w, struct tg_burst *b, bool handed)
{
	if (w->auctions == NULL || (!handed && w->ports[b->port].role == TG_ROLE_CLIENT))
		return;
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] != TG_DROP || b->reason[i] != TG_DROP_NOT_OURS ||
		    !(handed || is_for_us(w, b, i)))
			continue;
		else if (turn_round(w, &b->pkt[i])) {
			b->verdict[i] = TG_FORWARD;
			w->auctions->answers = true;
		} else if (is_tunnel(&b->pkt[i]))
			b->reason[i] = TG_DROP_TUNNEL;
}

void tg_auction_meet(struct tg_worker *w, const struct tg_burst *b, unsigned int i)
{
	const uint8_t *frame = rte_pktmbuf_mtod(b->mbuf[i], const uint8_t *);

	if (w->auctions != NULL && tg_auction_config(w, b->pkt[i].key.service) != NULL &&
	    !tg_auction_behind_router(w, &b->pkt[i].key.client))
		tg_peer_learn(w->auctions, &b->pkt[i].key.client, frame + 6,
			      tg_worker_came_by(w, b->mbuf[i]));
}

bool tg_auction_gone(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	struct rte_mbuf *m = b->mbuf[i], *rst;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct tg_peer by = {.mac = tg_mac_word(frame + 6), .port = tg_worker_came_by(w, m)};
	const struct tg_reset r = {
		.link = frame,
		.link_len = p->l3_off,
		.v6 = (p->flags & TG_PKT_V6) != 0,
		.src = &p->dst,
		.dst = &p->key.client,
		.src_port = p->key.service_port,
		.dst_port = p->key.client_port,
		.seq = p->ack, /* RFC 9293 section 3.5.2 */
	};
	struct tg_pkt q;

	if (w->auctions == NULL || tg_auction_config(w, p->key.service) == NULL ||
	    (p->tcp_flags & (TG_TCP_ACK | TG_TCP_SYN | TG_TCP_RST)) != TG_TCP_ACK)
		return false;
	tg_drop(b, i, TG_DROP_NO_SERVER);
	w->auctions->pool = m->pool;
	rst = p->l3_off <= TG_BID_LINK_MAX ? tg_auction_reset(w, &r, &q) : NULL;
	if (rst == NULL)
		return true;
	q.key = p->key;
	q.dst = p->dst;
	w->auctions->stats.gone++;
	tg_auction_to_client(w, rst, &q, TG_BID_TTL, &by, b->arrival[i]);
	return true;
}

const struct tg_bid_server *tg_auction_server(const struct tg_worker *w, uint16_t id)
{
	return w->auctions != NULL ? &w->auctions->server[id] : NULL;
}

const struct tg_bid_service *tg_auction_service(const struct tg_worker *w, uint16_t id)
{
	return w->auctions != NULL ? &w->auctions->service[id] : NULL;
}

const struct tg_auction_stats *tg_auction_stats(const struct tg_worker *w)
{
	return w->auctions != NULL ? &w->auctions->stats : NULL;
}
