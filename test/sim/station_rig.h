/* SPDX-License-Identifier: BSD-3-Clause */
/* A station alone: a simulation with nothing else in it, and requests from a list of free ones. */
#ifndef TG_TEST_STATION_RIG_H
#define TG_TEST_STATION_RIG_H

#include <math.h>
#include <stddef.h>

#include "sim.h"
#include "unit.h"

static struct tg_sim sim;
static struct tg_station station;

static inline void rig_open(const struct tg_station_params *p, uint64_t seed,
			    void (*done)(struct tg_request *r, bool answer, uint64_t now))
{
	sim = (struct tg_sim){.events = tg_events_create(), .seed = seed};
	tg_station_init(&station, &sim, p, 3);
	station.done = done;
}

static inline void rig_go_to(uint64_t time)
{
	while (tg_events_step(sim.events, time))
		;
}

/* arrivals = completions + lost + withdrawn + waiting + busy */
static inline bool rig_conserved(void)
{
	return station.arrivals == station.completions + station.lost + station.withdrawn +
					   station.waiting + station.busy;
}

static inline void rig_close(void)
{
	tg_station_free(&station);
	tg_events_free(sim.events);
}

#endif
