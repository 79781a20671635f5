/* SPDX-License-Identifier: BSD-3-Clause */
#include "entrance.h"

#include <rte_ip.h>
#include <rte_mbuf.h>

/* Unspecified, loopback, multicast, broadcast, or the destination itself. */
static bool impossible_source(const struct tg_pkt *p)
{
	static const struct tg_addr none, loopback = {{[15] = 1}};
	const struct tg_addr *a = &p->key.client;

	if (tg_addr_eq(a, &p->dst))
		return true;
	if (!(p->flags & TG_PKT_V6))
		return a->b[12] == 0 || a->b[12] == 127 || a->b[12] >= 224;
	return a->b[0] == 0xff || tg_addr_eq(a, &none) || tg_addr_eq(a, &loopback);
}

/* Do all words of the header and its checksum add up to 0xffff (RFC 791, RFC 1071)? The usual one
 * has five words of four bytes: carries are brought round at the end. */
static inline bool adds_up(const uint8_t *header)
{
	uint32_t w[5];
	uint64_t sum;

	if (unlikely(header[0] != RTE_IPV4_VHL_DEF))
		return rte_raw_cksum(header, (header[0] & 15u) * 4u) == 0xffff;
	memcpy(w, header, sizeof(w));
	sum = (uint64_t)w[0] + w[1] + w[2] + w[3] + w[4];
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* The port may have looked already. */
static bool wrong_checksum(const struct rte_mbuf *m, const struct tg_pkt *p)
{
	const uint8_t *h = rte_pktmbuf_mtod_offset(m, const uint8_t *, p->l3_off);
	uint64_t seen = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;

	if ((p->flags & TG_PKT_V6) || seen == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
		return false;
	return !adds_up(h);
}

static enum tg_reason refuse(const uint8_t *mac, const struct rte_mbuf *m, const struct tg_pkt *p)
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

	for (unsigned int i = 0; i < b->n; i++) {
		enum tg_reason why;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		why = refuse(mac, b->mbuf[i], &b->pkt[i]);
		if (why != TG_DROP_NONE)
			tg_drop(b, i, why);
	}
}
