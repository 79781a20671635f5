/* SPDX-License-Identifier: BSD-3-Clause */
#include "pipeline.h"

#include <netinet/in.h>
#include <rte_mbuf.h>

#include "admission/admission.h"
#include "auction/auction.h"
#include "clamp.h"
#include "entrance.h"
#include "fragments.h"
#include "guarding.h"
#include "health/health.h"
#include "ingress.h"
#include "kernel/exception.h"
#include "measuring.h"
#include "owner.h"
#include "port/checksum.h"
#include "tg_encap.h"
#include "tg_icmp.h"
#include "tg_parse.h"
#include "tg_service.h"

/* a connection that has asked nothing for so long is not expected to ask at once */
#define FRESH_S 1
#define HIDDEN_WAITS_S \
	1 /* after which a client with hidden headers has its answer, or asks again */

/* Is the server that the flow was given still there? */
static inline bool server_stands(const struct tg_worker *w, const struct tg_flow *f)
{
	return tg_snapshot_stands(w->snapshot, f->server, f->server_generation);
}

static void put_on_server(struct tg_worker *w, struct tg_flow *f, uint16_t server)
{
	struct tg_server_stats *st = tg_snapshot_stats(w->snapshot, server, w->index);

	f->server = server;
	f->server_generation = w->snapshot->generation[server];
	f->asking = 0;
	w->own[server]++;
	st->flows++;
	tg_stat_set32(&st->fresh, st->fresh + 1);
}

/* The flow leaves its server: what it counts for there ends. */
static void leave_server(struct tg_worker *w, struct tg_flow *f)
{
	struct tg_server_stats *st = tg_snapshot_stats(w->snapshot, f->server, w->index);

	if ((f->asking & TG_FLOW_ENDED) == 0 && w->own[f->server] > 0)
		w->own[f->server]--;
	fresh_no_more(f, st);
	if ((f->asking & TG_FLOW_WAITS) != 0 && st->waiting > 0)
		tg_stat_set32(&st->waiting, st->waiting - 1);
	f->asking = 0;
}

static uint16_t pick(struct tg_worker *w, const struct tg_pkt *p, bool consistent)
{
	uint16_t service = p->key.service;
	const struct tg_select_group *g = w->snapshot->group[service];
	uint64_t hash = tg_select_flow_hash(&p->key);

	return consistent ? tg_select_consistent(g, hash)
			  : tg_select_pick(g, &w->local[service], &w->view, hash);
}

/*
 * May this packet of an unknown flow make an entry, and by which rule is its server found?
 * TCP: a SYN is placed by the policy. A segment with ACK belongs to a connection that began
 * elsewhere (another gateway, or this one before a restart): the consistent hash is the best guess
 * at its server. With FIN or RST the connection ends: no entry. SYN and ACK: servers answer so, a client
 * of theirs does not; whoever was sent a SYN in a service's name answers the service so. Neither SYN, ACK
 * nor RST: no TCP implementation sends that (RFC 9293), port scanners do.
 */
static enum tg_reason first_packet(const struct tg_pkt *p, bool *consistent, bool *entry)
{
	*consistent = false;
	*entry = true;
	if (p->key.protocol == IPPROTO_TCP) {
		uint8_t f = p->tcp_flags;

		if ((f & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST)) == 0 ||
		    (f & (TG_TCP_SYN | TG_TCP_ACK)) == (TG_TCP_SYN | TG_TCP_ACK) ||
		    (f & (TG_TCP_SYN | TG_TCP_FIN)) == (TG_TCP_SYN | TG_TCP_FIN) ||
		    (f & (TG_TCP_SYN | TG_TCP_RST)) == (TG_TCP_SYN | TG_TCP_RST))
			return TG_DROP_TCP_STRAY;
		*consistent = (f & TG_TCP_SYN) == 0;
		*entry = (f & (TG_TCP_FIN | TG_TCP_RST)) == 0;
	}
	return TG_DROP_NONE;
}

