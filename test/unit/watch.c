/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of a gateway that is only what the watch looks at. Times in ticks of a microsecond. */
#include "api/watch.h"

#include <string.h>

#include "gateway.h"
#include "port/rx.h"
#include "unit.h"

#define BOUND  300000 /* workers.late_ms is 300 */
#define LOOK   100000
#define MINUTE 60000000

struct rig {
	struct tg_gateway g;
	struct tg_worker worker;
	struct tg_snapshot snapshot;
	struct tg_config config;
	struct tg_task task;
	struct tg_rx rx;
	struct tg_watch *watch;
	uint64_t now;
	char said[4096];
};

static struct rig *make(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(tg_watch_create(&r->watch), 0);
	r->g.watch = r->watch;
	r->g.clock = tg_clock_init(1000000);
	r->g.n_workers = 1;
	r->g.worker[0] = &r->worker;
	r->g.snapshot = &r->snapshot;
	r->snapshot.config = &r->config;
	r->config.workers.late_ms = 300;
	r->worker.lcore = 7;
	r->worker.rx = &r->rx;
	r->now = 1000000;
	r->task = (struct tg_task){.name = "ageing", .period = 1000};
	tg_sched_add(&r->worker.sched, &r->task, r->now);
	return r;
}

static void unmake(struct rig *r)
{
	tg_watch_free(r->watch);
	free(r);
}

/* Ticks every 5 ms, `us` in all; the worker turns, and its task is late by so much, or it stands. */
static void pass(struct rig *r, uint64_t us, bool turns, uint64_t late)
{
	for (uint64_t end = r->now + us; r->now < end;) {
		r->now += 5000;
		r->worker.stats.turns += turns;
		r->task.due = r->now - late;
		tg_watch_tick(r->watch, &r->g, r->now);
	}
}

static unsigned int active(const struct rig *r, enum tg_alarm_kind kind, uint64_t expected)
{
	unsigned int n;
	uint64_t count;

	tg_watch_count(r->watch, kind, &n, &count);
	ck_assert_uint_eq(count, expected);
	return n;
}

/* What goes to standard error meanwhile. */
static unsigned int lines(struct rig *r, const char *text, uint64_t us, uint64_t late)
{
	FILE *out = tmpfile();
	int kept = dup(STDERR_FILENO);
	unsigned int n = 0;
	size_t len;

	fflush(stderr);
	dup2(fileno(out), STDERR_FILENO);
	pass(r, us, true, late);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(out);
	len = fread(r->said, 1, sizeof(r->said) - 1, out);
	r->said[len] = '\0';
	fclose(out);
	for (const char *p = r->said; (p = strstr(p, text)) != NULL; p++)
		n++;
	return n;
}

START_TEST(on_time)
{
	struct rig *r = make();
	json_t *list;

	pass(r, 5000000, true, BOUND - 1);
	for (unsigned int k = 0; k < TG_ALARM_KINDS; k++)
		ck_assert_uint_eq(active(r, k, 0), 0);
	list = tg_watch_alarms(&r->g, r->now);
	ck_assert_uint_eq(json_array_size(list), 0);
	json_decref(list);
	unmake(r);
}
END_TEST

START_TEST(late_task)
{
	struct rig *r = make();
	json_t *list, *row;

	/* told once, however long it lasts */
	ck_assert_uint_eq(lines(r, "lcore 7: background task \"ageing\" is late", 5000000, BOUND),
			  1);
	ck_assert_uint_eq(active(r, TG_ALARM_TASK, 1), 1);
	/* it ends below half of the bound, not before */
	pass(r, 2 * LOOK, true, BOUND / 2);
	ck_assert_uint_eq(active(r, TG_ALARM_TASK, 1), 1);
	pass(r, 2 * LOOK, true, BOUND / 2 - 1);
	ck_assert_uint_eq(active(r, TG_ALARM_TASK, 1), 0);
	/* again: counted, but told once a minute */
	ck_assert_uint_eq(lines(r, "ageing", 1000000, 2 * BOUND), 0);
	ck_assert_uint_eq(active(r, TG_ALARM_TASK, 2), 1);
	pass(r, MINUTE, true, 0);
	ck_assert_uint_eq(lines(r, "ageing", 1000000, BOUND), 1);
	active(r, TG_ALARM_TASK, 3);
	list = tg_watch_alarms(&r->g, r->now);
	ck_assert_uint_eq(json_array_size(list), 1);
	row = json_array_get(list, 0);
	ck_assert_str_eq(json_string_value(json_object_get(row, "alarm")), "task_late");
	ck_assert_str_eq(json_string_value(json_object_get(row, "where")), "lcore 7 ageing");
	ck_assert_int_eq(json_integer_value(json_object_get(row, "worst_ns")), 2 * BOUND * 1000);
	json_decref(list);
	list = tg_watch_tasks(&r->g, r->now);
	row = json_array_get(list, 0);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "late_ns")), BOUND * 1000);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "alarms")), 3);
	json_decref(list);
	unmake(r);
}
END_TEST

