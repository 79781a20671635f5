/* SPDX-License-Identifier: BSD-3-Clause */
#include "recording/recording.h"

#include <rte_bpf.h>
#include <rte_mbuf.h>
#include <rte_pcapng.h>
#include <rte_ring.h>

#include "port/rx.h"
#include "worker.h"

void tg_recording_take(const struct tg_worker *w, const struct tg_burst *b,
		       struct tg_recording_burst *out)
{
	struct tg_recording *r = __atomic_load_n(&w->recording, __ATOMIC_ACQUIRE);

	out->of = r;
	for (unsigned int i = 0; r != NULL && i < b->n; i++) {
		out->copy[i] = NULL;
		if (r->filter != NULL && rte_bpf_exec(r->filter, b->mbuf[i]) == 0)
			continue;
		out->copy[i] = rte_pcapng_copy(w->ports[b->port].ethdev, w->rx[b->port].queue,
					       b->mbuf[i], r->pool, r->snaplen, b->now,
					       RTE_PCAPNG_DIRECTION_IN);
		if (out->copy[i] == NULL)
			__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELAXED);
	}
}

void tg_recording_hand(const struct tg_burst *b, struct tg_recording_burst *copies)
{
	struct tg_recording *r = copies->of;

	for (unsigned int i = 0; i < b->n; i++) {
		struct rte_mbuf *m = copies->copy[i];

		if (m == NULL)
			continue;
		*(struct tg_recorded *)rte_mbuf_to_priv(m) = (struct tg_recorded){
			.verdict = b->verdict[i],
			.reason = b->verdict[i] == TG_DROP ? b->reason[i] : TG_DROP_NONE,
			.server = b->server[i],
		};
		if (rte_ring_mp_enqueue(r->ring, m) == 0)
			continue;
		rte_pktmbuf_free(m);
		__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELAXED);
	}
}
