/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrival of packets from a receive ring without time stamps: as early as it can have been.
 * A poll that returned less than a full burst left the ring empty: what comes later arrived
 * later. And a ring of N places cannot hold a packet since before the poll that returned packet
 * n - N. So: max(last short poll, the poll that returned packet n - N).
 *
 * A poll's own time stands for the last clock read *before* the driver was called: the read after
 * it may come late (the host stalls), and packets that came in between would look fresh. That
 * earlier read is the previous call's `now`, or a later one told by tg_arrival_before.
 *
 * N = 0: the ring's length is not known, only short polls count. Generated input has no ring: the
 * poll itself.
 *
 * Thread-safety: a tg_arrival belongs to the lcore that polls its queue.
 */
#ifndef TG_ARRIVAL_H
#define TG_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define TG_ARRIVAL_HISTORY 512 /* full polls remembered: rings up to 16384 */

struct tg_arrival {
	uint64_t before;     /* latest clock read known to precede the next poll */
	uint64_t last_short; /* the last poll that was not full */
	uint32_t ring_polls; /* full polls that a full ring takes; 0: not known */
	uint32_t full;       /* full polls since last_short, counted up to ring_polls */
	uint32_t next;       /* where the next full poll goes */
	bool generated;
	uint64_t poll[TG_ARRIVAL_HISTORY]; /* times of the latest full polls */
};

/* ring: packets that it can hold, 0 if not known (rings beyond the history count as not known).
 * start: a clock read before the port was started. */
void tg_arrival_init(struct tg_arrival *a, uint32_t ring, bool generated, uint64_t start);

/* Optional: the clock was read at `now` and this queue has not been polled since. Sharpens the
 * next estimate from two turns of the loop to one. */
static inline void tg_arrival_before(struct tg_arrival *a, uint64_t now)
{
	a->before = now;
}

/* A poll for TG_BURST_MAX packets returned n of them; `now` was read after it. Returns the arrival
 * of all of them. */
uint64_t tg_arrival_poll(struct tg_arrival *a, uint16_t n, uint64_t now);

#endif
