/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that wait, in queues by pool, class and value, and which flows have some among them.
 *
 * Memory is bounded: so many packets a class. When a class's places are taken, whoever of the pools has
 * most of them gives one up for another pool (longest queue drop: Suter et al., INFOCOM 1998), so none
 * fills another one's room. Flows are told apart by their whole hash.
 *
 * Thread-safety: one worker.
 */
#ifndef TG_ADMISSION_QUEUE_H
#define TG_ADMISSION_QUEUE_H

#include "admission/pools.h"
#include "tg_burst.h"

#define TG_WAITING_MAX   2048 /* packets of a class */
#define TG_WAITING_FLOWS 8192 /* chains of flows */
#define TG_WAITING_NONE  UINT16_MAX

struct tg_waiting_packet {
	struct rte_mbuf *mbuf;
	uint64_t arrival, polled, hash;
	struct tg_admit_segment segment;
	uint32_t cost; /* 0: goes with the one before it */
	uint32_t wire_len;
	uint16_t port, server;
	uint64_t deadline;
	uint16_t next, prev, flow;
	uint8_t pool, queue; /* queue: class * TG_ADMIT_VALUES + value */
	struct tg_pkt pkt;
};

#define TG_WAITING_QUEUES (TG_ADMIT_CLASSES * TG_ADMIT_VALUES)

struct tg_waiting_queue {
	uint16_t first, last;
	uint16_t at;   /* where passing over what a cap holds back goes on; NONE: at the first */
	uint16_t pass; /* of them, number; never 0 */
};

/* A flow that has packets among them, all in one queue. */
struct tg_waiting_flow {
	uint64_t hash;
	uint16_t n, next; /* of its chain */
	uint16_t paying;  /* those of them that cost something */
	uint16_t pass;    /* the pass in which one of them was passed over; 0: none */
	uint8_t pool, queue;
};

struct tg_waiting {
	struct tg_waiting_packet *packet; /* TG_ADMIT_CLASSES * TG_WAITING_MAX */
	uint16_t free, free_flow;
	uint32_t n, n_class[TG_ADMIT_CLASSES];
	uint64_t pools; /* bit i: something waits for pool i */
	uint32_t n_pool[TG_ADMISSION_POOLS_MAX][TG_ADMIT_CLASSES];
	struct tg_waiting_queue queue[TG_ADMISSION_POOLS_MAX][TG_WAITING_QUEUES];
	struct tg_waiting_flow *flow; /* as many as packets */
	uint16_t *chain;
};

/* -ENOMEM */
int tg_waiting_init(struct tg_waiting *w, int socket);
void tg_waiting_free(struct tg_waiting *w);

/* A flow some of whose packets wait; NULL: none does. */
static inline struct tg_waiting_flow *tg_waiting_flow_of(const struct tg_waiting *w, uint64_t hash)
{
	uint16_t i = w->chain[hash & (TG_WAITING_FLOWS - 1)];

	while (i != TG_WAITING_NONE && w->flow[i].hash != hash)
		i = w->flow[i].next;
	return i != TG_WAITING_NONE ? &w->flow[i] : NULL;
}

/* A place at the end of a queue, to be filled in (but for pool, queue, hash; cost: 0 until
 * tg_waiting_price); NULL: its class is full. */
struct tg_waiting_packet *tg_waiting_add(struct tg_waiting *w, uint8_t pool, uint8_t queue,
					 uint64_t hash);
/* What the packet just added costs. */
static inline void tg_waiting_price(struct tg_waiting *w, struct tg_waiting_packet *p,
				    uint32_t cost)
{
	p->cost = cost;
	w->flow[p->flow].paying += cost > 0;
}

/* The oldest of a queue; NULL: it is empty. */
struct tg_waiting_packet *tg_waiting_first(const struct tg_waiting *w, uint8_t pool, uint8_t queue);
/* Takes a packet off its queue; it stays readable until the next tg_waiting_add. */
void tg_waiting_remove(struct tg_waiting *w, struct tg_waiting_packet *p);
/* Takes off one that makes room for a packet of that pool, class and value, as tg_waiting_remove: the
 * newest of the least valuable of the pool that has most of the class's places. If that is the packet's
 * own, only one worth less goes; NULL: there is none. */
struct tg_waiting_packet *tg_waiting_shed(struct tg_waiting *w, uint8_t pool,
					  enum tg_admit_class class, uint8_t value);

/* The packet at which going through a queue goes on; a new pass begins at the first. NULL: it is empty. */
struct tg_waiting_packet *tg_waiting_resume(struct tg_waiting *w, uint8_t pool, uint8_t queue);
/* The packet behind p; NULL: none. */
struct tg_waiting_packet *tg_waiting_behind(const struct tg_waiting *w,
					    const struct tg_waiting_packet *p);
/* Passes p over: in this pass it and what is behind it of its flow stay. */
void tg_waiting_pass_over(struct tg_waiting *w, const struct tg_waiting_packet *p);
/* Was one of p's flow passed over in this pass? */
static inline bool tg_waiting_is_passed(const struct tg_waiting *w,
					const struct tg_waiting_packet *p)
{
	return w->flow[p->flow].pass == w->queue[p->pool][p->queue].pass;
}

static inline enum tg_admit_class tg_waiting_class(uint8_t queue)
{
	return queue < TG_ADMIT_VALUES ? TG_ADMIT_CALM : TG_ADMIT_BURST;
}

#endif
