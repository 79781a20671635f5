/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admission, a worker's part: which packets ask for tokens, what waits, and when it goes on.
 *
 * It stands before measurement and choice, so that a packet that waits is seen by them once, when it goes
 * on, with its own arrival: the client's wait is in L, and since a request opens when it leaves, not
 * in S. A packet that opens no exchange asks for nothing; behind a packet of its flow that waits it waits
 * too, and is free of what that one pays for.
 *
 * What waits stands in the queue of its pool, class and value; calm goes before burst, then the more
 * valuable, then who came first. It leaves at the latest after admission_wait_max_us, or when the time
 * gate would drop it: dropped.
 *
 * Thread-safety: the worker's own; others read the pools' statistics.
 */
#ifndef TG_ADMISSION_H
#define TG_ADMISSION_H

#include "admission/queue.h"
#include "worker.h"

struct tg_admission {
	struct tg_waiting waiting;
	/* the pool that index's queues wait for; NULL: nothing waits */
	struct tg_admission_pool *pool[TG_ADMISSION_POOLS_MAX];
	uint64_t turn; /* bursts looked at */
	/* flows that have paid, by hash: a request of several packets pays once, even if they come in one
	 * burst, before the first of them has opened it */
	struct {
		uint32_t flow;
		uint32_t turn;
	} paid[256];
};

/* What waits needs memory: for a worker of a gateway with admission. NULL if there is none. */
struct tg_admission *tg_admission_create(int socket);
void tg_admission_free(struct tg_admission *a);

/* The stage: after flow look-up. What must wait becomes TG_TAKEN, or TG_DROP. */
void tg_admission_burst(struct tg_worker *w, struct tg_burst *b);

/* Another snapshot is in force: what waits for a pool that it does not have goes on without tokens. */
void tg_admission_use(struct tg_worker *w);
/* Once a turn: the interval turns, what has waited too long is dropped. */
void tg_admission_turn(struct tg_worker *w, uint64_t now);
/* Fills the worker's burst with packets that may go on: of one port and one poll, up to TG_BURST_MAX. Returns
 * their number. */
unsigned int tg_admission_next(struct tg_worker *w, struct tg_burst *b);

/* Drops all that waits. */
void tg_admission_discard(struct tg_worker *w);

/* Does anything wait? Then the loop must go on turning. */
static inline bool tg_admission_waits(const struct tg_worker *w)
{
	return w->admission != NULL && w->admission->waiting.n > 0;
}

#endif
