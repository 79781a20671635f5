/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must hold of the scheduler whatever happens: thousands of random workers, each with its own
 * tasks, bounds and traffic, against a model that knows nothing of budgets.
 */
#include "tg_sched.h"
#include "unit.h"

#define WORKERS 300
#define TURNS   4000
#define TASKS   8
#define YEAR_NS UINT64_C(31536000000000000)

/* In loops plain tests stand for ck_assert: check makes a note to its parent each time. */
#define HOLDS(x, ...)                              \
	do {                                       \
		if (!(x))                          \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

struct model {
	struct tg_sched s;
	struct tg_task task[TASKS];
	uint64_t waits[TASKS];             /* since when, as a bystander sees it */
	unsigned int passed[TASKS][TASKS]; /* steps of k while i waited for one */
	unsigned int n;
	uint64_t clock, random;
	uint64_t in_row, step_max, packets_max;
	uint32_t share_256;
	bool endless; /* rounds never end */
};

static uint64_t draw(struct model *m, uint64_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 11) % below;
}

static void make(struct model *m, uint64_t seed, bool endless)
{
	struct tg_sched_params p;

	*m = (struct model){.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1, .clock = YEAR_NS};
	m->n = 1 + (unsigned int)draw(m, TASKS);
	m->in_row = 1000 + draw(m, 30000);
	m->share_256 = 1 + (uint32_t)draw(m, 256);
	m->step_max = 1 + draw(m, m->in_row);
	m->packets_max = m->in_row * 256 / m->share_256; /* longer ones owe in_row */
	m->endless = endless;
	p = (struct tg_sched_params){.in_row = m->in_row, .share_256 = m->share_256};
	tg_sched_init(&m->s, &p);
	for (unsigned int i = 0; i < m->n; i++) {
		/* endless ones are always due, and so share the time; the others often rest */
		m->task[i].period = endless ? 1 : 1 + draw(m, 100000);
		m->waits[i] = m->clock;
		ck_assert_int_eq(tg_sched_add(&m->s, &m->task[i], m->clock), 0);
	}
}

/* The one that was handed out waited longest of those due. */
static unsigned int check_order(struct model *m, const struct tg_task *t)
{
	unsigned int k = (unsigned int)(t - m->task);

	for (unsigned int i = 0; i < m->n; i++) {
		if (m->task[i].due > m->clock)
			continue;
		HOLDS(m->waits[i] >= m->waits[k], "task %u waits longer than task %u", i, k);
		m->passed[i][k]++;
		HOLDS(i == k || m->passed[i][k] <= 1, "task %u had two steps while %u waited", k,
		      i);
	}
	for (unsigned int j = 0; j < m->n; j++)
		m->passed[k][j] = 0;
	return k;
}

/* One turn; returns its background ticks. */
static uint64_t turn(struct model *m, uint64_t packet_ticks)
{
	uint64_t start;
	struct tg_task *t;

	m->clock += packet_ticks;
	start = m->clock;
	tg_sched_turn(&m->s, packet_ticks, start);
	while ((t = tg_sched_next(&m->s, m->clock)) != NULL) {
		unsigned int k = check_order(m, t);
		bool more = m->endless || draw(m, 4) > 0;

		HOLDS(m->clock - start < m->in_row, "a step begins %lu ticks into a row of %lu",
		      (unsigned long)(m->clock - start), (unsigned long)m->in_row);
		HOLDS(packet_ticks > 0 || m->clock == start, "two steps without a poll");
		m->clock += 1 + draw(m, m->step_max);
		tg_sched_done(&m->s, t, more, m->clock);
		m->waits[k] = more ? m->clock : t->due;
		HOLDS(t->due <= m->clock + t->period, "due later than a period from now");
	}
	return m->clock - start;
}

START_TEST(never_long_in_a_row_and_in_order)
{
	for (uint64_t seed = 1; seed <= WORKERS; seed++) {
		struct model m;

		make(&m, seed, seed % 2);
		for (unsigned int i = 0; i < TURNS; i++) {
			uint64_t packets = draw(&m, 3) == 0 ? 0 : draw(&m, 3 * m.packets_max);

			if (draw(&m, 50) == 0)
				m.clock += draw(&m, 10000000); /* stalled */
			HOLDS(turn(&m, packets) < m.in_row + m.step_max,
			      "more than a row and a step");
		}
	}
}
END_TEST

/*
 * Over every window of turns with something due all the time: background work is the share of
 * packet time, up to one row and one step either way. Idle turns among them may add to it.
 */
