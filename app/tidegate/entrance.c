/* SPDX-License-Identifier: BSD-3-Clause */
#include "entrance.h"

#include <rte_ether.h>
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
	/* nor an IPv4 address in disguise (RFC 4291 2.5.5.2), whose client it would pass for */
	return a->b[0] == 0xff || tg_addr_is_v4(a) || tg_addr_eq(a, &none) ||
	       tg_addr_eq(a, &loopback);
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

/* The usual packet, in few comparisons: to this station, from one, and IPv4. word: the first eight bytes
 * of a frame to `mac`, the low seven of which matter, the last of these for its lowest bit alone. */
#define FOR_US ((UINT64_C(1) << 49) - 1)

static inline bool is_fine(uint64_t word, const struct rte_mbuf *m, const struct tg_pkt *p)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *ip = frame + p->l3_off;
	uint8_t net = p->key.client.b[12];
	uint64_t first;
	uint32_t to;

	memcpy(&first, frame, sizeof(first));
	memcpy(&to, &p->dst.b[12], sizeof(to));
	return (rte_le_to_cpu_64(first ^ word) & FOR_US) == 0 &&
	       (p->flags & (TG_PKT_V6 | TG_PKT_ARP | TG_PKT_ND)) == 0 && net != 0 && net != 127 &&
	       net < 224 && memcmp(&p->key.client.b[12], &to, 4) != 0 &&
	       ((m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD ||
		adds_up(ip));
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
	uint64_t word = 0;

	memcpy(&word, mac, RTE_ETHER_ADDR_LEN);
	for (unsigned int i = 0; i < b->n; i++) {
		enum tg_reason why;

		if (b->verdict[i] != TG_FORWARD || likely(is_fine(word, b->mbuf[i], &b->pkt[i])))
			continue;
		why = refuse(mac, b->mbuf[i], &b->pkt[i]);
		if (why != TG_DROP_NONE)
			tg_drop(b, i, why);
	}
}
