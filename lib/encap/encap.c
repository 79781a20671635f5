/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_encap.h"

#include <rte_branch_prediction.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "usual.h"

#define TAG_LEN      sizeof(struct rte_vlan_hdr)
#define VLAN_ID_MASK 0x0fff

static const char *const names[] = {
	[TG_FORWARD_L2] = "l2",
	[TG_FORWARD_IPIP] = "ipip",
	[TG_FORWARD_GRE] = "gre",
	[TG_FORWARD_GUE] = "gue",
};

const char *tg_forward_name(enum tg_forward f)
{
	return (unsigned int)f < TG_FORWARD_COUNT ? names[f] : NULL;
}

/* What stands between the outer IP header and the inner packet. */
static inline unsigned int shim_len(enum tg_forward forward, unsigned int alternatives, bool v4)
{
	if (forward == TG_FORWARD_GUE)
		return gue_len(alternatives, v4);
	return forward == TG_FORWARD_GRE ? GRE_LEN : 0;
}

unsigned int tg_encap_overhead(const struct tg_route *r)
{
	bool v4 = tg_addr_is_v4(&r->remote);
	unsigned int ip = v4 ? V4_LEN : V6_LEN;

	if (r->forward == TG_FORWARD_L2)
		return 0;
	return ip + shim_len(r->forward, TG_ALTERNATIVES, v4);
}

void tg_encap_prepare(struct tg_route *r)
{
	bool usual = r->mac != NULL && r->vlan == 0 && r->forward != TG_FORWARD_L2 &&
		     tg_addr_is_v4(&r->remote);
	unsigned int front = V4_LEN + usual_shim(r->forward);
	struct tg_route_quick q = {0};
	uint16_t type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	uint8_t *link = (uint8_t *)&q.link;
	uint32_t sum;

	memcpy((uint8_t *)&q.first + 6, r->src_mac, 2);
	memcpy(link, r->src_mac + 2, 4);
	memcpy(link + 4, &type, sizeof(type));
	memcpy(&q.addresses, &r->local.b[12], 4);
	memcpy((uint8_t *)&q.addresses + 4, &r->remote.b[12], 4);
	q.life = rte_cpu_to_be_16((uint16_t)(OUTER_TTL << 8 | usual_protocol(r->forward)));
	sum = (uint32_t)usual_fold((uint32_t)q.addresses) +
	      usual_fold((uint32_t)(q.addresses >> 32)) + q.life; /* below 2^18 */
	q.sum = usual_fold(sum);
	if (usual && r->mtu > front)
		q.most = (uint16_t)(r->mtu - front);
	r->quick = q;
}

/* One less, and the checksum with it (RFC 1624, equation 3: ~(~HC + ~m + m') is HC + 0x0100 with
 * the carry brought round). */
