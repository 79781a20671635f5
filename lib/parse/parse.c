/* SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "usual.h"

#define VLAN_TAGS_MAX       2
#define TYPE_QINQ_OLD       0x9100 /* outer tag of switches older than 802.1ad */
#define TYPE_MPLS           0x8847
#define TYPE_MPLS_MULTICAST 0x8848
#define ARP_LEN             28 /* RFC 826 for Ethernet and IPv4 */
#define IP4_HEADER          20
#define IP6_HEADER          40
#define IP4_OPTION_LSRR     131
#define IP4_OPTION_SSRR     137
#define PREFETCH_AHEAD      4

static bool is_vlan(uint16_t type)
{
	return type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ || type == TYPE_QINQ_OLD;
}

/* Ethernet II and its tags, up to the network header: *off and *type are that. */
static enum tg_reason read_link(const struct frame *f, uint32_t *off, uint16_t *type,
				struct tg_pkt *out)
{
	uint32_t o = RTE_ETHER_HDR_LEN;

	if (!frame_has(f, 0, o))
		return TG_DROP_FRAME_SHORT;
	*type = frame_be16(f, o - 2);
	for (unsigned int tags = 0; unlikely(is_vlan(*type)); tags++) {
		if (tags == VLAN_TAGS_MAX)
			return TG_DROP_VLAN_DEPTH;
		if (!frame_has(f, o, 4))
			return TG_DROP_FRAME_SHORT;
		if (tags == 0) {
			out->flags |= TG_PKT_VLAN;
			out->vlan = frame_be16(f, o);
		}
		*type = frame_be16(f, o + 2);
		o += 4;
	}
	*off = o;
	out->l3_off = (uint8_t)o;
	return TG_DROP_NONE;
}

/* RFC 791 section 3.1. A source route names stations that are not ours to choose. */
static enum tg_reason read_ip4_options(const struct frame *f, uint32_t off, uint32_t end)
{
	while (off < end && f->data[off] != 0) {
		uint8_t kind = f->data[off];

		if (kind == 1) {
			off++;
			continue;
		}
		if (kind == IP4_OPTION_LSRR || kind == IP4_OPTION_SSRR)
			return TG_DROP_IP_OPTIONS;
		if (end - off < 2 || f->data[off + 1] < 2 || f->data[off + 1] > end - off)
			return TG_DROP_IP_HEADER;
		off += f->data[off + 1];
	}
	return TG_DROP_NONE;
}

static enum tg_reason read_ip4(struct frame *f, uint32_t off, struct tg_pkt *out)
{
	const uint8_t *ip = f->data + off;
	uint32_t header, total, src, dst;
	enum tg_reason why;
	uint16_t fragment;

	if (!frame_has(f, off, IP4_HEADER))
		return TG_DROP_FRAME_SHORT;
	header = (ip[0] & 0x0fu) * 4;
	if (ip[0] >> 4 != 4 || header < IP4_HEADER)
		return TG_DROP_IP_HEADER;
	total = frame_be16(f, off + 2);
	if (total < header || total > f->wire_len - off)
		return TG_DROP_IP_LENGTH;
	if (header > IP4_HEADER) {
		if (!frame_has(f, off, header))
			return TG_DROP_FRAME_SHORT;
		why = read_ip4_options(f, off + IP4_HEADER, off + header);
		if (why != TG_DROP_NONE)
			return why;
	}
	memcpy(&src, ip + 12, sizeof(src));
	memcpy(&dst, ip + 16, sizeof(dst));
	out->key.client = tg_addr_from_v4(src);
	out->dst = tg_addr_from_v4(dst);
	out->key.protocol = ip[9];
	out->ttl = ip[8];
	out->ip_len = (uint16_t)total;
	f->end = off + total;
	fragment = frame_be16(f, off + 6) & 0x3fff; /* more fragments, and the offset */
	if (fragment != 0)
		frame_is_fragment(out, (fragment & 0x1fff) != 0);
	return tg_parse_transport(f, off + header, out);
}

static enum tg_reason read_ip6(struct frame *f, uint32_t off, struct tg_pkt *out)
{
	const uint8_t *ip = f->data + off;
	uint32_t payload;
	enum tg_reason why;

