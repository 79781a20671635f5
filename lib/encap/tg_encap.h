/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet as its server must receive it. l2: destination MAC rewritten, addresses untouched
 * (direct server return); Ethernet padding stays. ipip: an outer IPv4 or IPv6 header in front
 * (RFC 2003, RFC 2473), any inner family; padding is cut off, because behind a longer IP packet it
 * would be none. gre: the same with four bytes of GRE between the two (RFC 2784: no checksum, key or
 * sequence number). gue: the same as ipip with UDP and GUE (draft-ietf-intarea-gue-09, variant 0, port 6080)
 * between the two, the UDP source port varied by flow so that the servers' NICs and the routers on
 * the way spread load, the UDP checksum zero (RFC 6935); its private data may name alternatives,
 * to which a server passes a packet of a connection that it does not know. VLAN tags: kept as they came, or exactly one of the route's, which takes over
 * the priority bits of the outermost one.
 *
 * IPv4 checksums are updated incrementally (RFC 1624); the outer header's is computed. Outer: TTL
 * 64, DSCP and ECN of the inner (RFC 6040 section 4.1), DF set as in the inner (IPv6: set),
 * identification from a counter when it is not, else 0 (RFC 6864). Flow label 0. The inner packet
 * is forwarded, then encapsulated: decrement_ttl is about the inner TTL (RFC 2003 section 3.1).
 *
 * Thread-safety: routes are immutable (built by control); mac words are written by neigh
 * (relaxed), any worker reads.
 */
#ifndef TG_ENCAP_H
#define TG_ENCAP_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_burst.h"

enum tg_forward {
	TG_FORWARD_L2 = 0,
	TG_FORWARD_IPIP,
	TG_FORWARD_GRE,
	TG_FORWARD_GUE,
	TG_FORWARD_COUNT
};

/* "l2", "ipip", "gre", "gue"; NULL outside. */
const char *tg_forward_name(enum tg_forward f);

/* A link address word, as neigh keeps it: bits 0..47 the MAC (first byte lowest), bit 48 valid. */
#define TG_MAC_VALID (UINT64_C(1) << 48)
#define TG_GUE_PORT  6080 /* UDP; what gue is sent to, and the servers answer to if they do */

static inline uint64_t tg_mac_word(const uint8_t mac[6])
{
	uint64_t w = TG_MAC_VALID;

	for (unsigned int i = 0; i < 6; i++)
		w |= (uint64_t)mac[i] << (8 * i);
	return w;
}

/* What the usual packets of a route have in common, as it stands in their frames; written by tg_encap_prepare,
 * private to encap. */
struct tg_route_quick {
	uint64_t addresses; /* of the outer header */
	uint64_t first;     /* the source MAC's first two bytes, at the end of eight */
	uint64_t link;      /* its others, the type, and two bytes that are overwritten */
	uint16_t sum;       /* of the outer header's words that are the same in all of them */
	uint16_t life;      /* TTL and protocol, which are among them */
	uint16_t most; /* bytes of an inner packet that fits; 0: the route is not the usual one */
};

/* How to reach one server. */
struct tg_route {
	const uint64_t *mac; /* next hop's link address word; NULL: the server has no route */
	uint16_t out_port;   /* index */
	uint16_t mtu;        /* of the outgoing port: longest IP packet */
	uint16_t vlan;       /* 0: keep the frame's tags; 1..4094: exactly this one */
	uint8_t forward;     /* enum tg_forward */
	bool decrement_ttl;
	struct tg_route_quick quick;
	uint8_t src_mac[6];    /* of the outgoing port */
	struct tg_addr local;  /* with an outer header: its source, same family as remote */
	struct tg_addr remote; /* with an outer header: its destination, the server */
};

/* Works out what the route's packets have in common. Last, when all of it is filled; a route without
 * that is as good, and slower. */
void tg_encap_prepare(struct tg_route *r);

/* What a GUE header carries beside the packet. */
struct tg_gue {
	uint64_t hash;  /* of the flow; its lowest 14 bits choose the UDP source port */
	unsigned int n; /* alternatives, 0..TG_ALTERNATIVES */
	const struct tg_addr *next[TG_ALTERNATIVES]; /* in order; of the route's family */
};

/* The most bytes that the route puts in front of the inner IP packet: l2 0; ipip 20 or 40; gre 24 or 44; gue,
 * with all alternatives, 44 or 88 (32 or 52 without). */
unsigned int tg_encap_overhead(const struct tg_route *r);

/* The longest inner IP packet that fits. */
static inline unsigned int tg_encap_room(const struct tg_route *r)
{
	unsigned int overhead = tg_encap_overhead(r);

	return r->mtu > overhead ? r->mtu - overhead : 0;
}

/* One packet; p is its parsed header (tg_parse found no fault). Rewrites the mbuf in place. The
 * bytes up to the end of the IP header must lie in the first buffer; the rest may be in others, or
 * missing when a capture was cut. gue is read for routes of that kind only, where it must be given.
 * TG_DROP_NONE, or TG_DROP_TTL, _NO_ROUTE, _TOO_BIG (above the MTU, or no headroom for the outer
 * headers: at most 92 bytes, where RTE_PKTMBUF_HEADROOM is 128). Nothing is changed on a drop. */
enum tg_reason tg_encap(const struct tg_route *r, struct rte_mbuf *m, const struct tg_pkt *p,
			const struct tg_gue *gue, uint16_t *outer_id);

/* The burst: packets on their way, server[i] -> routes[server[i]]; drops what tg_encap refuses,
 * fills out_port of the others. gue routes read hash[i] and alternative[i][]; an alternative whose
 * address is of the other family than the server's is left out. *outer_id is this worker's counter
 * for outer IPv4 identification: start workers apart. Returns how many were TG_DROP_TOO_BIG. */
unsigned int tg_encap_burst(const struct tg_route *routes, struct tg_burst *b, uint16_t *outer_id);

#endif
