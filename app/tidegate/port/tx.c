/* SPDX-License-Identifier: BSD-3-Clause */
#include "tx.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

void tg_tx_init(struct tg_tx *tx, const struct tg_port *p, unsigned int worker,
		const struct tg_clock *clock)
{
	tx->ethdev = p->ethdev;
	tx->queue = (uint16_t)worker;
	tx->n = 0;
	tx->keeps_bond = p->bonded && worker == 0;
	tg_gate_wire_init(&tx->wire, p->rate_mbps, p->tx_queues, clock);
}

/* The driver took n packets. */
static void count_forwarded(struct tg_worker *w, unsigned int n, uint64_t bytes)
{
	w->stats.forwarded += n;
	w->stats.forwarded_bytes += bytes;
}

static void free_dropped(struct tg_worker *w, struct rte_mbuf *m, enum tg_reason why)
{
	w->stats.dropped[why]++;
	rte_pktmbuf_free(m);
}

/* What the gate decided about a burst and the driver did with it. */
struct handing {
	uint16_t pass[TG_BURST_MAX], late[TG_BURST_MAX]; /* indices of items, in order */
	uint16_t n_pass, sent;                           /* given to the driver, taken by it */
	uint64_t gate, departure;
};

/*
 * The gate and the driver: items[0..n) is what is about to leave, frames[0..n) their buffers. Nothing may
 * come between the clock read, the gate and the driver.
 */
static void gate_and_send(struct tg_worker *w, struct tg_tx *tx, const struct tg_gate_item *items,
			  struct rte_mbuf **frames, uint16_t n, struct handing *h)
{
	const struct tg_gate_limit *limit = w->snapshot->limit;
	const struct tg_gate_limit *strictest = &w->snapshot->strictest;
	struct tg_gate_stats *stats = &w->stats.gate;
	struct rte_mbuf *passed[TG_BURST_MAX];
	struct tg_gate_span span;

	h->gate = tg_worker_now(w);
	h->n_pass = tg_gate_check_burst(limit, strictest, stats, &tx->wire, items, n, h->gate,
					h->pass, h->late, &span);
	if (unlikely(h->n_pass < n)) {
		for (uint16_t k = 0; k < h->n_pass; k++)
			passed[k] = frames[h->pass[k]];
		frames = passed;
	}
	h->sent = h->n_pass == 0 ? 0 : rte_eth_tx_burst(tx->ethdev, tx->queue, frames, h->n_pass);
	h->departure = tg_worker_now(w);
	tg_gate_sent_burst(limit, strictest, stats, &w->clock, items, h->pass, h->sent, h->gate,
			   h->departure, &span);
	if (tx->wire.byte != 0)
		tg_gate_wire_sent(&tx->wire, items, h->pass, h->sent, h->departure);
}

/* Field by field: a whole one would be made beside it and copied. Returns the bytes of the frame. */
static inline uint32_t fill_item(struct tg_gate_item *item, const struct tg_burst *b,
				 unsigned int i)
{
	struct rte_mbuf *m = b->mbuf[i];
	uint32_t bytes = m->pkt_len;

	item->mbuf = m;
	item->arrival = b->arrival[i];
	item->polled = b->now;
	item->gated = 0;
	item->bytes = bytes;
	item->service = b->pkt[i].key.service;
	return bytes;
}

