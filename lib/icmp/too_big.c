/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_icmp.h"

#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#define TTL                 64
#define V4_MOST             576u /* RFC 1812 section 4.3.2.3 */
#define V6_MOST             1280u
#define MTU_LEAST           1280u /* of IPv6 */
#define UNREACHABLE         3
#define NEEDS_FRAGMENTATION 4
#define TOO_BIG             2

/* Both kinds: type, code, checksum, and the MTU at their ends. */
struct error {
	uint8_t type, code;
	uint16_t checksum;
	uint32_t mtu; /* RFC 1191: of IPv4 the lower 16 bits */
} __attribute__((packed));

/* What goes in front of the quoted packet at ip. */
static void write_v4(uint8_t *ip, const struct tg_pkt *p, uint16_t quoted, uint16_t mtu)
{
	struct error *e = (void *)(ip - sizeof(*e));
	struct rte_ipv4_hdr *h = (void *)((uint8_t *)e - sizeof(*h));

	*h = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*h) + sizeof(*e) + quoted)),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_ICMP,
	};
	memcpy(&h->src_addr, &p->dst.b[12], sizeof(h->src_addr));
	memcpy(&h->dst_addr, &p->key.client.b[12], sizeof(h->dst_addr));
	h->hdr_checksum = rte_ipv4_cksum(h);
	*e = (struct error){UNREACHABLE, NEEDS_FRAGMENTATION, 0, rte_cpu_to_be_32(mtu)};
	e->checksum = (uint16_t)~rte_raw_cksum(e, sizeof(*e) + quoted);
}

static void write_v6(uint8_t *ip, const struct tg_pkt *p, uint16_t quoted, uint16_t mtu)
{
	struct error *e = (void *)(ip - sizeof(*e));
	struct rte_ipv6_hdr *h = (void *)((uint8_t *)e - sizeof(*h));

	*h = (struct rte_ipv6_hdr){
		.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16((uint16_t)(sizeof(*e) + quoted)),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = TTL,
	};
	memcpy(h->src_addr, p->dst.b, sizeof(h->src_addr));
	memcpy(h->dst_addr, p->key.client.b, sizeof(h->dst_addr));
	*e = (struct error){TOO_BIG, 0, 0, rte_cpu_to_be_32(RTE_MAX(mtu, MTU_LEAST))};
	e->checksum = rte_ipv6_udptcp_cksum(h,
					    e); /* the same pseudo header (RFC 4443 section 2.3) */
}

static bool may_be_answered(const uint8_t *ip, const struct tg_pkt *p)
{
	uint16_t fragment;

	if (p->flags & (TG_PKT_ICMP_ERROR | TG_PKT_LATER))
		return false;
	if (p->flags & TG_PKT_V6)
		return true;
	memcpy(&fragment, ip + offsetof(struct rte_ipv4_hdr, fragment_offset), sizeof(fragment));
	return (fragment & rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG)) != 0;
}

bool tg_icmp_too_big(struct rte_mbuf *m, const struct tg_pkt *p, uint16_t mtu)
{
	bool v6 = (p->flags & TG_PKT_V6) != 0;
	uint32_t front = (v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr)) +
			 sizeof(struct error);
	uint8_t *old = rte_pktmbuf_mtod(m, uint8_t *), *ip = old + p->l3_off;
	uint8_t link[UINT8_MAX];
	uint32_t quoted = RTE_MIN(p->ip_len, (v6 ? V6_MOST : V4_MOST) - front);

	if (!may_be_answered(ip, p) || m->data_off < front)
		return false;
	quoted = RTE_MIN(quoted, (uint32_t)m->data_len - p->l3_off);
	if (m->nb_segs > 1) {
		rte_pktmbuf_free(m->next);
		m->next = NULL;
		m->nb_segs = 1;
	}
	memcpy(link, old, p->l3_off);
	if (v6)
		write_v6(ip, p, (uint16_t)quoted, mtu);
	else
		write_v4(ip, p, (uint16_t)quoted, mtu);
	old = ip - front - p->l3_off;
	memcpy(old, link + RTE_ETHER_ADDR_LEN, RTE_ETHER_ADDR_LEN);
	memcpy(old + RTE_ETHER_ADDR_LEN, link, RTE_ETHER_ADDR_LEN);
	memcpy(old + 2 * RTE_ETHER_ADDR_LEN, link + 2 * RTE_ETHER_ADDR_LEN,
	       p->l3_off - 2u * RTE_ETHER_ADDR_LEN);
	m->data_off = (uint16_t)(m->data_off - front);
	m->data_len = (uint16_t)(p->l3_off + front + quoted);
	m->pkt_len = m->data_len;
	m->ol_flags = 0; /* nothing that the port said of the packet is true of the answer */
	return true;
}
