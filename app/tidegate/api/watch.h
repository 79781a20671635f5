/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is anything late that must not be? Control looks at every background task, at every worker and at
 * itself: what has been late for workers.late_ms is an alarm. Ports whose link is down for so long, packets that a
 * port missed, and receive rings that stay full, are alarms too. An alarm is counted each time it begins, told in one line on
 * standard error (the same one at most once a minute), and shown by `tidegatectl alarm list` and
 * /tidegate/alarms. It ends when what was late is so by less than half.
 *
 * Thread-safety: control's thread, under gateway.mutex; telemetry reads under the same.
 */
#ifndef TG_WATCH_H
#define TG_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registry.h"
#include "tg_config.h"
#include "tg_sched.h"

struct tg_gateway;

/* X(constant, name) */
#define TG_ALARMS(X)                \
	X(TASK, "task_late")        \
	X(WORKER, "worker_still")   \
	X(CONTROL, "control_late")  \
	X(MISSED, "packets_missed") \
	X(DOWN, "port_down")        \
	X(RING, "receive_ring_full")

enum tg_alarm_kind {
#define TG_ALARM_ENUM(id, name) TG_ALARM_##id,
	TG_ALARMS(TG_ALARM_ENUM)
#undef TG_ALARM_ENUM
		TG_ALARM_KINDS
};

struct tg_alarm {
	bool active;
	uint64_t count;  /* how often it began */
	uint64_t worst;  /* ns late; packets missed in a tenth of a second */
	uint64_t last;   /* ticks: when it was active last */
	uint64_t logged; /* ticks; 0: never */
};

struct tg_watch {
	uint64_t due, ticked; /* ticks: the next look; control's last tick */
	uint64_t turns[TG_WORKERS_MAX],
		moved[TG_WORKERS_MAX]; /* turns seen, and when they changed */
	uint64_t missed[TG_PORTS_MAX];
	uint64_t full_since[TG_WORKERS_MAX][TG_PORTS_MAX]; /* ticks; 0: it is not */
	struct tg_alarm task[TG_WORKERS_MAX][TG_SCHED_TASKS_MAX];
	struct tg_alarm worker[TG_WORKERS_MAX];
	struct tg_alarm control;
	uint64_t down_since[TG_PORTS_MAX]; /* ticks; 0: it is up */
	struct tg_alarm port[TG_PORTS_MAX], down[TG_PORTS_MAX];
	struct tg_alarm ring[TG_WORKERS_MAX][TG_PORTS_MAX];
};

int tg_watch_create(struct tg_watch **out);
void tg_watch_free(struct tg_watch *w);

/* Each of control's ticks; looks around ten times a second. */
void tg_watch_tick(struct tg_watch *w, const struct tg_gateway *g, uint64_t now);

const char *tg_alarm_name(enum tg_alarm_kind kind);

/* How many of a kind are active, and how often they began. */
void tg_watch_count(const struct tg_watch *w, enum tg_alarm_kind kind, unsigned int *active,
		    uint64_t *count);

/* Answers on the control socket: every alarm that ever began; every background task. */
json_t *tg_watch_alarms(const struct tg_gateway *g, uint64_t now);
json_t *tg_watch_tasks(const struct tg_gateway *g, uint64_t now);

#endif
