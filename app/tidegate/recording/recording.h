/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets as they were received, copied for a file while the gateway runs (`tidegatectl capture start`).
 * A worker copies what the filter takes before the stages see it, adds what became of it after they have, and hands
 * the copy to control by a bounded ring; what does not fit is counted. Control writes the files (recording/file.h).
 * Off, it costs a worker one load and one branch a burst. The copies are pcapng blocks of DPDK's
 * librte_pcapng, the filter is a libpcap expression that rte_bpf runs.
 *
 * Thread-safety: workers use a recording that tg_worker.recording shows them, between two of their quiescent states;
 * control makes it, takes it away and frees it once all workers have passed one.
 */
#ifndef TG_RECORDING_H
#define TG_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "tg_burst.h"

#define TG_RECORDING_RING 1024 /* copies that wait for control */

struct rte_bpf;
struct rte_mempool;
struct rte_ring;
struct tg_worker;

struct tg_recording {
	struct rte_bpf *filter;   /* NULL: every packet */
	struct rte_mempool *pool; /* of copies */
	struct rte_ring *ring;    /* many workers to control */
	uint32_t snaplen;
	uint64_t lost; /* copies for which there was no buffer or no room. Workers add */
};

/* What became of a packet, beside its copy (the copy's private area). */
struct tg_recorded {
	uint8_t verdict, reason;
	uint16_t server;
};

/* The copies of one burst; none where copy[i] is NULL. */
struct tg_recording_burst {
	struct tg_recording *of; /* NULL: nothing is recorded */
	struct rte_mbuf *copy[TG_BURST_MAX];
};

/* Before the stages, for a burst as received. */
void tg_recording_take(const struct tg_worker *w, const struct tg_burst *b,
		       struct tg_recording_burst *out);

/* After the burst was sent: the copies go to control. */
void tg_recording_hand(const struct tg_burst *b, struct tg_recording_burst *copies);

#endif
