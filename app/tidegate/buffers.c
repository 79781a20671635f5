/* SPDX-License-Identifier: BSD-3-Clause */
#include "buffers.h"

#include <rte_mbuf.h>

#include "admission/queue.h"
#include "health/health.h"
#include "kernel/exception.h"
#include "port/tx.h"
#include "tg_bid.h"

#define OBJECT 256u /* the mbuf itself, its place in the pool and in the pool's ring */

uint16_t tg_buffer_size(const struct tg_config *c)
{
	unsigned int room = RTE_MBUF_DEFAULT_DATAROOM;

	for (unsigned int p = 0; p < c->n_ports; p++)
		room = RTE_MAX(room,
			       c->ports[p].mtu + 64u); /* link header, two tags, and to spare */
	return (uint16_t)RTE_MIN(room + RTE_PKTMBUF_HEADROOM, (unsigned int)UINT16_MAX);
}

unsigned int tg_buffers_wanted(const struct tg_config *c, unsigned int n_workers)
{
	unsigned int n = TG_INBOX_SIZE + TG_BUFFER_CACHE * 2 + TG_BURST_MAX * 4; /* a worker */
	unsigned int all = TG_HEALTH_ANSWERS + TG_CONTROL_OUT_SIZE;

	if (tg_config_has_admission(c))
		n += TG_ADMIT_CLASSES * TG_WAITING_MAX;
	for (unsigned int p = 0; p < c->n_ports; p++) {
		n += c->ports[p].rx_descriptors + c->ports[p].tx_descriptors + TG_TX_WAITING;
		all += c->ports[p].kernel[0] != '\0' ? TG_EXCEPTION_BUFFERS : 0;
	}
	n += tg_config_auctions(c) * TG_BID_HELD; /* SYN-ACKs */
	return n_workers * n + all;
}

unsigned int tg_buffers_mib(const struct tg_config *c, unsigned int n)
{
	return (unsigned int)((uint64_t)n * (tg_buffer_size(c) + OBJECT) >> 20);
}
