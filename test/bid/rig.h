/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole gateway with one service that takes bids, on ring devices and a clock that the test moves: frames go in
 * by front (clients) or back (servers), tg_worker_turn is called, frames come out. l2, servers of ids 0..n-1. IPv4, or
 * with rig.v6 IPv6: the same addresses behind 2001:db8::.
 *
 * Thread-safety: one thread, one rig a process.
 */
#ifndef TG_BID_RIG_H
#define TG_BID_RIG_H

#include <netinet/in.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auction/auction.h"
#include "control.h"
#include "gateway.h"
#include "pipeline.h"
#include "port/rx.h"

#ifndef RIG_SLOTS
#define RIG_SLOTS "1024" /* of the flow table */
#endif
#define RIG_RING 2048
#define RIG_HZ   UINT64_C(1000000000)
#define US       UINT64_C(1000)
#define MS       UINT64_C(1000000)
#define FRONT    0
#define BACK     1
#define CLIENT   0xc6336405u /* 198.51.100.5 */
#define VIP      0xc000020au /* 192.0.2.10 */

static struct {
	struct tg_gateway gateway;
	struct tg_options options;
	struct tg_virtual_time time[2];
	struct rte_ring *rx[2][2], *tx[2][2]; /* by port, queue */
	struct rte_mempool *pool;
	unsigned int workers;
	bool v6;
	bool timestamps;    /* frames have them: the test's clock, ms */
	const char *policy; /* NULL: bid */
} rig;

static inline void rig_spend(struct tg_virtual_time *t, unsigned int packets)
{
	(void)t, (void)packets;
}

static inline void rig_port(unsigned int port)
{
	static const char *const name[] = {"rigfront", "rigback"};

	for (unsigned int w = 0; w < rig.workers; w++) {
		char text[32];

		snprintf(text, sizeof(text), "rig_rx%u%u", port, w);
		rig.rx[port][w] = rte_ring_create(text, RIG_RING, -1, 0);
		snprintf(text, sizeof(text), "rig_tx%u%u", port, w);
		rig.tx[port][w] = rte_ring_create(text, RIG_RING, -1, 0);
	}
	if (rte_eth_from_rings(name[port], rig.rx[port], rig.workers, rig.tx[port], rig.workers,
			       0) < 0)
		abort();
}

/* bid: what stands in the service's "bid" object; more: further keys of the service, with a comma in front. */
static inline struct tg_config *rig_config(unsigned int servers, const char *bid, const char *more)
{
	static char text[16384];
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	int n = snprintf(text, sizeof(text),
			 "{\"version\":1,\"flow_table\":{\"slots_per_worker\":" RIG_SLOTS
			 "},\"ports\":["
			 "{\"name\":\"front\",\"port\":\"net_ring_rigfront\",\"role\":\"client\","
			 "\"addresses\":[\"198.51.100.2/24\",\"2001:db8::c633:6402/120\"]},"
			 "{\"name\":\"back\",\"port\":\"net_ring_rigback\",\"role\":\"server\","
			 "\"addresses\":[\"10.0.0.2/24\"]}],"
			 "\"services\":[{\"name\":\"web\",\"address\":\"%s\",\"protocol\":\"tcp\","
			 "\"ports\":[80],\"policy\":\"%s\",\"bid\":{%s}%s,\"servers\":[",
			 rig.v6 ? "2001:db8::c000:20a" : "192.0.2.10",
			 rig.policy != NULL ? rig.policy : "bid", bid, more);

	for (unsigned int i = 0; i < servers; i++)
		n += snprintf(
			text + n, sizeof(text) - (size_t)n,
			"%s{\"name\":\"s%u\",\"address\":\"10.0.0.%u\",\"mac\":\"02:00:00:00:01:%02x\"}",
			i > 0 ? "," : "", i, i + 10, i);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "]}]}");
	if (tg_config_parse("rig", text, (size_t)n, &c, &report) != 0) {
		fprintf(stderr, "%s\n", report.n_faults > 0 ? report.faults[0] : "no memory");
		abort();
	}
	tg_config_report_free(&report);
	return c;
}

static inline void rig_start(unsigned int servers, unsigned int workers, const char *bid,
			     const char *more)
{
	struct tg_gateway_env env = {.name = "rig",
				     .n_workers = workers,
				     .now = 1000 * MS,
				     .seed = 5};
	char err[512];

	rig.workers = workers;
	env.clock = tg_clock_init(RIG_HZ);
	for (unsigned int w = 0; w < workers; w++) {
		env.lcore[w] = rte_get_main_lcore();
		env.virtual_time[w] = &rig.time[w];
		rig.time[w] = (struct tg_virtual_time){.now = env.now, .spend = rig_spend};
	}
	memset(env.flow_secret, 0x5a, sizeof(env.flow_secret));
	rig_port(FRONT);
	rig_port(BACK);
	rig.pool = rte_pktmbuf_pool_create("rig", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, -1);
	rig.options.config = "rig";
	if (rig.pool == NULL ||
	    tg_gateway_make(&rig.gateway, &rig.options, &env, rig_config(servers, bid, more), err,
			    sizeof(err)) != 0) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	for (unsigned int w = 0; w < workers; w++)
		for (unsigned int p = 0; p < 2; p++) {
			rig.gateway.ports[p].rx_ring = RIG_RING;
			rig.gateway.ports[p].started = env.now;
			tg_rx_init(&rig.gateway.worker[w]->rx[p], &rig.gateway.ports[p],
				   (uint16_t)p, w, &rig.gateway.clock);
		}
}

static inline void rig_end(void)
{
	static const char *const name[] = {"net_ring_rigfront", "net_ring_rigback"};

	tg_gateway_stop(&rig.gateway);
	tg_gateway_free(&rig.gateway);
	for (unsigned int p = 0; p < 2; p++) {
		rte_vdev_uninit(name[p]);
		for (unsigned int w = 0; w < rig.workers; w++) {
			rte_ring_free(rig.rx[p][w]);
			rte_ring_free(rig.tx[p][w]);
		}
	}
	rte_mempool_free(rig.pool);
}

#include "rig_frames.h"

#endif
