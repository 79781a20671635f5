/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of a run, summed over workers: what reports, telemetry and the control socket show.
 *
 * Thread-safety: the caller's own copy; collecting reads live counters (relaxed), so sums may be
 * a few packets apart from each other.
 */
#ifndef TG_TOTALS_H
#define TG_TOTALS_H

#include "snapshot.h"
#include "stats.h"
#include "worker.h"

struct tg_totals_server {
	uint16_t id, service; /* ids */
	const struct tg_config_server *config;
	uint64_t flows, packets, bytes;
	uint64_t picked; /* flows that the policy would have placed here */
	uint64_t open;   /* flows now */
	uint64_t exchanges[TG_ESTIMATOR_COUNT];
	uint64_t setup, unsure;
	uint64_t repeated, syns_repeated; /* requests and SYNs that clients sent again */
	struct tg_hist latency;           /* L */
	struct tg_hist server;            /* S */
};

struct tg_totals {
	const struct tg_snapshot *snapshot;
	struct tg_worker_stats all; /* every counter summed; gate.max_sojourn_ns the largest */
	uint64_t dropped;           /* all reasons */
	struct tg_flow_stats flows;
	uint64_t flow_slots;
	uint64_t *late; /* late packets by service id and place, [id * TG_GATE_PLACES + place] */
	unsigned int n_servers;
	struct tg_totals_server *server; /* in use only, by id: those of a service stand together */
};

/* Sums what n workers counted, by snapshot s. -ENOMEM. Free with tg_totals_free. */
int tg_totals_collect(const struct tg_snapshot *s, struct tg_worker *const *workers, unsigned int n,
		      struct tg_totals *out);
void tg_totals_free(struct tg_totals *t);

#endif
