/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a router checks before it forwards (RFC 1812 sections 5.2.2, 5.3.7), inline only: a capture or
 * a mirror port is read as it is.
 *
 * Thread-safety: the worker's.
 */
#ifndef TG_ENTRANCE_H
#define TG_ENTRANCE_H

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "worker.h"

/* Drops frames for other stations (not_ours), multicast that is neither ARP nor ND (multicast),
 * source addresses that no single host has (bad_source), and IPv4 headers whose checksum is wrong
 * (ip_checksum). */
void tg_entrance(const struct tg_worker *w, struct tg_burst *b);

/* The first eight bytes of a frame to `mac`: the low seven matter, the last of these for its lowest bit alone. */
#define TG_ENTRANCE_STATION ((UINT64_C(1) << 49) - 1)

static inline uint64_t tg_entrance_station(const uint8_t mac[6])
{
	uint64_t word = 0;

	memcpy(&word, mac, RTE_ETHER_ADDR_LEN);
	return word;
}

/* Do all words of the header and its checksum add up to 0xffff (RFC 791, RFC 1071)? The usual one
 * has five words of four bytes: carries are brought round at the end, halves added to each other by turning
 * the whole. plain: it is known to be one. */
static inline bool tg_entrance_adds_up(const uint8_t *header, bool plain)
{
	uint64_t first, second, sum;
	uint32_t last, half;

	if (!plain && unlikely(header[0] != RTE_IPV4_VHL_DEF))
		return rte_raw_cksum(header, (header[0] & 15u) * 4u) == 0xffff;
	memcpy(&first, header, sizeof(first));
	memcpy(&second, header + 8, sizeof(second));
	memcpy(&last, header + 16, sizeof(last));
	sum = first + second;
	sum += sum < second;
	sum += last;
	sum += sum < last;
	half = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
	return (half + (half << 16 | half >> 16)) >> 16 == 0xffff;
}

/* The usual packet, neither IPv6, ARP nor ND, in few comparisons: to this station, from one. False: perhaps not.
 * plain: its IP header is known to be of five words. */
static __rte_always_inline bool tg_entrance_fine(uint64_t station, const struct rte_mbuf *m,
						 const uint8_t *frame, const struct tg_pkt *p,
						 bool plain)
{
	uint8_t net = p->key.client.b[12];
	uint64_t first;

	memcpy(&first, frame, sizeof(first));
	return (rte_le_to_cpu_64(first ^ station) & TG_ENTRANCE_STATION) == 0 && net != 0 &&
	       net != 127 && net < 224 && memcmp(&p->key.client.b[12], &p->dst.b[12], 4) != 0 &&
	       ((m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD ||
		tg_entrance_adds_up(frame + p->l3_off, plain));
}

#endif
