/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other way to bid: SYN-ACKs wait before they leave, the longer the more load there is, and a gateway with window 0
 * takes the first one. A rule of nftables (rules.h) hands SYN-ACKs of the ports to a queue of the kernel's, of the
 * first port's number; here their numbers are held, and each is let go when it is due. Never a packet's bytes: the kernel
 * keeps them.
 *
 * What waits when this process is killed is lost (TCP sends it again after a second), what comes then
 * leaves undelayed. More than HOLD_MAX at a time leave undelayed too.
 *
 * Units: ns of CLOCK_MONOTONIC. Thread-safety: one thread. Errors: -errno and a sentence.
 * Source: linux/netfilter/nfnetlink_queue.h.
 */
#ifndef TG_BIDDER_DELAY_H
#define TG_BIDDER_DELAY_H

#include "hold.h"

struct mnl_socket;

struct tg_delay {
	struct mnl_socket *nl;
	uint16_t queue;
	uint64_t random;
	struct tg_hold hold;
};

/* queue: its number, host order, no other program's. */
int tg_delay_start(struct tg_delay *d, uint16_t queue, char *err, unsigned int err_len);

/*
 * Holds what comes until `until`: each for `delay` and a random part of `step`, so that servers of the same load
 * are first equally often. 0, -EINTR (a signal) or -errno.
 */
int tg_delay_run(struct tg_delay *d, uint64_t until, uint64_t delay, uint64_t step);

/* What waits is let go. */
void tg_delay_end(struct tg_delay *d);

uint64_t tg_now_ns(void);

#endif
