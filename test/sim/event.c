/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of events against a list that is searched from end to end. */
#include <stddef.h>
#include <string.h>

#include "event.h"
#include "unit.h"

#define EVENTS 200

/* Asked millions of times: check's own assertions write to a pipe even when they hold. */
#define MUST(x)                                 \
	do {                                    \
		if (!(x))                       \
			ck_abort_msg("%s", #x); \
	} while (0)

struct item {
	struct tg_event event;
	uint64_t time, order; /* what the model knows; order 0: not waiting */
};

static struct tg_events *queue;
static struct item item[EVENTS];
static uint64_t scheduled, fired_at;
static struct item *fired;
static uint64_t chance = 88172645463325252;

static uint64_t draw(uint64_t below)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return chance % below;
}

static struct item *item_of(struct tg_event *e)
{
	return (struct item *)((char *)e - offsetof(struct item, event));
}

static void schedule(struct item *i, uint64_t time)
{
	tg_event_at(queue, &i->event, time);
	i->time = time > tg_events_now(queue) ? time : tg_events_now(queue);
	i->order = ++scheduled;
}

static void cancel(struct item *i)
{
	tg_event_cancel(queue, &i->event);
	i->order = 0;
}

/* Few times for many events: ties are common, and some are past. */
static uint64_t some_time(void)
{
	return tg_events_now(queue) + draw(40) - (tg_events_now(queue) > 10 ? 10 : 0);
}

static void something(void)
{
	struct item *i = &item[draw(EVENTS)];

	if (draw(4) == 0)
		cancel(i);
	else
		schedule(i, some_time());
	MUST(tg_event_waiting(&i->event) == (i->order != 0));
}

static void fire(struct tg_event *e, uint64_t now)
{
	fired = item_of(e);
	fired_at = now;
	MUST(!tg_event_waiting(e));
	fired->order = 0;
	/* what fires may schedule, move and cancel, itself too */
	if (draw(3) == 0)
		schedule(fired, some_time());
	if (draw(3) == 0)
		something();
}

static struct item *first(void)
{
	struct item *best = NULL;

	for (struct item *i = item; i < item + EVENTS; i++) {
		if (i->order != 0 && (best == NULL || i->time < best->time ||
				      (i->time == best->time && i->order < best->order)))
			best = i;
	}
	return best;
}

static void step(uint64_t until)
{
	struct item *expected = first();
	uint64_t before = tg_events_now(queue), time = expected != NULL ? expected->time : 0;

	fired = NULL;
	if (expected == NULL || time > until) {
		MUST(!tg_events_step(queue, until));
		MUST(tg_events_now(queue) == (until > before ? until : before));
		MUST(fired == NULL);
		return;
	}
	MUST(tg_events_step(queue, until));
	MUST(fired == expected);
	MUST(fired_at == time);
	MUST(tg_events_now(queue) == time);
}

START_TEST(as_the_model_says)
{
	uint64_t n = 0;

	queue = tg_events_create();
	for (int i = 0; i < EVENTS; i++)
		item[i].event.fire = fire;
	for (int i = 0; i < 200000; i++) {
		/* now and then it fills up, now and then it runs empty */
		if (draw(20) < (i / 2000 % 2 == 0 ? 12u : 3u))
			something();
		else
			step(tg_events_now(queue) + draw(10));
		n += fired != NULL;
	}
	ck_assert_uint_gt(n, 10000);
	tg_events_free(queue);
}
END_TEST

static uint64_t last_seen, seen;

static void in_order(struct tg_event *e, uint64_t now)
{
	struct item *i = item_of(e);

	/* the order at a time is that of scheduling */
	MUST(now == i->time);
	MUST(now > last_seen >> 24 ||
	     (now == last_seen >> 24 && i->order > (last_seen & 0xffffff)));
	last_seen = now << 24 | i->order;
	seen++;
}

START_TEST(a_million_wait)
{
	const uint32_t n = 1000000;
	struct item *many = calloc(n, sizeof(*many));
	uint64_t cancelled = 0;

	queue = tg_events_create();
	for (uint32_t i = 0; i < n; i++) {
		many[i].event.fire = in_order;
		schedule(&many[i], draw(500000)); /* ties abound */
	}
	for (uint32_t i = 0; i < n; i += 3, cancelled++)
		cancel(&many[i]);
	for (uint32_t i = 1; i < n; i += 3)
		schedule(&many[i], draw(500000));
	while (tg_events_step(queue, UINT64_MAX))
		;
	ck_assert_uint_eq(seen, n - cancelled);
	ck_assert_uint_eq(tg_events_fired(queue), seen);
	for (uint32_t i = 0; i < n; i++)
		MUST(!tg_event_waiting(&many[i].event));
	tg_events_free(queue);
	free(many);
}
END_TEST

static void and_goes(struct tg_event *e, uint64_t now)
{
	(void)now;
	free(item_of(e));
}

START_TEST(what_fires_may_be_freed)
{
	queue = tg_events_create();
	for (int i = 0; i < 100; i++) {
		struct item *one = calloc(1, sizeof(*one));

		one->event.fire = and_goes;
		tg_event_at(queue, &one->event, draw(50));
	}
	while (tg_events_step(queue, 1000))
		;
	ck_assert_uint_eq(tg_events_fired(queue), 100);
	ck_assert_uint_eq(tg_events_now(queue), 1000);
	ck_assert(!tg_events_step(queue, 10)); /* time does not go back */
	ck_assert_uint_eq(tg_events_now(queue), 1000);
	tg_events_free(queue);
	tg_events_free(NULL);
}
END_TEST

static void nothing(struct tg_event *e, uint64_t now)
{
	(void)e;
	(void)now;
}

START_TEST(the_ends_of_time)
{
	struct tg_event late = {.fire = nothing}, soon = {.fire = nothing};

	queue = tg_events_create();
	tg_event_cancel(queue, &late); /* waits for nothing */
	tg_event_at(queue, &late, UINT64_MAX);
	tg_event_at(queue, &soon, 0);
	ck_assert(tg_events_step(queue, 0));
	ck_assert(!tg_events_step(queue, UINT64_MAX - 1));
	ck_assert(tg_events_step(queue, UINT64_MAX));
	ck_assert_uint_eq(tg_events_now(queue), UINT64_MAX);
	tg_events_free(queue);
}
END_TEST

START_TEST(spans)
{
	ck_assert_uint_eq(tg_ns_from_us(0), 0);
	ck_assert_uint_eq(tg_ns_from_us(-1), 0);
	ck_assert_uint_eq(tg_ns_from_us(0.0004), 0);
	ck_assert_uint_eq(tg_ns_from_us(0.0006), 1);
	ck_assert_uint_eq(tg_ns_from_us(1.5), 1500);
	ck_assert_uint_eq(tg_ns_from_us(1e300), 3200000000000000000);
	ck_assert_uint_eq(tg_ns_from_us(__builtin_nan("")), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sim event");

	UNIT_CASE(s, "model", as_the_model_says);
	UNIT_CASE(s, "many", a_million_wait);
	UNIT_CASE(s, "small", what_fires_may_be_freed, the_ends_of_time, spans);
	return s;
}
UNIT_MAIN(suite)
