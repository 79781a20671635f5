/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow's packet and its estimator: when it came, and once it has left. Inline, for the
 * pipeline's loops.
 *
 * Thread-safety: the worker of the flow.
 */
#ifndef TG_MEASURING_H
#define TG_MEASURING_H

#include "counting.h"
#include "gateway.h"
#include "tg_pirate_quick.h"
#include "worker.h"

/* What every packet of a burst reads of the snapshot, read once. */
struct view {
	unsigned int n_servers;
	const uint16_t *generation;            /* by server id */
	struct tg_server_stats *const *stats;  /* by server id, this worker's */
	const struct tg_pirate_config *pirate; /* by service id */
};

static inline struct view view_of(const struct tg_worker *w)
{
	const struct tg_snapshot *s = w->snapshot;

	return (struct view){
		.n_servers = s->n_servers,
		.generation = s->generation,
		.stats = tg_snapshot_stats_of(s, w->index),
		.pirate = s->pirate,
	};
}

/*
 * The arrival that latency is measured from: when the poll found the packet. The gate's arrival is the
 * earliest possible one: after the host took the core away that is milliseconds too early, and the
 * fastest trip would be learnt from it. A capture knows the truth.
 */
static inline uint64_t found_at(const struct tg_worker *w, const struct tg_burst *b, unsigned int i)
{
	return w->mode == TG_MODE_OFFLINE ? b->arrival[i] : b->now;
}

/* Its request has its answer, or is given up. since 0: it was when it departed. */
static inline void waits_no_more(const struct tg_worker *w, struct tg_flow *f,
				 struct tg_server_stats *st, uint64_t since, uint64_t now)
{
	f->asking &= (uint8_t)~TG_FLOW_WAITS;
	if (st->waiting > 0)
		tg_stat_set32(&st->waiting, st->waiting - 1);
	if (since == 0 || now <= since)
		return;
	st->seen++;
	st->carried += f->estimator == TG_PIRATE_CARRIER;
	st->seen_ns += tg_ticks_to_ns(&w->clock, now - since);
	if (w->costs != NULL)
		st->crowd_256 += __atomic_load_n(&w->costs->crowd_256[f->server], __ATOMIC_RELAXED);
}

/* It has arrived. */
static __rte_always_inline void measure(struct tg_worker *w, const struct view *v,
					struct tg_flow *f, const struct tg_pkt *p, uint64_t arrival)
{
	struct tg_server_stats *st = v->stats[f->server];
	bool waits = (f->asking & TG_FLOW_WAITS) != 0;
	uint64_t since = 0;
	struct tg_sample s;

	if (waits)
		tg_pirate_open_quick(f->estimator, f->near, f->far, &since);
	if (tg_pirate_arrive_quick(&v->pirate[p->key.service], &st->pirate, f->estimator, f->near,
				   f->far, p, arrival, &s))
		tg_count_sample(w, f, &s);
	/* answered, as it shows now; or broken off: then its age is what is known */
	if (waits && !tg_pirate_open_quick(f->estimator, f->near, f->far, &since))
		waits_no_more(w, f, st, since, arrival);
}

/* A packet that is not the usual one: the first of its flow, say. */
static __rte_noinline void measure_other(struct tg_worker *w, struct tg_flow *f,
					 const struct tg_pkt *p, uint64_t arrival)
{
	struct view v = view_of(w);

	measure(w, &v, f, p, arrival);
}

/* Will the departure of a plain packet, which has arrived, tell the estimator anything? */
static __rte_always_inline bool tells_at_departure(const struct tg_flow *f, const struct tg_pkt *p)
{
	return p->payload_len > 0 || !tg_pirate_steady_quick(f->estimator, f->near);
}

/* The first request of a new connection has come, or none is expected any more. */
static inline void fresh_no_more(struct tg_flow *f, struct tg_server_stats *st)
{
	if ((f->asking & TG_FLOW_ASKED) == 0 && st->fresh > 0)
		tg_stat_set32(&st->fresh, st->fresh - 1);
	f->asking |= TG_FLOW_ASKED;
}

/* A request of the flow is on its way to the server, the first one perhaps. */
static inline void request_opened(struct tg_worker *w, struct tg_flow *f,
				  struct tg_server_stats *st)
{
	fresh_no_more(f, st);
	tg_select_request(&w->local[f->key.service], (f->asking & TG_FLOW_PROBE) != 0);
	f->asking |= TG_FLOW_WAITS;
	st->requests++;
	tg_stat_set32(&st->waiting, st->waiting + 1);
}

/* Something of a request has left. One that was sent before, and not answered, says how old that copy is. */
static inline void asks(struct tg_worker *w, const struct tg_pirate_config *c, struct tg_flow *f,
			const struct tg_pkt *p, struct tg_server_stats *st, uint64_t polled,
			uint64_t departure)
{
	uint64_t since = 0, repeated = st->pirate.repeated;

	if ((f->asking & TG_FLOW_WAITS) != 0)
		tg_pirate_open_quick(f->estimator, f->near, f->far, &since);
	tg_pirate_depart_quick(c, &st->pirate, f->estimator, f->near, f->far, p, polled, departure);
	if (unlikely(st->pirate.repeated != repeated) && since != 0 && polled > since)
		tg_hist_record(&w->stats.gate.again, tg_ticks_to_ns(&w->clock, polled - since), 1);
	if ((f->asking & TG_FLOW_WAITS) == 0 &&
	    tg_pirate_open_quick(f->estimator, f->near, f->far, &since))
		request_opened(w, f, st);
}

/* The packet of an entry that is still the one it was found by has left. */
static __rte_always_inline void departs(struct tg_worker *w, const struct view *v,
					struct tg_flow *f, const struct tg_pkt *p,
					struct tg_server_stats *st, uint64_t polled,
					uint64_t departure)
{
	if (unlikely((p->flags & TG_PKT_TLS) != 0))
		f->tls = 1;
	if (p->payload_len > 0)
		asks(w, &v->pirate[p->key.service], f, p, st, polled, departure);
	else
		tg_pirate_depart_quick(&v->pirate[p->key.service], &st->pirate, f->estimator,
				       f->near, f->far, p, polled, departure);
}

#endif