START_TEST(share_over_any_window)
{
	for (uint64_t seed = 1; seed <= WORKERS; seed++) {
		bool idle = seed % 3 == 0;
		int64_t ahead = 0, low = 0, high = 0, slack;
		struct model m;

		make(&m, seed, true);
		slack = (int64_t)(2 * m.in_row + m.step_max);
		for (unsigned int i = 0; i < TURNS; i++) {
			uint64_t packets = idle && draw(&m, 4) == 0 ? 0
								    : 1 + draw(&m, m.packets_max);

			ahead += (int64_t)turn(&m, packets) -
				 (int64_t)(packets * m.share_256 / 256);
			/* from the best start of a window, and from the worst */
			low = ahead < low ? ahead : low;
			high = ahead > high ? ahead : high;
			HOLDS(ahead >= high - slack, "%ld ticks less than the share in a window",
			      (long)(high - ahead));
			HOLDS(idle || ahead <= low + slack,
			      "%ld ticks more than the share in a window", (long)(ahead - low));
		}
	}
}
END_TEST

/* Rounds that never end starve nobody: steps are even, whatever they cost. */
START_TEST(nobody_starves)
{
	for (uint64_t seed = 1; seed <= WORKERS; seed++) {
		uint64_t least = UINT64_MAX, most = 0;
		struct model m;

		make(&m, seed, true);
		for (unsigned int i = 0; i < TURNS; i++)
			turn(&m, 1 + draw(&m, m.packets_max));
		for (unsigned int i = 0; i < m.n; i++) {
			least = m.task[i].steps < least ? m.task[i].steps : least;
			most = m.task[i].steps > most ? m.task[i].steps : most;
		}
		HOLDS(least > 0 && most - least <= 1, "steps from %lu to %lu", (unsigned long)least,
		      (unsigned long)most);
	}
}
END_TEST

/* Back by up to a year, ahead by up to 500. */
static void jump(struct model *m)
{
	if (draw(m, 2) == 0 || m->clock > 50 * YEAR_NS) /* 64 bits of them are 584 years */
		m->clock -= draw(m, 2) == 0 ? draw(m, m->clock) : draw(m, 1000);
	else
		m->clock += draw(m, 500) * YEAR_NS;
	for (unsigned int i = 0; i < m->n; i++)
		m->waits[i] = m->task[i].since; /* order over a jump is as it comes */
}

/* After every jump each task begins its next round within its period, in bounded rows. */
START_TEST(time_may_jump)
{
	for (uint64_t seed = 1; seed <= WORKERS; seed++) {
		struct model m;

		make(&m, seed, false);
		for (unsigned int i = 0; i < 20; i++) {
			uint64_t rounds[TASKS], end;

			jump(&m);
			for (unsigned int k = 0; k < m.n; k++)
				rounds[k] = m.task[k].steps;
			/* the first turn began before the jump: its packets seem to have taken years */
			tg_sched_turn(&m.s, UINT64_MAX - draw(&m, 1000), m.clock);
			HOLDS(m.s.budget <= (int64_t)m.in_row,
			      "years of packets owe years of work");
			end = m.clock + 100000 + 100 * m.in_row;
			while (m.clock < end) {
				uint64_t start = m.clock;
				struct tg_task *t;

				tg_sched_turn(&m.s, 0, start);
				t = tg_sched_next(&m.s, m.clock);
				m.clock += t != NULL ? 1 + draw(&m, m.step_max) : 100;
				if (t != NULL)
					tg_sched_done(&m.s, t, draw(&m, 4) > 0, m.clock);
			}
			for (unsigned int k = 0; k < m.n; k++)
				HOLDS(m.task[k].steps > rounds[k], "task %u stands after a jump",
				      k);
		}
	}
}
END_TEST

/* A step during which the clock leaps, either way, costs at most two rows of credit. */
START_TEST(time_may_jump_within_a_step)
{
	for (uint64_t seed = 1; seed <= WORKERS; seed++) {
		struct model m;

		make(&m, seed, true);
		for (unsigned int i = 0; i < 100; i++) {
			struct tg_task *t;

			tg_sched_turn(&m.s, 0, m.clock);
			t = tg_sched_next(&m.s, m.clock);
			if (t == NULL) /* due within its period, which is 1 */
				t = tg_sched_next(&m.s, ++m.clock);
			HOLDS(t != NULL, "nothing is handed out");
			jump(&m);
			tg_sched_done(&m.s, t, draw(&m, 2) > 0, m.clock);
			HOLDS(m.s.budget >= -(int64_t)m.in_row, "a leap is a debt");
		}
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sched_property");

	UNIT_CASE(s, "bounds", never_long_in_a_row_and_in_order, share_over_any_window);
	UNIT_CASE(s, "starvation", nobody_starves);
	UNIT_CASE(s, "jumps", time_may_jump, time_may_jump_within_a_step);
	return s;
}

UNIT_MAIN(suite)
