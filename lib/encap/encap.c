/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_encap.h"

#include <netinet/in.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#define TAG_LEN      sizeof(struct rte_vlan_hdr)
#define V4_LEN       sizeof(struct rte_ipv4_hdr)
#define V6_LEN       sizeof(struct rte_ipv6_hdr)
#define OUTER_TTL    64
#define VLAN_ID_MASK 0x0fff

static const char *const names[] = {[TG_FORWARD_L2] = "l2", [TG_FORWARD_IPIP] = "ipip"};

const char *tg_forward_name(enum tg_forward f)
{
	return (unsigned int)f < TG_FORWARD_COUNT ? names[f] : NULL;
}

static inline unsigned int overhead(const struct tg_route *r)
{
	if (r->forward != TG_FORWARD_IPIP)
		return 0;
	return tg_addr_is_v4(&r->remote) ? V4_LEN : V6_LEN;
}

unsigned int tg_encap_overhead(const struct tg_route *r)
{
	return overhead(r);
}

/* What the outer header takes over from the inner one. */
struct inner {
	uint8_t protocol; /* as the payload of an IP packet */
	uint8_t tos;      /* DSCP and ECN */
	bool df;
};

static inline struct inner inner_read(const void *ip, bool v6)
{
	const struct rte_ipv6_hdr *h6 = ip;
	const struct rte_ipv4_hdr *h4 = ip;
	struct inner in;

	if (v6) {
		in.protocol = IPPROTO_IPV6;
		in.tos = (uint8_t)(rte_be_to_cpu_32(h6->vtc_flow) >> RTE_IPV6_HDR_TC_SHIFT);
		in.df = true; /* IPv6 is never fragmented on its way */
	} else {
		in.protocol = IPPROTO_IPIP;
		in.tos = h4->type_of_service;
		in.df = (h4->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG)) != 0;
	}
	return in;
}

/* Written in words where the struct has ten fields: stores are what this costs. The checksum is
 * summed up from the same words (the order of bytes does not matter to it, RFC 1071 section 2). */
static inline void outer_v4(struct rte_ipv4_hdr *h, const struct tg_route *r, struct inner in,
			    uint16_t ip_len, uint16_t *outer_id)
{
	uint16_t fragment = in.df ? RTE_IPV4_HDR_DF_FLAG : 0, id = in.df ? 0 : (*outer_id)++;
	uint64_t sum, head; /* version to fragment offset */
	uint32_t src, dst;
	uint16_t life; /* TTL and protocol */

	head = rte_cpu_to_be_64((uint64_t)RTE_IPV4_VHL_DEF << 56 | (uint64_t)in.tos << 48 |
				(uint64_t)(ip_len + V4_LEN) << 32 | (uint32_t)id << 16 | fragment);
	life = rte_cpu_to_be_16((uint16_t)(OUTER_TTL << 8 | in.protocol));
	memcpy(&src, &r->local.b[12], sizeof(src));
	memcpy(&dst, &r->remote.b[12], sizeof(dst));
	sum = (head & UINT32_MAX) + (head >> 32) + life + src + dst;
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	memcpy(h, &head, sizeof(head));
	memcpy(&h->time_to_live, &life, sizeof(life));
	h->hdr_checksum = (uint16_t)~sum;
	h->src_addr = src;
	h->dst_addr = dst;
}

static inline void outer_v6(struct rte_ipv6_hdr *h, const struct tg_route *r, struct inner in,
			    uint16_t ip_len)
{
	uint32_t tc = (uint32_t)in.tos << RTE_IPV6_HDR_TC_SHIFT;

	h->vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28 | tc);
	h->payload_len = rte_cpu_to_be_16(ip_len);
	h->proto = in.protocol;
	h->hop_limits = OUTER_TTL;
	memcpy(h->src_addr, r->local.b, sizeof(h->src_addr));
	memcpy(h->dst_addr, r->remote.b, sizeof(h->dst_addr));
}

/* One less, and the checksum with it (RFC 1624, equation 3: ~(~HC + ~m + m') is HC + 0x0100 with
 * the carry brought round). */
static inline void ttl_decrement(void *ip, bool v6)
{
	struct rte_ipv6_hdr *h6 = ip;
	struct rte_ipv4_hdr *h4 = ip;
	uint32_t sum;

	if (v6) {
		h6->hop_limits--;
		return;
	}
	sum = (uint32_t)h4->hdr_checksum + rte_cpu_to_be_16(0x0100);
	h4->hdr_checksum = (uint16_t)(sum + (sum >= 0xffff));
	h4->time_to_live--;
}

/* Both addresses in two stores. */
static inline void macs_write(uint8_t *frame, const struct tg_route *r, uint64_t mac)
{
	uint16_t head;
	uint64_t first;

	memcpy(&head, r->src_mac, sizeof(head));
	first = (rte_cpu_to_le_64(mac) & rte_cpu_to_le_64((UINT64_C(1) << 48) - 1)) |
		rte_cpu_to_le_64((uint64_t)rte_le_to_cpu_16(head) << 48);
	memcpy(frame, &first, sizeof(first));
	memcpy(frame + sizeof(first), r->src_mac + sizeof(head), RTE_ETHER_ADDR_LEN - sizeof(head));
}

/* The one tag the route asks for. */
static inline void tag_write(uint8_t *frame, const struct tg_route *r, const struct tg_pkt *p)
{
	uint16_t priority = p->flags & TG_PKT_VLAN ? p->vlan & (uint16_t)~VLAN_ID_MASK : 0;
	uint32_t tag = rte_cpu_to_be_32((uint32_t)RTE_ETHER_TYPE_VLAN << 16 | priority | r->vlan);

	memcpy(frame + 2 * RTE_ETHER_ADDR_LEN, &tag, sizeof(tag));
}

