/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands between the outer IP header and the inner one with GUE: private to this stage.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  |     source port (0xc000..)    |    destination port (6080)    |  UDP
 *  |            length             |           checksum 0          |
 *  | 0 |0|  hlen   |  4 or 41      |           flags 0             |  GUE, variant 0
 *  |            type 0             |   next (0)    |     count     |  private data, only
 *  |        `count` addresses of the outer family, 4 or 16 bytes   |  with alternatives
 *
 * Sources: draft-ietf-intarea-gue-09 (hlen counts the words after the first; private data is what
 * the flags do not account for; the source port has 14 bits of entropy). The private data is laid
 * out as GLB Director publishes it for IPv4, whose servers' side can read it.
 *
 * The UDP checksum is zero in IPv4 and IPv6: the inner packet brings its own, which the server
 * verifies; a sum over the payload here would cost reading all of it, and protect from nothing on
 * the way but what the link's CRC does. IPv6 allows it for tunnels (RFC 6935); of the constraints
 * of RFC 6936 section 5 the server's side must take care that it accepts zero on this port only.
 */
#ifndef TG_ENCAP_GUE_H
#define TG_ENCAP_GUE_H

#include <rte_udp.h>

#include "outer.h"

#define GUE_SOURCE_FIRST 0xc000 /* to 0xffff: the dynamic ports */
#define GUE_HEADER_LEN   4
#define GUE_LIST_LEN     4 /* what stands before the alternatives */

static inline unsigned int gue_list_len(unsigned int n, bool v4)
{
	return n > 0 ? GUE_LIST_LEN + n * (v4 ? 4 : 16) : 0;
}

/* UDP and GUE header together. */
static inline unsigned int gue_len(unsigned int n, bool v4)
{
	return sizeof(struct rte_udp_hdr) + GUE_HEADER_LEN + gue_list_len(n, v4);
}

static inline void gue_list_write(uint8_t *at, const struct tg_gue *g, bool v4)
{
	uint32_t head = rte_cpu_to_be_32(g->n);

	memcpy(at, &head, sizeof(head));
	at += GUE_LIST_LEN;
	for (unsigned int i = 0; i < g->n; i++) {
		if (v4)
			memcpy(at + 4 * i, &g->next[i]->b[12], 4);
		else
			memcpy(at + 16 * i, g->next[i]->b, 16);
	}
}

/* All of it, in front of ip_len bytes of IP packet. */
static inline void gue_write(uint8_t *at, const struct tg_gue *g, bool v4, uint8_t protocol,
			     uint16_t ip_len)
{
	uint16_t source = (uint16_t)(GUE_SOURCE_FIRST | (g->hash & 0x3fff));
	uint32_t hlen = gue_list_len(g->n, v4) / 4;
	uint64_t udp = rte_cpu_to_be_64((uint64_t)source << 48 | (uint64_t)TG_GUE_PORT << 32 |
					(uint64_t)(gue_len(g->n, v4) + ip_len) << 16);
	uint32_t gue = rte_cpu_to_be_32(hlen << 24 | (uint32_t)protocol << 16);

	memcpy(at, &udp, sizeof(udp));
	memcpy(at + sizeof(udp), &gue, sizeof(gue));
	if (g->n > 0)
		gue_list_write(at + sizeof(udp) + sizeof(gue), g, v4);
}

#endif
