/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker of a real gateway between two rings, with as many established flows as asked for: what
 * goes into rx is received, what comes out of tx was sent.
 *
 * Thread-safety: one thread, or one that feeds and takes beside the worker's.
 */
#ifndef LOOP_RIG_H
#define LOOP_RIG_H

#include <stdint.h>

#include "gateway.h"
#include "stream.h"

#define RIG_RING 1024

struct rig {
	struct tg_gateway gateway;
	struct tg_worker *worker;
	struct rte_ring *rx, *tx;
	struct stream stream; /* which flow the next packet belongs to */
	uint32_t packets;     /* made so far */
};

/* Memory for that many flows; a failure ends the process with a sentence. */
void rig_start(const char *program, uint32_t flows);

/* workers: the object of that name in the configuration. time: NULL for the TSC. */
void rig_make(struct rig *r, uint32_t flows, const char *workers, struct tg_virtual_time *time);
void rig_free(struct rig *r);

/* A packet of any flow; false when rx is full. */
bool rig_feed(struct rig *r);

/* Frees what was sent; how many. */
unsigned int rig_take(struct rig *r);

#endif
