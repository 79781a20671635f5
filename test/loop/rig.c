/* SPDX-License-Identifier: BSD-3-Clause */
#include "rig.h"

#include <netinet/in.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame.h"
#include "start/eal.h"
#include "tg_packet.h"

#define DEVICE "net_ring_loop"
#define PORT   443

static const struct tg_options options = {.config = "loop"};
static struct frame syn, ack;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static uint32_t slots_for(uint32_t flows)
{
	return rte_align32pow2(flows + flows / 4);
}

void rig_start(const char *program, uint32_t flows)
{
	char err[512];

	if (tg_eal_start_private(program, 160 + (unsigned int)(slots_for(flows) * 140ull >> 20),
				 err, sizeof(err)) != 0)
		fail("EAL", err);
}

static struct tg_config *configuration(uint32_t flows, const char *workers)
{
	static const char format[] =
		"{\"version\": 1, \"flow_table\": {\"slots_per_worker\": %u, \"tcp_idle_s\": 86400},"
		"\"workers\": %s, \"ports\": [{\"name\": \"p\", \"port\": \"" DEVICE "\","
		"\"role\": \"both\", \"addresses\": [\"10.0.0.2/24\"]}], \"services\": [{"
		"\"name\": \"web\", \"address\": \"" FRAME_VIP_V4 "\", \"protocol\": \"tcp\","
		"\"ports\": [%u], \"forward\": \"ipip\", \"servers\": ["
		"{\"name\": \"a\", \"address\": \"10.0.0.11\", \"mac\": \"02:00:00:00:00:01\"},"
		"{\"name\": \"b\", \"address\": \"10.0.0.12\", \"mac\": \"02:00:00:00:00:02\"}]}]}";
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	char text[2048];
	int n = snprintf(text, sizeof(text), format, slots_for(flows), workers, PORT);

	if (tg_config_parse("loop", text, (size_t)n, &c, &report) != 0)
		fail("configuration", report.n_faults > 0 ? report.faults[0] : "no memory");
	tg_config_report_free(&report);
	return c;
}

static void make_port(struct rig *r)
{
	r->rx = rte_ring_create("loop_rx", RIG_RING, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
	r->tx = rte_ring_create("loop_tx", RIG_RING, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (r->rx == NULL || r->tx == NULL ||
	    rte_eth_from_rings("loop", &r->rx, 1, &r->tx, 1, 0) < 0)
		fail("ports", "no memory");
}

static bool feed(struct rig *r, const struct frame *f, uint64_t flow)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->gateway.pool[0]);

	if (m == NULL)
		return false;
	frame_write(f, rte_pktmbuf_mtod(m, uint8_t *), flow, r->packets, r->packets >> 12);
	m->data_len = f->len;
	m->pkt_len = f->len;
	if (rte_ring_sp_enqueue(r->rx, m) != 0) {
		rte_pktmbuf_free(m);
		return false;
	}
	r->packets++;
	return true;
}

bool rig_feed(struct rig *r)
{
	return feed(r, &ack, stream_next(&r->stream));
}

unsigned int rig_take(struct rig *r)
{
	void *m[32];
	unsigned int all = 0, n;

	while ((n = rte_ring_sc_dequeue_burst(r->tx, m, 32, NULL)) > 0) {
		rte_pktmbuf_free_bulk((struct rte_mbuf **)m, n);
		all += n;
	}
	return all;
}

/* A SYN and an ACK of every flow. */
static void open_flows(struct rig *r, uint32_t flows)
{
	for (unsigned int pass = 0; pass < 2; pass++)
		for (uint32_t f = 0; f < flows;) {
			for (unsigned int i = 0; i < 32 && f < flows; i++, f++)
				feed(r, pass == 0 ? &syn : &ack, f);
			tg_worker_turn(r->worker);
			rig_take(r);
		}
	if (tg_flow_table_stats(r->worker->flows)->inserted < flows)
		fail("flows", "not all could be opened");
}

void rig_make(struct rig *r, uint32_t flows, const char *workers, struct tg_virtual_time *time)
{
	const struct frame_kind kind = {IPPROTO_TCP, .timestamps = true, .service_port = PORT};
	struct tg_gateway_env env = {
		.name = "",
		.n_workers = 1,
		.lcore = {rte_get_main_lcore()},
		.clock = tg_clock_init(rte_get_tsc_hz()),
		.virtual_time = {time},
		.now = time != NULL ? time->now : rte_rdtsc(),
		.seed = 1,
	};
	char err[512];

	*r = (struct rig){.stream = {.random = 1, .flows = flows}};
	make_port(r);
	if (tg_gateway_make(&r->gateway, &options, &env, configuration(flows, workers), err,
			    sizeof(err)) != 0)
		fail("gateway", err);
	r->worker = r->gateway.worker[0];
	frame_make(&syn, &kind, r->gateway.ports[0].mac, TG_TCP_SYN, 0);
	frame_make(&ack, &kind, r->gateway.ports[0].mac, TG_TCP_ACK, 0);
	open_flows(r, flows);
}

void rig_free(struct rig *r)
{
	rig_take(r);
	tg_gateway_stop(&r->gateway);
	tg_gateway_free(&r->gateway);
	rte_vdev_uninit(DEVICE);
	rte_ring_free(r->rx);
	rte_ring_free(r->tx);
}
