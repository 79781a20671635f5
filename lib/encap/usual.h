/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The usual packet on the usual route, straight through: untagged IPv4 in one buffer, into IPv4 by ipip, gre, or
 * gue without alternatives. What the packets of a route have in common is in its `quick`
 * (tg_encap_prepare). Private to this stage.
 *
 *   0            8   12  14   16  18  20     22   24    26               34
 *  | MACs           |type|4 5|tos|len|ident.|frag|TTL|p|csum|source, dest.| shim, inner header
 *   \_ first ______/\_ link ______/ head ________/          \_ addresses _/
 *
 * It refuses nothing: what does not fit in every way is for the general code, which knows the reasons. The two
 * give the same bytes, and tests hold them against each other.
 */
#ifndef TG_ENCAP_USUAL_H
#define TG_ENCAP_USUAL_H

#include <rte_branch_prediction.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "gre.h"
#include "gue.h"

/* Places in an IPv4 header. */
#define V4_TOS      1
#define V4_FRAGMENT 6
#define V4_DF       0x40

/* The sum of two 16-bit words (RFC 1071): they are added to each other, and come out in the upper half with their
 * carry brought round. */
static inline uint16_t usual_fold(uint32_t sum)
{
	return (uint16_t)((sum + (sum << 16 | sum >> 16)) >> 16);
}

static inline unsigned int usual_shim(enum tg_forward forward)
{
	if (forward == TG_FORWARD_GUE)
		return sizeof(struct rte_udp_hdr) + GUE_HEADER_LEN;
	return forward == TG_FORWARD_GRE ? GRE_LEN : 0;
}

static inline uint8_t usual_protocol(enum tg_forward forward)
{
	if (forward == TG_FORWARD_GUE)
		return IPPROTO_UDP;
	return forward == TG_FORWARD_GRE ? IPPROTO_GRE : IPPROTO_IPIP;
}

static __rte_always_inline bool usual_fits(const struct tg_route *r, const struct rte_mbuf *m,
					   const struct tg_pkt *p, uint32_t len, unsigned int front)
{
	return len <= r->quick.most && p->l3_off == RTE_ETHER_HDR_LEN &&
	       (p->flags & TG_PKT_V6) == 0 && p->ttl > r->decrement_ttl && m->data_off >= front &&
	       m->nb_segs == 1 && m->data_len >= RTE_ETHER_HDR_LEN + len;
}

/* One less, and the checksum with it (RFC 1624, equation 3: ~(~HC + ~m + m') is HC + 0x0100 with the carry
 * brought round), in the word that both are in. */
static inline void usual_decrement(struct rte_ipv4_hdr *ip)
{
	uint32_t word;

	memcpy(&word, &ip->time_to_live, sizeof(word));
	word = rte_le_to_cpu_32(word);
	word += (word >= 0xfffe0000 ? 0x20000 : 0x10000) - 1;
	word = rte_cpu_to_le_32(word);
	memcpy(&ip->time_to_live, &word, sizeof(word));
}

/* False: nothing was done. forward is a constant where this is called. *hash: gue's. */
static __rte_always_inline bool encap_usual(const struct tg_route *r, struct rte_mbuf *m,
					    const struct tg_pkt *p, const uint64_t *hash,
					    enum tg_forward forward, uint16_t *outer_id)
{
	const unsigned int shim = usual_shim(forward), front = V4_LEN + shim;
	uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *) + RTE_ETHER_HDR_LEN;
	struct rte_ipv4_hdr *h = (void *)(ip - front);
	uint32_t len = p->ip_len, kind, fragment = rte_cpu_to_be_32(RTE_IPV4_HDR_DF_FLAG), sum;
	uint64_t mac;

	if (unlikely(!usual_fits(r, m, p, len, front)))
		return false;
	mac = __atomic_load_n(r->mac, __ATOMIC_RELAXED);
	if (unlikely(!(mac & TG_MAC_VALID)))
		return false;
	if (unlikely((ip[V4_FRAGMENT] & V4_DF) == 0))
		fragment = rte_cpu_to_be_32((uint32_t)(*outer_id)++ << 16);
	kind = rte_cpu_to_be_32((uint32_t)RTE_IPV4_VHL_DEF << 24 | (uint32_t)ip[V4_TOS] << 16 |
				(len + front));
	sum = kind + (fragment + r->quick.sum);
	sum += sum < kind; /* the carry, brought round */
	if (likely(r->decrement_ttl))
		usual_decrement((void *)ip);
	mac = rte_cpu_to_le_64(mac << 16 >> 16) | r->quick.first;
	memcpy((uint8_t *)h - RTE_ETHER_HDR_LEN, &mac, sizeof(mac));
	memcpy((uint8_t *)h - RTE_ETHER_HDR_LEN + sizeof(mac), &r->quick.link, sizeof(uint64_t));
	memcpy(h, &kind, sizeof(kind));
	memcpy(&h->packet_id, &fragment, sizeof(fragment));
	memcpy(&h->time_to_live, &r->quick.life, sizeof(uint16_t));
	h->hdr_checksum = (uint16_t)~usual_fold(sum);
	memcpy(&h->src_addr, &r->quick.addresses, sizeof(uint64_t));
	if (forward == TG_FORWARD_GRE)
		gre_write(ip - shim, false);
	else if (forward == TG_FORWARD_GUE)
		gue_write(ip - shim, &(struct tg_gue){.hash = *hash}, true, IPPROTO_IPIP,
			  (uint16_t)len);
	m->data_off = (uint16_t)(m->data_off - front);
	m->data_len = (uint16_t)(RTE_ETHER_HDR_LEN + len + front); /* without padding */
	m->pkt_len = RTE_ETHER_HDR_LEN + len + front;
	return true;
}

#endif