/*
 * The client has said its last word. An exchange whose answer was seen counts now, not when the entry
 * ages: choosing a server by it cannot wait. One that is still waiting (a half-closed connection)
 * goes on, unless it was reset.
 */
static void end_exchange(struct tg_worker *w, struct tg_flow *f, const struct tg_pkt *p)
{
	struct tg_server_stats *st = tg_snapshot_stats(w->snapshot, f->server, w->index);
	bool waits = (f->asking & TG_FLOW_WAITS) != 0;
	struct tg_sample s;

	if (waits && (p->tcp_flags & TG_TCP_RST) == 0)
		return;
	if ((f->asking & TG_FLOW_ENDED) == 0 && w->own[f->server] > 0)
		w->own[f->server]--; /* no load of its server, though the entry stays for a while */
	f->asking |= TG_FLOW_ENDED;
	fresh_no_more(f, st);
	if (f->estimator == TG_ESTIMATOR_OFF)
		return;
	if (tg_pirate_finish(&w->snapshot->pirate[p->key.service], &st->pirate, f->estimator,
			     f->near, f->far, &s))
		tg_count_sample(w, f, &s);
	f->estimator = TG_ESTIMATOR_OFF;
	if (waits && st->waiting > 0)
		tg_stat_set32(&st->waiting, st->waiting - 1);
	f->asking &= (uint8_t)~TG_FLOW_WAITS;
}

/* Is whom a packet may belong to besides worth telling? Only gue has a place for it. */
static bool tells_alternatives(const struct tg_worker *w, const struct tg_pkt *p)
{
	return w->snapshot->service[p->key.service]->forward == TG_FORWARD_GUE;
}

/* The server of this packet is a guess: whom else it may belong to. */
static void name_alternatives(const struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	uint16_t candidate[TG_SELECT_CANDIDATES];
	unsigned int n = tg_select_candidates(w->snapshot->group[p->key.service],
					      tg_select_flow_hash(&p->key), candidate,
					      TG_SELECT_CANDIDATES);

	for (unsigned int k = 0, to = 0; k < n && to < TG_ALTERNATIVES; k++)
		if (candidate[k] != b->server[i])
			b->alternative[i][to++] = candidate[k];
}

/*
 * The server of a new flow. Who only watches may have seen it (seen): the flow is measured there, and
 * what the policy would have done is counted beside.
 */
static uint16_t server_of(struct tg_worker *w, uint16_t seen, const struct tg_pkt *p,
			  bool consistent)
{
	uint16_t server;

	if (likely(seen == TG_NO_SERVER))
		return pick(w, p, consistent);
	server = consistent ? TG_NO_SERVER : pick(w, p, false);
	if (server != TG_NO_SERVER) {
		tg_snapshot_stats(w->snapshot, server, w->index)->picked++;
		w->stats.compared++;
		w->stats.elsewhere += server != seen;
	}
	return seen;
}

/* A packet without an entry: choose a server, make the entry. */
static void place(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	bool consistent, entry;
	enum tg_reason why = first_packet(p, &consistent, &entry);
	bool seen = b->server[i] != TG_NO_SERVER; /* shadow mode: where the other gateway sent it */
	struct tg_flow *f = NULL;

	if (why != TG_DROP_NONE) {
		tg_drop(b, i, why);
		return;
	}
	if (unlikely((p->flags & TG_PKT_NO_ENTRY) != 0)) {
		consistent = true;
		entry = false;
	} else if (unlikely((p->flags & TG_PKT_BY_HASH) != 0)) {
		consistent = true;
	}
	b->server[i] = server_of(w, b->server[i], p, consistent);
	if (b->server[i] == TG_NO_SERVER) {
		tg_drop(b, i, TG_DROP_NO_SERVER);
		return;
	}
	if (entry)
		f = tg_flow_insert(w->flows, &p->key, b->hash[i], b->arrival[i]);
	b->flow[i] = f;
	if (consistent && tells_alternatives(w, p))
		name_alternatives(w, b, i);
	if (f == NULL) {
		/* no state: every packet of this flow takes the same way, on every gateway */
		if (entry && !consistent && !seen)
			b->server[i] = pick(w, p, true);
		w->stats.stateless++;
		return;
	}
	f->estimator = tg_pirate_choose(&w->snapshot->pirate[p->key.service], p);
	put_on_server(w, f, b->server[i]);
	if (consistent && tells_alternatives(w, p))
		f->asking |= TG_FLOW_GUESS;
	else if (!consistent && w->local[p->key.service].probe)
		f->asking |= TG_FLOW_PROBE;
	measure_other(w, f, p, found_at(w, b, i));
}

