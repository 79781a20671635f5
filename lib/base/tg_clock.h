/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ticks and nanoseconds. Stages count time in ticks of whoever drives them: TSC cycles in the
 * gateway, nanoseconds of the capture offline, virtual nanoseconds in a simulation. They never
 * read a clock; they are told its rate once and the time in every call.
 *
 * Thread-safety: immutable after tg_clock_init.
 */
#ifndef TG_CLOCK_H
#define TG_CLOCK_H

#include <stdint.h>

struct tg_clock {
	uint64_t hz;      /* ticks a second, 1e6..1e11 */
	uint64_t ns_mult; /* ns = ticks * ns_mult >> 32: no division on the packet path */
};

static inline struct tg_clock tg_clock_init(uint64_t hz)
{
	struct tg_clock c = {
		.hz = hz,
		.ns_mult = (uint64_t)((((unsigned __int128)1000000000u << 32) + hz / 2) / hz),
	};

	return c;
}

static inline uint64_t tg_ticks_to_ns(const struct tg_clock *c, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * c->ns_mult) >> 32);
}

/* Set-up only (divides). Saturates at UINT64_MAX. */
static inline uint64_t tg_ns_to_ticks(const struct tg_clock *c, uint64_t ns)
{
	unsigned __int128 t = (unsigned __int128)ns * c->hz / 1000000000u;

	return t > UINT64_MAX ? UINT64_MAX : (uint64_t)t;
}

static inline uint64_t tg_us_to_ticks(const struct tg_clock *c, uint64_t us)
{
	return tg_ns_to_ticks(c, us * 1000u);
}

static inline uint64_t tg_s_to_ticks(const struct tg_clock *c, uint64_t s)
{
	return s * c->hz;
}

#endif
