/* SPDX-License-Identifier: BSD-3-Clause */
/* One gateway with one worker, its ports rings whose far ends are the test's. */
#include <errno.h>
#include <stdio.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "port/rx.h"
#include "port/tx.h"
#include "soak.h"
#include "tsc.h"

#define RX_RING 1024
#define BUFFERS 8191

static const char document[] =
	"{\"version\": 1, \"flow_table\": {\"slots_per_worker\": 8192},"
	" \"ports\": ["
	"{\"name\": \"front\", \"port\": \"net_ring_front\", \"role\": \"client\","
	" \"addresses\": [\"198.51.100.2/24\"], \"rx_descriptors\": %u, \"tx_descriptors\": %u},"
	"{\"name\": \"back\", \"port\": \"net_ring_back\", \"role\": \"server\","
	" \"addresses\": [\"10.0.0.2/24\"], \"rx_descriptors\": %u, \"tx_descriptors\": %u}],"
	" \"services\": [{\"name\": \"dns\", \"address\": \"192.0.2.10\", \"protocol\": \"%s\","
	" \"ports\": [53], \"gate\": \"drop\", \"sojourn_max_us\": %u, %s,"
	" \"servers\": [{\"name\": \"a\", \"address\": \"10.0.0.11\", \"mac\": \"02:00:00:00:00:0b\"},"
	" {\"name\": \"b\", \"address\": \"10.0.0.12\", \"mac\": \"02:00:00:00:00:0c\"}]}]}";

static struct rte_ring *ring(const char *name, unsigned int n)
{
	return rte_ring_create(name, n, -1, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

static int make_ports(struct soak_rig *r, const struct soak_kind *k)
{
	struct rte_ring *in = ring("front_in", RX_RING), *front_out = ring("front_out", RX_RING);
	struct rte_ring *back_in = ring("back_in", RX_RING), *out = ring("back_out", k->tx_ring);

	r->in = in;
	r->out = out;
	r->back_in = back_in;
	r->front_out = front_out;
	if (in == NULL || out == NULL || front_out == NULL || back_in == NULL)
		return -ENOMEM;
	if (rte_eth_from_rings("front", &in, 1, &front_out, 1, 0) < 0 ||
	    rte_eth_from_rings("back", &back_in, 1, &out, 1, 0) < 0)
		return -ENODEV;
	return 0;
}

int soak_rig_make(struct soak_rig *r, const struct soak_kind *k, char *err, size_t err_len)
{
	struct tg_gateway_env env = {.name = "",
				     .n_workers = 1,
				     .clock = tg_clock_init(tg_tsc_hz()),
				     .now = rte_rdtsc(),
				     .seed = 1};
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	char text[sizeof(document) + 512];
	int len;

	memset(r, 0, sizeof(*r));
	snprintf(err, err_len, "no memory for rings and buffers");
	r->lcore = env.lcore[0] = rte_get_next_lcore(-1, 1, 0);
	if (make_ports(r, k) != 0)
		return -ENOMEM;
	r->pool = rte_pktmbuf_pool_create("feed", BUFFERS, 256, 64, RTE_MBUF_DEFAULT_BUF_SIZE, -1);
	if (r->pool == NULL)
		return -ENOMEM;
	len = snprintf(text, sizeof(text), document, RX_RING, RX_RING, RX_RING, k->tx_ring,
		       k->bids ? "tcp" : "udp", k->limit_us,
		       k->service != NULL ? k->service : "\"policy\": \"maglev\"");
	if (tg_config_parse("soak", text, (size_t)len, &c, &report) != 0) {
		snprintf(err, err_len, "%s",
			 report.n_faults > 0 ? report.faults[0] : "configuration");
		tg_config_report_free(&report);
		return -EINVAL;
	}
	tg_config_report_free(&report);
	r->options.config = "soak";
	if (tg_gateway_make(&r->gateway, &r->options, &env, c, err, err_len) != 0)
		return -EINVAL;
	/* a ring device does not know it, but its receive ring is a NIC's: of so many places */
	for (uint16_t p = 0; p < 2; p++) {
		r->gateway.ports[p].rx_ring = RX_RING;
		tg_rx_init(&r->gateway.worker[0]->rx[p], &r->gateway.ports[p], p, 0, &env.clock);
	}
	memcpy(r->mac, r->gateway.ports[0].mac, sizeof(r->mac));
	memcpy(r->back_mac, r->gateway.ports[1].mac, sizeof(r->back_mac));
	return 0;
}

static void drain(struct rte_ring *ring)
{
	void *m;

	while (ring != NULL && rte_ring_sc_dequeue(ring, &m) == 0)
		rte_pktmbuf_free(m);
}

void soak_rig_free(struct soak_rig *r)
{
	static const char *const names[] = {"front_in", "front_out", "back_in", "back_out"};

	tg_gateway_stop(&r->gateway);
	for (unsigned int i = 0; i < 4; i++)
		drain(rte_ring_lookup(names[i]));
	tg_gateway_free(&r->gateway);
	rte_vdev_uninit("net_ring_front");
	rte_vdev_uninit("net_ring_back");
	for (unsigned int i = 0; i < 4; i++)
		rte_ring_free(rte_ring_lookup(names[i]));
	rte_mempool_free(r->pool);
}
