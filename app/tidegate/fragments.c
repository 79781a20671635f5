/* SPDX-License-Identifier: BSD-3-Clause */
#include "fragments.h"

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "tg_mem.h"
#include "tg_parse.h"

#define TCP_LEN 20
#define UDP_LEN 8

/* What a datagram's fragments have in common. */
struct datagram {
	struct tg_key key; /* client and protocol; the ports' place holds the identification */
	struct tg_addr dst;
};

struct entry {
	struct datagram datagram;
	uint64_t arrival; /* ticks, of the first fragment; 0: free */
	uint16_t client_port, service_port;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct entry) == 64, "a cache line each");

struct tg_fragments {
	struct entry bucket[TG_FRAGMENT_BUCKETS][TG_FRAGMENT_WAYS];
};

struct tg_fragments *tg_fragments_create(int socket)
{
	return tg_mem_zalloc("fragments", sizeof(struct tg_fragments), 64, socket);
}

void tg_fragments_free(struct tg_fragments *t)
{
	tg_mem_free(t);
}

static bool datagram_of(const struct rte_mbuf *m, const struct tg_pkt *p, struct datagram *d)
{
	uint32_t id = 0;

	if ((p->flags & TG_PKT_V6) == 0)
		memcpy(&id, rte_pktmbuf_mtod_offset(m, const uint8_t *, p->l3_off + 4), 2);
	else if (!tg_parse_fragment_id(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, p, &id))
		return false;
	*d = (struct datagram){
		.key = {.client = p->key.client,
			.client_port = (uint16_t)id,
			.service_port = (uint16_t)(id >> 16),
			.protocol = p->key.protocol,
			.flags = TG_KEY_FRAGMENT},
		.dst = p->dst,
	};
	return true;
}

static bool is_of(const struct entry *e, const struct datagram *d)
{
	return e->arrival != 0 && tg_key_eq(&e->datagram.key, &d->key) &&
	       tg_addr_eq(&e->datagram.dst, &d->dst);
}

/* Takes the place of an entry of the same identification, or of the oldest. */
static void remember(struct entry *bucket, const struct datagram *d, const struct tg_pkt *p,
		     uint64_t arrival)
{
	struct entry *e = bucket;

	for (unsigned int i = 0; i < TG_FRAGMENT_WAYS; i++) {
		if (is_of(&bucket[i], d)) {
			e = &bucket[i];
			break;
		}
		if (bucket[i].arrival < e->arrival)
			e = &bucket[i];
	}
	*e = (struct entry){
		.datagram = *d,
		.arrival = arrival | 1,
		.client_port = p->key.client_port,
		.service_port = p->key.service_port,
	};
}

static const struct entry *recall(const struct tg_worker *w, const struct entry *bucket,
				  const struct datagram *d, uint64_t arrival)
{
	for (unsigned int i = 0; i < TG_FRAGMENT_WAYS; i++)
		if (is_of(&bucket[i], d))
			return arrival < bucket[i].arrival +
						       tg_s_to_ticks(&w->clock, TG_FRAGMENT_LIFE_S)
				       ? &bucket[i]
				       : NULL;
	return NULL;
}

/* The parser reads no transport header of a fragment. What the first one has of it; not whole: nobody
 * sends that but to get past filters (RFC 1858). */
static bool read_first(const struct rte_mbuf *m, struct tg_pkt *p)
{
	const uint8_t *l4 = rte_pktmbuf_mtod_offset(m, const uint8_t *, p->l4_off);
	bool tcp = p->key.protocol == IPPROTO_TCP;
	unsigned int len = tcp ? TCP_LEN : UDP_LEN;
	uint32_t seq, ack;

	if (p->l4_off + len > m->data_len || p->payload_len < len)
		return false;
	if (tcp)
		len = (l4[12] >> 4) * 4u;
	if (len < UDP_LEN || p->payload_len < len)
		return false;
	memcpy(&p->key.client_port, l4, 2);
	memcpy(&p->key.service_port, l4 + 2, 2);
	p->payload_len = (uint16_t)(p->payload_len - len);
	if (!tcp)
		return true;
	memcpy(&seq, l4 + 4, sizeof(seq));
	memcpy(&ack, l4 + 8, sizeof(ack));
	p->tcp_flags = l4[13];
	p->seq = rte_be_to_cpu_32(seq);
	p->ack = p->tcp_flags & TG_TCP_ACK ? rte_be_to_cpu_32(ack) : 0;
	return len >= TCP_LEN;
}

static void settle(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	struct tg_pkt *p = &b->pkt[i];
	const struct entry *first;
	struct entry *bucket;
	struct datagram d;

	if (!tg_has_ports(p->key.protocol)) {
		p->key.flags &= (uint8_t)~TG_KEY_FRAGMENT;
		return;
	}
	if (!datagram_of(b->mbuf[i], p, &d))
		return;
	bucket = w->fragments->bucket[tg_flow_hash(w->flows, &d.key) % TG_FRAGMENT_BUCKETS];
	if ((p->flags & TG_PKT_LATER) == 0) {
		if (!read_first(b->mbuf[i], p)) {
			tg_drop(b, i, TG_DROP_L4_HEADER);
			return;
		}
		remember(bucket, &d, p, b->arrival[i]);
	} else {
		first = recall(w, bucket, &d, b->arrival[i]);
		if (first == NULL)
			return;
		p->key.client_port = first->client_port;
		p->key.service_port = first->service_port;
	}
	p->key.flags &= (uint8_t)~TG_KEY_FRAGMENT;
}

void tg_fragments_burst(struct tg_worker *w, struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_FORWARD && (b->pkt[i].flags & TG_PKT_FRAGMENT))
			settle(w, b, i);
}
