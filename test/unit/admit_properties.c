/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must hold whatever happens: random rates, lcores, schedules and bursts, many seeds; and threads
 * that take at the same time.
 */
#include <pthread.h>
#include <string.h>

#include "admit_rig.h"
#include "private.h"
#include "unit.h"

#define SEEDS     300
#define SEGMENTS  12
#define INTERVALS 120

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	return next(state) % n;
}

/* Which of the invariants a run judges. */
static enum invariant { BOUNDED, AUXILIARY, HYSTERESIS } judged;

struct world {
	uint64_t random, seed;
	unsigned int lcores;
	uint32_t rate, headroom, most_cost;
	struct tg_admit_pool *pool;
	uint64_t admitted;
	/* of segments that have their slot, and of strangers together */
	uint64_t calm_again[SEGMENTS + 1]; /* 1 + the interval in which it last became calm */
	bool burst[SEGMENTS + 1];
};

static struct world make(uint64_t seed)
{
	struct world w = {.random = seed, .seed = seed};
	struct tg_admit_params a = calm_params(0);

	w.lcores = 1 + (unsigned int)below(&w.random, 8);
	w.rate = 100 + (uint32_t)below(&w.random, 400000);
	w.headroom = (uint32_t)below(&w.random, w.rate);
	w.most_cost = below(&w.random, 3) == 0 ? 1500 : 1;
	a.budget_per_s = w.rate;
	a.auxiliary_percent = (uint32_t)below(&w.random, 101);
	a.variant = below(&w.random, 2) != 0 ? TG_ADMIT_WORK_CONSERVING : TG_ADMIT_STRICT;
	a.calm_intervals = 1 + (uint32_t)below(&w.random, 12);
	a.hi_per_s = 1 + w.rate / (2 + (uint32_t)below(&w.random, 20));
	w.pool = pool(&a, w.lcores);
	tg_admit_set(w.pool, w.rate, w.headroom);
	return w;
}

/* At most k R, what the first interval of a burst had in advance, and what lcores hold of another. */
static uint64_t bound(const struct world *w, uint64_t intervals)
{
	uint64_t r = (uint64_t)w->rate * intervals / 100 + 1;
	uint64_t extra = w->headroom / 100 + 1;

	return r + extra + w->lcores * ((uint64_t)w->pool->chunk + 2 * w->most_cost);
}

static void watch_class(struct world *w, unsigned int i, enum tg_admit_class class,
			uint64_t interval)
{
	bool burst = class == TG_ADMIT_BURST;

	if (w->burst[i] && !burst) {
		if (judged == HYSTERESIS && w->calm_again[i] != 0 &&
		    interval + 1 - w->calm_again[i] < w->pool->params.calm_intervals)
			ck_abort_msg("seed %ju: segment %u became calm twice within %u intervals",
				     (uintmax_t)w->seed, i, w->pool->params.calm_intervals);
		w->calm_again[i] = interval + 1;
	}
	w->burst[i] = burst;
}

static void one_packet(struct world *w, uint64_t now, unsigned int hot)
{
	unsigned int lcore = (unsigned int)below(&w->random, w->lcores);
	unsigned int i = below(&w->random, 3) == 0 ? (unsigned int)below(&w->random, SEGMENTS)
						   : hot;
	uint32_t cost = 1 + (uint32_t)below(&w->random, w->most_cost);
	struct tg_admit_segment s = segment(w->pool, i);
	struct tg_admit_lcore *l = &w->pool->lcore[lcore];
	enum tg_admit_class class;
	int64_t auxiliary;
	uint64_t leased;
	bool stranger;

	tg_admit_tick(w->pool, lcore, now);
	stranger = l->slot[s.slot].tag != s.tag;
	class = ask(w->pool, lcore, s, cost);
	if (!stranger)
		watch_class(w, i, class, now / INTERVAL);
	else if (w->pool->hot[s.slot] == 0)
		watch_class(w, SEGMENTS, class, now / INTERVAL);
	auxiliary = l->auxiliary;
	leased = l->stats.auxiliary;
	if (tg_admit_take(w->pool, lcore, s, class, cost, now))
		w->admitted += cost;
	if (judged == AUXILIARY && class == TG_ADMIT_BURST &&
	    (l->auxiliary != auxiliary ||
	     (w->pool->params.variant == TG_ADMIT_STRICT && l->stats.auxiliary != leased)))
		ck_abort_msg("seed %ju: a burst has spent auxiliary tokens", (uintmax_t)w->seed);
}

