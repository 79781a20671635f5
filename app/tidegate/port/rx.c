/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx.h"

#include <rte_ethdev.h>

void tg_rx_init(struct tg_rx *rx, const struct tg_port *p, uint16_t port, unsigned int worker)
{
	rx->active = worker < p->rx_queues;
	rx->ethdev = p->ethdev;
	rx->queue = (uint16_t)worker;
	rx->port = port;
	tg_arrival_init(&rx->arrival, p->rx_ring, p->generated, p->started);
}

uint16_t tg_rx_poll(const struct tg_worker *w, struct tg_rx *rx, struct tg_burst *b)
{
	uint64_t arrival;

	b->n = rte_eth_rx_burst(rx->ethdev, rx->queue, b->mbuf, TG_BURST_MAX);
	b->now = tg_worker_now(w);
	b->port = rx->port;
	arrival = tg_arrival_poll(&rx->arrival, b->n, b->now);
	for (unsigned int i = 0; i < b->n; i++) {
		b->arrival[i] = arrival;
		b->wire_len[i] = b->mbuf[i]->pkt_len;
		b->verdict[i] = TG_FORWARD;
		b->server[i] = TG_NO_SERVER;
	}
	return b->n;
}
