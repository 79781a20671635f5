/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "tg_device_clock.h"

#define LONGEST_READ_US 50
#define SHORTEST_MS     100  /* between two readings that tell a rate */
#define HALF_MS         1000 /* an anchor is at least this old, at most twice that: drift */
#define JUMP_MS         1    /* off by more than this the device's clock was set anew */

void tg_device_clock_init(struct tg_device_clock *c, const struct tg_clock *clock)
{
	memset(c, 0, sizeof(*c));
	c->hz = clock->hz;
}

static uint64_t ms(const struct tg_device_clock *c, uint64_t n)
{
	return n * c->hz / 1000;
}

static void publish(struct tg_device_clock *c, const struct tg_device_map *m)
{
	uint32_t next = c->version + 1;

	/* who copies this place still has the version before in hand, and will find it changed */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	c->map[next & 1] = *m;
	__atomic_store_n(&c->version, next, __ATOMIC_RELEASE);
}

/* From nothing: the reading is the first one. */
static void restart(struct tg_device_clock *c, const struct tg_device_reading *r)
{
	static const struct tg_device_map none;

	if (c->anchor.before != 0) {
		c->restarts++;
		publish(c, &none);
	}
	c->anchor = c->middle = c->last = *r;
}

/* How far the reading lies from what the map in force made of it. */
static uint64_t forecast_error(const struct tg_device_clock *c, const struct tg_device_reading *r)
{
	struct tg_device_map m = c->map[c->version & 1];
	int64_t off;

	m.slack = 0;
	off = (int64_t)(tg_device_to_ticks(&m, r->device) - r->before);
	return (uint64_t)(off < 0 ? -off : off);
}

bool tg_device_clock_read(struct tg_device_clock *c, uint64_t device, uint64_t before,
			  uint64_t after)
{
	const struct tg_device_reading r = {device, before, after - before};
	struct tg_device_map m = {.device = device, .tsc = before};

	if (after < before || after - before > LONGEST_READ_US * c->hz / 1000000) {
		c->refused++;
		return false;
	}
	if (c->anchor.before == 0 || device <= c->last.device || before <= c->last.before) {
		restart(c, &r);
		return true;
	}
	if (before - c->anchor.before < ms(c, SHORTEST_MS))
		return true;
	m.rate = (uint64_t)(((unsigned __int128)(before - c->anchor.before) << 32) /
			    (device - c->anchor.device));
	m.slack = r.took + c->anchor.took + (2 * m.rate >> 32) + 1;
	if (c->map[c->version & 1].rate != 0) {
		uint64_t off = forecast_error(c, &r);

		if (off > ms(c, JUMP_MS)) {
			restart(c, &r);
			return true;
		}
		m.slack += 2 * off; /* a rate that drifts is off by more at the next one */
	}
	if (before - c->middle.before > ms(c, HALF_MS)) {
		c->anchor = c->middle;
		c->middle = r;
	}
	c->last = r;
	publish(c, &m);
	return true;
}
