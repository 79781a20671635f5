/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SYN-ACKs that wait, by the kernel's number of each, in the order in which they are due. As a rule one is
 * due after all that came before it, so it goes in at the end; a load that fell lets it overtake some.
 *
 * Units: times are ns, any clock's. Thread-safety: one thread. Errors: full.
 */
#ifndef TG_BIDDER_HOLD_H
#define TG_BIDDER_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#define HOLD_MAX 4096 /* a power of 2 */

struct tg_held {
	uint64_t due;
	uint32_t id;
};

/* All zero at first. */
struct tg_hold {
	uint32_t first, n;
	struct tg_held at[HOLD_MAX]; /* a ring */
};

/* false: full, it does not wait. Those due at the same time keep their order. */
bool tg_hold_put(struct tg_hold *h, uint32_t id, uint64_t due);

/* One that is due by now; false: none. */
bool tg_hold_take(struct tg_hold *h, uint64_t now, uint32_t *id);

/* When the next one is due; UINT64_MAX: none waits. */
uint64_t tg_hold_next(const struct tg_hold *h);

#endif
