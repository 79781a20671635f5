/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mark on SYN-ACKs: a table of nftables, made and changed by netlink, whose rules write the TTL, and the hop
 * limit, of SYN-ACKs from the ports, and of nothing else. What they write stands in a map by port; a new
 * value is a new entry, one system call. Two things end it: the table belongs to this process' socket and goes with
 * it, and entries end by themselves after MARK_LEASE_MS, so that a bidder that hangs bids nothing any more either.
 *
 * Thread-safety: one thread. Errors: -errno and a sentence. Source: nft(8), tables with the flag "owner".
 */
#ifndef TG_BIDDER_MARK_H
#define TG_BIDDER_MARK_H

#include <stdint.h>

#include "load.h"

#define MARK_LEASE_MS 1000
#define MARK_RENEW_MS 300

struct mnl_socket;

struct tg_mark {
	struct mnl_socket *nl;
	char table[32];
	uint16_t ports[PORTS_MAX]; /* network order */
	unsigned int n;
	uint32_t seq;
};

/* ports: network order, at least one; the first one names the table. wait: when they are marked, SYN-ACKs go to the
 * kernel's queue of the first port's number (delay.h). */
int tg_mark_start(struct tg_mark *m, const uint16_t *ports, unsigned int n, bool wait, char *err,
		  unsigned int err_len);

/* SYN-ACKs leave with this from now on, for the length of a lease. -errno */
int tg_mark_set(struct tg_mark *m, uint8_t ttl);

/* The table goes. */
void tg_mark_end(struct tg_mark *m);

#endif
