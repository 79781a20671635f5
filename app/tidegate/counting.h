/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an exchange that has closed adds to the counters of its server. Inline: the pipeline's packets call it.
 *
 * Thread-safety: the worker of the flow; its counters have no other writer.
 */
#ifndef TG_COUNTING_H
#define TG_COUNTING_H

#include "gateway.h"
#include "worker.h"

/* What may be more requests than the one that an exchange counts for. The first of TLS's own data is in two
 * pieces often, the handshake's end and a request (RFC 8446 section 2). */
static inline void tg_count_pieces(struct tg_flow *f, struct tg_server_stats *st,
				   const struct tg_sample *s)
{
	unsigned int more = s->pieces > 1 ? s->pieces - 1u : 0;

	if (f->tls != TG_FLOW_TLS_BEGAN) {
		st->pieces += more;
		st->joined += s->batch ? more : 0;
	} else {
		f->tls = 1;
	}
}

/* A connection's first exchange is kept apart only if it is TLS's, not the application's. */
static inline void tg_count_sample(struct tg_worker *w, struct tg_flow *f, struct tg_sample *s)
{
	struct tg_server_stats *st = tg_snapshot_stats(w->snapshot, f->server, w->index);

	s->setup = s->setup && f->tls;
	if (w->sample != NULL)
		w->sample(w->sample_ctx, f, s);
	if (s->unsure) { /* with a pause in it, perhaps: unknown is better than wrong */
		st->unsure += s->count;
		return;
	}
	if (s->setup) {
		st->setup += s->count;
		f->tls = TG_FLOW_TLS_BEGAN;
		return;
	}
	tg_count_pieces(f, st, s);
	st->exchanges[s->kind] += s->count;
	tg_hist_record(&st->latency, tg_ticks_to_ns(&w->clock, s->latency), s->count);
	if (s->server != TG_SAMPLE_UNKNOWN)
		tg_hist_record(&st->server, tg_ticks_to_ns(&w->clock, s->server), s->count);
}

#endif
