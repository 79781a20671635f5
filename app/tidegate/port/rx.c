/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx.h"

#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

void tg_rx_init(struct tg_rx *rx, const struct tg_port *p, uint16_t port, unsigned int worker,
		const struct tg_clock *clock)
{
	rx->active = worker < p->rx_queues;
	rx->ethdev = p->ethdev;
	rx->queue = (uint16_t)worker;
	rx->port = port;
	tg_arrival_init(&rx->arrival, p->rx_ring, p->generated, p->started);
	rx->stamps = p->stamp_offset >= 0 ? p : NULL;
	rx->oldest = tg_us_to_ticks(clock, TG_STAMP_OLDEST_MS * 1000);
	memset(&rx->stamp, 0, sizeof(rx->stamp));
}

/* Each packet's own arrival, where the device has told it. */
static void stamped(struct tg_rx *rx, struct tg_burst *b, uint64_t rule)
{
	const struct tg_port *p = rx->stamps;
	struct tg_device_map map;
	bool known = tg_device_clock_map(&p->clock, &map);

	for (unsigned int i = 0; i < b->n; i++) {
		const struct rte_mbuf *m = b->mbuf[i];

		if (known && (m->ol_flags & p->stamp_flag) != 0)
			b->arrival[i] =
				tg_stamp_arrival(&map, &rx->stamp,
						 *RTE_MBUF_DYNFIELD(m, p->stamp_offset,
								    const rte_mbuf_timestamp_t *),
						 rule, b->now, rx->oldest);
		else
			tg_stat_add(&rx->stamp.missing, 1);
	}
}

uint16_t tg_rx_poll(struct tg_worker *w, struct tg_rx *rx, struct tg_burst *b)
{
	uint64_t arrival, bytes = 0;
	unsigned int n;

	b->n = rte_eth_rx_burst(rx->ethdev, rx->queue, b->mbuf, TG_BURST_MAX);
	b->now = tg_worker_now(w);
	b->port = rx->port;
	arrival = tg_arrival_poll(&rx->arrival, b->n, b->now);
	n = b->n;
	memset(b->verdict, TG_FORWARD, n);
	memset(b->server, 0xff, n * sizeof(b->server[0])); /* TG_NO_SERVER */
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = b->mbuf[i];

		b->arrival[i] = arrival;
		bytes += b->wire_len[i] = m->pkt_len;
		m->port = rx->ethdev; /* a bond leaves its link's */
	}
	w->stats.received += n;
	w->stats.received_bytes += bytes;
	if (unlikely(rx->stamps != NULL))
		stamped(rx, b, arrival);
	return b->n;
}
