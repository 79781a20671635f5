/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mark on SYN-ACKs: a table of nftables that sets the TTL, and the hop limit, of SYN-ACKs from the ports, and of
 * nothing else. Values go to one nft that stays. The rule holds while the ports stand in a set whose
 * entries end by themselves: a server whose bidder died bids nothing any more.
 *
 * Thread-safety: one thread. Errors: -errno and a sentence.
 */
#ifndef TG_BIDDER_MARK_H
#define TG_BIDDER_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MARK_LEASE_MS 1000
#define MARK_RENEW_MS 300

struct tg_mark {
	pid_t nft;
	int fd;
	char ports[128]; /* "80, 443" */
};

/* ports: network order. */
int tg_mark_start(struct tg_mark *m, const uint16_t *ports, unsigned int n, char *err,
		  unsigned int err_len);

/* May another value be sent: nft has taken the one before. */
bool tg_mark_ready(const struct tg_mark *m);
/* SYN-ACKs leave with this from now on. */
int tg_mark_set(const struct tg_mark *m, uint8_t ttl);

/* The table goes. */
void tg_mark_end(struct tg_mark *m);

#endif