/* Cuts what lies behind the first len bytes of the frame: Ethernet padding or a trailer, at worst
 * spread over several buffers. */
static __rte_noinline void trim(struct rte_mbuf *m, uint32_t len)
{
	struct rte_mbuf *s = m, *rest;
	uint16_t segments = 1;

	m->pkt_len = len;
	while (len > s->data_len) {
		len -= s->data_len;
		s = s->next;
		segments++;
	}
	s->data_len = (uint16_t)len;
	rest = s->next;
	s->next = NULL;
	m->nb_segs = segments;
	while (rest != NULL) {
		s = rest->next;
		rte_pktmbuf_free_seg(rest);
		rest = s;
	}
}

/* Everything in front of ip, which is the outer header, or the inner one if there is none. old is
 * the frame as it came: its tags move along when the route has none of its own. */
static __rte_always_inline void link_write(uint8_t *ip, unsigned int l2, const uint8_t *old,
					   const struct tg_route *r, const struct tg_pkt *p,
					   uint64_t mac, uint16_t type, bool tagged)
{
	uint8_t *frame = ip - l2;
	uint64_t tags;

	if (tagged) {
		tag_write(frame, r, p);
	} else {
		/* two at most; what they do not fill the headers behind overwrite */
		memcpy(&tags, old + 2 * RTE_ETHER_ADDR_LEN, sizeof(tags));
		memcpy(frame + 2 * RTE_ETHER_ADDR_LEN, &tags, sizeof(tags));
	}
	macs_write(frame, r, mac);
	memcpy(ip - sizeof(type), &type, sizeof(type));
}

/* The frame gets outer bytes of IP header and, if tagged, the route's tag in place of its own. Both
 * are constants where this is called, so each of the six forms has only its own work. */
static __rte_always_inline enum tg_reason rewrite(const struct tg_route *r, struct rte_mbuf *m,
						  const struct tg_pkt *p, uint64_t mac,
						  uint16_t *outer_id, unsigned int outer,
						  bool tagged)
{
	unsigned int l3_off = p->l3_off, l2 = tagged ? RTE_ETHER_HDR_LEN + TAG_LEN : l3_off;
	uint8_t *old = rte_pktmbuf_mtod(m, uint8_t *), *ip = old + l3_off;
	bool v6 = (p->flags & TG_PKT_V6) != 0;
	uint32_t end = l3_off + (uint32_t)p->ip_len, more = outer + l2 - l3_off;
	uint16_t type;

	if (p->ip_len + outer > r->mtu || l2 + outer > l3_off + m->data_off)
		return TG_DROP_TOO_BIG;
	if (r->decrement_ttl)
		ttl_decrement(ip, v6);
	if (outer == 0 && !tagged) {
		macs_write(old, r, mac);
		return TG_DROP_NONE;
	}
	type = rte_cpu_to_be_16(outer == V4_LEN ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
	if (outer == 0)
		memcpy(&type, ip - sizeof(type), sizeof(type));
	/* First the link header, which reads the old one, then the outer one over that. */
	link_write(ip - outer, l2, old, r, p, mac, type, tagged);
	if (outer != 0 && m->pkt_len > end)
		trim(m, end);
	if (outer == V4_LEN)
		outer_v4((void *)(ip - outer), r, inner_read(ip, v6), p->ip_len, outer_id);
	else if (outer == V6_LEN)
		outer_v6((void *)(ip - outer), r, inner_read(ip, v6), p->ip_len);
	m->data_off = (uint16_t)(m->data_off - more);
	m->data_len = (uint16_t)(m->data_len + more);
	m->pkt_len += more;
	return TG_DROP_NONE;
}

static __rte_always_inline enum tg_reason encap(const struct tg_route *r, struct rte_mbuf *m,
						const struct tg_pkt *p, uint16_t *outer_id)
{
	uint64_t mac = r->mac != NULL ? __atomic_load_n(r->mac, __ATOMIC_RELAXED) : 0;
	unsigned int outer = overhead(r);

	if (!(mac & TG_MAC_VALID))
		return TG_DROP_NO_ROUTE;
	if (r->decrement_ttl && p->ttl <= 1)
		return TG_DROP_TTL;
	if (outer == 0)
		return r->vlan == 0 ? rewrite(r, m, p, mac, outer_id, 0, false)
				    : rewrite(r, m, p, mac, outer_id, 0, true);
	if (outer == V4_LEN)
		return r->vlan == 0 ? rewrite(r, m, p, mac, outer_id, V4_LEN, false)
				    : rewrite(r, m, p, mac, outer_id, V4_LEN, true);
	return r->vlan == 0 ? rewrite(r, m, p, mac, outer_id, V6_LEN, false)
			    : rewrite(r, m, p, mac, outer_id, V6_LEN, true);
}

enum tg_reason tg_encap(const struct tg_route *r, struct rte_mbuf *m, const struct tg_pkt *p,
			uint16_t *outer_id)
{
	return encap(r, m, p, outer_id);
}

void tg_encap_burst(const struct tg_route *routes, struct tg_burst *b, uint16_t *outer_id)
{
	/* in a register: a packet's does not wait for the store of the one before */
	uint16_t id = *outer_id;

	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_route *r;
		enum tg_reason why;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		r = &routes[b->server[i]];
		why = encap(r, b->mbuf[i], &b->pkt[i], &id);
		if (why != TG_DROP_NONE)
			tg_drop(b, i, why);
		else
			b->out_port[i] = r->out_port;
	}
	*outer_id = id;
}
