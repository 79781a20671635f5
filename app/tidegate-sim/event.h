/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of what will happen: a 4-ary heap of events by (time, order of scheduling). An event
 * is embedded in what it happens to (a packet on its way, a timer), so scheduling allocates
 * nothing but the heap's own growth, and memory is bounded by what is in flight. To schedule, to
 * move and to cancel take O(log n) of the n events that wait.
 *
 * Thread-safety: one simulation, one thread. Times are virtual nanoseconds from 0.
 * Source: d-ary heaps with the hole led to the bottom first, LaMarca and Ladner, "The influence of
 * caches on the performance of heaps" (1996).
 */
#ifndef TG_EVENT_H
#define TG_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct tg_event {
	/* called when it happens; e no longer waits: it may be scheduled again, or freed */
	void (*fire)(struct tg_event *e, uint64_t now);
	uint32_t place; /* the queue's own; 0: not waiting. Zeroed memory is an idle event */
};

struct tg_events;

/* NULL without memory. */
struct tg_events *tg_events_create(void);
/* Events that still wait are left as they are: their owners free them, and schedule them no more. */
void tg_events_free(struct tg_events *q);

uint64_t tg_events_now(const struct tg_events *q);
/* Fires e at `time`, or now if that is past; a waiting event is moved. Events of the same time
 * fire in the order they were scheduled in, and a moved one counts as scheduled when it was moved.
 * Ends the process with a sentence without memory. */
void tg_event_at(struct tg_events *q, struct tg_event *e, uint64_t time);
/* Nothing happens to an event that does not wait. */
void tg_event_cancel(struct tg_events *q, struct tg_event *e);
static inline bool tg_event_waiting(const struct tg_event *e)
{
	return e->place != 0;
}

/* Fires the next event at or before `until`; false when there is none (now becomes `until`, unless
 * that is past). */
bool tg_events_step(struct tg_events *q, uint64_t until);
uint64_t tg_events_fired(const struct tg_events *q);

/* A span as distributions give it, rounded; what is negative or no number is 0, and the longest is
 * a hundred years, so that sums of times stay far from overflow. */
static inline uint64_t tg_ns_from_us(double us)
{
	const double longest_us = 3.2e15;

	if (!(us > 0))
		return 0;
	return (uint64_t)((us < longest_us ? us : longest_us) * 1e3 + 0.5);
}

#endif
