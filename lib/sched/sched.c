/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_sched.h"

#include <errno.h>
#include <string.h>

void tg_sched_init(struct tg_sched *s, const struct tg_sched_params *params)
{
	memset(s, 0, sizeof(*s));
	s->params = *params;
}

void tg_sched_set(struct tg_sched *s, const struct tg_sched_params *params)
{
	s->params = *params;
}

/* Numbers that others read. */
static inline void publish(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

int tg_sched_add(struct tg_sched *s, struct tg_task *t, uint64_t now)
{
	if (s->n == TG_SCHED_TASKS_MAX)
		return -ENOSPC;
	publish(&t->due, now);
	t->since = now;
	t->running = false;
	t->left = 0;
	t->steps = t->rounds = t->work = t->late_max = t->step_max = 0;
	s->task[s->n++] = t;
	return 0;
}

/* What packet_ticks of packets owe the tasks, at most in_row; a leap of the clock cannot overflow
 * it. */
static int64_t owed(const struct tg_sched_params *p, uint64_t packet_ticks)
{
	uint64_t share;

	if (packet_ticks >= UINT64_MAX >> 9)
		return (int64_t)p->in_row;
	share = packet_ticks * p->share_256 >> 8;
	return (int64_t)(share < p->in_row ? share : p->in_row);
}

void tg_sched_turn(struct tg_sched *s, uint64_t packet_ticks, uint64_t now)
{
	int64_t in_row = (int64_t)s->params.in_row;

	s->turn_start = now;
	s->spent = 0;
	s->owed = owed(&s->params, packet_ticks);
	s->budget = packet_ticks == 0 ? in_row : s->budget + s->owed;
	if (s->budget > in_row)
		s->budget = in_row;
}

/* The clock never set back, a task is due within its period. */
static bool set_back(const struct tg_task *t, uint64_t now)
{
	return t->due > now && t->due - now > t->period;
}

struct tg_task *tg_sched_next(struct tg_sched *s, uint64_t now)
{
	struct tg_task *oldest = NULL;

	if (s->budget <= 0 || now - s->turn_start >= s->params.in_row)
		return NULL;
	/* a step that took no time (virtual clocks) is no reason to poll */
	if (s->spent > 0 && s->spent >= s->owed)
		return NULL;
	for (unsigned int i = 0; i < s->n; i++) {
		struct tg_task *t = s->task[i];

		if (set_back(t, now))
			publish(&t->due, now);
		if (t->since > now && t->due <= now)
			t->since = now;
		if (t->due <= now && (oldest == NULL || t->since < oldest->since))
			oldest = t;
	}
	if (oldest != NULL) {
		oldest->running = true;
		s->step_start = now;
	}
	return oldest;
}

static void end_round(struct tg_task *t, uint64_t now)
{
	uint64_t late = tg_task_late(t, now), next = t->due + t->period;

	t->running = false;
	publish(&t->rounds, t->rounds + 1);
	if (late > t->late_max)
		publish(&t->late_max, late);
	publish(&t->due, next > now ? next : now);
	t->since = t->due;
}

void tg_sched_done(struct tg_sched *s, struct tg_task *t, bool more, uint64_t now)
{
	uint64_t work = now > s->step_start ? now - s->step_start : 0;
	uint64_t in_row = s->params.in_row, paid = work < 2 * in_row ? work : 2 * in_row;

	s->spent += (int64_t)paid;
	s->budget -= (int64_t)paid;
	if (s->budget < -(int64_t)in_row)
		s->budget = -(int64_t)in_row;
	publish(&t->steps, t->steps + 1);
	publish(&t->work, t->work + work);
	if (work > t->step_max)
		publish(&t->step_max, work);
	if (more)
		t->since = now;
	else
		end_round(t, now);
}

uint64_t tg_sched_idle(const struct tg_sched *s, uint64_t now)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < s->n; i++) {
		const struct tg_task *t = s->task[i];
		uint64_t wait = t->due <= now || set_back(t, now) ? 0 : t->due - now;

		if (wait < least)
			least = wait;
	}
	return least;
}

uint64_t tg_task_late(const struct tg_task *t, uint64_t now)
{
	uint64_t due = __atomic_load_n(&t->due, __ATOMIC_RELAXED);

	return now > due ? now - due : 0;
}

uint64_t tg_task_backlog(const struct tg_task *t, uint64_t now)
{
	uint64_t due = __atomic_load_n(&t->due, __ATOMIC_RELAXED);
	uint32_t left = __atomic_load_n(&t->left, __ATOMIC_RELAXED);
	uint64_t missed;

	if (due > now)
		return 0;
	missed = t->period > 0 ? (now - due) / t->period : 0;
	return (left > 0 ? left : t->size) + missed * t->size;
}
