/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First copies of TCP segments that the gate dropped. TCP sends what is lost again, after a
 * retransmission timeout; the age of the first copy is then what the client feels, and what the drop
 * cost. It is reported and never a reason to drop: only time in the gateway is, or the
 * connection would die of its first late packet.
 *
 * Bounded: TG_COPIES segments are remembered, a newer one takes an older one's place, and after
 * TG_COPIES_S a segment is forgotten. What is told apart are segments (flow and sequence number), not
 * bytes: data that is cut anew for its second journey is not found.
 *
 * Thread-safety: one lcore's. Time in ticks.
 */
#ifndef TG_COPIES_H
#define TG_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_burst.h"
#include "tg_clock.h"
#include "tg_hist.h"

#define TG_COPIES   4096u
#define TG_COPIES_S 60u

struct tg_copy {
	uint64_t id; /* 0: free */
	uint64_t first;
};

struct tg_copies {
	uint64_t longest; /* ticks: TG_COPIES_S */
	uint64_t until;   /* ticks: the newest one is forgotten then; 0: there are none */
	struct tg_copy copy[TG_COPIES];
};

/* Of zeroed memory. */
void tg_copies_init(struct tg_copies *c, const struct tg_clock *clock);

/* The gate dropped this packet, which arrived at `arrival`. */
void tg_copies_dropped(struct tg_copies *c, const struct tg_pkt *p, uint64_t arrival);

/* The packets of a burst that are on their way: the age of each one's first copy, where that was
 * dropped. One comparison a burst while nothing was. */
void tg_copies_look(const struct tg_copies *c, const struct tg_clock *clock,
		    const struct tg_burst *b, struct tg_hist *age);

#endif
