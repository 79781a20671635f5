/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a server says its load in the TTL (IPv6: hop limit) of a SYN-ACK; the one place that the
 * gateway and tidegate-bidder share. Nothing else is changed on the wire.
 *
 *	128 + min(126, floor(126 * load))	a bid: 128 idle .. 254 full. A step is 1/126 of full load
 *	255					refuses: no connection, please
 *	below 96, hops added			no bid: the server's own TTL, 64 as a rule
 *
 * Every router on the way takes one off. The gateway adds what it knows of that (the hop offset), so
 * between 96 and 127 there is room for a mistake of 32 hops in either direction: such a value is a bid of
 * load 0. A system whose own TTL is 128 would look like an idle bidder: set it to 64.
 *
 * For a gateway whose window is 0 the SYN-ACK leaves later besides, each of the steps by the same time; who refuses
 * says so at once. The first one that does not refuse wins.
 *
 * Units: load is a share of full load, 0..1, above 1 is full. Thread-safety: pure functions. No errors.
 * Source: the bidding of servers by the TTL of their SYN-ACKs, see doc/bid.md.
 */
#ifndef TG_BID_WIRE_H
#define TG_BID_WIRE_H

#include <stdint.h>

#define TG_BID_LEAST    128
#define TG_BID_STEPS    126
#define TG_BID_MOST     (TG_BID_LEAST + TG_BID_STEPS)
#define TG_BID_REFUSE   255
#define TG_BID_CLEAR    96 /* at least this is a bid */
#define TG_BID_TTL      64 /* of what bids nothing, and of what the client gets */
#define TG_BID_HOPS_MAX 64
#define TG_BID_DELAY_US 2520 /* what full load waits, unless told otherwise: 20 us a step */

enum tg_bid_kind { TG_BID_PLAIN, TG_BID_OFFER, TG_BID_NO };

/* The TTL that says this load. Not a number and below 0: idle. */
static inline uint8_t tg_bid_encode(double load)
{
	if (!(load > 0))
		return TG_BID_LEAST;
	return load >= 1 ? TG_BID_MOST
			 : (uint8_t)(TG_BID_LEAST + (unsigned int)(TG_BID_STEPS * load));
}

/* How much later, in ns, the SYN-ACK of a bid leaves, not of TG_BID_REFUSE; full_us: with full load. */
static inline uint64_t tg_bid_delay_ns(uint8_t bid, uint32_t full_us)
{
	return (uint64_t)(bid - TG_BID_LEAST) * full_us * 1000 / TG_BID_STEPS;
}

/* What a TTL says that arrived over so many hops. *steps: an offer's load in 1/126, 0..126. */
static inline enum tg_bid_kind tg_bid_read(uint8_t ttl, uint8_t hops, uint8_t *steps)
{
	unsigned int sent = (unsigned int)ttl + hops;

	*steps = 0;
	if (sent < TG_BID_CLEAR)
		return TG_BID_PLAIN;
	if (sent >= TG_BID_REFUSE)
		return TG_BID_NO;
	if (sent > TG_BID_LEAST)
		*steps = (uint8_t)(sent - TG_BID_LEAST);
	return TG_BID_OFFER;
}

#endif