/* The server of an entry went away: the flow gets another, and is measured from there on. */
static bool repick(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_flow *f)
{
	uint16_t server;

	if (unlikely(w->snapshot->bids) && tg_auction_gone(w, b, i))
		return false;
	server = pick(w, &b->pkt[i], false);
	if (server == TG_NO_SERVER) {
		tg_drop(b, i, TG_DROP_NO_SERVER);
		return false;
	}
	/* of the old server nothing is left to count: its generation is another one */
	memset(f->near, 0, sizeof(f->near));
	memset(f->far, 0, sizeof(f->far));
	put_on_server(w, f, server);
	w->stats.repicked++;
	return true;
}

/* What is no packet of the flow itself goes where the flow goes, and leaves no trace in it: an ICMP error
 * that is about it, a later fragment of a datagram. */
static void follow_quietly(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	const struct tg_flow *f = b->flow[i];
	bool guess;

	if (f == NULL) /* the first fragment in the same burst may have made it */
		f = tg_flow_find(w->flows, &p->key, b->hash[i]);
	guess = f == NULL || (f->asking & TG_FLOW_GUESS) != 0;
	b->flow[i] = NULL;
	if (f != NULL && server_stands(w, f))
		b->server[i] = f->server;
	else if (b->server[i] == TG_NO_SERVER)
		b->server[i] = pick(w, p, true);
	if (b->server[i] == TG_NO_SERVER) {
		tg_drop(b, i, TG_DROP_NO_SERVER);
		return;
	}
	if (guess && tells_alternatives(w, p))
		name_alternatives(w, b, i);
	if ((p->flags & TG_PKT_FRAGMENT) != 0)
		w->stats.fragments++;
	else
		w->stats.icmp_errors++;
}

/* A flow that did not begin here, as far as this gateway saw; or one that goes on after its end: the RST was not
 * its client's, and it is measured as if it began here. */
static void recall(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_flow *f)
{
	bool anew = (f->asking & TG_FLOW_RESTORED) != 0;

	if ((f->asking & TG_FLOW_ENDED) != 0 && f->state != TG_FLOW_SHUT) {
		f->asking &= (uint8_t)~TG_FLOW_ENDED;
		w->own[f->server]++;
		memset(f->near, 0, sizeof(f->near));
		memset(f->far, 0, sizeof(f->far));
		anew = true;
	}
	if ((f->asking & TG_FLOW_GUESS) != 0)
		name_alternatives(w, b, i);
	if (!anew)
		return;
	f->asking &= (uint8_t)~TG_FLOW_RESTORED;
	f->estimator = tg_pirate_choose(&w->snapshot->pirate[f->key.service], &b->pkt[i]);
}

static bool is_first(const struct tg_pkt *p)
{
	return (p->tcp_flags & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST | TG_TCP_FIN)) == TG_TCP_SYN;
}

/* The entry is about to be free: what its estimator still knows counts. */
static void flow_gone(void *ctx, struct tg_flow *f)
{
	struct tg_worker *w = ctx;
	struct tg_sample s;

	if (!server_stands(w, f))
		return;
	if (tg_pirate_finish(&w->snapshot->pirate[f->key.service],
			     &tg_snapshot_stats(w->snapshot, f->server, w->index)->pirate,
			     f->estimator, f->near, f->far, &s))
		tg_count_sample(w, f, &s);
	leave_server(w, f);
}

