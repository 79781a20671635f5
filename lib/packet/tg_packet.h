/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parsed header of one packet, and the flow key. Everything later stages need is here, so
 * that none reads packet bytes again except to change them.
 *
 * Thread-safety: one lcore owns a parsed header. Parse writes all of it, service key.service; every
 * later stage reads.
 */
#ifndef TG_PACKET_H
#define TG_PACKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tg_addr.h"

#define TG_NO_SERVICE UINT16_MAX
#define TG_NO_SERVER  UINT16_MAX

/* What identifies a flow, 24 bytes, IPv4 and IPv6 alike. Compared and hashed as three 64-bit
 * words: there is no padding. Ports are in network order, 0 where the protocol has none. */
struct tg_key {
	struct tg_addr client;
	uint16_t client_port;
	uint16_t service_port;
	uint8_t protocol; /* IP protocol number */
	uint8_t flags;    /* TG_KEY_* */
	uint16_t service; /* service id, host order; TG_NO_SERVICE until the service stage */
};
_Static_assert(sizeof(struct tg_key) == 24, "the key is three words without padding");

#define TG_KEY_FRAGMENT 0x01 /* a fragment whose ports are not known (yet): they are 0 */

static inline uint64_t tg_key_word(const struct tg_key *k, unsigned int i)
{
	uint64_t w;

	memcpy(&w, (const uint8_t *)k + i * sizeof(w), sizeof(w));
	return w;
}

/* Of the protocols that are read: ports are the first four bytes of their headers. */
static inline bool tg_has_ports(uint8_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE;
}

static inline int tg_key_eq(const struct tg_key *a, const struct tg_key *b)
{
	return ((tg_key_word(a, 0) ^ tg_key_word(b, 0)) | (tg_key_word(a, 1) ^ tg_key_word(b, 1)) |
		(tg_key_word(a, 2) ^ tg_key_word(b, 2))) == 0;
}

/* tg_pkt.flags */
#define TG_PKT_V6         0x0001 /* IPv6, else IPv4 */
#define TG_PKT_FRAGMENT   0x0002 /* MF set or offset > 0 */
#define TG_PKT_LATER      0x0004 /* fragment with offset > 0: no transport header in it */
#define TG_PKT_TS         0x0008 /* TCP timestamps present: tsecr is valid */
#define TG_PKT_CUT        0x0010 /* captured short of its length on the wire (offline only) */
#define TG_PKT_ARP        0x0020 /* ARP: only l3_off and vlan are valid */
#define TG_PKT_ND         0x0040 /* ICMPv6 neighbour discovery (RFC 4861), hop limit 255 */
#define TG_PKT_PING       0x0080 /* ICMP or ICMPv6 echo request */
#define TG_PKT_ICMP_ERROR 0x0100 /* ICMP or ICMPv6 error: the key is that of the flow it quotes */
#define TG_PKT_VLAN       0x0200 /* vlan is valid */
#define TG_PKT_TLS \
	0x0400 /* TCP payload begins like a TLS handshake record (RFC 8446 section 5.1) */

/* TCP flags as on the wire (RFC 9293 section 3.1) */
#define TG_TCP_FIN 0x01
#define TG_TCP_SYN 0x02
#define TG_TCP_RST 0x04
#define TG_TCP_PSH 0x08
#define TG_TCP_ACK 0x10
#define TG_TCP_URG 0x20

#define TG_PKT_RETURN \
	0x0800 /* from a server to a client: key and dst are the connection's, turned round */

#define TG_PKT_NO_ENTRY 0x1000 /* flows begin too fast: served without an entry */
#define TG_PKT_TUNNEL   0x4000 /* UDP payload begins like a WireGuard message */
#define TG_PKT_BY_HASH \
	0x2000 /* a flow that may have begun so: its server is the consistent hash's */

struct tg_pkt {
	struct tg_key key;
	struct tg_addr dst; /* destination address: the VIP, if it is for us */
	uint32_t seq;       /* TCP, host order; else 0 */
	uint32_t ack;       /* TCP with ACK set; else 0 */
	uint32_t tsecr;     /* TCP timestamp echo reply (RFC 7323) when TG_PKT_TS */
	uint16_t payload_len; /* bytes after the transport header, from the IP length: padding is none */
	uint16_t ip_len;      /* whole IP packet, header included */
	uint16_t flags;       /* TG_PKT_* */
	uint16_t vlan;        /* outermost tag's TCI, host order */
	uint8_t l3_off;       /* from the start of the frame */
	uint8_t l4_off;       /* from the start of the frame; 0 for a later fragment */
	uint8_t tcp_flags;
	uint8_t ttl; /* TTL or hop limit */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct tg_pkt) <= 72, "keep the parsed header near a cache line");

#endif
