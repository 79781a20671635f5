/* SPDX-License-Identifier: BSD-3-Clause */
/* What the plain gate and the predictive one share. */
#ifndef TG_GATE_PRIVATE_H
#define TG_GATE_PRIVATE_H

#include "tg_gate.h"

#define TG_MIN(a, b) ((a) < (b) ? (a) : (b))

extern const struct tg_gate_limit tg_gate_unlimited;

static inline const struct tg_gate_limit *tg_gate_limit_of(const struct tg_gate_limit *limits,
							   const struct tg_gate_item *item)
{
	return item->service == TG_NO_SERVICE ? &tg_gate_unlimited : &limits[item->service];
}

static inline void tg_gate_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* n packets that left with one sojourn. */
static inline void tg_gate_record(struct tg_gate_stats *stats, uint64_t ns, uint32_t n)
{
	tg_hist_record(&stats->sojourn, ns, n);
	if (ns > stats->max_sojourn_ns)
		__atomic_store_n(&stats->max_sojourn_ns, ns, __ATOMIC_RELAXED);
}

/* Where most of its time went, up to the driver. */
enum tg_gate_place tg_gate_place(const struct tg_gate_item *item, uint64_t now);

/* Counts a late one by place and service. */
void tg_gate_blame(struct tg_gate_stats *stats, const struct tg_gate_item *item,
		   enum tg_gate_place place);

#endif
