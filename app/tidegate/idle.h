/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker without packets: it polls on, pauses its core between polls, or sleeps, as configured
 * (workers.idle). It backs off step by step and comes back at the first packet:
 *	poll	one pause instruction between empty polls
 *	pause	after TG_IDLE_SPIN empty turns ever more of them, up to TG_IDLE_PAUSES
 *	sleep	after as many turns again it sleeps, twice as long each time, up to the bound
 * It never sleeps beyond the due time of a background task, nor while packets wait to be sent. While
 * it sleeps it is offline for rte_rcu_qsbr: control does not wait for it, and it takes the snapshot
 * afresh afterwards.
 *
 * A packet that comes meanwhile waits for at most the sleep and what the kernel takes to wake a
 * thread. Its arrival counts from the last poll before (tg_gate.h), so the gate sees that wait.
 *
 * Thread-safety: the worker writes; sleeps and slept may be read by others (relaxed).
 */
#ifndef TG_IDLE_H
#define TG_IDLE_H

#include <stdint.h>

#include "tg_config.h"

#define TG_IDLE_SPIN         256  /* empty turns that change nothing: 10 to 20 us */
#define TG_IDLE_PAUSES       32   /* pause instructions in a row: 0.5 to 2 us, by the CPU */
#define TG_IDLE_SLEEP_MIN_NS 2000 /* below it a sleep costs more than it saves */

struct tg_worker;

struct tg_idle {
	enum tg_idle_mode mode;
	uint32_t sleep_max_ns;
	uint32_t empty; /* turns without a packet in a row */
	uint32_t pauses;
	uint32_t sleep_ns;         /* the next one */
	uint64_t sleeps, slept_ns; /* cumulative */
};

/* As configured, from the next turn on. */
void tg_idle_set(struct tg_idle *i, const struct tg_config_workers *c);

/* A turn had packets. */
static inline void tg_idle_end(struct tg_idle *i)
{
	i->empty = 0;
}

/* A turn had none: backs off a little more. */
void tg_idle_turn(struct tg_worker *w);

#endif
