/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background work of one worker (ageing, publishing) in small steps between packets. Packets
 * come first; a turn also owes the tasks a share of packet time, so maintenance never starves;
 * the task that has waited longest past its due time goes first; the caller polls its queues
 * after at most `in_row` ticks of work.
 *
 * The scheduler never reads the clock: the caller runs
 *	while ((t = tg_sched_next(s, now))) { more = t->step(t->ctx, now); now = clock();
 *	                                      tg_sched_done(s, t, more, now); }
 * No step starts once in_row ticks were spent in a row, so a turn's background work is shorter than
 * in_row and one step. A round that ends late is due again at once, behind whoever waits longer:
 * a task that cannot keep its period does not push the others away.
 *
 * Thread-safety: one lcore; the published numbers may be read by others (relaxed).
 * Source: reconstruction of the low-load part of Alibaba Cloud's block storage scheduler (NSDI '26).
 */
#ifndef TG_SCHED_H
#define TG_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define TG_SCHED_TASKS_MAX 16

struct tg_task {
	const char *name;
	/* one step, well below in_row; true: more to do this round */
	bool (*step)(void *ctx, uint64_t now);
	void *ctx;
	uint64_t period; /* ticks between rounds */
	/* state, written by the scheduler */
	uint64_t due; /* when the round should start; while one is under way, when it did */
	bool running; /* a round is under way */
	uint64_t steps, rounds, work; /* cumulative; work in ticks */
	uint64_t late_max;            /* longest a round's end lay behind its due time, ticks */
};

struct tg_sched_params {
	uint64_t in_row; /* ticks of background work before the queues are polled again (10 us) */
	uint32_t share_256; /* background work owed a tick of packet work, in 256ths (64: 0.25) */
};

struct tg_sched {
	struct tg_sched_params params;
	struct tg_task *task[TG_SCHED_TASKS_MAX];
	unsigned int n;
	uint64_t turn_start; /* of this turn's background work */
	uint64_t step_start; /* of the step that tg_sched_next handed out */
	/* Ticks of background work allowed now. Kept within in_row either way: what was not used is
	 * not saved up for a burst of work, and a step that the host stalled is not paid for by the
	 * tasks. */
	int64_t budget;
};

void tg_sched_init(struct tg_sched *s, const struct tg_sched_params *params);

/* First due at `now`. 0, or -ENOSPC. The task stays the caller's and must outlive s. */
int tg_sched_add(struct tg_sched *s, struct tg_task *t, uint64_t now);

/* A turn's packets took packet_ticks (0: it was idle, background work may use in_row ticks);
 * background work may start at `now`. */
void tg_sched_turn(struct tg_sched *s, uint64_t packet_ticks, uint64_t now);

/* The task whose step to run at `now`: the oldest due; NULL when none is due or the budget of the
 * turn is spent. */
struct tg_task *tg_sched_next(struct tg_sched *s, uint64_t now);

/* The step of t returned `more` and ended at now. */
void tg_sched_done(struct tg_sched *s, struct tg_task *t, bool more, uint64_t now);

/* How late a task is at now, ticks; 0 when on time. */
uint64_t tg_task_late(const struct tg_task *t, uint64_t now);

#endif
