/* SPDX-License-Identifier: BSD-3-Clause */
#include "owner.h"

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_ring.h>
#include <rte_thash.h>

/* What a packet carries to its owner: ticks. */
struct handed {
	uint64_t arrival;
	uint64_t polled; /* by whom it was handed over */
};

static int handed_field = -1;

int tg_owner_init(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "tidegate_handed",
		.size = sizeof(struct handed),
		.align = __alignof__(struct handed),
	};

	handed_field = rte_mbuf_dynfield_register(&field);
	return handed_field < 0 ? -rte_errno : 0;
}

static inline struct handed *handed_of(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, handed_field, struct handed *);
}

static uint32_t word(const uint8_t *b)
{
	uint32_t w;

	memcpy(&w, b, sizeof(w));
	return rte_be_to_cpu_32(w);
}

/* Does the port hash the ports of such packets too? */
static bool hashes_ports(const struct tg_port *port, const struct tg_pkt *p)
{
	return (p->key.protocol == IPPROTO_TCP || p->key.protocol == IPPROTO_UDP) &&
	       port->hashes_ports[(p->flags & TG_PKT_V6) != 0][p->key.protocol == IPPROTO_UDP];
}

/* The hash that a port with this key gives the packet: addresses, and ports where it takes them
 * (what rte_softrss wants is in host order, word by word). */
static uint32_t toeplitz(const struct tg_port *port, const struct tg_pkt *p)
{
	uint32_t tuple[9], n = 0;
	unsigned int from = p->flags & TG_PKT_V6 ? 0 : 12;

	for (unsigned int i = from; i < 16; i += 4)
		tuple[n++] = word(&p->key.client.b[i]);
	for (unsigned int i = from; i < 16; i += 4)
		tuple[n++] = word(&p->dst.b[i]);
	if (hashes_ports(port, p))
		tuple[n++] = (uint32_t)rte_be_to_cpu_16(p->key.client_port) << 16 |
			     rte_be_to_cpu_16(p->key.service_port);
	return rte_softrss(tuple, n, port->rss_key);
}

unsigned int tg_owner_of(const struct tg_port *port, unsigned int n_workers, const struct tg_pkt *p,
			 bool has_rss, uint32_t rss, uint64_t hash)
{
	if (port->reta_size == 0 || port->rx_queues < n_workers)
		return (unsigned int)(((hash >> 32) * n_workers) >> 32);
	if (!has_rss || (p->flags & (TG_PKT_ICMP_ERROR | TG_PKT_FRAGMENT |
				     TG_PKT_RETURN))) /* the port hashed that, not the flow */
		rss = toeplitz(port, p);
	return port->reta[rss & (port->reta_size - 1u)];
}

void tg_owner_hand_over(struct tg_worker *w, struct tg_burst *b)
{
	const struct tg_port *port = &w->ports[b->port];

	for (unsigned int i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->mbuf[i];
		unsigned int owner;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		owner = tg_owner_of(port, w->n_workers, &b->pkt[i],
				    (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0, m->hash.rss,
				    tg_flow_hash(w->flows, &b->pkt[i].key));
		if (owner == w->index)
			continue;
		*handed_of(m) = (struct handed){b->arrival[i], b->now};
		if (rte_ring_mp_enqueue(w->inbox[owner], m) != 0) {
			tg_drop(b, i, TG_DROP_HANDOVER);
			continue;
		}
		b->verdict[i] = TG_TAKEN;
		w->stats.handed_over++;
	}
}

uint16_t tg_owner_take(struct tg_worker *w, struct tg_burst *b, uint64_t now)
{
	b->n = (uint16_t)rte_ring_sc_dequeue_burst(w->inbox[w->index], (void **)b->mbuf,
						   TG_BURST_MAX, NULL);
	b->port = 0;
	b->now = now;
	for (unsigned int i = 0; i < b->n; i++) {
		const struct handed *h = handed_of(b->mbuf[i]);

		b->arrival[i] = h->arrival;
		tg_stage_waited(w, TG_STAGE_OWNER, h->polled, now);
		b->wire_len[i] = b->mbuf[i]->pkt_len;
		b->verdict[i] = TG_FORWARD;
		b->server[i] = TG_NO_SERVER;
	}
	return b->n;
}

void tg_owner_discard(struct tg_worker *w)
{
	void *m;

	while (rte_ring_sc_dequeue(w->inbox[w->index], &m) == 0) {
		w->stats.dropped[TG_DROP_HANDOVER]++;
		rte_pktmbuf_free(m);
	}
}
