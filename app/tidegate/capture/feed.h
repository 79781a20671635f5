/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Frames of a capture through the pipeline, in bursts.
 *
 * A burst holds frames that came within TG_FEED_BURST_NS: what a poll would have found together. A
 * wider one would let a packet close an exchange before the burst opened it.
 *
 * Thread-safety: one thread.
 */
#ifndef TG_FEED_H
#define TG_FEED_H

#include "capture.h"
#include "conversation.h"
#include "flow_results.h"
#include "link.h"
#include "timeline.h"
#include "true_server.h"
#include "worker.h"

#define TG_FEED_BURST_NS 1000u

struct rte_mempool;

struct tg_feed {
	/* set by the owner */
	struct tg_worker *worker;
	struct rte_mempool *pool;
	const struct tg_conversations *conversations; /**< NULL with a configuration */
	struct tg_true_servers *true_servers;         /**< NULL without one */
	struct tg_flow_results *results;
	/* counters */
	struct tg_link_stats link;
	struct tg_timeline line;
	uint64_t first_ns, last_ns; /**< earliest and latest capture time */
	/* inner */
	uint64_t aged_to;
	bool shown[TG_BURST_MAX]; /**< the capture shows the packet's server */
};

/** One frame: into the burst, which runs first if the frame is not part of it. -ENOMEM. */
int tg_feed_frame(struct tg_feed *feed, const struct tg_frame *raw);

/** Runs what is left, then ends every flow. */
void tg_feed_end(struct tg_feed *feed);

#endif
