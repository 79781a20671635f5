/* SPDX-License-Identifier: BSD-3-Clause */
#include "idle.h"

#include <rte_pause.h>
#include <rte_rcu_qsbr.h>
#include <sys/prctl.h>
#include <time.h>

#include "port/tx.h"
#include "worker.h"

void tg_idle_set(struct tg_idle *i, const struct tg_config_workers *c)
{
	i->mode = c->idle;
	i->sleep_max_ns = c->idle_sleep_max_us * 1000;
	i->empty = 0;
}

static void pause_longer(struct tg_idle *i)
{
	for (uint32_t k = 0; k < i->pauses; k++)
		rte_pause();
	if (i->pauses < TG_IDLE_PAUSES)
		i->pauses *= 2;
}

static bool waits_to_be_sent(const struct tg_worker *w)
{
	for (unsigned int p = 0; p < w->n_ports; p++)
		if (w->tx[p].n > 0)
			return true;
	return false;
}

/* How long it may sleep now; below TG_IDLE_SLEEP_MIN_NS: not at all. */
static uint64_t may_sleep_ns(const struct tg_worker *w)
{
	uint64_t ticks = tg_sched_idle(&w->sched, tg_worker_now(w));

	if (waits_to_be_sent(w))
		return 0;
	return RTE_MIN(tg_ticks_to_ns(&w->clock, ticks), (uint64_t)w->idle.sleep_ns);
}

static void sleep_for(struct tg_worker *w, uint64_t ns)
{
	struct tg_idle *i = &w->idle;
	const struct timespec t = {.tv_nsec = (long)ns};
	uint64_t start = tg_worker_now(w);

	rte_rcu_qsbr_thread_offline(w->qsbr, w->index);
	nanosleep(&t, NULL); /* a signal may end it early: so much the better */
	rte_rcu_qsbr_thread_online(w->qsbr, w->index);
	__atomic_store_n(&i->sleeps, i->sleeps + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&i->slept_ns,
			 i->slept_ns + tg_ticks_to_ns(&w->clock, tg_worker_now(w) - start),
			 __ATOMIC_RELAXED);
	i->sleep_ns = RTE_MIN(i->sleep_ns * 2, i->sleep_max_ns);
}

/* The first of a row: from here on short waits, precise to a microsecond (threads start with the
 * kernel's 50). */
static void begin(struct tg_idle *i)
{
	i->pauses = 2;
	i->sleep_ns = RTE_MIN(2u * TG_IDLE_SLEEP_MIN_NS, i->sleep_max_ns);
	if (i->mode == TG_IDLE_SLEEP)
		prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
}

void tg_idle_turn(struct tg_worker *w)
{
	struct tg_idle *i = &w->idle;
	uint64_t ns;

	if (i->mode == TG_IDLE_POLL || ++i->empty < TG_IDLE_SPIN) {
		rte_pause();
		return;
	}
	if (i->empty == TG_IDLE_SPIN)
		begin(i);
	if (i->mode == TG_IDLE_SLEEP && i->empty >= 2 * TG_IDLE_SPIN) {
		i->empty = 2 * TG_IDLE_SPIN; /* never wraps */
		ns = may_sleep_ns(w);
		if (ns >= RTE_MIN(TG_IDLE_SLEEP_MIN_NS, i->sleep_max_ns)) {
			sleep_for(w, ns);
			return;
		}
	} else if (i->empty > TG_IDLE_SPIN * 2) {
		i->empty = TG_IDLE_SPIN * 2;
	}
	pause_longer(i);
}