/*
 * A new connection from the ports of one that ended. It stays with the server of the old one as long as that takes new
 * connections: a RST and a SYN that somebody guessed must not move a connection that lives (RFC 5961). NULL: it is to
 * be placed, and so are its other packets in this burst; those before it have no entry any more to depart from.
 */
static struct tg_flow *begins_again(struct tg_worker *w, struct tg_burst *b, unsigned int i,
				    struct tg_flow *f)
{
	const struct tg_pkt *p = &b->pkt[i];

	flow_gone(w, f);
	if (tg_snapshot_takes_new(w->snapshot, f->server)) {
		memset(f->near, 0, sizeof(f->near));
		memset(f->far, 0, sizeof(f->far));
		f->state = TG_FLOW_NEW;
		f->estimator = tg_pirate_choose(&w->snapshot->pirate[p->key.service], p);
		put_on_server(w, f, f->server);
		return f;
	}
	tg_flow_remove(w->flows, f);
	for (unsigned int k = 0; k < b->n; k++)
		if (b->flow[k] == f)
			b->flow[k] = NULL;
	return NULL;
}

/* One packet, whatever it is. Two packets of one new flow in a burst: the second finds what the first made. */
static __rte_noinline void follow(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	struct tg_flow *f = b->flow[i];

	if (unlikely((p->flags & (TG_PKT_ICMP_ERROR | TG_PKT_LATER)) != 0)) {
		follow_quietly(w, b, i);
		return;
	}
	if (f == NULL) {
		f = b->flow[i] = tg_flow_find(w->flows, &p->key, b->hash[i]);
		if (f != NULL)
			tg_flow_touch(f, p, b->arrival[i]);
	}
	if (unlikely(w->snapshot->bids) && (p->tcp_flags & TG_TCP_SYN) != 0 &&
	    tg_auction_syn(w, b, i, f))
		return;
	if (f != NULL && unlikely(f->state == TG_FLOW_SHUT) && is_first(p) && server_stands(w, f))
		f = begins_again(w, b, i, f);
	if (f == NULL) {
		if (unlikely(w->snapshot->bids))
			tg_auction_meet(w, b, i);
		place(w, b, i);
		return;
	}
	if (!server_stands(w, f) && !repick(w, b, i, f))
		return;
	b->server[i] = f->server;
	if (unlikely((f->asking & (TG_FLOW_GUESS | TG_FLOW_RESTORED | TG_FLOW_ENDED)) != 0))
		recall(w, b, i, f);
	measure_other(w, f, p, found_at(w, b, i));
	if (unlikely((p->tcp_flags & (TG_TCP_FIN | TG_TCP_RST)) != 0))
		end_exchange(w, f, p);
	if ((p->tcp_flags & TG_TCP_SYN) != 0) /* its departure changes what those behind it found */
		b->reopened = true;
}

/* A packet in the middle of its flow, whose server stands: of all that follow() asks nothing is so. */
static inline bool is_plain(const struct view *v, const struct tg_flow *f, const struct tg_pkt *p)
{
	return (p->tcp_flags & (TG_TCP_SYN | TG_TCP_FIN | TG_TCP_RST)) == 0 &&
	       (p->flags & (TG_PKT_ICMP_ERROR | TG_PKT_LATER)) == 0 &&
	       (f->asking & (TG_FLOW_GUESS | TG_FLOW_RESTORED | TG_FLOW_ENDED)) == 0 &&
	       f->server < v->n_servers && v->generation[f->server] == f->server_generation;
}