/* One round of retries on a port: what the driver takes leaves the head of the list. */
static void retry(struct tg_worker *w, struct tg_tx *tx)
{
	while (tx->n > 0) {
		struct tg_gate_item items[TG_BURST_MAX];
		struct rte_mbuf *frames[TG_BURST_MAX];
		struct handing h;
		uint16_t n = RTE_MIN(tx->n, (uint16_t)TG_BURST_MAX), keep = 0;

		for (uint16_t k = 0; k < n; k++) {
			items[k] = tx->waiting[k].gate;
			frames[k] = items[k].mbuf;
		}
		gate_and_send(w, tx, items, frames, n, &h);
		for (uint16_t k = 0; k < h.sent; k++) {
			const struct tg_tx_item *t = &tx->waiting[h.pass[k]];

			tg_stage_waited(w, TG_STAGE_TX, t->gate.gated, h.gate);
			count_forwarded(w, 1, t->gate.bytes);
			tg_pipeline_departed(w, t->flow, &t->pkt, t->server, t->gate.bytes,
					     t->gate.polled, h.departure);
		}
		for (uint16_t k = 0; k < n - h.n_pass; k++) {
			const struct tg_tx_item *t = &tx->waiting[h.late[k]];

			tg_stage_waited(w, TG_STAGE_TX, t->gate.gated, h.gate);
			tg_copies_dropped(w->copies, &t->pkt, t->gate.arrival);
			free_dropped(w, t->gate.mbuf, TG_DROP_LATE);
		}
		for (uint16_t k = h.sent; k < h.n_pass; k++)
			tx->waiting[keep++] = tx->waiting[h.pass[k]];
		memmove(&tx->waiting[keep], &tx->waiting[n], (tx->n - n) * sizeof(tx->waiting[0]));
		tx->n = (uint16_t)(tx->n - n + keep);
		if (keep > 0)
			return;
	}
}

void tg_tx_retry(struct tg_worker *w)
{
	for (unsigned int p = 0; p < w->n_ports; p++)
		if (w->tx[p].n > 0)
			retry(w, &w->tx[p]);
		else if (unlikely(w->tx[p].keeps_bond) && w->mode == TG_MODE_INLINE)
			rte_eth_tx_burst(w->tx[p].ethdev, w->tx[p].queue, NULL, 0);
}

/* Packet i of the burst must wait for its turn, since `gated`. */
static void wait_turn(struct tg_tx *tx, struct tg_burst *b, unsigned int i,
		      const struct tg_gate_item *item, uint64_t gated)
{
	struct tg_tx_item *t;

	if (tx->n == TG_TX_WAITING) {
		tg_drop(b, i, TG_DROP_TX_FULL);
		return;
	}
	t = &tx->waiting[tx->n++];
	t->gate = *item;
	t->gate.gated = gated;
	t->flow = b->flow[i];
	t->server = b->server[i];
	t->pkt = b->pkt[i];
	b->verdict[i] = TG_TAKEN;
}

/* What did not leave: the driver refused it, or the gate found it late. */
static void keep_or_drop(struct tg_worker *w, struct tg_tx *tx, struct tg_burst *b,
			 const uint8_t *index, uint16_t n, const struct tg_gate_item *items,
			 const struct handing *h)
{
	for (uint16_t k = h->sent; k < h->n_pass; k++) {
		w->stats.refused++;
		wait_turn(tx, b, index[h->pass[k]], &items[h->pass[k]], h->gate);
	}
	for (uint16_t k = 0; k < n - h->n_pass; k++) {
		unsigned int i = index[h->late[k]];

		tg_copies_dropped(w->copies, &b->pkt[i], b->arrival[i]);
		tg_drop(b, i, TG_DROP_LATE);
	}
}

/* The packets of a burst that leave by one port, one at least: index[0..n), buffers frames[0..n). */
static void send_by_port(struct tg_worker *w, struct tg_tx *tx, struct tg_burst *b,
			 const uint8_t *index, struct rte_mbuf **frames, uint16_t n)
{
	struct tg_gate_item items[TG_BURST_MAX];
	uint32_t bytes[TG_BURST_MAX];
	uint8_t left[TG_BURST_MAX];
	uint64_t sum = 0;
	uint16_t filled = 0;
	struct handing h;

	do
		sum += bytes[filled] = fill_item(&items[filled], b, index[filled]);
	while (++filled < n);
	if (tx->n > 0)
		retry(w, tx);
	if (tx->n > 0) { /* order within a flow is kept */
		for (uint16_t k = 0; k < n; k++)
			wait_turn(tx, b, index[k], &items[k], b->now);
		return;
	}
	gate_and_send(w, tx, items, frames, n, &h);
	if (unlikely(h.sent < n)) {
		sum = 0;
		for (uint16_t k = 0; k < h.sent; k++) {
			left[k] = index[h.pass[k]];
			sum += bytes[k] = items[h.pass[k]].bytes;
		}
		keep_or_drop(w, tx, b, index, n, items, &h);
		index = left;
	}
	for (uint16_t k = 0; k < h.sent; k++)
		b->verdict[index[k]] = TG_TAKEN;
	count_forwarded(w, h.sent, sum);
	tg_pipeline_departed_burst(w, b, index, bytes, h.sent, h.departure);
}

