/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 neighbour discovery: solicitations and advertisements (RFC 4861 section 7). */
#include <netinet/in.h>

#include <rte_ip.h>

#include "private.h"

#define ND_SOLICIT    135
#define ND_ADVERT     136
#define ND_HOP_LIMIT  255
#define ND_SOLICITED  0x40000000u
#define ND_OVERRIDE   0x20000000u
#define OPTION_SOURCE 1 /* link address of who asks */
#define OPTION_TARGET 2 /* link address of who is asked for */

/* Both messages, and the one option we write. */
struct nd {
	uint8_t type, code;
	uint16_t checksum;
	uint32_t flags;
	struct tg_addr target;
} __attribute__((packed));

struct nd_link {
	uint8_t type, units;
	uint8_t mac[6];
} __attribute__((packed));

struct nd_packet {
	struct rte_ipv6_hdr ip;
	struct nd nd;
	struct nd_link link;
} __attribute__((packed));

/* A received one: copies of the fixed parts, the option where it lies. */
struct nd_message {
	struct nd nd;
	struct tg_addr src, dst;
	const uint8_t *mac; /* NULL: no such option */
};

static bool is_multicast(const struct tg_addr *a)
{
	return a->b[0] == 0xff;
}

static bool is_unspecified(const struct tg_addr *a)
{
	static const struct tg_addr none;

	return tg_addr_eq(a, &none);
}

/* ff02::1:ffXX:XXXX (RFC 4291 section 2.7.1) */
static struct tg_addr solicited_node(const struct tg_addr *a)
{
	struct tg_addr s = {{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};

	memcpy(&s.b[13], &a->b[13], 3);
	return s;
}

/* The link address in the options at o. False if they are malformed: then the message is ignored. */
static bool read_options(const uint8_t *o, uint32_t len, uint8_t want, const uint8_t **mac)
{
	*mac = NULL;
	while (len > 0) {
		uint32_t size;

		if (len < 2)
			return false;
		size = o[1] * 8u;
		if (size == 0 || size > len)
			return false;
		if (o[0] == want && size == sizeof(struct nd_link) && *mac == NULL)
			*mac = o + offsetof(struct nd_link, mac);
		o += size;
		len -= size;
	}
	return true;
}

/* ip: the whole packet of ip_len bytes, all of it readable, ICMPv6 right behind the IP header.
 * What sections 7.1.1 and 7.1.2 ask of both messages. */
static bool read_message(const uint8_t *ip, uint32_t ip_len, struct nd_message *m)
{
	const uint32_t fixed = sizeof(struct rte_ipv6_hdr) + sizeof(struct nd);
	const struct rte_ipv6_hdr *h = (const void *)ip;
	uint8_t want;

	if (ip_len < fixed || rte_be_to_cpu_16(h->payload_len) != ip_len - sizeof(*h))
		return false;
	memcpy(&m->nd, h + 1, sizeof(m->nd));
	memcpy(&m->src, h->src_addr, sizeof(m->src));
	memcpy(&m->dst, h->dst_addr, sizeof(m->dst));
	want = m->nd.type == ND_SOLICIT ? OPTION_SOURCE : OPTION_TARGET;
	return h->hop_limits == ND_HOP_LIMIT && m->nd.code == 0 && !is_multicast(&m->nd.target) &&
	       rte_ipv6_udptcp_cksum_verify(h, h + 1) == 0 &&
	       read_options(ip + fixed, ip_len - fixed, want, &m->mac);
}

/* An IPv6 packet of ours with one link address option, checksum and all. */
static void build(struct nd_packet *out, uint8_t type, uint32_t flags, const struct tg_addr *src,
		  const struct tg_addr *dst, const struct tg_addr *target, const uint8_t *mac)
{
	struct nd_packet k = {
		.ip.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.ip.payload_len = rte_cpu_to_be_16(sizeof(k) - sizeof(k.ip)),
		.ip.proto = IPPROTO_ICMPV6,
		.ip.hop_limits = ND_HOP_LIMIT,
		.nd = {.type = type, .flags = rte_cpu_to_be_32(flags), .target = *target},
		.link = {.type = type == ND_SOLICIT ? OPTION_SOURCE : OPTION_TARGET, .units = 1},
	};

	memcpy(k.ip.src_addr, src, sizeof(*src));
	memcpy(k.ip.dst_addr, dst, sizeof(*dst));
	memcpy(k.link.mac, mac, sizeof(k.link.mac));
	k.nd.checksum = rte_ipv6_udptcp_cksum(&k.ip, &k.nd);
	memcpy(out, &k, sizeof(k));
}

/* The solicitation becomes the advertisement. Who has no address yet (duplicate address
 * detection, section 7.2.4) is told through all nodes. */
static void advertise(const struct tg_neigh_local *l, struct tg_burst *b, unsigned int i,
		      const struct nd_message *in)
{
	static const struct tg_addr all_nodes = {{0xff, 0x02, [15] = 1}};
	static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};
	struct rte_mbuf *m = b->mbuf[i];
	uint16_t len = (uint16_t)(b->pkt[i].l3_off + sizeof(struct nd_packet));
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), to[6];
	bool dad = is_unspecified(&in->src);

	if (len > m->data_len + rte_pktmbuf_tailroom(m))
		return;
	if (dad)
		memcpy(to, all_nodes_mac, sizeof(to));
	else
		memcpy(to, in->mac != NULL ? in->mac : frame + RTE_ETHER_ADDR_LEN, sizeof(to));
	if (!dad && !neigh_mac_ok(to))
		return;
	build((struct nd_packet *)(frame + b->pkt[i].l3_off), ND_ADVERT,
	      dad ? ND_OVERRIDE : ND_OVERRIDE | ND_SOLICITED, &in->nd.target,
	      dad ? &all_nodes : &in->src, &in->nd.target, l->ports[b->port].mac);
	m->data_len = len;
	m->pkt_len = len;
	b->reason[i] = TG_DROP_NONE;
	neigh_reply(l, b, i, to);
}