/* The branch of the diagram: an established flow is measured and keeps its server; a new one is placed. */
static void follow_flows(struct tg_worker *w, struct tg_burst *b)
{
	const struct view v = view_of(w);
	unsigned int n = b->n, departing = 0;

	b->reopened = false;
	for (unsigned int i = 0; i < n; i++) {
		const struct tg_pkt *p = &b->pkt[i];
		struct tg_flow *f = b->flow[i];

		if (b->verdict[i] != TG_FORWARD)
			continue;
		b->departing[departing] = (uint8_t)i;
		if (unlikely(f == NULL || !is_plain(&v, f, p))) {
			departing++;
			follow(w, b, i);
			continue;
		}
		b->server[i] = f->server;
		measure(w, &v, f, p, found_at(w, b, i));
		departing += tells_at_departure(f, p);
	}
	b->n_departing = (uint8_t)departing;
}

/* Whoever only watches answers nobody. */
static void pass_by_neighbours(struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_FORWARD && (b->pkt[i].flags & (TG_PKT_ARP | TG_PKT_ND)))
			tg_drop(b, i, TG_DROP_NEIGHBOUR);
}

/* What the early check dropped may come again. */
static void remember_late(struct tg_worker *w, const struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_DROP && b->reason[i] == TG_DROP_LATE)
			tg_copies_dropped(w->copies, &b->pkt[i], b->arrival[i]);
}

/* Who sends more than fits behind the outer headers is told how much does. */
static void answer_too_big(struct tg_worker *w, struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_route *r;
		unsigned int room;

		if (b->verdict[i] != TG_DROP || b->reason[i] != TG_DROP_TOO_BIG)
			continue;
		r = &w->snapshot->route[b->server[i]];
		room = tg_encap_room(r);
		if (room == 0 ||
		    !tg_bucket_take(&w->errors, &w->clock, b->now, TG_ICMP_ERROR_RATE) ||
		    !tg_icmp_too_big(b->mbuf[i], &b->pkt[i], (uint16_t)room))
			continue;
		b->verdict[i] = TG_REPLY;
		b->out_port[i] = tg_worker_came_by(w, b->mbuf[i]);
		w->stats.too_big_sent++;
	}
}

static void from_follow_on(struct tg_worker *w, struct tg_burst *b)
{
	follow_flows(w, b);
	tg_lap(w, TG_STAGE_FOLLOW, b->n);
	if (w->mode == TG_MODE_INLINE &&
	    unlikely(tg_encap_burst(w->snapshot->route, b, &w->outer_id) > 0))
		answer_too_big(w, b);
	if (unlikely(w->snapshot->bids))
		tg_auction_flush(w);
	tg_lap(w, TG_STAGE_ENCAP, b->n);
}

static void from_flow_on(struct tg_worker *w, struct tg_burst *b)
{
	if (unlikely(w->snapshot->clamps))
		tg_clamp_burst(w, b);
	if (unlikely(w->snapshot->bids))
		tg_auction_answers(w, b);
	tg_copies_look(w->copies, &w->clock, b, &w->stats.gate.after_drop);
	if (unlikely(w->snapshot->early)) {
		tg_gate_early(w->snapshot->limit, &w->stats.gate, b);
		remember_late(w, b);
	}
	tg_burst_no_alternatives(b);
	tg_flow_lookup(w->flows, b);
	tg_lap(w, TG_STAGE_FLOW, b->n);
	if (unlikely(w->snapshot->guards))
		tg_guarding_burst(w, b);
	if (unlikely(w->snapshot->pools != 0)) {
		tg_admission_burst(w, b);
		tg_lap(w, TG_STAGE_ADMIT, b->n);
	}
	from_follow_on(w, b);
}

/* From the frame to its service, stage by stage. */
static void to_service(struct tg_worker *w, struct tg_burst *b)
{
	tg_parse_burst(b);
	tg_lap(w, TG_STAGE_PARSE, b->n);
	if (w->mode == TG_MODE_INLINE) {
		tg_entrance(w, b);
		tg_lap(w, TG_STAGE_ENTRANCE, b->n);
		if (unlikely(w->ports[b->port].partial))
			tg_checksum_complete(b);
		tg_neigh_input(w->neigh, w->snapshot->local, &w->clock, &w->ping, b);
		if (unlikely(w->snapshot->probing != NULL))
			tg_health_answers(w, b);
	} else {
		pass_by_neighbours(b);
	}
	tg_lap(w, TG_STAGE_NEIGH, b->n);
	if (unlikely(b->fragments))
		tg_fragments_burst(w, b);
	tg_service_match(w->snapshot->services, b);
	if (unlikely(w->snapshot->bids))
		tg_auction_mark(w, b, false);
}

