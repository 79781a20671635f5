/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks for how much: a segment's class, and the hard cap. Every lcore counts for itself; only where
 * one of them has its part of a threshold are all of them summed up. So the sum is read rarely, and
 * seldom missed: where n lcores have a threshold together, one of them has an n-th of it.
 */
#include "private.h"

#define NEVER UINT32_MAX

static uint32_t in_interval(const struct tg_admit_pool *p, uint64_t per_s)
{
	uint64_t n = (uint64_t)((unsigned __int128)per_s * p->interval / p->clock.hz);

	return n < 1 ? 1 : n < NEVER - 1 ? (uint32_t)n : NEVER - 1;
}

static uint32_t part(const struct tg_admit_pool *p, uint32_t of_all)
{
	return of_all / p->n_lcores > 0 ? of_all / p->n_lcores : 1;
}

static struct tg_admit_band band(const struct tg_admit_pool *p, uint64_t hi, uint64_t lo)
{
	struct tg_admit_band b = {.hi = NEVER, .hi_own = NEVER};

	if (hi > 0) {
		b.hi = in_interval(p, hi);
		b.hi_own = part(p, b.hi);
	}
	b.lo = in_interval(p, lo);
	b.lo_own = part(p, b.lo);
	return b;
}

void tg_admit_compile_thresholds(struct tg_admit_pool *p, uint64_t rate_per_s)
{
	const struct tg_admit_params *c = &p->params;
	struct tg_admit_thresholds t = {.max = 0};
	uint64_t hi = c->hi_per_s > 0 ? c->hi_per_s : rate_per_s / 8;

	if (rate_per_s > 0 && hi > rate_per_s)
		hi = rate_per_s; /* who takes all is no calm segment, whatever a derived rate comes to */
	t.segment = band(p, hi, c->lo_per_s > 0 ? c->lo_per_s : hi / 2);
	t.strangers = band(p, rate_per_s, rate_per_s / 2);
	if (c->max_per_s > 0) {
		t.max = in_interval(p, c->max_per_s);
		t.max_a_tick = (uint64_t)(((unsigned __int128)t.max << 32) / p->interval);
	}
	p->thresholds = t;
}

static void add(uint32_t *word, uint32_t more)
{
	uint32_t room = UINT32_MAX - *word;

	__atomic_store_n(word, *word + (more < room ? more : room), __ATOMIC_RELAXED);
}

static uint64_t asked(const struct tg_admit_slot *s)
{
	return tg_admit_read(&s->total) - tg_admit_read(&s->begun);
}

/* Of all lcores in this interval: what was asked for, or admitted. */
static uint64_t sum_up(const struct tg_admit_pool *p, uint32_t slot, uint32_t number, bool admitted)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->n_lcores; i++) {
		const struct tg_admit_slot *s = &p->lcore[i].slot[slot];

		if (__atomic_load_n(&s->number, __ATOMIC_ACQUIRE) == number)
			sum += admitted ? __atomic_load_n(&s->admitted, __ATOMIC_RELAXED)
					: asked(s);
	}
	return sum;
}

/*
 * Did the segment have its slot before? A slot whose own segment has not asked for as long as a burst is
 * remembered goes to the newcomer, which has it from its next packet on. Not while strangers are in burst:
 * they would take the slots of all who pause.
 */
static bool had_slot(const struct tg_admit_pool *p, struct tg_admit_lcore *l,
		     const struct tg_admit_segment *s, const struct tg_addr *client,
		     uint16_t service)
{
	struct tg_admit_slot *slot = &l->slot[s->slot];
	struct tg_admit_owner *o = &l->owner[s->slot];

	if (slot->tag == s->tag) {
		slot->seen = l->number;
		return true;
	}
	if (o->used && (l->number - slot->seen < p->params.calm_intervals ||
			__atomic_load_n(&p->hot[tg_admit_strangers(p)], __ATOMIC_RELAXED) != 0)) {
		tg_admit_count(&l->stats.collisions, 1);
		return false;
	}
	slot->tag = s->tag;
	slot->seen = l->number;
	*o = (struct tg_admit_owner){
		.client = *client,
		.service = service,
		.value = s->value,
		.rule = s->rule,
		.used = true,
	};
	return false;
}

