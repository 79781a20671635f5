/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "tg_sched.h"
#include "unit.h"

#define IN_ROW 10000 /* ticks; a tick stands for a nanosecond */
#define SHARE  64    /* 0.25 */

static const struct tg_sched_params params = {.in_row = IN_ROW, .share_256 = SHARE};

/* In loops plain tests stand for ck_assert: check makes a note to its parent each time. */

/* A task whose round takes `steps` steps of `ticks` each on the virtual clock. */
struct work {
	struct tg_task task;
	uint64_t *clock;
	uint64_t ticks;
	unsigned int steps, left;
};

static bool step(void *ctx, uint64_t now)
{
	struct work *w = ctx;

	if (now != *w->clock)
		ck_abort_msg("the step was told another time");
	if (w->left == 0)
		w->left = w->steps;
	*w->clock += w->ticks;
	return --w->left > 0;
}

static struct work work(uint64_t *clock, uint64_t period, unsigned int steps, uint64_t ticks)
{
	struct work w = {
		.task = {.name = "work", .step = step, .period = period},
		.clock = clock,
		.ticks = ticks,
		.steps = steps,
	};

	return w;
}

static void add(struct tg_sched *s, struct work *w)
{
	w->task.ctx = w;
	ck_assert_int_eq(tg_sched_add(s, &w->task, *w->clock), 0);
}

/* One turn as a worker makes it. Returns its background ticks and checks the bound on them. */
static uint64_t turn(struct tg_sched *s, uint64_t packet_ticks, uint64_t *clock)
{
	uint64_t start;
	struct tg_task *t;

	*clock += packet_ticks;
	start = *clock;
	tg_sched_turn(s, packet_ticks, start);
	while ((t = tg_sched_next(s, *clock)) != NULL) {
		bool more;

		if (*clock - start >= IN_ROW)
			ck_abort_msg("a step starts %lu ticks into the turn",
				     (unsigned long)(*clock - start));
		more = t->step(t->ctx, *clock);
		tg_sched_done(s, t, more, *clock);
	}
	return *clock - start;
}

START_TEST(takes_so_many)
{
	static struct tg_task tasks[TG_SCHED_TASKS_MAX + 1];
	struct tg_sched s;

	tg_sched_init(&s, &params);
	for (unsigned int i = 0; i < TG_SCHED_TASKS_MAX; i++)
		ck_assert_int_eq(tg_sched_add(&s, &tasks[i], 0), 0);
	ck_assert_int_eq(tg_sched_add(&s, &tasks[TG_SCHED_TASKS_MAX], 0), -ENOSPC);
}
END_TEST

START_TEST(nothing_to_do)
{
	uint64_t clock = 5;
	struct tg_sched s;
	struct work w = work(&clock, 1000, 1, 10);

	tg_sched_init(&s, &params);
	ck_assert_uint_eq(turn(&s, 0, &clock), 0);
	add(&s, &w);
	/* due at once, then not before its period is over */
	ck_assert_uint_eq(turn(&s, 0, &clock), 10);
	ck_assert_uint_eq(w.task.due, 1005);
	clock = 1004;
	ck_assert_uint_eq(turn(&s, 0, &clock), 0);
	clock = 1005;
	ck_assert_uint_eq(turn(&s, 0, &clock), 10);
	ck_assert_uint_eq(w.task.rounds, 2);
	ck_assert_uint_eq(w.task.steps, 2);
	ck_assert_uint_eq(w.task.work, 20);
}
END_TEST

START_TEST(longest_waiting_first)
{
	uint64_t clock = 0;
	struct tg_sched s;
	struct work a = work(&clock, 1000, 3, 100), b = work(&clock, 1000, 1, 100);
	struct work c = work(&clock, 1000, 1, 100);

	tg_sched_init(&s, &params);
	clock = 30;
	add(&s, &c);
	clock = 10;
	add(&s, &a);
	clock = 20;
	add(&s, &b);
	clock = 50;
	/* a's round is three steps: the others come between them */
	for (unsigned int i = 0; i < 5; i++) {
		struct work *const order[] = {&a, &b, &c, &a, &a};
		struct tg_task *t;
		bool more;

		tg_sched_turn(&s, 0, clock);
		t = tg_sched_next(&s, clock);
		ck_assert_ptr_eq(t, &order[i]->task);
		ck_assert(t->running);
		more = step(order[i], clock);
		tg_sched_done(&s, t, more, clock);
		/* idle: the queues are polled after each step */
		ck_assert_ptr_null(tg_sched_next(&s, clock));
	}
	ck_assert(!a.task.running);
	tg_sched_turn(&s, 0, clock);
	ck_assert_ptr_null(tg_sched_next(&s, clock));
}
END_TEST