static inline void ttl_decrement(void *ip, bool v6)
{
	struct rte_ipv6_hdr *h6 = ip;

	if (v6)
		h6->hop_limits--;
	else
		usual_decrement(ip);
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

static __rte_always_inline uint8_t outer_protocol(enum tg_forward forward, uint8_t inner)
{
	if (forward == TG_FORWARD_GUE)
		return IPPROTO_UDP;
	return forward == TG_FORWARD_GRE ? IPPROTO_GRE : inner;
}

/* The outer headers, between the link header and the inner packet at ip. */
static __rte_always_inline void outer_write(uint8_t *ip, const struct tg_route *r,
					    const struct tg_pkt *p, uint16_t *outer_id,
					    unsigned int outer, enum tg_forward forward,
					    const struct tg_gue *gue, unsigned int shim)
{
	bool v6 = (p->flags & TG_PKT_V6) != 0;
	struct inner in = inner_read(ip, v6);
	uint16_t len = (uint16_t)(p->ip_len + shim);
	uint8_t protocol = outer_protocol(forward, in.protocol);

	if (outer == V4_LEN)
		outer_v4((void *)(ip - shim - outer), r, in, protocol, len, outer_id);
	else
		outer_v6((void *)(ip - shim - outer), r, in, protocol, len);
	if (forward == TG_FORWARD_GUE)
		gue_write(ip - shim, gue, outer == V4_LEN, in.protocol, p->ip_len);
	else if (forward == TG_FORWARD_GRE)
		gre_write(ip - shim, v6);
}

/* The frame gets outer bytes of IP header, what forward adds to it, and, if tagged, the route's tag
 * in place of its own. outer, tagged and forward are constants where this is called, so each of the
 * forms has only its own work. gue is read for TG_FORWARD_GUE only. */
static __rte_always_inline enum tg_reason rewrite(const struct tg_route *r, struct rte_mbuf *m,
						  const struct tg_pkt *p, uint64_t mac,
						  uint16_t *outer_id, unsigned int outer,
						  enum tg_forward forward, const struct tg_gue *gue,
						  bool tagged)
{
	unsigned int l3_off = p->l3_off, l2 = tagged ? RTE_ETHER_HDR_LEN + TAG_LEN : l3_off;
	unsigned int shim = shim_len(forward, forward == TG_FORWARD_GUE ? gue->n : 0,
				     outer == V4_LEN);
	unsigned int front = outer + shim;
	uint8_t *old = rte_pktmbuf_mtod(m, uint8_t *), *ip = old + l3_off;
	uint32_t end = l3_off + (uint32_t)p->ip_len, more = front + l2 - l3_off;
	uint16_t type;

	if (unlikely(p->ip_len + front > r->mtu || l2 + front > l3_off + m->data_off))
		return TG_DROP_TOO_BIG;
	if (r->decrement_ttl)
		ttl_decrement(ip, (p->flags & TG_PKT_V6) != 0);
	if (outer == 0 && !tagged) {
		macs_write(old, r, mac);
		return TG_DROP_NONE;
	}
	type = rte_cpu_to_be_16(outer == V4_LEN ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
	if (outer == 0)
		memcpy(&type, ip - sizeof(type), sizeof(type));
	/* First the link header, which reads the old one, then the outer ones over that. */
	link_write(ip - front, l2, old, r, p, mac, type, tagged);
	if (outer != 0) {
		if (unlikely(m->pkt_len > end))
			trim(m, end);
		outer_write(ip, r, p, outer_id, outer, forward, gue, shim);
	}
	m->data_off = (uint16_t)(m->data_off - more);
	m->data_len = (uint16_t)(m->data_len + more);
	m->pkt_len += more;
	return TG_DROP_NONE;
}

static __rte_always_inline enum tg_reason either_tag(const struct tg_route *r, struct rte_mbuf *m,
						     const struct tg_pkt *p, uint64_t mac,
						     uint16_t *outer_id, unsigned int outer,
						     enum tg_forward forward,
						     const struct tg_gue *gue)
{
	return r->vlan == 0 ? rewrite(r, m, p, mac, outer_id, outer, forward, gue, false)
			    : rewrite(r, m, p, mac, outer_id, outer, forward, gue, true);
}

static __rte_always_inline enum tg_reason either_family(const struct tg_route *r,
							struct rte_mbuf *m, const struct tg_pkt *p,
							uint64_t mac, uint16_t *outer_id,
							enum tg_forward forward,
							const struct tg_gue *gue)
{
	return tg_addr_is_v4(&r->remote) ? either_tag(r, m, p, mac, outer_id, V4_LEN, forward, gue)
					 : either_tag(r, m, p, mac, outer_id, V6_LEN, forward, gue);
}

static __rte_noinline enum tg_reason by_form(const struct tg_route *r, struct rte_mbuf *m,
					     const struct tg_pkt *p, uint64_t mac,
					     const struct tg_gue *gue, uint16_t *outer_id)
{
	switch (r->forward) {
	case TG_FORWARD_IPIP:
		return either_family(r, m, p, mac, outer_id, TG_FORWARD_IPIP, NULL);
	case TG_FORWARD_GRE:
		return either_family(r, m, p, mac, outer_id, TG_FORWARD_GRE, NULL);
	case TG_FORWARD_GUE:
		return either_family(r, m, p, mac, outer_id, TG_FORWARD_GUE, gue);
	default:
		return either_tag(r, m, p, mac, outer_id, 0, TG_FORWARD_L2, NULL);
	}
}

static __rte_always_inline enum tg_reason encap_any(const struct tg_route *r, struct rte_mbuf *m,
						    const struct tg_pkt *p,
						    const struct tg_gue *gue, uint16_t *outer_id)
{
	uint64_t mac = r->mac != NULL ? __atomic_load_n(r->mac, __ATOMIC_RELAXED) : 0;

	if (unlikely(!(mac & TG_MAC_VALID)))
		return TG_DROP_NO_ROUTE;
	if (unlikely(r->decrement_ttl && p->ttl <= 1))
		return TG_DROP_TTL;
	return by_form(r, m, p, mac, gue, outer_id);
}

enum tg_reason tg_encap(const struct tg_route *r, struct rte_mbuf *m, const struct tg_pkt *p,
			const struct tg_gue *gue, uint16_t *outer_id)
{
	return encap_any(r, m, p, gue, outer_id);
}

/* What the header of packet i carries beside it. An alternative of the other family has no place
 * there. */
static inline void gue_of(const struct tg_route *routes, const struct tg_route *r,
			  const struct tg_burst *b, unsigned int i, struct tg_gue *g)
{
	g->hash = b->hash[i];
	g->n = 0;
	for (unsigned int k = 0; k < TG_ALTERNATIVES; k++) {
		uint16_t id = b->alternative[i][k];

		if (id != TG_NO_SERVER &&
		    tg_addr_is_v4(&routes[id].remote) == tg_addr_is_v4(&r->remote))
			g->next[g->n++] = &routes[id].remote;
	}
}

/* The usual packet on the usual route: done. */
static __rte_always_inline bool quickly(const struct tg_route *r, struct tg_burst *b,
					unsigned int i, uint16_t *outer_id)
{
	static const uint16_t none[TG_ALTERNATIVES] = {TG_NO_SERVER, TG_NO_SERVER};
	struct rte_mbuf *m = b->mbuf[i];
	const struct tg_pkt *p = &b->pkt[i];

	if (likely(r->forward == TG_FORWARD_IPIP))
		return encap_usual(r, m, p, NULL, TG_FORWARD_IPIP, outer_id);
	if (r->forward == TG_FORWARD_GRE)
		return encap_usual(r, m, p, NULL, TG_FORWARD_GRE, outer_id);
	return r->forward == TG_FORWARD_GUE && memcmp(b->alternative[i], none, sizeof(none)) == 0 &&
	       encap_usual(r, m, p, &b->hash[i], TG_FORWARD_GUE, outer_id);
}

/* Any other. */
static __rte_noinline enum tg_reason in_general(const struct tg_route *routes, struct tg_burst *b,
						unsigned int i, uint16_t *outer_id)
{
	const struct tg_route *r = &routes[b->server[i]];
	struct tg_gue gue = {.n = 0};

	if (r->forward == TG_FORWARD_GUE)
		gue_of(routes, r, b, i, &gue);
	return encap_any(r, b->mbuf[i], &b->pkt[i], &gue, outer_id);
}

unsigned int tg_encap_burst(const struct tg_route *routes, struct tg_burst *b, uint16_t *outer_id)
{
	unsigned int too_big = 0, n = b->n;

	for (unsigned int i = 0; i < n; i++) {
		const struct tg_route *r;
		enum tg_reason why;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		r = &routes[b->server[i]];
		if (unlikely(!quickly(r, b, i, outer_id))) {
			why = in_general(routes, b, i, outer_id);
			if (why != TG_DROP_NONE) {
				tg_drop(b, i, why);
				too_big += why == TG_DROP_TOO_BIG;
				continue;
			}
		}
		b->out_port[i] = r->out_port;
	}
	return too_big;
}
