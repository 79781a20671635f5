/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool's tokens: how an interval's are made from the rate and the debt, and how lcores lease them.
 */
#include "private.h"

static uint64_t a_tick(const struct tg_admit_pool *p, int64_t tokens)
{
	return (uint64_t)(((unsigned __int128)(uint64_t)tokens << 32) / p->interval);
}

/* R of one more interval; what is left over of a token comes with the next. */
static uint64_t tokens_due(struct tg_admit_pool *p)
{
	unsigned __int128 r = ((unsigned __int128)tg_admit_read(&p->rate_per_s) << 32) *
				      p->interval / p->clock.hz +
			      p->rest;

	p->rest = (uint64_t)r & UINT32_MAX;
	return (uint64_t)(r >> 32);
}

/* debt: already less what the intervals before have paid. */
static void fill(struct tg_admit_pool *p, struct tg_admit_cell *c, uint64_t number, uint64_t start)
{
	uint64_t r = tokens_due(p), share = r * p->params.auxiliary_percent / 100;
	uint64_t budget = r > p->debt ? r - p->debt : 0;

	c->number = number;
	c->start = start;
	c->unlimited = tg_admit_read(&p->rate_per_s) == 0;
	c->auxiliary = (int64_t)(share < budget ? share : budget);
	c->base = (int64_t)budget - c->auxiliary;
	c->base_a_tick = a_tick(p, c->base);
	c->auxiliary_a_tick = a_tick(p, c->auxiliary);
	c->extra = 0;
	c->base_leased = c->auxiliary_leased = c->extra_leased = 0;
}

void tg_admit_first_cell(struct tg_admit_pool *p, uint64_t now)
{
	/* 2: in the interval before no burst was seen (0) */
	fill(p, &p->cell[0], 2, now);
}

static uint64_t above(int64_t leased, int64_t granted)
{
	return leased > granted ? (uint64_t)(leased - granted) : 0;
}

/* What the interval's lessees had above its budget. */
static uint64_t overshoot(const struct tg_admit_cell *c)
{
	return above(__atomic_load_n(&c->base_leased, __ATOMIC_RELAXED), c->base) +
	       above(__atomic_load_n(&c->auxiliary_leased, __ATOMIC_RELAXED), c->auxiliary) +
	       (uint64_t)__atomic_load_n(&c->extra_leased, __ATOMIC_RELAXED);
}

/* `passed` intervals are over: each of them would have paid R. */
static void settle(struct tg_admit_pool *p, const struct tg_admit_cell *c, uint64_t passed)
{
	unsigned __int128 paid = (unsigned __int128)tg_admit_read(&p->rate_per_s) * p->interval *
				 passed / p->clock.hz;
	uint64_t left = paid < p->debt ? p->debt - (uint64_t)paid : 0;

	__atomic_store_n(&p->debt, left + overshoot(c), __ATOMIC_RELAXED);
}

/* The interval of cell `turn` is over. One lcore gets to do this; the others go on with what the old one
 * has left. */