	out->flags |= TG_PKT_V6;
	if (!frame_has(f, off, IP6_HEADER))
		return TG_DROP_FRAME_SHORT;
	if (ip[0] >> 4 != 6)
		return TG_DROP_IP_HEADER;
	payload = frame_be16(f, off + 4);
	/* length 0 before hop-by-hop options: a jumbogram (RFC 2675), longer than any frame here */
	if (IP6_HEADER + payload > f->wire_len - off || IP6_HEADER + payload > UINT16_MAX ||
	    (payload == 0 && ip[6] == IPPROTO_HOPOPTS))
		return TG_DROP_IP_LENGTH;
	memcpy(out->key.client.b, ip + 8, 16);
	memcpy(out->dst.b, ip + 24, 16);
	out->key.protocol = ip[6];
	out->ttl = ip[7];
	out->ip_len = (uint16_t)(IP6_HEADER + payload);
	f->end = off + IP6_HEADER + payload;
	off += IP6_HEADER;
	why = tg_parse_ip6_extensions(f, &off, out);
	return why == TG_DROP_NONE ? tg_parse_transport(f, off, out) : why;
}

enum tg_reason tg_parse_any(const uint8_t *data, uint32_t len, uint32_t wire_len,
			    struct tg_pkt *out)
{
	struct frame f = {.data = data, .len = len, .wire_len = wire_len};
	enum tg_reason why;
	uint16_t type = 0;
	uint32_t off = 0;

	*out = (struct tg_pkt){
		.key.service = TG_NO_SERVICE,
		.flags = len < wire_len ? TG_PKT_CUT : 0,
	};
	why = read_link(&f, &off, &type, out);
	if (why != TG_DROP_NONE)
		return why;
	switch (type) {
	case RTE_ETHER_TYPE_IPV4:
		return read_ip4(&f, off, out);
	case RTE_ETHER_TYPE_IPV6:
		return read_ip6(&f, off, out);
	case RTE_ETHER_TYPE_ARP:
		out->flags |= TG_PKT_ARP;
		return frame_has(&f, off, ARP_LEN) ? TG_DROP_NONE : TG_DROP_FRAME_SHORT;
	case TYPE_MPLS:
	case TYPE_MPLS_MULTICAST:
		return TG_DROP_MPLS;
	default:
		return TG_DROP_NOT_IP;
	}
}

enum tg_reason tg_parse(const uint8_t *data, uint32_t len, uint32_t wire_len, struct tg_pkt *out)
{
	const struct frame f = {.data = data, .len = len, .wire_len = wire_len};

	return likely(parse_usual(&f, out)) ? TG_DROP_NONE : tg_parse_any(data, len, wire_len, out);
}

/* A frame of several buffers, parsed by its first: the headers must be in that. */
static enum tg_reason check_segments(const struct rte_mbuf *m, uint32_t wire_len,
				     enum tg_reason why, struct tg_pkt *p)
{
	if (why == TG_DROP_FRAME_SHORT)
		return TG_DROP_SEGMENTED;
	if (why == TG_DROP_NONE && p->key.protocol == IPPROTO_TCP &&
	    !(p->flags & TG_PKT_FRAGMENT) && p->l3_off + p->ip_len - p->payload_len > m->data_len)
		return TG_DROP_SEGMENTED; /* in the middle of the options */
	if (m->pkt_len >= wire_len)
		p->flags &= (uint16_t)~TG_PKT_CUT;
	return why;
}

/* Not the usual frame. */
static __rte_noinline void parse_other(struct tg_burst *b, unsigned int i)
{
	const struct rte_mbuf *m = b->mbuf[i];
	enum tg_reason why = tg_parse_any(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len,
					  b->wire_len[i], &b->pkt[i]);

	if (m->nb_segs > 1)
		why = check_segments(m, b->wire_len[i], why, &b->pkt[i]);
	if (why != TG_DROP_NONE)
		tg_drop(b, i, why);
	b->fragments |= (b->pkt[i].flags & TG_PKT_FRAGMENT) != 0;
}

void tg_parse_burst(struct tg_burst *b)
{
	b->fragments = false;
	for (unsigned int i = 0; i < b->n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(b->mbuf[i], void *));
	for (unsigned int i = 0; i < b->n; i++) {
		const struct rte_mbuf *m = b->mbuf[i];
		const struct frame f = {
			.data = rte_pktmbuf_mtod(m, const uint8_t *),
			.len = m->data_len,
			.wire_len = b->wire_len[i],
		};

		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->mbuf[i + PREFETCH_AHEAD], void *));
		if (b->verdict[i] == TG_FORWARD && unlikely(!parse_usual(&f, &b->pkt[i])))
			parse_other(b, i);
	}
}
