/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The production gateway on ring ports, driven into overload, and a witness that knows when each packet
 * truly came in.
 *
 * Thread-safety: the feeder's thread produces and consumes; the witness runs on the worker's lcore.
 */
#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stdint.h>

#include "gateway.h"

#define SOAK_BATCHES 65536u /* remembered: far more than the rings hold */

#define SOAK_FRAME 60u
#define SOAK_BURST 32u

/* What a packet carries with it, in the last bytes of its frame, so that copies have it too. */
struct soak_tag {
	uint32_t batch; /* 0: the gateway made it */
};

/* When a batch of packets entered the receive ring: between the two. after 0: not known yet. */
struct soak_batch {
	uint64_t before, after;
};

struct soak_seen {
	uint64_t sent;        /* accepted by the driver */
	uint64_t late;        /* in the gateway for longer than T at the gate's own read */
	uint64_t late_after;  /* at the gateway's read after tx, and in time at the gate's */
	uint64_t late_since;  /* at an independent read still later, and in time at both */
	uint64_t unknown;     /* maybe late: the feeder could not say when they came in */
	uint64_t made;        /* by the gateway itself: resets */
	uint64_t oldest;      /* ticks: the longest true sojourn at the gate's read */
	uint64_t early;       /* ticks: the most that the arrival rule was too early */
	uint64_t waits, work; /* bursts that were held back, or worked on for long */
};

struct soak_kind {
	const char *name, *what;
	uint32_t limit_us; /* T */
	uint32_t tx_ring;
	const char *service; /* keys of the service beside what all have; NULL: "policy": "maglev" */
	bool waits;          /* some must have waited, for tokens or for bids */
	bool bids;           /* clients open connections by TCP, servers answer with bids */
	uint64_t consumer_pps;             /* what the driver's far end takes; 0: all */
	uint32_t work_every, work_us;      /* one burst in so many works so long; 0: none */
	uint32_t held;                     /* bursts that wait at the same time */
	uint32_t stall_every_ms, stall_us; /* the worker's thread stands still */
	uint32_t stop_every_ms, stop_us;   /* the whole process does, by SIGSTOP */
	bool busy;                         /* another process spins on the worker's core */
};

extern struct soak_batch soak_batch[SOAK_BATCHES];
extern struct soak_seen soak_seen;

/* witness.c */
void soak_witness_begin(const struct soak_kind *k, const struct tg_clock *clock);

/* rig.c: the gateway on rings, and its far ends */
struct rte_ring;
struct rte_mbuf;
struct rte_mempool;
struct soak_rig {
	struct tg_gateway gateway;
	struct tg_options options;
	struct rte_mempool *pool;
	struct rte_ring *in, *out, *back_in, *front_out;
	uint8_t mac[6], back_mac[6];
	unsigned int lcore;
};
int soak_rig_make(struct soak_rig *r, const struct soak_kind *k, char *err, size_t err_len);
void soak_rig_free(struct soak_rig *r);

/* soak.c: a burst into a receive ring, and when that was; what finds no room is freed. How many went in. */
unsigned int soak_enter(struct rte_ring *to, struct rte_mbuf **m, unsigned int n);

/* bids.c: the k'th packet of the clients, of SOAK_FRAME bytes with an IPv4 header; what the servers do with up to
 * SOAK_BURST that came; the end of what still waits */
void soak_bids_write(uint8_t *frame, uint32_t k);
void soak_bids_serve(struct soak_rig *r, struct rte_mbuf **m, unsigned int n, uint64_t now);
void soak_bids_end(void);

/* disturb.c: processes that stop this one, or take its core; ended by soak_calm */
void soak_disturb(const struct soak_kind *k, unsigned int cpu);
void soak_calm(void);

#endif