/* Every turn is full of packets: a quarter of their time goes to a task that always has work. */
START_TEST(share_under_full_load)
{
	static const uint64_t packet[] = {400, 1600, 5000, 30000}, ticks[] = {50, 700, 2500, 9000};
	const unsigned int turns = 20000;

	for (unsigned int i = 0; i < 16; i++) {
		uint64_t clock = 0, background = 0, packets = turns * packet[i / 4];
		struct tg_sched s;
		struct work w = work(&clock, 1, 1, ticks[i % 4]);

		tg_sched_init(&s, &params);
		add(&s, &w);
		for (unsigned int k = 0; k < turns; k++)
			background += turn(&s, packet[i / 4], &clock);
		ck_assert_uint_eq(background, w.task.work);
		/* one credit and one step of slack at the ends */
		ck_assert_uint_le(background, packets / 4 + IN_ROW);
		ck_assert_uint_ge(background + IN_ROW, packets / 4);
	}
}
END_TEST

/* A turn longer than four times in_row owes more than in_row allows: in_row it is, and one step. */
START_TEST(in_row_bounds_long_turns)
{
	uint64_t clock = 0, longest = 0;
	struct tg_sched s;
	struct work w = work(&clock, 1, 1, 3000);

	tg_sched_init(&s, &params);
	add(&s, &w);
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t took = turn(&s, i % 3 == 0 ? 0 : 1000000, &clock);

		longest = took > longest ? took : longest;
	}
	ck_assert_uint_eq(longest, 12000); /* the fourth step starts at 9000 */
	/* time that passed between steps counts too */
	tg_sched_turn(&s, 0, clock);
	ck_assert_ptr_nonnull(tg_sched_next(&s, clock + IN_ROW - 1));
	ck_assert_ptr_null(tg_sched_next(&s, clock + IN_ROW));
}
END_TEST

/* Idle turns give in_row each, but nothing is saved up when no task is due. */
START_TEST(no_saving_up)
{
	uint64_t clock = 0, background = 0;
	struct tg_sched s;
	struct work w = work(&clock, 1, 1, 1000);

	tg_sched_init(&s, &params);
	for (unsigned int i = 0; i < 100000; i++)
		turn(&s, 20000, &clock);
	add(&s, &w);
	for (unsigned int i = 0; i < 10; i++)
		background += turn(&s, 400, &clock);
	ck_assert_uint_le(background, IN_ROW + 10 * 100 + 1000);
}
END_TEST

/* A step that the host stalled for 5 ms: the tasks go on after at most in_row was made good. */
START_TEST(stall_is_not_paid_back)
{
	uint64_t clock = 0;
	struct tg_sched s;
	struct work w = work(&clock, 1, 1, 5000000);
	unsigned int turns = 0;

	tg_sched_init(&s, &params);
	add(&s, &w);
	ck_assert_uint_eq(turn(&s, 2000, &clock), 5000000);
	w.ticks = 1000;
	while (turn(&s, 2000, &clock) == 0)
		turns++;
	ck_assert_uint_ge(turns, IN_ROW / 500 - 1);
	ck_assert_uint_le(turns, IN_ROW / 500 + 1);
}
END_TEST

/* Under full load one task has more work than the share: the others still get their rounds. */
START_TEST(nobody_starves)
{
	uint64_t clock = 0;
	struct tg_sched s;
	struct work hog = work(&clock, 1000, 50, 2000);     /* 100 us of work each us */
	struct work health = work(&clock, 1000000, 1, 500); /* every ms */
	struct work publish = work(&clock, 10000000, 20, 1000);

	tg_sched_init(&s, &params);
	add(&s, &hog);
	add(&s, &health);
	add(&s, &publish);
	while (clock < 1000000000) /* a second */
		turn(&s, 1600, &clock);
	/* A round of hog's takes 100 us of work, 500 us of time at the share; one of publish's 100.
	 * Nobody waits for more than one round of each of the others. */
	ck_assert_uint_ge(health.task.rounds, 999);
	ck_assert_uint_le(health.task.late_max, 700000);
	ck_assert_uint_ge(publish.task.rounds, 99);
	ck_assert_uint_le(publish.task.late_max, 800000);
	ck_assert_uint_ge(hog.task.rounds, 1900);
}
END_TEST

