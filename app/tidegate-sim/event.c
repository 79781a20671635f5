/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* Time in the upper half, order of scheduling in the lower: one comparison. */
__extension__ typedef unsigned __int128 tg_event_key;

/*
 * Children of place i are 4i-2 .. 4i+1. With place i at index i + 2 four siblings begin at a
 * multiple of four keys: one cache line.
 *
 * A waiting event has a slot of its own (tg_event.place is the slot + 1), and what moves in the
 * heap is the slot: telling an event where it is now would touch its memory at every level, most
 * of it outside the caches. Places beyond the last hold the slots nobody has.
 */
enum { ARITY = 4, SHIFT = 2, FIRST_ROOM = 1024, LINE = 64 };

struct tg_events {
	tg_event_key *key; /* by place + SHIFT */
	uint32_t *slot_at; /* likewise */
	uint32_t *place;   /* by slot */
	struct tg_event **event;
	uint32_t n, room;
	uint64_t now, order, fired;
};

static inline uint32_t parent_of(uint32_t place)
{
	return (place + SHIFT) / ARITY;
}

static void *widen(void *old, size_t used, size_t bytes)
{
	/* aligned_alloc wants a multiple of the alignment */
	void *p = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);

	if (p != NULL && used > 0)
		memcpy(p, old, used);
	return p;
}

static bool grow(struct tg_events *q, uint32_t room)
{
	size_t places = (size_t)room + 1 + SHIFT;
	size_t used = q->room > 0 ? (size_t)q->n + 1 + SHIFT : 0;
	tg_event_key *key = widen(q->key, used * sizeof(*key), places * sizeof(*key));
	uint32_t *slot_at = realloc(q->slot_at, places * sizeof(*slot_at));
	uint32_t *place = NULL;
	struct tg_event **event = NULL;

	if (slot_at != NULL)
		q->slot_at = slot_at;
	place = realloc(q->place, room * sizeof(*place));
	if (place != NULL)
		q->place = place;
	event = realloc(q->event, room * sizeof(*event));
	if (event != NULL)
		q->event = event;
	if (key == NULL || slot_at == NULL || place == NULL || event == NULL) {
		free(key);
		return false;
	}
	free(q->key);
	q->key = key;
	for (uint32_t i = q->room; i < room; i++)
		q->slot_at[i + 1 + SHIFT] = i;
	q->room = room;
	return true;
}

struct tg_events *tg_events_create(void)
{
	struct tg_events *q = calloc(1, sizeof(*q));

	if (q != NULL && !grow(q, FIRST_ROOM)) {
		tg_events_free(q);
		return NULL;
	}
	return q;
}

void tg_events_free(struct tg_events *q)
{
	if (q == NULL)
		return;
	free(q->key);
	free(q->slot_at);
	free(q->place);
	free(q->event);
	free(q);
}

uint64_t tg_events_now(const struct tg_events *q)
{
	return q->now;
}

uint64_t tg_events_fired(const struct tg_events *q)
{
	return q->fired;
}

static inline void put(struct tg_events *q, uint32_t place, tg_event_key key, uint32_t slot)
{
	q->key[place + SHIFT] = key;
	q->slot_at[place + SHIFT] = slot;
	q->place[slot] = place;
}

static inline void move(struct tg_events *q, uint32_t to, uint32_t from)
{
	put(q, to, q->key[from + SHIFT], q->slot_at[from + SHIFT]);
}

/* The hole at `place` rises until what goes into it is no earlier than its parent. */
static void rise(struct tg_events *q, uint32_t place, tg_event_key key, uint32_t slot)
{
	while (place > 1) {
		uint32_t parent = parent_of(place);

		if (key >= q->key[parent + SHIFT])
			break;
		move(q, place, parent);
		place = parent;
	}
	put(q, place, key, slot);
}

/* The earliest of the children from `first` on, where all four exist; written to compile without
 * branches, which nobody could predict. */
static inline uint32_t earliest_of_four(const tg_event_key *key, uint32_t first)
{
	const tg_event_key *k = key + first + SHIFT;
	uint32_t a = k[1] < k[0], b = 2 + (k[3] < k[2]);

	return first + a + ((b - a) & -(uint32_t)(k[b] < k[a]));
}

static inline uint32_t earliest_child(const struct tg_events *q, uint32_t first)
{
	uint32_t best = first;

	if (first + ARITY - 1 <= q->n)
		return earliest_of_four(q->key, first);
	for (uint32_t i = first + 1; i <= q->n; i++) {
		if (q->key[i + SHIFT] < q->key[best + SHIFT])
			best = i;
	}
	return best;
}

/* The hole at `place` sinks to the bottom; what goes into it rises from there: a
 * short way as a rule, and further than `place` if it must. */
static void sink(struct tg_events *q, uint32_t place, tg_event_key key, uint32_t slot)
{
	for (;;) {
		uint64_t first = (uint64_t)place * ARITY - SHIFT;
		uint32_t child;

		if (first > q->n)
			break;
		child = earliest_child(q, (uint32_t)first);
		move(q, place, child);
		place = child;
	}
	rise(q, place, key, slot);
}

/* Takes the event at `place` out; the last one fills the hole. */
static struct tg_event *take(struct tg_events *q, uint32_t place)
{
	tg_event_key key = q->key[q->n + SHIFT];
	uint32_t slot = q->slot_at[place + SHIFT], last = q->slot_at[q->n + SHIFT];
	struct tg_event *e = q->event[slot];

	e->place = 0;
	q->slot_at[q->n + SHIFT] = slot;
	if (place != q->n--)
		sink(q, place, key, last);
	return e;
}

static void must_grow(struct tg_events *q)
{
	if (q->room <= UINT32_MAX / 4 && grow(q, q->room * 2))
		return;
	fprintf(stderr,
		"tidegate-sim: no memory for more than %u pending events; lower the load, or the "
		"number of clients, of the scenario\n",
		q->n);
	exit(EXIT_FAILURE);
}

void tg_event_at(struct tg_events *q, struct tg_event *e, uint64_t time)
{
	tg_event_key key = (tg_event_key)(time > q->now ? time : q->now) << 64 | q->order++;
	uint32_t slot, place;

	if (e->place == 0) {
		if (q->n == q->room)
			must_grow(q);
		slot = q->slot_at[++q->n + SHIFT];
		q->event[slot] = e;
		e->place = slot + 1;
		rise(q, q->n, key, slot);
		return;
	}
	slot = e->place - 1;
	place = q->place[slot];
	if (key < q->key[place + SHIFT])
		rise(q, place, key, slot);
	else
		sink(q, place, key, slot);
}

void tg_event_cancel(struct tg_events *q, struct tg_event *e)
{
	if (e->place != 0)
		take(q, q->place[e->place - 1]);
}

bool tg_events_step(struct tg_events *q, uint64_t until)
{
	uint64_t time = q->n > 0 ? (uint64_t)(q->key[1 + SHIFT] >> 64) : UINT64_MAX;
	struct tg_event *e;

	if (q->n == 0 || time > until) {
		if (until > q->now)
			q->now = until;
		return false;
	}
	e = take(q, 1);
	q->now = time;
	q->fired++;
	e->fire(e, time);
	return true;
}
