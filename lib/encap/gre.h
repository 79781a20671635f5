/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands between the outer IP header and the inner one with GRE: private to this stage.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  |0|       reserved 0      | ver 0 |   EtherType of the inner one  |
 *
 * Source: RFC 2784 section 2.1; RFC 7676 for IPv6 inside and outside. No checksum, key or sequence
 * number (RFC 2890): the inner packet has its own checksum, and one server has one tunnel.
 */
#ifndef TG_ENCAP_GRE_H
#define TG_ENCAP_GRE_H

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#define GRE_LEN 4

static inline void gre_write(uint8_t *at, bool inner_v6)
{
	uint32_t gre = rte_cpu_to_be_32(inner_v6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);

	memcpy(at, &gre, sizeof(gre));
}

#endif