/* May the usual frame go ahead of its stages? */
static inline bool goes_ahead(const struct tg_worker *w, const struct tg_burst *b)
{
	return w->mode == TG_MODE_INLINE && !w->ports[b->port].partial;
}

void tg_pipeline_run(struct tg_worker *w, struct tg_burst *b)
{
	if (unlikely(!goes_ahead(w, b))) {
		to_service(w, b);
	} else if (likely(tg_ingress_burst(w, b))) {
		tg_lap(w, TG_STAGE_PARSE, b->n); /* entrance and service in it */
	} else {
		to_service(w, b);
		tg_ingress_join(b);
	}
	tg_lap(w, TG_STAGE_SERVICE, b->n);
	if (w->n_workers > 1)
		tg_owner_hand_over(w, b);
	tg_lap(w, TG_STAGE_OWNER, b->n);
	from_flow_on(w, b);
}

void tg_pipeline_run_handed(struct tg_worker *w, struct tg_burst *b)
{
	tg_parse_burst(b);
	if (unlikely(b->fragments))
		tg_fragments_burst(w, b);
	tg_service_match(w->snapshot->services, b);
	if (unlikely(w->snapshot->bids))
		tg_auction_mark(w, b, true);
	from_flow_on(w, b);
}

void tg_pipeline_run_released(struct tg_worker *w, struct tg_burst *b)
{
	/* the configuration may have changed while they waited */
	tg_service_match(w->snapshot->services, b);
	tg_burst_no_alternatives(b);
	tg_flow_lookup(w->flows, b);
	if (unlikely(w->snapshot->guards))
		tg_guarding_released(w, b);
	from_follow_on(w, b);
}

/* Counts it for its server; NULL: it went to a client. */
static __rte_always_inline struct tg_server_stats *count_departed(const struct view *v,
								  uint16_t server, uint32_t bytes)
{
	struct tg_server_stats *st;

	if (unlikely(server == TG_NO_SERVER))
		return NULL;
	st = v->stats[server];
	st->packets++;
	st->bytes += bytes;
	return st;
}

void tg_pipeline_departed(struct tg_worker *w, struct tg_flow *f, const struct tg_pkt *p,
			  uint16_t server, uint32_t bytes, uint64_t polled, uint64_t departure)
{
	const struct view v = view_of(w);
	struct tg_server_stats *st = count_departed(&v, server, bytes);

	/* while the packet waited for the driver its entry may have been freed, given to another flow, or
	 * the flow to another server */
	if (st == NULL || f == NULL || !tg_key_eq(&f->key, &p->key) || f->state == TG_FLOW_FREE ||
	    f->server != server || !server_stands(w, f))
		return;
	departs(w, &v, f, p, st, polled, departure);
}

void tg_pipeline_departed_burst(struct tg_worker *w, struct tg_burst *b, const uint8_t *left,
				const uint32_t *bytes, unsigned int n, uint64_t departure)
{
	const uint8_t *departing = b->departing;
	unsigned int n_departing = b->n_departing;
	const struct view v = view_of(w);
	uint64_t polled = b->now;

	for (unsigned int k = 0; k < n; k++)
		count_departed(&v, b->server[left[k]], bytes[k]);
	if (unlikely(n < b->n || b->reopened)) {
		departing = left;
		n_departing = n;
	}
	for (unsigned int k = 0; k < n_departing; k++) {
		unsigned int i = departing[k];

		if (likely(b->flow[i] != NULL && b->server[i] != TG_NO_SERVER))
			departs(w, &v, b->flow[i], &b->pkt[i], v.stats[b->server[i]], polled,
				departure);
	}
}

