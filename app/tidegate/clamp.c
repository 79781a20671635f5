/* SPDX-License-Identifier: BSD-3-Clause */
#include "clamp.h"

#include <netinet/in.h>
#include <rte_mbuf.h>

#include "mss.h"

void tg_clamp_burst(struct tg_worker *w, struct tg_burst *b)
{
	const uint16_t *mss = w->snapshot->mss;

	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_pkt *p = &b->pkt[i];
		struct rte_mbuf *m = b->mbuf[i];
		unsigned int end;

		if (b->verdict[i] != TG_FORWARD || p->key.protocol != IPPROTO_TCP ||
		    (p->tcp_flags & TG_TCP_SYN) == 0 ||
		    (p->flags & (TG_PKT_LATER | TG_PKT_ICMP_ERROR)) != 0 ||
		    p->key.service >= w->snapshot->n_services || mss[p->key.service] == 0)
			continue;
		end = RTE_MIN(p->l3_off + (unsigned int)p->ip_len, (unsigned int)m->data_len);
		if (p->l4_off < end &&
		    tg_mss_lower(rte_pktmbuf_mtod_offset(m, uint8_t *, p->l4_off), end - p->l4_off,
				 mss[p->key.service]))
			w->stats.mss_lowered++;
	}
}
