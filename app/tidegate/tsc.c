/* SPDX-License-Identifier: BSD-3-Clause */
#include "tsc.h"

#include <rte_cycles.h>
#include <time.h>

#define LEAST_NS 100000000 /* a reading is off by some tens of ns: 1 ppm of this */
#define TRIES    16

struct reading {
	uint64_t ticks, ns;
};

static struct reading first;

/* Both clocks at once: of several tries the one in which least time passed between them. */
static struct reading read_both(void)
{
	struct reading best = {0, 0};
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < TRIES; i++) {
		struct timespec t;
		uint64_t before = rte_rdtsc_precise(), took;

		clock_gettime(CLOCK_MONOTONIC, &t);
		took = rte_rdtsc_precise() - before;
		if (took >= least)
			continue;
		least = took;
		best.ticks = before + took / 2;
		best.ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	}
	return best;
}

void tg_tsc_start(void)
{
	first = read_both();
}

uint64_t tg_tsc_hz(void)
{
	struct reading now;

	if (first.ns == 0)
		tg_tsc_start();
	for (;;) {
		uint64_t passed;
		struct timespec rest = {0};

		now = read_both();
		passed = now.ns - first.ns;
		if (passed >= LEAST_NS)
			break;
		rest.tv_nsec = (long)(LEAST_NS - passed);
		nanosleep(&rest, NULL);
	}
	return (uint64_t)((unsigned __int128)(now.ticks - first.ticks) * 1000000000u /
			  (now.ns - first.ns));
}
