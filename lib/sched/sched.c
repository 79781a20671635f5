/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_sched.h"

#include <errno.h>
#include <string.h>

void tg_sched_init(struct tg_sched *s, const struct tg_sched_params *params)
{
	memset(s, 0, sizeof(*s));
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
	t->running = false;
	t->steps = t->rounds = t->work = t->late_max = 0;
	s->task[s->n++] = t;
	return 0;
}

void tg_sched_turn(struct tg_sched *s, uint64_t packet_ticks, uint64_t now)
{
	int64_t in_row = (int64_t)s->params.in_row;

	s->turn_start = now;
	if (packet_ticks == 0) {
		s->budget = in_row;
		return;
	}
	s->budget += (int64_t)(packet_ticks * s->params.share_256 >> 8);
	if (s->budget > in_row)
		s->budget = in_row;
}

struct tg_task *tg_sched_next(struct tg_sched *s, uint64_t now)
{
	struct tg_task *oldest = NULL;

	if (s->budget <= 0 || now - s->turn_start >= s->params.in_row)
		return NULL;
	for (unsigned int i = 0; i < s->n; i++) {
		struct tg_task *t = s->task[i];

		if (t->due <= now && (oldest == NULL || t->due < oldest->due))
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
}

void tg_sched_done(struct tg_sched *s, struct tg_task *t, bool more, uint64_t now)
{
	uint64_t work = now > s->step_start ? now - s->step_start : 0;
	uint64_t in_row = s->params.in_row, paid = work < 2 * in_row ? work : 2 * in_row;

	s->budget -= (int64_t)paid;
	if (s->budget < -(int64_t)in_row)
		s->budget = -(int64_t)in_row;
	publish(&t->steps, t->steps + 1);
	publish(&t->work, t->work + work);
	if (!more)
		end_round(t, now);
}

uint64_t tg_task_late(const struct tg_task *t, uint64_t now)
{
	uint64_t due = __atomic_load_n(&t->due, __ATOMIC_RELAXED);

	return now > due ? now - due : 0;
}
