/* SPDX-License-Identifier: BSD-3-Clause */
/* What sim_gateway.c (the run) and sim_gateway_make.c (the making) share. */
#ifndef TG_SIM_GATEWAY_PRIVATE_H
#define TG_SIM_GATEWAY_PRIVATE_H

#include "frame.h"
#include "gateway.h"
#include "sim_gateway.h"
#include "totals.h"

#define TG_SIM_WORKERS_MAX 16

enum { FRONT, BACK, PORTS };

/* One worker context: what the far end of its queues needs, and its clock. */
struct tg_sim_worker {
	struct tg_virtual_time time;
	struct tg_event turn;
	struct tg_sim_gateway *gateway;
	struct tg_worker *worker;
	struct rte_ring *rx[PORTS], *tx[PORTS];
	uint64_t free_at; /* the turn before lasts until then */
};

/* The wire of one port: takes frames from the transmit rings in turn, one after another. */
struct tg_sim_wire {
	struct tg_event event;
	struct tg_sim_gateway *gateway;
	unsigned int port, next; /* ring that is asked first */
	struct rte_mbuf *current;
	double byte_ns; /* 0: no line rate */
};

struct tg_sim_gateway {
	struct tg_sim *sim;
	uint32_t index;
	const struct tg_gateway_params *params;
	struct tg_options options;
	char name[16];
	unsigned int starts; /* makes names of rings and pools unique */
	bool up, made;
	struct tg_gateway gateway;
	struct rte_mempool *pool;
	struct tg_sim_worker worker[TG_SIM_WORKERS_MAX];
	struct tg_sim_wire wire[PORTS];
	struct tg_event tick, change;
	struct tg_random random;                 /* stalls */
	uint32_t stall_place, stall_every_place; /* in traces */
	uint64_t next_stall;
	/* what the gateway cannot see of itself */
	struct tg_frame_path
		*path; /* by group: headers of its clients; the client's address varies */
	uint64_t in, missed, out, dropped, late_on_wire;
	struct tg_totals before; /* when the warm-up ended: reports leave it out */
	uint64_t late_before;
};

/* A buffer's private area: the packet whose bytes it holds, and when they arrived. */
struct tg_sim_buffer {
	struct tg_sim_packet *packet;
	uint64_t arrival;
};

/* The gateway process starts, with empty tables; and ends, with all that is in it. */
int tg_sim_gateway_make(struct tg_sim_gateway *g, char *err, size_t err_len);
void tg_sim_gateway_unmake(struct tg_sim_gateway *g);

/*
 * Buffers whose pool tells when one comes back: a buffer that still holds a packet then was dropped
 * by the pipeline. That is how drops are accounted for without the pipeline knowing.
 */
struct rte_mempool *tg_sim_buffers_create(const char *name, unsigned int n,
					  struct tg_sim_gateway *owner);

/* The pipeline dropped this packet. */
void tg_sim_gateway_dropped(struct tg_sim_gateway *g, struct tg_sim_packet *p);

/* sim_oracle.c: overwrites what control published by the truth. */
void tg_sim_oracle(struct tg_sim_gateway *g);

void tg_sim_worker_turn(struct tg_event *e, uint64_t now);
void tg_sim_worker_spend(struct tg_virtual_time *t, unsigned int packets);
void tg_sim_wire_free(struct tg_event *e, uint64_t now);

#endif
