/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst of packets on its way through the stages: parallel arrays, index i is one packet.
 * A packet is on its way while verdict[i] is TG_FORWARD; a stage passes over the others. A stage
 * that refuses a packet calls tg_drop: the reason is named and counted, and the one place at the
 * end of the worker's turn frees it.
 *
 * Thread-safety: one lcore owns a burst.
 */
#ifndef TG_BURST_H
#define TG_BURST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tg_packet.h"

#define TG_BURST_MAX    32
#define TG_ALTERNATIVES 2 /* further servers that a packet may name */

struct rte_mbuf;
struct tg_flow;

enum tg_verdict {
	TG_FORWARD = 0, /* still on its way to a server */
	TG_REPLY,       /* turned into an answer of our own: leaves by the port it came from */
	TG_TAKEN,       /* consumed or handed to another lcore: not ours to free */
	TG_DROP,        /* reason[] says why */
	TG_AHEAD, /* has its service already: passed over up to there, TG_FORWARD again then */
};

/* X(constant, name in reports and telemetry, what it means) */
#define TG_DROP_REASONS(X)                                                                     \
	X(NONE, "none", "not dropped")                                                         \
	X(FRAME_SHORT, "frame_short", "frame ends inside a header")                            \
	X(NOT_IP, "not_ip", "not IPv4, IPv6 or ARP")                                           \
	X(VLAN_DEPTH, "vlan_depth", "more than two VLAN tags")                                 \
	X(MPLS, "mpls_unsupported", "MPLS label stack")                                        \
	X(IP_HEADER, "ip_header", "IP version or header length is wrong")                      \
	X(CHECKSUM, "ip_checksum", "IPv4 header checksum is wrong")                            \
	X(SOURCE, "bad_source", "source address that no single host has")                      \
	X(IP_LENGTH, "ip_length",                                                              \
	  "IP length is shorter than its headers or longer than the frame")                    \
	X(IP_OPTIONS, "ip_source_route", "IPv4 source route option")                           \
	X(IP6_HEADERS, "ip6_headers", "IPv6 extension headers: too many, or malformed")        \
	X(L4_HEADER, "l4_header", "transport header is cut or its length is wrong")            \
	X(SEGMENTED, "multi_segment", "headers spread over several buffers")                   \
	X(NOT_OURS, "not_ours", "destination is no address of ours")                           \
	X(MULTICAST, "multicast", "multicast or broadcast frame, neither ARP nor ND")          \
	X(NO_SERVICE, "no_service", "right address, but no service on that protocol and port") \
	X(ACCESS, "access_denied", "its client is denied by services[].access")                \
	X(NEW_RATE, "new_flow_rate", "more flows begin than services[].limits.new_drop_per_s") \
	X(PACKET_RATE, "packet_rate", "more packets than services[].limits allows")            \
	X(FRAGMENT, "fragment", "fragment whose service or server cannot be known")            \
	X(ICMP, "icmp", "ICMP message that no service takes")                                  \
	X(PING_RATE, "ping_rate", "echo request above the rate that is answered")              \
	X(NEIGHBOUR, "neighbour_consumed", "ARP or ND message, learnt from and done with")     \
	X(TCP_STRAY, "tcp_stray", "TCP segment that opens no connection, of an unknown flow")  \
	X(NO_SERVER, "no_server", "no server of the service is up")                            \
	X(TTL, "ttl_expired", "TTL or hop limit reached zero")                                 \
	X(NO_ROUTE, "no_neighbour", "link address of the next hop is not known yet")           \
	X(TOO_BIG, "too_big", "longer than the outgoing MTU after encapsulation")              \
	X(ADMISSION_WAIT, "admission_wait", "waited for tokens as long as its service allows") \
	X(ADMISSION_FULL, "admission_full", "as many packets as may waited for tokens")        \
	X(LATE, "late", "was in the gateway longer than its service allows")                   \
	X(TX_FULL, "tx_full", "outgoing port took no more packets")                            \
	X(HANDOVER, "handover_full", "ring to the owning worker is full")                      \
	X(AUCTION, "auction",                                                                  \
	  "SYN-ACK or RST of a server that lost its auction, or SYN sent again during one")    \
	X(TUNNEL, "auction_tunnel", "by a tunnel from a server: auctions read plain answers")  \
	X(STOPPED, "stopped", "forwarding was stopped by `forwarding stop`")                   \
	X(KERNEL, "kernel_full", "more for the kernel than its ring holds")                    \
	X(PROBE, "probe_full", "more answers to health checks than control takes")             \
	X(PROBE_STRAY, "probe_stray", "at a port of health checks, and no answer to one")      \
	X(SHADOW, "shadow", "shadow mode: decided and counted, not sent")

enum tg_reason {
#define TG_REASON_ENUM(id, name, text) TG_DROP_##id,
	TG_DROP_REASONS(TG_REASON_ENUM)
#undef TG_REASON_ENUM
		TG_DROP_REASON_COUNT
};

struct tg_burst {
	uint16_t n;     /* packets, 0..TG_BURST_MAX */
	uint16_t port;  /* index of the port they came from */
	bool fragments; /* parse: some of them are */
	bool reopened;  /* follow: SYNs among them came to flows that were there */
	uint8_t n_departing;
	uint64_t now; /* ticks, read right after rx */
	struct rte_mbuf *mbuf[TG_BURST_MAX];
	uint64_t arrival[TG_BURST_MAX];     /* ticks, conservative: never later than the truth */
	uint64_t hash[TG_BURST_MAX];        /* flow: keyed hash of pkt[i].key */
	struct tg_flow *flow[TG_BURST_MAX]; /* flow: the entry, or NULL for a miss */
	uint16_t server[TG_BURST_MAX];      /* select: server id, TG_NO_SERVER before */
	/* select, for gue: servers to try in that order when server[i] does not know the packet's
	 * connection; ids, each once and none of them server[i], TG_NO_SERVER: none */
	uint16_t alternative[TG_BURST_MAX][TG_ALTERNATIVES];
	uint16_t out_port[TG_BURST_MAX]; /* encap: index of the port it leaves by */
	uint8_t verdict[TG_BURST_MAX];   /* enum tg_verdict */
	uint8_t reason[TG_BURST_MAX];    /* enum tg_reason */
	uint8_t departing
		[TG_BURST_MAX]; /* follow: packets whose departure tells their estimators something */
	uint32_t wire_len[TG_BURST_MAX]; /* length on the wire; the mbuf's unless a capture was cut */
	_Alignas(64) struct tg_pkt pkt[TG_BURST_MAX]; /* one cache line each */
};
_Static_assert(sizeof(struct tg_pkt) == 64, "one cache line");

_Static_assert(TG_NO_SERVER == 0xffff, "what tg_burst_no_alternatives fills in");

static inline void tg_drop(struct tg_burst *b, unsigned int i, enum tg_reason why)
{
	b->verdict[i] = TG_DROP;
	b->reason[i] = (uint8_t)why;
}

/* No packet has an alternative: before select names some. */
static inline void tg_burst_no_alternatives(struct tg_burst *b)
{
	memset(b->alternative, 0xff, b->n * sizeof(b->alternative[0]));
}

/* Name and meaning of a reason; "?" outside the enum. */
const char *tg_reason_name(enum tg_reason why);
const char *tg_reason_text(enum tg_reason why);

#endif
