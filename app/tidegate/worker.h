/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker: everything an lcore writes while it runs packets to completion. Offline and in the
 * bench the same structure is driven by other loops.
 *
 * Thread-safety: one lcore writes; control reads stats and writes the arrays that view points at
 * (relaxed single words).
 */
#ifndef TG_WORKER_H
#define TG_WORKER_H

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <stdbool.h>
#include <stdint.h>

#include "choice/costs.h"
#include "idle.h"
#include "snapshot.h"
#include "stages.h"
#include "stats.h"
#include "tg_burst.h"
#include "tg_copies.h"
#include "tg_flow.h"
#include "tg_neigh.h"
#include "tg_sched.h"
#include "tg_select.h"

enum tg_mode {
	TG_MODE_INLINE,  /* forwards */
	TG_MODE_SHADOW,  /* decides and counts, sends nothing */
	TG_MODE_OFFLINE, /* shadow on a capture, on capture time */
};

struct rte_ring;
struct rte_rcu_qsbr;
struct tg_tx;
struct tg_auctions;
struct tg_rx;
struct tg_admission;
struct tg_exception;
struct tg_fragments;

/* Control asks a worker about one flow; the worker copies its entry between two turns. */
struct tg_flow_query {
	struct tg_key key;
	bool found;
	struct tg_flow flow; /* a copy */
	bool done;           /* written last by the worker (release) */
};

/* Called for every exchange or gap epoch that closed; NULL live. */
typedef void (*tg_sample_fn)(void *ctx, const struct tg_flow *f, const struct tg_sample *s);

/*
 * Time of a simulation, which takes the TSC's place: `now` moves only when the simulation says so.
 * spend is called once a burst, between the stages and the gate, with the packets in it: the time
 * that the stages take passes there.
 */
struct tg_virtual_time {
	uint64_t now; /* ticks */
	void (*spend)(struct tg_virtual_time *t, unsigned int packets);
};

struct tg_worker {
	unsigned int index, n_workers;
	unsigned int lcore;
	int socket;
	enum tg_mode mode;
	struct tg_clock clock;
	struct tg_virtual_time *virtual_time; /* NULL: the TSC */
	const struct tg_snapshot *snapshot;   /* this turn's */
	uint64_t version;                     /* its version: another one may have its address */
	struct tg_flow_table *flows;
	struct tg_neigh_table *neigh; /* shared by all workers; NULL unless inline */
	const struct tg_port *ports;  /* shared, immutable */
	unsigned int n_ports;
	struct tg_select_local *local; /* by service id */
	struct tg_select_view view;
	const struct tg_costs *costs;   /* NULL offline */
	struct tg_select_tally *tally;  /* by server id: picks of this tick */
	struct tg_guard_state *guard;   /* by service id */
	uint32_t *own;                  /* by server id: open flows through this worker */
	uint16_t *generation;           /* by server id: what own counts */
	struct tg_auctions *auctions;   /* NULL: no service took bids so far */
	struct tg_fragments *fragments; /* first ones, remembered */
	struct tg_copies *copies;       /* what the gate dropped and TCP will send again */
	struct tg_bucket ping;          /* answers to echo requests */
	struct tg_bucket errors;        /* ICMP errors of our own */
	uint16_t outer_id;
	struct tg_admission *admission; /* NULL: the gateway was started without */
	tg_sample_fn sample;
	void *sample_ctx;
	/* gateway only */
	struct rte_ring **inbox;        /* by worker index: packets handed over to it */
	struct rte_ring *control_out;   /* frames that control and the kernel want sent, worker 0 */
	struct rte_ring *answers;       /* to health checks: to control; shared by all workers */
	const uint16_t *checked;        /* by port of health checks: server id; control's */
	struct tg_exception *exception; /* the way to the kernel, shared; NULL: there is none */
	struct tg_rx *rx;               /* one a port */
	struct tg_tx *tx;               /* one a port */
	struct tg_sched sched;
	struct tg_idle idle;
	struct tg_task ageing;
	uint64_t age_now;   /* of the step of the sweep that runs */
	uint32_t age_round; /* sweeps over the whole table, from 1. Others read it */
	unsigned int age_swept;
	struct rte_rcu_qsbr *qsbr;
	const struct tg_snapshot *const *published;
	const bool *stop;
	struct tg_recording *recording; /* control's; NULL: nothing is recorded */
	struct tg_flow_query *query;    /* written by control, cleared by the worker */
	struct tg_burst burst;
	struct rte_mbuf *control_frame[TG_BURST_MAX]; /* of control's, what the drivers refused */
	uint16_t n_control_frames;
	uint64_t control_since;
	uint64_t lap; /* ticks: when the burst that is being timed left its last stage; 0: none is */
	uint32_t polls; /* to time one in TG_LAP_EVERY */
	struct tg_stage_stats stage[TG_STAGE_COUNT];
	struct tg_worker_stats stats;
} __attribute__((aligned(64)));

/* What every worker of a process shares at creation. */
struct tg_worker_env {
	enum tg_mode mode;
	struct tg_clock clock;
	const struct tg_flow_params *flow_table;
	const uint8_t *flow_secret; /* TG_FLOW_SECRET_SIZE */
	struct tg_costs *costs;     /* NULL: nothing is known, as offline */
	const uint32_t *others;     /* by server id, of this worker */
	uint64_t seed;
};

/* A worker without ports, as offline and the bench use it. -ENOMEM. */
int tg_worker_create(const struct tg_worker_env *env, unsigned int index, unsigned int n_workers,
		     int socket, struct tg_worker **out);
void tg_worker_free(struct tg_worker *w);

/* The index of the port that a packet came by. */
uint16_t tg_worker_came_by(const struct tg_worker *w, const struct rte_mbuf *m);

/* Takes a snapshot as this turn's: forgets own counts of servers with a new generation. */
void tg_worker_use(struct tg_worker *w, const struct tg_snapshot *s);

/* The time, read afresh. */
static inline uint64_t tg_worker_now(const struct tg_worker *w)
{
	return likely(w->virtual_time == NULL) ? rte_rdtsc() : w->virtual_time->now;
}

/* The burst leaves stage s, if it is one that is timed. */
static inline void tg_lap(struct tg_worker *w, enum tg_stage s, unsigned int packets)
{
	if (unlikely(w->lap != 0))
		tg_lap_end(w, s, packets);
}

/* One turn of the loop: every queue is polled once, what is due in the background is done. Returns
 * the packets it had, and those that wait for tokens. */
unsigned int tg_worker_turn(struct tg_worker *w);

/* The lcore loop: runs until *stop, then drains what waits to be sent. */
int tg_worker_main(void *worker);

#endif
