/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outer IP header: private to this stage. It takes over from the inner one what must not be
 * lost on the way (DSCP, ECN, "don't fragment") and names the server.
 */
#ifndef TG_ENCAP_OUTER_H
#define TG_ENCAP_OUTER_H

#include <netinet/in.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "tg_encap.h"

#define V4_LEN    sizeof(struct rte_ipv4_hdr)
#define V6_LEN    sizeof(struct rte_ipv6_hdr)
#define OUTER_TTL 64

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

/* In front of len bytes of the given protocol. Written in words where the struct has ten fields:
 * stores are what this costs. The checksum is summed up from the same words (the order of bytes
 * does not matter to it, RFC 1071 section 2). */
static inline void outer_v4(struct rte_ipv4_hdr *h, const struct tg_route *r, struct inner in,
			    uint8_t protocol, uint16_t len, uint16_t *outer_id)
{
	uint16_t fragment = in.df ? RTE_IPV4_HDR_DF_FLAG : 0, id = in.df ? 0 : (*outer_id)++;
	uint64_t sum, head; /* version to fragment offset */
	uint32_t src, dst;
	uint16_t life; /* TTL and protocol */

	head = rte_cpu_to_be_64((uint64_t)RTE_IPV4_VHL_DEF << 56 | (uint64_t)in.tos << 48 |
				(uint64_t)(len + V4_LEN) << 32 | (uint32_t)id << 16 | fragment);
	life = rte_cpu_to_be_16((uint16_t)(OUTER_TTL << 8 | protocol));
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
			    uint8_t protocol, uint16_t len)
{
	uint32_t tc = (uint32_t)in.tos << RTE_IPV6_HDR_TC_SHIFT;

	h->vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28 | tc);
	h->payload_len = rte_cpu_to_be_16(len);
	h->proto = protocol;
	h->hop_limits = OUTER_TTL;
	memcpy(h->src_addr, r->local.b, sizeof(h->src_addr));
	memcpy(h->dst_addr, r->remote.b, sizeof(h->dst_addr));
}

#endif
