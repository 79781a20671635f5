/* SPDX-License-Identifier: BSD-3-Clause */
/* What sim_gateway.c (the run) and sim_gateway_make.c (the making) share. */
#ifndef TG_SIM_GATEWAY_PRIVATE_H
#define TG_SIM_GATEWAY_PRIVATE_H

#include "api/totals.h"
#include "frame.h"
#include "gateway.h"
#include "gateway/sim_gateway.h"

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
	char flows[64];      /* file of its flows while it is away; "": it keeps none */
	unsigned int starts; /* makes names of rings and pools unique */
	bool up, made;
	struct tg_gateway gateway;
	struct rte_mempool *pool;
	struct tg_sim_worker worker[TG_SIM_WORKERS_MAX];
	struct tg_sim_wire wire[PORTS];
	struct tg_event tick, change;
	struct tg_random random, work; /* stalls; work_us */
	uint32_t work_place;
	int stamp_offset; /* of the ports' time stamps in a buffer */
	uint64_t stamp_flag;
	uint32_t stall_place, stall_every_place; /* in traces */
	uint64_t next_stall;
	/* what the gateway cannot see of itself */
	struct tg_frame_path
		*path; /* by group: headers of its clients; the client's address varies */
	uint64_t in, missed, out, dropped, late_on_wire;
	struct tg_hist on_wire;  /* from a packet's arrival to its last bit, since the warm-up */
	struct tg_totals before; /* when the warm-up ended: reports leave it out */
	uint64_t late_before;
	struct tg_sim_level *level; /* by station */
	uint64_t level_due;         /* control's, when it was last sampled */
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
struct tg_station *tg_sim_station_of(const struct tg_sim_gateway *g,
				     const struct tg_config_server *c);

/* sim_level.c: requests at the servers, by control and in truth. Sampled after control's tick. */
int tg_sim_level_start(struct tg_sim_gateway *g);
void tg_sim_level_begin(struct tg_sim_gateway *g);
void tg_sim_level_sample(struct tg_sim_gateway *g, uint64_t now);
/* Time means {"there","estimated"} while q was published, estimated 0: hardly ever; "counted": that share of the
 * time; of all of it "bound" and "taken" (load.h); and "window_error": by how much means over 100 ms differ, of the
 * mean there. null: never sampled. */
json_t *tg_sim_level_json(const struct tg_sim_gateway *g, const struct tg_config_server *server);

/* sim_gate.c */
void tg_sim_gate_place(struct tg_sim_gateway *g);
int tg_sim_stamps_start(struct tg_sim_gateway *g);
void tg_sim_stamps_tick(struct tg_sim_gateway *g, uint64_t now);
void tg_sim_stamp(const struct tg_sim_gateway *g, struct rte_mbuf *m, uint64_t now);
uint64_t tg_sim_device_clock(uint64_t now);

/* The client's address: its number within the group's prefix. */
struct tg_addr tg_sim_client_address(const struct tg_addr *prefix, uint32_t number);

/* sim_gue.c: whom a frame with a GUE header names besides goes into the packet. */
void tg_sim_gue_read(const struct tg_sim *s, const struct rte_mbuf *m, struct tg_sim_packet *p);

/* sim_moved.c: the gateway goes now: its connections are counted, in their groups. */
void tg_sim_moved(struct tg_sim_gateway *g);

void tg_sim_worker_turn(struct tg_event *e, uint64_t now);
void tg_sim_worker_spend(struct tg_virtual_time *t, unsigned int packets);
void tg_sim_wire_free(struct tg_event *e, uint64_t now);

#endif
