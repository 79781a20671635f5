/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token bucket for what the gateway says on its own account (RFC 1812 section 4.3.2.8, RFC 4443
 * section 2.4 (f)): `per_s` answers a second, as many at once. Zeroed at start, it is full.
 *
 * Thread-safety: one lcore owns a bucket.
 */
#ifndef TG_BUCKET_H
#define TG_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_clock.h"

struct tg_bucket {
	uint64_t last; /* ticks */
	uint32_t tokens;
};

/* One token, if there is one. per_s: 1..10^6, the same at every call. */
static inline bool tg_bucket_take(struct tg_bucket *k, const struct tg_clock *clock, uint64_t now,
				  uint32_t per_s)
{
	uint64_t ns = UINT64_C(1000000000) / per_s;
	uint64_t due = now > k->last ? tg_ticks_to_ns(clock, now - k->last) / ns : 0;

	if (due + k->tokens >= per_s) {
		k->tokens = per_s;
		k->last = now;
	} else {
		/* the rest of a token's time stays to be counted */
		k->tokens += (uint32_t)due;
		k->last += due * (clock->hz / per_s);
	}
	if (k->tokens == 0)
		return false;
	k->tokens--;
	return true;
}

#endif