static void run(uint64_t seed)
{
	struct world w = make(seed);
	uint64_t now = 0;

	for (unsigned int k = 0; k < INTERVALS; k++) {
		unsigned int packets = (unsigned int)below(&w.random, 400);
		unsigned int hot = (unsigned int)below(&w.random, SEGMENTS);

		for (unsigned int i = 0; i < packets; i++) {
			now = k * INTERVAL + i * INTERVAL / packets;
			one_packet(&w, now, hot);
		}
		if (judged == BOUNDED && w.admitted > bound(&w, k + 1))
			ck_abort_msg(
				"seed %ju, %u lcores: %ju admitted in %u intervals, at most %ju",
				(uintmax_t)seed, w.lcores, (uintmax_t)w.admitted, k + 1,
				(uintmax_t)bound(&w, k + 1));
		if (below(&w.random, 20) == 0) /* the host stops everything for a while */
			k += (unsigned int)below(&w.random, 8);
	}
	tg_admit_free(w.pool);
}

static void run_all(enum invariant what)
{
	judged = what;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(seed);
}

START_TEST(over_k_intervals_at_most_k_budgets_an_overshoot_and_the_leases)
{
	run_all(BOUNDED);
}
END_TEST

START_TEST(a_burst_never_spends_auxiliary_tokens)
{
	run_all(AUXILIARY);
}
END_TEST

START_TEST(at_most_one_return_to_calm_in_n_intervals)
{
	run_all(HYSTERESIS);
}
END_TEST

/* Intervals passed over give no tokens that were not due, whatever their number: one interval's, and what an
 * overshoot still owes. */
START_TEST(intervals_overrun_give_one_budget)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world w = make(seed);
		uint64_t now = 0, overrun = 0, r = w.rate / 100 + 1;

		for (unsigned int k = 0; k < 40; k++) {
			uint64_t passed = 2 + below(&w.random, 5000), given = 0;

			now = (now / INTERVAL + passed) * INTERVAL;
			for (unsigned int lcore = 0; lcore < w.lcores; lcore++)
				tg_admit_tick(w.pool, lcore, now);
			for (unsigned int i = 0; i < 3 * r && given <= 3 * r; i++) {
				unsigned int lcore = i % w.lcores;

				given += tg_admit_take(w.pool, lcore, segment(w.pool, i % SEGMENTS),
						       TG_ADMIT_CALM, 1, now + INTERVAL - 1);
			}
			ck_assert_uint_le(given, r + w.lcores * (uint64_t)w.pool->chunk);
		}
		for (unsigned int lcore = 0; lcore < w.lcores; lcore++)
			overrun += tg_admit_lcore_stats(w.pool, lcore)->overrun;
		ck_assert_uint_eq(overrun, 40);
		tg_admit_free(w.pool);
	}
}
END_TEST

static bool quickly(struct tg_admit_pool *p, unsigned int lcore, const struct tg_addr *a,
		    uint32_t cost)
{
	struct tg_admit_quick q;
	bool in;

	tg_admit_quick_begin(&q, p, lcore);
	in = tg_admit_quick_take(&q, a, 0, cost);
	tg_admit_quick_end(&q);
	return in;
}

/* One packet for two pools: one looks whether it may go the quick way, the other never does. */
static void both_ways(struct world *quick, struct world *slow, uint64_t now)
{
	unsigned int lcore = (unsigned int)below(&quick->random, quick->lcores);
	uint32_t n = (uint32_t)below(&quick->random, SEGMENTS);
	uint32_t cost = 1 + (uint32_t)below(&quick->random, quick->most_cost);
	struct tg_admit_segment s = segment(quick->pool, n);
	struct tg_addr a = client(n);
	enum tg_admit_class class, other;
	bool in;

	tg_admit_tick(quick->pool, lcore, now);
	tg_admit_tick(slow->pool, lcore, now);
	other = tg_admit_ask(slow->pool, lcore, s, &a, 0, cost);
	in = tg_admit_take(slow->pool, lcore, s, other, cost, now);
	if (quickly(quick->pool, lcore, &a, cost)) {
		quick->admitted++;
		ck_assert(in && other == TG_ADMIT_CALM);
		return;
	}
	class = tg_admit_ask(quick->pool, lcore, s, &a, 0, cost);
	ck_assert_int_eq(class, other);
	ck_assert_int_eq(tg_admit_take(quick->pool, lcore, s, class, cost, now), in);
}

static void same_counts(const struct world *quick, const struct world *slow)
{
	for (unsigned int i = 0; i < quick->lcores; i++)
		ck_assert_mem_eq(tg_admit_lcore_stats(quick->pool, i),
				 tg_admit_lcore_stats(slow->pool, i),
				 sizeof(struct tg_admit_stats));
	for (uint32_t i = 0; i < quick->pool->params.slots; i++) {
		struct tg_admit_slot_view q, v;

		tg_admit_slot(quick->pool, i, &q);
		tg_admit_slot(slow->pool, i, &v);
		ck_assert(q.total == v.total && q.burst == v.burst && q.used == v.used);
	}
}