START_TEST(lateness)
{
	uint64_t clock = 100;
	struct tg_sched s;
	struct work w = work(&clock, 1000, 2, 30);
	struct tg_task *t;

	tg_sched_init(&s, &params);
	add(&s, &w);
	ck_assert_uint_eq(tg_task_late(&w.task, 99), 0);
	ck_assert_uint_eq(tg_task_late(&w.task, 100), 0);
	ck_assert_uint_eq(tg_task_late(&w.task, 150), 50);
	tg_sched_turn(&s, 0, 150);
	t = tg_sched_next(&s, 150);
	tg_sched_done(&s, t, true, 180);
	ck_assert_uint_eq(w.task.late_max, 0); /* the round is not over */
	tg_sched_turn(&s, 0, 180);
	t = tg_sched_next(&s, 180);
	tg_sched_done(&s, t, false, 230);
	ck_assert_uint_eq(w.task.late_max, 130);
	ck_assert_uint_eq(w.task.due, 1100); /* periods count from due, not from the end */
	/* a round that ends later than its period is due again at once, not for all it missed */
	tg_sched_turn(&s, 0, 9000);
	t = tg_sched_next(&s, 9000);
	tg_sched_done(&s, t, false, 9500);
	ck_assert_uint_eq(w.task.late_max, 8400);
	ck_assert_uint_eq(w.task.due, 9500);
	ck_assert_uint_eq(w.task.step_max, 500);
}
END_TEST

START_TEST(backlog)
{
	struct tg_task t = {.period = 1000, .size = 66, .due = 5000};

	ck_assert_uint_eq(tg_task_backlog(&t, 4999), 0);
	ck_assert_uint_eq(tg_task_backlog(&t, 5000), 66);
	t.left = 16; /* under way */
	ck_assert_uint_eq(tg_task_backlog(&t, 5999), 16);
	ck_assert_uint_eq(tg_task_backlog(&t, 6000), 16 + 66);
	ck_assert_uint_eq(tg_task_backlog(&t, 15000), 16 + 10 * 66);
	t.size = t.left = 0;
	ck_assert_uint_eq(tg_task_backlog(&t, 15000), 0);
}
END_TEST

/* How long a worker may sleep. */
START_TEST(idle_time)
{
	uint64_t clock = 100;
	struct tg_sched s;
	struct work a = work(&clock, 1000, 1, 10), b = work(&clock, 300, 1, 10);

	tg_sched_init(&s, &params);
	ck_assert_uint_eq(tg_sched_idle(&s, 0), UINT64_MAX);
	add(&s, &a);
	ck_assert_uint_eq(tg_sched_idle(&s, 50), 50);
	ck_assert_uint_eq(tg_sched_idle(&s, 100), 0);
	turn(&s, 0, &clock);
	ck_assert_uint_eq(tg_sched_idle(&s, 600), 500);
	add(&s, &b);
	turn(&s, 0, &clock);
	ck_assert_uint_eq(tg_sched_idle(&s, 400), 10);
	ck_assert_uint_eq(tg_sched_idle(&s, 5000), 0);
	/* set back: due at once */
	ck_assert_uint_eq(tg_sched_idle(&s, 5), 0);
}
END_TEST

/* A step that takes no time (virtual clocks): all that is due is done in one turn. */
START_TEST(no_time_no_poll)
{
	uint64_t clock = 0;
	struct tg_sched s;
	struct work a = work(&clock, 1000, 40, 0), b = work(&clock, 1000, 3, 0);

	tg_sched_init(&s, &params);
	add(&s, &a);
	add(&s, &b);
	turn(&s, 0, &clock);
	ck_assert_uint_eq(a.task.rounds, 1);
	ck_assert_uint_eq(b.task.rounds, 1);
}
END_TEST

/* Other bounds while it runs: the tasks stay. */
START_TEST(other_bounds)
{
	const struct tg_sched_params wide = {.in_row = IN_ROW, .share_256 = 256};
	uint64_t clock = 0;
	struct tg_sched s;
	struct work w = work(&clock, 1, 1, 1000);

	tg_sched_init(&s, &params);
	add(&s, &w);
	ck_assert_uint_eq(turn(&s, 8000, &clock), 2000);
	tg_sched_set(&s, &wide);
	ck_assert_uint_eq(turn(&s, 8000, &clock), 8000);
	ck_assert_uint_eq(w.task.rounds, 10);
	/* centuries of packets owe in_row, not what is left of them in 64 bits */
	ck_assert_uint_eq(turn(&s, UINT64_C(1) << 62, &clock), IN_ROW);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sched");

	UNIT_CASE(s, "order", takes_so_many, nothing_to_do, longest_waiting_first, lateness,
		  backlog, idle_time);
	UNIT_CASE(s, "budget", share_under_full_load, in_row_bounds_long_turns, no_saving_up,
		  stall_is_not_paid_back, nobody_starves, no_time_no_poll, other_bounds);
	return s;
}

UNIT_MAIN(suite)
