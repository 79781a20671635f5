/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one worker counts. Cumulative; control takes differences.
 *
 * Thread-safety: one writer, the worker; readers on other threads load single words (relaxed).
 */
#ifndef TG_STATS_H
#define TG_STATS_H

#include <stdint.h>

#include "tg_burst.h"
#include "tg_gate.h"
#include "tg_hist.h"
#include "tg_pirate.h"

/* One server as seen by one worker. */
struct tg_server_stats {
	uint64_t flows;   /* flows placed on it */
	uint64_t packets; /* accepted by the driver */
	uint64_t bytes;
	uint64_t exchanges[TG_ESTIMATOR_COUNT]; /* by the estimator that found them */
	uint64_t setup;         /* first exchanges of TLS connections: not in the histograms */
	struct tg_hist latency; /* L */
	struct tg_hist server;  /* S */
} __attribute__((aligned(64)));

struct tg_worker_stats {
	uint64_t received, received_bytes;
	uint64_t forwarded, forwarded_bytes;
	uint64_t replied;           /* answers of our own: ARP, ND, ping */
	uint64_t handed_over;       /* to the owning worker, by ring */
	uint64_t stateless;         /* forwarded by consistent hash, without a flow entry */
	uint64_t repicked;          /* flows whose server went away */
	uint64_t refused;           /* packets that the driver did not take at the first try */
	uint64_t turns, busy_turns; /* of the loop; busy: received something */
	uint64_t dropped[TG_DROP_REASON_COUNT];
	struct tg_gate_stats gate;
} __attribute__((aligned(64)));

static inline uint64_t tg_stat_read(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#endif
