/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive time stamps of a device, in ticks of its own clock, as arrivals in ours.
 *
 * Whoever may wait (control) reads both clocks now and then; rate and offset come from two readings at
 * least a tenth of a second apart, and are renewed with every later one, so that the device's clock may
 * drift. A conversion is not later than the truth, which the time gate depends on: each
 * reading counts as made before the device was asked, and `slack` is taken off: the time that this
 * and the reading at the other end of the rate took, twice what the reading and its forecast were
 * apart, and two of the device's ticks.
 *
 * A stamp is believed only if it lies between TG_STAMP_OLDEST_MS before the arrival rule's estimate
 * (tg_arrival.h) and now. What does not, and a packet without a stamp, gets the rule's estimate,
 * and is counted.
 *
 * Thread-safety: one writer (control) calls tg_device_clock_read; workers take copies of the map
 * without waiting. tg_stamp_stats belong to the worker. Time in ticks (tg_clock.h).
 */
#ifndef TG_DEVICE_CLOCK_H
#define TG_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_clock.h"

#define TG_STAMP_OLDEST_MS 10 /* that a device holds a packet back: its own memory, PAUSE frames */

/* device ticks to ours: tsc + (stamp - device) * rate / 2^32 - slack */
struct tg_device_map {
	uint64_t device, tsc;
	uint64_t rate;
	uint64_t slack;
};

struct tg_device_reading {
	uint64_t device; /* the device's clock, */
	uint64_t before; /* ours before it was asked, */
	uint64_t took;   /* and how long that took */
};

struct tg_device_clock {
	uint32_t version;            /* the map in force is map[version & 1]. Written last */
	struct tg_device_map map[2]; /* rate 0: the clocks are not compared yet */
	/* the writer's */
	uint64_t hz;
	struct tg_device_reading anchor, middle, last; /* rates are measured from the anchor */
	uint64_t refused;                              /* readings that took too long */
	uint64_t restarts; /* the device's clock was set, went back or stood still */
};

struct tg_stamp_stats {
	uint64_t used;
	uint64_t missing; /* packets without a stamp, or while the clocks were not compared */
	uint64_t future;  /* stamps after the poll that found the packet */
	uint64_t stale;   /* stamps that are too old to be true */
};

void tg_device_clock_init(struct tg_device_clock *c, const struct tg_clock *clock);

/* The device said `device`, asked between `before` and `after`. A reading that took over 50 us is
 * refused (false). */
bool tg_device_clock_read(struct tg_device_clock *c, uint64_t device, uint64_t before,
			  uint64_t after);

/* A copy of the map; false: there is none, or it changed meanwhile. */
static inline bool tg_device_clock_map(const struct tg_device_clock *c, struct tg_device_map *out)
{
	uint32_t version = __atomic_load_n(&c->version, __ATOMIC_ACQUIRE);

	*out = c->map[version & 1];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return out->rate != 0 && __atomic_load_n(&c->version, __ATOMIC_RELAXED) == version;
}

/* A stamp in our ticks, never later than the truth. */
static inline uint64_t tg_device_to_ticks(const struct tg_device_map *m, uint64_t stamp)
{
	__int128 passed = (__int128)(int64_t)(stamp - m->device) * (__int128)m->rate >> 32;

	return m->tsc + (uint64_t)passed - m->slack;
}

/* The arrival of a packet stamped `stamp`: found by a poll that ended at `now`, whose arrival rule
 * says `rule`. oldest: TG_STAMP_OLDEST_MS in ticks. */
static inline uint64_t tg_stamp_arrival(const struct tg_device_map *m, struct tg_stamp_stats *s,
					uint64_t stamp, uint64_t rule, uint64_t now,
					uint64_t oldest)
{
	uint64_t t = tg_device_to_ticks(m, stamp);

	if ((int64_t)(t - now) > 0) {
		__atomic_store_n(&s->future, s->future + 1, __ATOMIC_RELAXED);
		return rule;
	}
	if ((int64_t)(rule - t) > (int64_t)oldest) {
		__atomic_store_n(&s->stale, s->stale + 1, __ATOMIC_RELAXED);
		return rule;
	}
	__atomic_store_n(&s->used, s->used + 1, __ATOMIC_RELAXED);
	return t;
}

#endif