static void solicit_input(struct tg_neigh_table *t, const struct tg_neigh_local *l,
			  struct tg_burst *b, unsigned int i, const struct nd_message *m)
{
	struct tg_addr node = solicited_node(&m->nd.target);

	if (is_unspecified(&m->src)) {
		if (m->mac != NULL || !tg_addr_eq(&m->dst, &node))
			return;
	} else if (m->mac != NULL) {
		neigh_learn(t, l, b, i, &m->src, m->mac, true);
	}
	if (!is_multicast(&m->src) && tg_neigh_is_local(l, &m->nd.target, b->port))
		advertise(l, b, i, m);
}

static void advert_input(struct tg_neigh_table *t, const struct tg_neigh_local *l,
			 struct tg_burst *b, unsigned int i, const struct nd_message *m)
{
	bool solicited = m->nd.flags & rte_cpu_to_be_32(ND_SOLICITED);
	bool override = m->nd.flags & rte_cpu_to_be_32(ND_OVERRIDE);

	if (solicited && is_multicast(&m->dst))
		return;
	if (m->mac != NULL)
		neigh_learn(t, l, b, i, &m->nd.target, m->mac, override);
	else if (solicited)
		neigh_confirm(t, b, &m->nd.target);
}

void neigh_nd(struct tg_neigh_table *t, const struct tg_neigh_local *l, struct tg_burst *b,
	      unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	struct rte_mbuf *m = b->mbuf[i];
	struct nd_message in;

	if (p->l3_off + (uint32_t)p->ip_len > m->data_len) {
		tg_drop(b, i, m->nb_segs > 1 ? TG_DROP_SEGMENTED : TG_DROP_FRAME_SHORT);
		return;
	}
	tg_drop(b, i, TG_DROP_NEIGHBOUR);
	/* Extension headers have no place in ND; a fragment header is forbidden (RFC 6980). */
	if (p->l4_off != p->l3_off + sizeof(struct rte_ipv6_hdr) || m->nb_segs > 1 ||
	    !read_message(rte_pktmbuf_mtod_offset(m, uint8_t *, p->l3_off), p->ip_len, &in))
		return;
	if (in.nd.type == ND_SOLICIT)
		solicit_input(t, l, b, i, &in);
	else if (in.nd.type == ND_ADVERT)
		advert_input(t, l, b, i, &in);
}

uint16_t neigh_nd_request(const struct neigh_entry *e, const struct tg_neigh_port *port,
			  const uint8_t *unicast, uint8_t *frame)
{
	struct tg_addr dst = solicited_node(&e->address);
	uint8_t mac[6] = {0x33, 0x33}; /* RFC 2464 section 7 */
	uint16_t off;

	memcpy(mac + 2, &dst.b[12], 4);
	off = neigh_link_header(frame, unicast != NULL ? unicast : mac, port, RTE_ETHER_TYPE_IPV6);
	build((struct nd_packet *)(frame + off), ND_SOLICIT, 0, &e->source,
	      unicast != NULL ? &e->address : &dst, &e->address, port->mac);
	return (uint16_t)(off + sizeof(struct nd_packet));
}
