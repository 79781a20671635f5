/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A gateway for a replay: its ports are rings, its far ends a link and servers. See replay.h. */
#ifndef TG_REPLAY_RIG_H
#define TG_REPLAY_RIG_H

#include "gateway.h"
#include "tg_hist.h"

#define TG_REPLAY_SERVERS 4096

struct rte_mempool;
struct rte_ring;

/* A server's workers: when each is free. */
struct tg_replay_server {
	uint32_t workers;
	uint64_t service_ns; /* 0: not modelled */
	uint64_t *free;
};

struct tg_replay_rig {
	struct tg_virtual_time time; /* first: spend gets its address */
	uint64_t now, free_at;       /* ns; the turn before lasts until free_at */
	struct tg_gateway gateway;
	struct tg_options options;
	struct tg_worker *worker;
	struct rte_mempool *pool;
	struct rte_ring *ring[4]; /* in, its other direction, out, its other direction */
	double byte_ns;
	struct rte_mbuf *leaving; /* on the link */
	uint64_t left_at;
	uint64_t limit_ns; /* UINT64_MAX: none */
	/* what comes of it */
	uint64_t missed; /* met a full receive ring */
	uint64_t violations;
	struct tg_hist on_wire, at_server;
	uint32_t n_servers;
	struct tg_replay_server server[TG_REPLAY_SERVERS];
};

/* limit_us 0: no limit. The rig is zeroed memory. 0, or -errno and a sentence. */
int tg_replay_rig_make(struct tg_replay_rig *r, const char *config, uint32_t limit_us,
		       uint64_t start, char *text, size_t room);
void tg_replay_rig_free(struct tg_replay_rig *r);

/* A buffer to fill; NULL: all are in use. */
struct rte_mbuf *tg_replay_buffer(struct tg_replay_rig *r);
/* It arrives at `at`, which does not go back. */
void tg_replay_arrive(struct tg_replay_rig *r, struct rte_mbuf *m, uint64_t at);
/* Until nothing is left inside. */
void tg_replay_finish(struct tg_replay_rig *r);

#endif
