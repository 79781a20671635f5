/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background work of one worker (ageing, publishing) in small steps between packets. Packets
 * come first; a turn also owes the tasks a share of packet time, so maintenance never starves;
 * the task that has waited longest for its next step goes first; receive queues are polled
 * between steps.
 *
 * The scheduler never reads the clock: in every turn, after its packets, the caller runs
 *	tg_sched_turn(s, packet_ticks, now);
 *	while ((t = tg_sched_next(s, now))) { more = t->step(t->ctx, now); now = clock();
 *	                                      tg_sched_done(s, t, more, now); }
 * An idle turn is one step long: the next one comes after the queues were polled. A turn with
 * packets goes on with further steps only while they are within the share that this very turn
 * owes. No step starts once in_row ticks were spent in a row, so background work between two polls
 * is shorter than in_row and one step. A turn whose packets took longer than in_row divided by the
 * share owes in_row: the bound goes before the share.
 *
 * A round may take many steps; between them every other task that is due has its own, so a long
 * round keeps nobody waiting. A round that ends late is due again at once: periods that were missed
 * are not made good.
 *
 * Time may jump: a clock that was set back delays no task by more than its period, one that leaps
 * by years gives no more than in_row of work.
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
	uint32_t size;   /* pieces of work in a round, the task's own measure; 0: not counted */
	/* written by the step: pieces of this round still to do */
	uint32_t left;
	/* state, written by the scheduler */
	uint64_t due;   /* when the round should start; while one is under way, when it did */
	uint64_t since; /* waits for its next step since then */
	bool running;   /* a round is under way */
	uint64_t steps, rounds, work; /* cumulative; work in ticks */
	uint64_t late_max;            /* longest a round's end lay behind its due time, ticks */
	uint64_t step_max;            /* longest step, ticks */
};

struct tg_sched_params {
	uint64_t in_row; /* ticks of background work before the queues are polled again (10 us) */
	uint32_t share_256; /* background work owed a tick of packet work, in 256ths, 1..256 */
};

struct tg_sched {
	struct tg_sched_params params;
	struct tg_task *task[TG_SCHED_TASKS_MAX];
	unsigned int n;
	uint64_t turn_start; /* of this turn's background work */
	uint64_t step_start; /* of the step that tg_sched_next handed out */
	int64_t owed;        /* by this turn: beyond it the queues are polled after each step */
	int64_t spent;       /* in this turn */
	/* Ticks of background work allowed now. Kept within in_row either way: what was not used is
	 * not saved up for a burst of work, and a step that the host stalled is not paid for by the
	 * tasks. */
	int64_t budget;
};

void tg_sched_init(struct tg_sched *s, const struct tg_sched_params *params);

/* Other bounds from the next turn on; tasks and their state stay. */
void tg_sched_set(struct tg_sched *s, const struct tg_sched_params *params);

/* First due at `now`. 0, or -ENOSPC. The task stays the caller's and must outlive s. */
int tg_sched_add(struct tg_sched *s, struct tg_task *t, uint64_t now);

/* A turn's packets took packet_ticks (0: it was idle); background work may start at `now`. */
void tg_sched_turn(struct tg_sched *s, uint64_t packet_ticks, uint64_t now);

/* The task whose step to run at `now`: of those due the one that waits longest; NULL when none is
 * due or it is time to poll. */
struct tg_task *tg_sched_next(struct tg_sched *s, uint64_t now);

/* The step of t returned `more` and ended at now. */
void tg_sched_done(struct tg_sched *s, struct tg_task *t, bool more, uint64_t now);

/* Ticks from now until the next task is due: 0 when one is; UINT64_MAX without tasks. */
uint64_t tg_sched_idle(const struct tg_sched *s, uint64_t now);

/* How late a task is at now, ticks; 0 when on time. Any thread. */
uint64_t tg_task_late(const struct tg_task *t, uint64_t now);

/* Pieces of work that should be done by now and are not: the rest of the round under way, or the
 * one that is due, and those whose periods have passed since. Any thread. */
uint64_t tg_task_backlog(const struct tg_task *t, uint64_t now);

#endif