/* Whoever only watches: the gate decides as it would, then the packet is let go. */
static void send_nothing(struct tg_worker *w, struct tg_burst *b)
{
	uint64_t now = tg_worker_now(w);

	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_pkt *p = &b->pkt[i];
		struct tg_gate_item item;
		uint16_t pass, late;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		fill_item(&item, b, i);
		if (tg_gate_check(w->snapshot->limit, &w->stats.gate, &item, 1, now, &pass,
				  &late) == 0) {
			tg_copies_dropped(w->copies, p, b->arrival[i]);
			tg_drop(b, i, TG_DROP_LATE);
			continue;
		}
		tg_gate_sent(w->snapshot->limit, &w->stats.gate, &w->clock, &item, &pass, 1, now,
			     now);
		tg_pipeline_departed(w, b->flow[i], p, b->server[i], b->wire_len[i], b->now, now);
		tg_drop(b, i, TG_DROP_SHADOW);
	}
}

static void send_replies(struct tg_worker *w, struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_tx *tx;

		if (b->verdict[i] != TG_REPLY)
			continue;
		tx = &w->tx[b->out_port[i]];
		if (rte_eth_tx_burst(tx->ethdev, tx->queue, &b->mbuf[i], 1) == 1) {
			b->verdict[i] = TG_TAKEN;
			w->stats.replied++;
		} else {
			tg_drop(b, i, TG_DROP_TX_FULL);
		}
	}
}

/* Do all packets of a burst leave, and by one port? */
static inline bool goes_as_one(const struct tg_burst *b)
{
	static const uint8_t on_their_way[TG_BURST_MAX] = {TG_FORWARD};

	_Static_assert(TG_FORWARD == 0, "what an array is filled with");
	return b->n > 0 && memcmp(b->verdict, on_their_way, b->n) == 0 &&
	       memcmp(b->out_port, b->out_port + 1, (b->n - 1u) * sizeof(b->out_port[0])) == 0;
}

/* Some leave, by this port or that. */
static void send_some(struct tg_worker *w, struct tg_burst *b)
{
	struct rte_mbuf *frames[TG_BURST_MAX];
	uint8_t index[TG_BURST_MAX];
	unsigned int left = b->n;

	for (uint16_t p = 0; p < w->n_ports; p++) {
		uint16_t n = 0;

		for (unsigned int i = 0; i < b->n; i++) {
			index[n] = (uint8_t)i;
			frames[n] = b->mbuf[i];
			n = (uint16_t)(n + (b->verdict[i] == TG_FORWARD && b->out_port[i] == p));
		}
		if (n > 0)
			send_by_port(w, &w->tx[p], b, index, frames, n);
		left -= n;
	}
	if (left > 0) /* dropped, taken, or answered by us */
		send_replies(w, b);
}

void tg_tx_burst(struct tg_worker *w, struct tg_burst *b)
{
	static const uint8_t every[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

	_Static_assert(sizeof(every) == TG_BURST_MAX, "an index a packet");
	if (w->mode != TG_MODE_INLINE)
		send_nothing(w, b);
	else if (likely(goes_as_one(b)))
		send_by_port(w, &w->tx[b->out_port[0]], b, every, b->mbuf, b->n);
	else
		send_some(w, b);
}

uint16_t tg_tx_own(struct tg_worker *w, struct rte_mbuf **frames, uint16_t n)
{
	uint16_t left = 0;

	for (uint16_t k = 0; k < n; k++) {
		const struct tg_tx *tx = &w->tx[frames[k]->port];

		if (rte_eth_tx_burst(tx->ethdev, tx->queue, &frames[k], 1) != 1)
			frames[left++] = frames[k];
	}
	return left;
}

unsigned int tg_tx_discard(struct tg_worker *w)
{
	unsigned int n = 0;

	for (unsigned int p = 0; p < w->n_ports; p++) {
		struct tg_tx *tx = &w->tx[p];

		for (uint16_t k = 0; k < tx->n; k++)
			free_dropped(w, tx->waiting[k].gate.mbuf, TG_DROP_TX_FULL);
		n += tx->n;
		tx->n = 0;
	}
	return n;
}