static void turn_interval(struct tg_admit_pool *p, struct tg_admit_lcore *l, uint64_t turn,
			  uint64_t now)
{
	const struct tg_admit_cell *old = &p->cell[turn & 1];
	uint64_t start = old->start, elapsed = now - start, passed = 1;

	if (!__atomic_compare_exchange_n(&p->claim, &turn, turn + 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	if ((int64_t)elapsed < 0) {
		tg_admit_count(&l->stats.clock_back, 1);
		start = now;
	} else {
		passed = elapsed / p->interval;
		start += passed * p->interval;
		if (passed > 1)
			tg_admit_count(&l->stats.overrun, 1);
	}
	settle(p, old, passed);
	fill(p, &p->cell[(turn + 1) & 1], old->number + passed, start);
	__atomic_store_n(&p->turn, turn + 1, __ATOMIC_RELEASE);
}

/* Is the interval that began at start over at now? Time of another lcore may be a little behind; by
 * more than an interval it went back. */
static inline bool is_over(const struct tg_admit_pool *p, uint64_t start, uint64_t now)
{
	int64_t elapsed = (int64_t)(now - start);

	return elapsed >= (int64_t)p->interval || elapsed < -(int64_t)p->interval;
}

void tg_admit_tick(struct tg_admit_pool *p, unsigned int lcore, uint64_t now)
{
	struct tg_admit_lcore *l = &p->lcore[lcore];
	uint64_t turn = __atomic_load_n(&p->turn, __ATOMIC_ACQUIRE);
	uint32_t number;

	if (is_over(p, p->cell[turn & 1].start, now))
		turn_interval(p, l, turn, now);
	number = (uint32_t)tg_admit_cell_now(p)->number;
	if (number == l->number)
		return;
	__atomic_store_n(&l->number, number, __ATOMIC_RELAXED);
	l->base = l->auxiliary = 0;
}

/* Of `allowed`: at least `least`, up to `chunk`; 0: there are none left. */
static int64_t draw(int64_t *leased, int64_t allowed, int64_t least, int64_t chunk)
{
	int64_t had = __atomic_load_n(leased, __ATOMIC_RELAXED), take;

	do {
		int64_t left = allowed - had;

		if (left <= 0)
			return 0;
		take = chunk < left ? chunk : left;
		take = take > least ? take : least;
	} while (!__atomic_compare_exchange_n(leased, &had, had + take, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return take;
}

static inline uint64_t elapsed_of(const struct tg_admit_pool *p, const struct tg_admit_cell *c,
				  uint64_t now)
{
	int64_t elapsed = (int64_t)(now - c->start);

	if (elapsed < 0)
		return 0;
	return (uint64_t)elapsed < p->interval ? (uint64_t)elapsed : p->interval;
}

/* Adds a lease to *have and spends the cost of it. */
static bool spend_lease(int64_t *have, int64_t lease, int64_t cost, uint64_t *count)
{
	if (lease == 0)
		return false;
	tg_admit_count(count, (uint64_t)lease);
	*have += lease - cost;
	return true;
}

static bool from_base(struct tg_admit_pool *p, struct tg_admit_lcore *l, struct tg_admit_cell *c,
		      int64_t cost, uint64_t elapsed)
{
	int64_t due = tg_admit_accrued(c->base, c->base_a_tick, elapsed);

	return spend_lease(&l->base, draw(&c->base_leased, due, cost - l->base, p->chunk), cost,
			   &l->stats.base);
}

static bool from_auxiliary(struct tg_admit_pool *p, struct tg_admit_lcore *l,
			   struct tg_admit_cell *c, enum tg_admit_class class, int64_t cost,
			   uint64_t elapsed)
{
	if (class == TG_ADMIT_CALM) {
		if (l->auxiliary >= cost) {
			l->auxiliary -= cost;
			return true;
		}
		return spend_lease(&l->auxiliary,
				   draw(&c->auxiliary_leased, c->auxiliary, cost - l->auxiliary,
					p->chunk),
				   cost, &l->stats.auxiliary);
	}
	if (p->params.variant == TG_ADMIT_STRICT)
		return false;
	if (!spend_lease(&l->base,
			 draw(&c->auxiliary_leased,
			      tg_admit_accrued(c->auxiliary, c->auxiliary_a_tick, elapsed),
			      cost - l->base, cost),
			 cost, &l->stats.auxiliary))
		return false;
	tg_admit_count(&l->stats.auxiliary_burst, (uint64_t)cost);
	return true;
}

static bool from_extra(struct tg_admit_lcore *l, struct tg_admit_cell *c, int64_t cost,
		       uint64_t elapsed)
{
	int64_t extra = __atomic_load_n(&c->extra, __ATOMIC_RELAXED);

	if (extra == 0)
		return false;
	return spend_lease(&l->base,
			   draw(&c->extra_leased, tg_admit_accrued(extra, c->extra_a_tick, elapsed),
				cost - l->base, cost),
			   cost, &l->stats.extra);
}

bool tg_admit_lease(struct tg_admit_pool *p, struct tg_admit_lcore *l, enum tg_admit_class class,
		    int64_t cost, uint64_t now)
{
	struct tg_admit_cell *c = &p->cell[__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) & 1];
	uint64_t elapsed = elapsed_of(p, c, now);

	if (c->unlimited)
		return true;
	return from_base(p, l, c, cost, elapsed) || from_auxiliary(p, l, c, class, cost, elapsed) ||
	       from_extra(l, c, cost, elapsed);
}
