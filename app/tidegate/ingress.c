/* SPDX-License-Identifier: BSD-3-Clause */
#include "ingress.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "entrance.h"
#include "health/health.h"
#include "tg_service.h"
#include "usual.h"

#define PREFETCH_AHEAD 4

/* The destination that was asked for last: packets of a burst go to few. */
struct destination {
	uint64_t to; /* address and port */
	uint16_t service;
};

static inline uint64_t destination_of(const struct tg_pkt *p)
{
	uint32_t address;

	memcpy(&address, &p->dst.b[12], sizeof(address));
	return (uint64_t)address << 16 | p->key.service_port;
}

/* False: for none, or it may be the answer to a health check. */
static __rte_noinline bool find(const struct tg_worker *w, const struct tg_pkt *p,
				struct destination *d)
{
	uint16_t port = rte_be_to_cpu_16(p->key.service_port);
	bool is_vip;

	if (w->snapshot->probing != NULL &&
	    (uint16_t)(port - TG_HEALTH_PORT_FIRST) < TG_HEALTH_PORTS)
		return false;
	d->service = tg_service_find(w->snapshot->services, p, &is_vip);
	d->to = d->service != TG_NO_SERVICE ? destination_of(p) : UINT64_MAX;
	return d->service != TG_NO_SERVICE;
}

static __rte_always_inline bool is_usual(const struct tg_worker *w, uint64_t station,
					 const struct rte_mbuf *m, uint32_t wire_len,
					 struct tg_pkt *p, struct destination *last)
{
	const struct frame f = {
		.data = rte_pktmbuf_mtod(m, const uint8_t *),
		.len = m->data_len,
		.wire_len = wire_len,
	};

	if (unlikely(!parse_usual(&f, p) || !tg_entrance_fine(station, m, f.data, p, true)))
		return false;
	if (unlikely(destination_of(p) != last->to) && !find(w, p, last))
		return false;
	p->key.service = last->service;
	return true;
}

static __rte_noinline void set_ahead(struct tg_burst *b, uint32_t others)
{
	for (unsigned int i = 0; i < b->n; i++)
		if ((others >> i & 1) == 0)
			b->verdict[i] = TG_AHEAD;
}

bool tg_ingress_burst(const struct tg_worker *w, struct tg_burst *b)
{
	uint64_t station = tg_entrance_station(w->ports[b->port].mac);
	struct destination last = {.to = UINT64_MAX};
	unsigned int n = b->n;
	uint32_t others = 0;

	_Static_assert(TG_BURST_MAX == 32, "a bit a packet");
	b->fragments = false;
	for (unsigned int i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(b->mbuf[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(b->mbuf[i + PREFETCH_AHEAD], void *));
		if (unlikely(!is_usual(w, station, b->mbuf[i], b->wire_len[i], &b->pkt[i], &last)))
			others |= UINT32_C(1) << i;
	}
	if (others != 0)
		set_ahead(b, others);
	return others == 0;
}

void tg_ingress_join(struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_AHEAD)
			b->verdict[i] = TG_FORWARD;
}
