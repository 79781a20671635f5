/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_gate.h"

void tg_arrival_init(struct tg_arrival *a, uint32_t ring, bool generated, uint64_t start)
{
	/* Packet n - N may stand anywhere in its poll: a part of a poll counts as a whole one. */
	uint32_t polls = ring / TG_BURST_MAX + (ring % TG_BURST_MAX != 0);

	memset(a, 0, sizeof(*a));
	a->before = start;
	a->last_short = start;
	a->ring_polls = polls <= TG_ARRIVAL_HISTORY ? polls : 0;
	a->generated = generated;
}

/* The next full poll's time; it pushes out the oldest of ring_polls. */
static inline void remember(struct tg_arrival *a, uint64_t t)
{
	a->poll[a->next] = t;
	a->next = (a->next + 1) % TG_ARRIVAL_HISTORY;
	/* Saturates: hours of full polls must not wrap it. */
	if (a->full < a->ring_polls)
		a->full++;
}

uint64_t tg_arrival_poll(struct tg_arrival *a, uint16_t n, uint64_t now)
{
	uint64_t poll = a->before, arrival = a->last_short;

	a->before = now;
	if (a->generated)
		return now;
	/* When packet n - N came after the last short poll, its poll is the later of the two. */
	if (a->full > 0 && a->full == a->ring_polls)
		arrival = a->poll[(a->next - a->ring_polls) % TG_ARRIVAL_HISTORY];
	if (n < TG_BURST_MAX) {
		a->last_short = poll;
		a->full = 0;
	} else {
		remember(a, poll);
	}
	return arrival;
}
