/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms and tasks as tidegatectl and telemetry show them. */
#include <stdio.h>

#include "api/watch.h"
#include "gateway.h"

const char *tg_alarm_name(enum tg_alarm_kind kind)
{
	static const char *const names[] = {
#define TG_ALARM_NAME(id, name) name,
		TG_ALARMS(TG_ALARM_NAME)
#undef TG_ALARM_NAME
	};

	return kind < TG_ALARM_KINDS ? names[kind] : "?";
}

static const char *meaning(enum tg_alarm_kind kind)
{
	static const char *const texts[] = {
		[TG_ALARM_TASK] = "a background task was due for longer than workers.late_ms",
		[TG_ALARM_WORKER] = "a worker made no turn for longer than workers.late_ms",
		[TG_ALARM_CONTROL] = "control made no tick for longer than workers.late_ms",
		[TG_ALARM_MISSED] = "a port had no room or no buffers for packets",
		[TG_ALARM_DOWN] = "a port had no link or no device for longer than workers.late_ms",
		[TG_ALARM_RING] = "a receive ring stayed full for longer than workers.late_ms",
	};

	return texts[kind];
}

/* Alarm n of a kind: its lists are laid out worker by worker. */
static const struct tg_alarm *alarm_of(const struct tg_watch *w, enum tg_alarm_kind kind,
				       unsigned int n)
{
	switch (kind) {
	case TG_ALARM_TASK:
		return &w->task[n / TG_SCHED_TASKS_MAX][n % TG_SCHED_TASKS_MAX];
	case TG_ALARM_WORKER:
		return &w->worker[n];
	case TG_ALARM_MISSED:
		return &w->port[n];
	case TG_ALARM_DOWN:
		return &w->down[n];
	case TG_ALARM_RING:
		return &w->ring[n / TG_PORTS_MAX][n % TG_PORTS_MAX];
	default:
		return &w->control;
	}
}

static unsigned int alarms_of(enum tg_alarm_kind kind)
{
	static const unsigned int n[] = {
		[TG_ALARM_TASK] = TG_WORKERS_MAX * TG_SCHED_TASKS_MAX,
		[TG_ALARM_WORKER] = TG_WORKERS_MAX,
		[TG_ALARM_CONTROL] = 1,
		[TG_ALARM_MISSED] = TG_PORTS_MAX,
		[TG_ALARM_DOWN] = TG_PORTS_MAX,
		[TG_ALARM_RING] = TG_WORKERS_MAX * TG_PORTS_MAX,
	};

	return n[kind];
}

static void name_place(const struct tg_gateway *g, enum tg_alarm_kind kind, unsigned int n,
		       char *to, size_t len)
{
	const unsigned int per = kind == TG_ALARM_TASK   ? TG_SCHED_TASKS_MAX
				 : kind == TG_ALARM_RING ? TG_PORTS_MAX
							 : 1;
	const struct tg_worker *w = n / per < g->n_workers ? g->worker[n / per] : NULL;

	if (kind == TG_ALARM_TASK && w != NULL && n % per < w->sched.n)
		snprintf(to, len, "lcore %u %s", w->lcore, w->sched.task[n % per]->name);
	else if (kind == TG_ALARM_WORKER && w != NULL)
		snprintf(to, len, "lcore %u", w->lcore);
	else if (kind == TG_ALARM_RING && w != NULL && n % per < g->n_ports)
		snprintf(to, len, "port %s lcore %u", g->ports[n % per].name, w->lcore);
	else if ((kind == TG_ALARM_MISSED || kind == TG_ALARM_DOWN) && n < g->n_ports)
		snprintf(to, len, "port %s", g->ports[n].name);
	else
		snprintf(to, len, "control");
}

void tg_watch_count(const struct tg_watch *w, enum tg_alarm_kind kind, unsigned int *active,
		    uint64_t *count)
{
	*active = 0;
	*count = 0;
	for (unsigned int n = 0; n < alarms_of(kind); n++) {
		const struct tg_alarm *a = alarm_of(w, kind, n);

		*active += a->active;
		*count += a->count;
	}
}

static json_t *alarm_row(const struct tg_gateway *g, enum tg_alarm_kind kind, unsigned int n,
			 uint64_t now)
{
	const struct tg_alarm *a = alarm_of(g->watch, kind, n);
	bool time = kind != TG_ALARM_MISSED;
	char where[TG_NAME_MAX + 32];

	name_place(g, kind, n, where, sizeof(where));
	return json_pack("{s:s, s:s, s:b, s:I, s:o, s:o, s:I, s:s}", "alarm", tg_alarm_name(kind),
			 "where", where, "active", a->active, "count", (json_int_t)a->count,
			 "worst_ns", time ? json_integer((json_int_t)a->worst) : json_null(),
			 "worst_packets", time ? json_null() : json_integer((json_int_t)a->worst),
			 "ago_ns", (json_int_t)tg_ticks_to_ns(&g->clock, now - a->last), "meaning",
			 meaning(kind));
}

json_t *tg_watch_alarms(const struct tg_gateway *g, uint64_t now)
{
	json_t *list = json_array();

	for (unsigned int kind = 0; kind < TG_ALARM_KINDS; kind++)
		for (unsigned int n = 0; n < alarms_of(kind); n++)
			if (alarm_of(g->watch, kind, n)->count > 0)
				json_array_append_new(list, alarm_row(g, kind, n, now));
	return list;
}

json_t *tg_watch_tasks(const struct tg_gateway *g, uint64_t now)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < g->n_workers; i++)
		for (unsigned int k = 0; k < g->worker[i]->sched.n; k++) {
			const struct tg_task *t = g->worker[i]->sched.task[k];
			const struct tg_clock *c = &g->clock;

			json_array_append_new(
				list,
				json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
					  "lcore", (int)g->worker[i]->lcore, "task", t->name,
					  "late_ns",
					  (json_int_t)tg_ticks_to_ns(c, tg_task_late(t, now)),
					  "backlog", (json_int_t)tg_task_backlog(t, now), "rounds",
					  (json_int_t)tg_stat_read(&t->rounds), "steps",
					  (json_int_t)tg_stat_read(&t->steps), "work_ns",
					  (json_int_t)tg_ticks_to_ns(c, tg_stat_read(&t->work)),
					  "step_max_ns",
					  (json_int_t)tg_ticks_to_ns(c, tg_stat_read(&t->step_max)),
					  "late_max_ns",
					  (json_int_t)tg_ticks_to_ns(c, tg_stat_read(&t->late_max)),
					  "alarms", (json_int_t)g->watch->task[i][k].count));
		}
	return list;
}