START_TEST(the_quick_way_is_the_same)
{
	uint64_t quick_ones = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct world quick = make(seed), slow = make(seed);

		for (unsigned int k = 0; k < 40; k++) {
			unsigned int packets = (unsigned int)below(&quick.random, 400);

			for (unsigned int i = 0; i < packets; i++)
				both_ways(&quick, &slow, k * INTERVAL + i * INTERVAL / packets);
		}
		same_counts(&quick, &slow);
		quick_ones += quick.admitted;
		tg_admit_free(quick.pool);
		tg_admit_free(slow.pool);
	}
	ck_assert_uint_gt(quick_ones, 10000);
}
END_TEST

/* A rule, a cap, another kind of segment: these are looked at. */
START_TEST(what_is_not_plain_never_goes_the_quick_way)
{
	struct tg_admit_params a[3];
	struct tg_addr c = client(1);

	for (unsigned int i = 0; i < 3; i++)
		a[i] = calm_params(100000);
	a[0].max_per_s = 50000;
	a[1].n_rules = 1;
	a[1].rule[0] = rule("10.0.0.0/8", "", TG_ADMIT_BRONZE);
	a[2].by = TG_ADMIT_BY_SERVICE;
	for (unsigned int i = 0; i < 3; i++) {
		struct tg_admit_pool *p = pool(&a[i], 1);

		for (unsigned int k = 0; k < 20; k++) {
			ck_assert(!quickly(p, 0, &c, 1));
			ask_take(p, tg_admit_segment(p, &c, 0), INTERVAL / 2);
		}
		tg_admit_free(p);
	}
}
END_TEST

/* Without bursts nothing is left unused: what calm segments ask for, up to the budget, they get; asked for
 * more, all of it is given but for what lcores have leased and not spent. */
START_TEST(no_capacity_is_unused)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world w = make(seed);
		uint64_t r = w.rate / 100, given = 0, least;

		if (w.most_cost > 1 || r < 64) {
			tg_admit_free(w.pool);
			continue;
		}
		for (unsigned int k = 0; k < 20; k++)
			for (unsigned int i = 0; i < 2 * r; i++) {
				uint64_t now = k * INTERVAL + i * INTERVAL / (2 * r);
				unsigned int lcore = i % w.lcores;

				tg_admit_tick(w.pool, lcore, now);
				given += tg_admit_take(w.pool, lcore, segment(w.pool, i % SEGMENTS),
						       TG_ADMIT_CALM, 1, now);
			}
		least = 20 * (r - w.lcores * (uint64_t)w.pool->chunk);
		if (given < least || given > 20 * (r + 1))
			ck_abort_msg("seed %ju: %ju given, at least %ju are due", (uintmax_t)seed,
				     (uintmax_t)given, (uintmax_t)least);
		tg_admit_free(w.pool);
	}
}
END_TEST

struct taker {
	struct tg_admit_pool *pool;
	unsigned int lcore;
	uint64_t admitted;
};

/* All at once, through many intervals on one clock of their own making. */
static void *take_on(void *arg)
{
	struct taker *t = arg;
	struct tg_admit_segment s = segment(t->pool, t->lcore);

	for (uint64_t now = 0; now < 50 * INTERVAL; now += INTERVAL / 2000) {
		enum tg_admit_class class;

		tg_admit_tick(t->pool, t->lcore, now);
		class = ask(t->pool, t->lcore, s, 1);
		t->admitted += tg_admit_take(t->pool, t->lcore, s, class, 1, now);
	}
	return NULL;
}

START_TEST(threads_share_without_locks)
{
	struct tg_admit_params a = calm_params(100000);
	struct tg_admit_pool *p = pool(&a, 4);
	struct taker t[4];
	pthread_t thread[4];
	struct tg_admit_view v;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 4; i++) {
		t[i] = (struct taker){.pool = p, .lcore = i};
		ck_assert_int_eq(pthread_create(&thread[i], NULL, take_on, &t[i]), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		sum += t[i].admitted;
	}
	tg_admit_look(p, &v);
	/* a thread that is behind makes time go back by more than an interval: a new one begins then, and is
	 * counted. So the bound is over the intervals that there were. */
	ck_assert_uint_le(sum, (v.interval + 50 + 1) * 1000 + 4 * (uint64_t)p->chunk);
	ck_assert_uint_gt(sum, 0);
	tg_admit_free(p);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admit_properties");

	UNIT_CASE(s, "invariants", over_k_intervals_at_most_k_budgets_an_overshoot_and_the_leases,
		  a_burst_never_spends_auxiliary_tokens, at_most_one_return_to_calm_in_n_intervals,
		  intervals_overrun_give_one_budget, no_capacity_is_unused);
	UNIT_CASE(s, "quick", the_quick_way_is_the_same,
		  what_is_not_plain_never_goes_the_quick_way);
	UNIT_CASE(s, "threads", threads_share_without_locks);
	return s;
}

UNIT_MAIN_EAL(suite)
