/* SPDX-License-Identifier: BSD-3-Clause */
#include "entrance.h"

/* Unspecified, loopback, multicast, broadcast, or the destination itself. */
static bool impossible_source(const struct tg_pkt *p)
{
	static const struct tg_addr none, loopback = {{[15] = 1}};
	const struct tg_addr *a = &p->key.client;

	if (tg_addr_eq(a, &p->dst))
		return true;
	if (!(p->flags & TG_PKT_V6))
		return a->b[12] == 0 || a->b[12] == 127 || a->b[12] >= 224;
	/* nor an IPv4 address in disguise (RFC 4291 2.5.5.2), whose client it would pass for */
	return a->b[0] == 0xff || tg_addr_is_v4(a) || tg_addr_eq(a, &none) ||
	       tg_addr_eq(a, &loopback);
}

/* The port may have looked already. */
static bool wrong_checksum(const struct rte_mbuf *m, const struct tg_pkt *p)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(m, const uint8_t *, p->l3_off);
	uint64_t seen = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;

	if ((p->flags & TG_PKT_V6) || seen == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
		return false;
	return !tg_entrance_adds_up(h, false);
}

static inline bool is_fine(uint64_t station, const struct rte_mbuf *m, const struct tg_pkt *p)
{
	return (p->flags & (TG_PKT_V6 | TG_PKT_ARP | TG_PKT_ND)) == 0 &&
	       tg_entrance_fine(station, m, rte_pktmbuf_mtod(m, const uint8_t *), p, false);
}

/* What is not: why? */
static __rte_noinline enum tg_reason refuse(const uint8_t *mac, const struct rte_mbuf *m,
					    const struct tg_pkt *p)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (frame[6] & 1) /* a group sends nothing */
		return TG_DROP_SOURCE;
	if (memcmp(frame, mac, 6) != 0) {
		if ((frame[0] & 1) == 0)
			return TG_DROP_NOT_OURS;
		if (!(p->flags & (TG_PKT_ARP | TG_PKT_ND)))
			return TG_DROP_MULTICAST;
	}
	if (p->flags & (TG_PKT_ARP | TG_PKT_ND)) /* neigh knows its own rules */
		return TG_DROP_NONE;
	if (impossible_source(p))
		return TG_DROP_SOURCE;
	return wrong_checksum(m, p) ? TG_DROP_CHECKSUM : TG_DROP_NONE;
}

void tg_entrance(const struct tg_worker *w, struct tg_burst *b)
{
	const uint8_t *mac = w->ports[b->port].mac;
	uint64_t station = tg_entrance_station(mac);

	for (unsigned int i = 0; i < b->n; i++) {
		enum tg_reason why;

		if (b->verdict[i] != TG_FORWARD || likely(is_fine(station, b->mbuf[i], &b->pkt[i])))
			continue;
		why = refuse(mac, b->mbuf[i], &b->pkt[i]);
		if (why != TG_DROP_NONE)
			tg_drop(b, i, why);
	}
}
