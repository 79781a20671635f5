/* SPDX-License-Identifier: BSD-3-Clause */
#include "pipeline.h"

#include <netinet/in.h>
#include <rte_mbuf.h>

#include "entrance.h"
#include "owner.h"
#include "tg_encap.h"
#include "tg_parse.h"
#include "tg_pirate.h"
#include "tg_service.h"

/* A connection's first exchange is kept apart only if it is TLS's, not the application's. */
static void count_sample(struct tg_worker *w, struct tg_flow *f, struct tg_sample *s)
{
	struct tg_server_stats *st = tg_snapshot_stats(w->snapshot, f->server, w->index);

	s->setup = s->setup && f->tls;
	if (w->sample != NULL)
		w->sample(w->sample_ctx, f, s);
	if (s->setup) {
		st->setup += s->count;
		return;
	}
	st->exchanges[s->kind] += s->count;
	tg_hist_record(&st->latency, tg_ticks_to_ns(&w->clock, s->latency), s->count);
	if (s->server != TG_SAMPLE_UNKNOWN)
		tg_hist_record(&st->server, tg_ticks_to_ns(&w->clock, s->server), s->count);
}

/* Is the server that the flow was given still there? */
static inline bool server_stands(const struct tg_worker *w, const struct tg_flow *f)
{
	return f->server < w->snapshot->n_servers &&
	       w->snapshot->generation[f->server] == f->server_generation;
}

static void put_on_server(struct tg_worker *w, struct tg_flow *f, uint16_t server)
{
	f->server = server;
	f->server_generation = w->snapshot->generation[server];
	w->own[server]++;
	tg_snapshot_stats(w->snapshot, server, w->index)->flows++;
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
 * at its server. With FIN or RST the connection ends: no entry. Neither SYN, ACK nor RST: no TCP
 * implementation sends that (RFC 9293), port scanners do. Fragments carry no ports: by addresses.
 */
static enum tg_reason first_packet(const struct tg_pkt *p, bool *consistent, bool *entry)
{
	*consistent = false;
	*entry = true;
	if (p->key.flags & TG_KEY_FRAGMENT) {
		*consistent = true;
		*entry = false;
	} else if (p->key.protocol == IPPROTO_TCP) {
		uint8_t f = p->tcp_flags;

		if ((f & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST)) == 0 ||
		    (f & (TG_TCP_SYN | TG_TCP_FIN)) == (TG_TCP_SYN | TG_TCP_FIN) ||
		    (f & (TG_TCP_SYN | TG_TCP_RST)) == (TG_TCP_SYN | TG_TCP_RST))
			return TG_DROP_TCP_STRAY;
		*consistent = (f & TG_TCP_SYN) == 0;
		*entry = (f & (TG_TCP_FIN | TG_TCP_RST)) == 0;
	}
	return TG_DROP_NONE;
}

static void measure(struct tg_worker *w, struct tg_flow *f, const struct tg_pkt *p,
		    uint64_t arrival)
{
	struct tg_sample s;

	if (tg_pirate_arrive(&w->snapshot->pirate[p->key.service], f->estimator, f->near, f->far, p,
			     arrival, &s))
		count_sample(w, f, &s);
}

/* A packet without an entry: choose a server, make the entry. */
static void place(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	bool consistent, entry;
	enum tg_reason why = first_packet(p, &consistent, &entry);
	struct tg_flow *f = NULL;

	if (why != TG_DROP_NONE) {
		tg_drop(b, i, why);
		return;
	}
	if (b->server[i] == TG_NO_SERVER)
		b->server[i] = pick(w, p, consistent);
	if (b->server[i] == TG_NO_SERVER) {
		tg_drop(b, i, TG_DROP_NO_SERVER);
		return;
	}
	if (entry)
		f = tg_flow_insert(w->flows, &p->key, b->hash[i], b->arrival[i]);
	b->flow[i] = f;
	if (f == NULL) {
		/* no state: every packet of this flow takes the same way, on every gateway */
		if (entry && !consistent)
			b->server[i] = pick(w, p, true);
		w->stats.stateless++;
		return;
	}
	f->estimator = tg_pirate_choose(&w->snapshot->pirate[p->key.service], p);
	put_on_server(w, f, b->server[i]);
	measure(w, f, p, b->arrival[i]);
}