START_TEST(worker_stands_still)
{
	struct rig *r = make();

	pass(r, 1000000, true, 0);
	pass(r, BOUND - LOOK, false, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_WORKER, 0), 0);
	pass(r, 2 * LOOK, false, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_WORKER, 1), 1);
	pass(r, 2 * LOOK, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_WORKER, 1), 0);
	unmake(r);
}
END_TEST

START_TEST(control_stands_still)
{
	struct rig *r = make();

	pass(r, 1000000, true, 0);
	r->now += BOUND;
	pass(r, 5000, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_CONTROL, 1), 1);
	pass(r, 5000, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_CONTROL, 1), 0);
	/* a clock that is set back is nobody's fault */
	r->now -= 900000;
	pass(r, 5000, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_CONTROL, 1), 0);
	unmake(r);
}
END_TEST

/* In a simulation an idle worker makes no turns. */
START_TEST(virtual_time)
{
	struct tg_virtual_time time = {0};
	struct rig *r = make();

	r->worker.virtual_time = &time;
	pass(r, 5000000, false, 10 * BOUND);
	active(r, TG_ALARM_TASK, 0);
	active(r, TG_ALARM_WORKER, 0);
	unmake(r);
}
END_TEST

START_TEST(receive_ring_stays_full)
{
	struct rig *r = make();

	snprintf(r->g.ports[0].name, sizeof(r->g.ports[0].name), "front");
	r->g.ports[0].ethdev = UINT16_MAX; /* no device: no statistics */
	r->g.n_ports = 1;
	r->rx = (struct tg_rx){.active = true};
	r->rx.arrival.ring_polls = 32;
	r->rx.arrival.full = 31;
	pass(r, 2 * BOUND, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_RING, 0), 0);
	r->rx.arrival.full = 32;
	pass(r, BOUND, true, 0);
	r->rx.arrival.full = 0; /* once not full: from the beginning */
	pass(r, LOOK, true, 0);
	r->rx.arrival.full = 32;
	pass(r, BOUND, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_RING, 0), 0);
	ck_assert_uint_eq(lines(r, "port front, queue 0: its receive ring has been full", BOUND, 0),
			  1);
	ck_assert_uint_eq(active(r, TG_ALARM_RING, 1), 1);
	unmake(r);
}
END_TEST

/* A port without a device is down, for good; it is told once it has been for late_ms. */
START_TEST(a_port_that_is_gone)
{
	struct rig *r = make();

	snprintf(r->g.ports[0].name, sizeof(r->g.ports[0].name), "front");
	r->g.ports[0].ethdev = UINT16_MAX;
	r->g.n_ports = 1;
	pass(r, BOUND, true, 0);
	ck_assert_uint_eq(active(r, TG_ALARM_DOWN, 0), 0);
	ck_assert_uint_eq(lines(r, "port front (): its device was removed", BOUND, 0), 1);
	ck_assert_uint_eq(active(r, TG_ALARM_DOWN, 1), 1);
	unmake(r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("watch");

	UNIT_CASE(s, "late", on_time, late_task, worker_stands_still, control_stands_still,
		  virtual_time);
	UNIT_CASE(s, "rings", receive_ring_stays_full);
	UNIT_CASE(s, "ports", a_port_that_is_gone);
	return s;
}

UNIT_MAIN(suite)