/* A burst begins. Extra tokens come with it if the pool knew none in the interval before. */
static void begin_burst(struct tg_admit_pool *p, struct tg_admit_lcore *l, uint32_t slot)
{
	uint32_t seen = __atomic_load_n(&p->burst_seen, __ATOMIC_RELAXED);
	struct tg_admit_cell *c = &p->cell[__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) & 1];
	uint64_t headroom = tg_admit_read(&p->headroom_per_s);

	tg_admit_count(&l->stats.bursts, 1);
	__atomic_store_n(&p->hot[slot], l->number + 1, __ATOMIC_RELAXED);
	if (seen == l->number + 1)
		return;
	__atomic_store_n(&p->burst_seen, l->number + 1, __ATOMIC_RELAXED);
	if (seen == l->number || headroom == 0 || (uint32_t)c->number != l->number)
		return;
	c->extra_a_tick = (uint64_t)(((unsigned __int128)headroom << 32) / p->clock.hz);
	__atomic_store_n(&c->extra, (int64_t)in_interval(p, headroom), __ATOMIC_RELEASE);
}

/* A slot that was in burst: is it still? */
static bool goes_on(struct tg_admit_pool *p, struct tg_admit_lcore *l,
		    const struct tg_admit_band *t, uint32_t i, uint32_t hot)
{
	const struct tg_admit_slot *slot = &l->slot[i];

	/* signed: another lcore, that is an interval ahead, may just have seen it begin */
	if ((int32_t)(l->number + 1 - hot) > (int32_t)p->params.calm_intervals) {
		__atomic_store_n(&p->hot[i], 0, __ATOMIC_RELAXED);
		return false;
	}
	if (hot != l->number + 1 && asked(slot) >= t->lo_own &&
	    sum_up(p, i, l->number, false) >= t->lo)
		__atomic_store_n(&p->hot[i], l->number + 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&p->burst_seen, __ATOMIC_RELAXED) != l->number + 1)
		__atomic_store_n(&p->burst_seen, l->number + 1, __ATOMIC_RELAXED);
	return true;
}

/* Counts it in slot i, and says the slot's class. */
static enum tg_admit_class count(struct tg_admit_pool *p, struct tg_admit_lcore *l,
				 const struct tg_admit_band *t, uint32_t i, uint32_t cost)
{
	struct tg_admit_slot *slot = tg_admit_slot_now(l, i);
	uint32_t hot = __atomic_load_n(&p->hot[i], __ATOMIC_RELAXED);

	tg_admit_count(&slot->total, cost);
	if (hot != 0 && goes_on(p, l, t, i, hot))
		return TG_ADMIT_BURST;
	if (asked(slot) < t->hi_own || sum_up(p, i, l->number, false) <= t->hi)
		return TG_ADMIT_CALM;
	begin_burst(p, l, i);
	return TG_ADMIT_BURST;
}

enum tg_admit_class tg_admit_ask(struct tg_admit_pool *p, unsigned int lcore,
				 struct tg_admit_segment s, const struct tg_addr *client,
				 uint16_t service, uint32_t cost)
{
	struct tg_admit_lcore *l = &p->lcore[lcore];
	enum tg_admit_class class = TG_ADMIT_CALM;

	if (unlikely(!had_slot(p, l, &s, client, service)))
		class = count(p, l, &p->thresholds.strangers, tg_admit_strangers(p), cost);
	if (class == TG_ADMIT_CALM)
		class = count(p, l, &p->thresholds.segment, s.slot, cost);
	tg_admit_count(&l->stats.asked[class], cost);
	return class;
}

bool tg_admit_is_capped(const struct tg_admit_pool *p, unsigned int lcore,
			struct tg_admit_segment s, uint64_t now)
{
	const struct tg_admit_thresholds *t = &p->thresholds;
	int64_t elapsed = (int64_t)(now - tg_admit_cell_now(p)->start);
	uint64_t since = elapsed < 0                       ? 0
			 : (uint64_t)elapsed < p->interval ? (uint64_t)elapsed
							   : p->interval;

	return t->max != 0 && sum_up(p, s.slot, p->lcore[lcore].number, true) >=
				      (uint64_t)tg_admit_accrued(t->max, t->max_a_tick, since);
}

static inline bool tokens(struct tg_admit_pool *p, struct tg_admit_lcore *l,
			  enum tg_admit_class class, uint32_t cost, uint64_t now)
{
	if (l->base >= cost) {
		l->base -= cost;
		return true;
	}
	return tg_admit_lease(p, l, class, cost, now);
}

bool tg_admit_take(struct tg_admit_pool *p, unsigned int lcore, struct tg_admit_segment s,
		   enum tg_admit_class class, uint32_t cost, uint64_t now)
{
	struct tg_admit_lcore *l = &p->lcore[lcore];

	if (p->thresholds.max != 0) {
		struct tg_admit_slot *slot = tg_admit_slot_now(l, s.slot);

		if (tg_admit_is_capped(p, lcore, s, now))
			return false;
		if (!tokens(p, l, class, cost, now))
			return false;
		add(&slot->admitted, cost);
	} else if (!tokens(p, l, class, cost, now)) {
		return false;
	}
	tg_admit_count(&l->stats.admitted[class], cost);
	return true;
}