/* The server of an entry went away: the flow gets another, and is measured from there on. */
static bool repick(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_flow *f)
{
	uint16_t server = pick(w, &b->pkt[i], false);

	if (server == TG_NO_SERVER) {
		tg_drop(b, i, TG_DROP_NO_SERVER);
		return false;
	}
	memset(f->near, 0, sizeof(f->near));
	memset(f->far, 0, sizeof(f->far));
	put_on_server(w, f, server);
	w->stats.repicked++;
	return true;
}

/* The branch of the diagram: an established flow is measured and keeps its server; a new one is
 * placed. Two packets of one new flow in a burst: the second finds what the first made. */
static void follow_flows(struct tg_worker *w, struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		struct tg_flow *f;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		f = b->flow[i];
		if (f == NULL) {
			f = b->flow[i] = tg_flow_find(w->flows, &b->pkt[i].key, b->hash[i]);
			if (f == NULL) {
				place(w, b, i);
				continue;
			}
			tg_flow_touch(f, &b->pkt[i], b->arrival[i]);
		}
		if (!server_stands(w, f) && !repick(w, b, i, f))
			continue;
		b->server[i] = f->server;
		measure(w, f, &b->pkt[i], b->arrival[i]);
	}
}

/* Whoever only watches answers nobody. */
static void pass_by_neighbours(struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_FORWARD && (b->pkt[i].flags & (TG_PKT_ARP | TG_PKT_ND)))
			tg_drop(b, i, TG_DROP_NEIGHBOUR);
}

static void from_flow_on(struct tg_worker *w, struct tg_burst *b)
{
	tg_flow_lookup(w->flows, b);
	follow_flows(w, b);
	if (w->mode == TG_MODE_INLINE)
		tg_encap_burst(w->snapshot->route, b, &w->outer_id);
}

void tg_pipeline_run(struct tg_worker *w, struct tg_burst *b)
{
	tg_parse_burst(b);
	if (w->mode == TG_MODE_INLINE) {
		tg_entrance(w, b);
		tg_neigh_input(w->neigh, w->snapshot->local, &w->clock, &w->ping, b);
	} else {
		pass_by_neighbours(b);
	}
	tg_service_match(w->snapshot->services, b);
	if (w->n_workers > 1)
		tg_owner_hand_over(w, b);
	from_flow_on(w, b);
}

void tg_pipeline_run_handed(struct tg_worker *w, struct tg_burst *b)
{
	tg_parse_burst(b);
	tg_service_match(w->snapshot->services, b);
	from_flow_on(w, b);
}

void tg_pipeline_departed(struct tg_worker *w, struct tg_flow *f, const struct tg_pkt *p,
			  uint16_t server, uint32_t bytes, uint64_t arrival, uint64_t departure)
{
	struct tg_server_stats *st = tg_snapshot_stats(w->snapshot, server, w->index);

	st->packets++;
	st->bytes += bytes;
	/* the entry may have been given to another flow while the packet waited for the driver */
	if (f == NULL || !tg_key_eq(&f->key, &p->key))
		return;
	if (p->flags & TG_PKT_TLS)
		f->tls = 1;
	tg_pirate_depart(&w->snapshot->pirate[p->key.service], f->estimator, f->near, f->far, p,
			 arrival, departure);
}

void tg_pipeline_finish(struct tg_worker *w, struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		if (b->verdict[i] != TG_DROP)
			continue;
		w->stats.dropped[b->reason[i]]++;
		rte_pktmbuf_free(b->mbuf[i]);
	}
}

/* The entry is about to be free: what its estimator still knows counts. */
static void flow_gone(void *ctx, struct tg_flow *f)
{
	struct tg_worker *w = ctx;
	struct tg_sample s;

	if (!server_stands(w, f))
		return;
	if (tg_pirate_finish(&w->snapshot->pirate[f->key.service], f->estimator, f->near, f->far,
			     &s))
		count_sample(w, f, &s);
	if (w->own[f->server] > 0)
		w->own[f->server]--;
}

void tg_pipeline_age(struct tg_worker *w, uint64_t now, unsigned int buckets)
{
	tg_flow_sweep(w->flows, now, buckets, flow_gone, w);
}

void tg_pipeline_end(struct tg_worker *w)
{
	uint64_t cursor = 0;
	struct tg_flow *f;

	while ((f = tg_flow_next(w->flows, &cursor)) != NULL)
		flow_gone(w, f);
}