void tg_pipeline_finish(struct tg_worker *w, struct tg_burst *b)
{
	if (likely(memchr(b->verdict, TG_DROP, b->n) == NULL))
		return;
	for (unsigned int i = 0; i < b->n; i++) {
		if (b->verdict[i] != TG_DROP ||
		    (unlikely(w->exception != NULL) && tg_exception_take(w, b, i)))
			continue;
		w->stats.dropped[b->reason[i]]++;
		rte_pktmbuf_free(b->mbuf[i]);
	}
}

bool tg_pipeline_settle(struct tg_worker *w, const struct tg_pkt *syn, uint64_t hash,
			uint16_t server, uint64_t departed)
{
	struct tg_flow *f = tg_flow_find(w->flows, &syn->key, hash);

	if (f != NULL) {
		flow_gone(w, f);
		tg_flow_remove(w->flows, f);
	}
	f = tg_flow_insert(w->flows, &syn->key, hash, departed);
	if (f == NULL)
		return false;
	f->estimator = tg_pirate_choose(&w->snapshot->pirate[syn->key.service], syn);
	put_on_server(w, f, server);
	measure_other(w, f, syn, departed);
	tg_pirate_depart(&w->snapshot->pirate[syn->key.service],
			 &tg_snapshot_stats(w->snapshot, server, w->index)->pirate, f->estimator,
			 f->near, f->far, syn, departed, departed);
	return true;
}

/* The sweep passes: how old is what it waits for? What it waited here is no fault of the server's. */
static void flow_stays(void *ctx, struct tg_flow *f)
{
	struct tg_worker *w = ctx;
	uint64_t since, ms;
	struct tg_ages *a;

	if ((f->asking & TG_FLOW_ASKED) == 0 && server_stands(w, f) && w->age_now > f->last_seen &&
	    w->age_now - f->last_seen > w->clock.hz * FRESH_S)
		fresh_no_more(f, tg_snapshot_stats(w->snapshot, f->server, w->index));
	if ((f->asking & TG_FLOW_WAITS) == 0 || !server_stands(w, f) ||
	    !tg_pirate_open(f->estimator, f->near, f->far, &since))
		return;
	if (tg_pirate_guesses(f->estimator)) { /* who says no more for long has its answer */
		if (w->age_now > since && w->age_now - since > w->clock.hz * HIDDEN_WAITS_S)
			waits_no_more(w, f, tg_snapshot_stats(w->snapshot, f->server, w->index),
				      since, w->age_now);
		return;
	}
	since += tg_pirate_held(&w->snapshot->pirate[f->key.service], f->estimator, f->far);
	a = &tg_snapshot_stats(w->snapshot, f->server, w->index)->age[w->age_round & 1];
	if (a->round != w->age_round)
		*a = (struct tg_ages){.round = w->age_round};
	ms = w->age_now > since ? tg_ticks_to_ns(&w->clock, w->age_now - since) / 1000000 : 0;
	a->n[ms == 0 ? 0 : RTE_MIN(64 - __builtin_clzll(ms), TG_AGE_BINS - 1)]++;
}

void tg_pipeline_age(struct tg_worker *w, uint64_t now, unsigned int buckets)
{
	w->age_now = now;
	tg_flow_sweep(w->flows, now, buckets, flow_gone, flow_stays, w);
	w->age_swept += buckets;
	if (w->age_swept >= tg_flow_buckets(w->flows)) {
		w->age_swept = 0;
		__atomic_store_n(&w->age_round, w->age_round + 1, __ATOMIC_RELEASE);
	}
}

void tg_pipeline_end(struct tg_worker *w)
{
	uint64_t cursor = 0;
	struct tg_flow *f;

	while ((f = tg_flow_next(w->flows, &cursor)) != NULL)
		flow_gone(w, f);
}
