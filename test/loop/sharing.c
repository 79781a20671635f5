/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No false sharing: while one worker of three runs packets, new flows and known ones, nothing changes on any
 * cache line that holds something of another worker's, nor in what all of them read. Lines are taken whole:
 * an object that shares its first or last line with what the running worker writes is found.
 *
 * Not looked at: the rings that packets cross by, which are there to be shared, and the flag by which a
 * worker that has probed a stale server tells the others (costs.h), at most one write a server and tick.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "frame.h"
#include "gateway.h"
#include "port/rx.h"
#include "port/tx.h"
#include "start/eal.h"

#define WORKERS     3
#define LINE        ((uintptr_t)64)
#define TURNS       400
#define FLOWS       3000
#define OBJECTS_MAX 512

struct object {
	const char *what;
	uintptr_t start, end;
	unsigned char *before;
};

static struct object object[OBJECTS_MAX];
static unsigned int n_objects;
static struct rte_ring *rx[WORKERS], *tx[WORKERS];

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static void add(const char *what, const void *p, size_t size, bool lines)
{
	uintptr_t start = (uintptr_t)p, end = start + size;

	if (n_objects == OBJECTS_MAX)
		fail(what, "too many objects");
	if (lines) {
		start &= ~(LINE - 1);
		end = (end + LINE - 1) & ~(LINE - 1);
	}
	object[n_objects++] = (struct object){.what = what, .start = start, .end = end};
}

/* What a worker writes, but for its table's slots, which are pages of their own. */
static void add_worker(const struct tg_gateway *g, const struct tg_worker *w)
{
	const struct tg_snapshot *s = g->snapshot;

	add("worker", w, sizeof(*w), true);
	add("select", w->local, TG_SERVICES_MAX * sizeof(*w->local), true);
	add("own flows", w->own, TG_SERVERS_MAX * sizeof(*w->own), true);
	add("picks", w->tally, TG_SERVERS_MAX * sizeof(*w->tally), true);
	add("generations", w->generation, TG_SERVERS_MAX * sizeof(*w->generation), true);
	add("late by service", w->stats.gate.late_service,
	    TG_SERVICES_MAX * TG_GATE_PLACES * sizeof(uint64_t), true);
	add("first copies", w->copies, sizeof(*w->copies), true);
	add("rx", w->rx, g->n_ports * sizeof(*w->rx), true);
	add("tx", w->tx, g->n_ports * sizeof(*w->tx), true);
	add("table", tg_flow_table_stats(w->flows), sizeof(struct tg_flow_stats), true);
	for (unsigned int i = 0; i < s->n_servers; i++)
		add("server's counters", tg_snapshot_stats(s, i, w->index),
		    sizeof(struct tg_server_stats), true);
}

/* What all workers read, packet by packet. */
static void add_shared(const struct tg_gateway *g)
{
	const struct tg_snapshot *s = g->snapshot;

	add("gateway", g, sizeof(*g), false);
	add("snapshot", s, sizeof(*s), false);
	add("routes", s->route, s->n_servers * sizeof(*s->route), false);
	add("server generations", s->generation, s->n_servers * sizeof(*s->generation), false);
	add("counters' places", s->stats, s->n_servers * WORKERS * sizeof(*s->stats), false);
	add("estimators", s->pirate, s->n_services * sizeof(*s->pirate), false);
	add("limits", s->limit, s->n_services * sizeof(*s->limit), false);
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->route[i].mac != NULL)
			add("link address", s->route[i].mac, sizeof(*s->route[i].mac), false);
}

static struct tg_config *configuration(void)
{
	static const char text[] =
		"{\"version\": 1, \"flow_table\": {\"slots_per_worker\": 8192}, \"ports\": [{\"name\": \"p\","
		"\"port\": \"net_ring_sharing\", \"role\": \"both\", \"addresses\": [\"10.0.0.2/24\"]}],"
		"\"services\": [{\"name\": \"web\", \"address\": \"" FRAME_VIP_V4
		"\", \"protocol\": \"tcp\", \"ports\": [443], \"forward\": \"ipip\", \"servers\": ["
		"{\"name\": \"a\", \"address\": \"10.0.0.11\", \"mac\": \"02:00:00:00:00:01\"},"
		"{\"name\": \"b\", \"address\": \"10.0.0.12\", \"mac\": \"02:00:00:00:00:02\"}]}]}";
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;

	if (tg_config_parse("sharing", text, sizeof(text) - 1, &c, &report) != 0)
		fail("configuration", report.n_faults > 0 ? report.faults[0] : "no memory");
	tg_config_report_free(&report);
	return c;
}

static void make_gateway(struct tg_gateway *g)
{
	static const struct tg_options options = {.config = "sharing"};
	struct tg_gateway_env env = {
		.name = "",
		.n_workers = WORKERS,
		.clock = tg_clock_init(rte_get_tsc_hz()),
		.now = rte_rdtsc(),
		.seed = 1,
	};
	char err[512], name[16];

	for (unsigned int i = 0; i < WORKERS; i++) {
		env.lcore[i] = rte_get_main_lcore();
		snprintf(name, sizeof(name), "rx%u", i);
		rx[i] = rte_ring_create(name, 256, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "tx%u", i);
		tx[i] = rte_ring_create(name, 256, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (rx[i] == NULL || tx[i] == NULL)
			fail("rings", "no memory");
	}
	if (rte_eth_from_rings("sharing", rx, WORKERS, tx, WORKERS, 0) < 0)
		fail("ports", "no memory");
	if (tg_gateway_make(g, &options, &env, configuration(), err, sizeof(err)) != 0)
		fail("gateway", err);
}

static void take_all(struct rte_ring *r)
{
	void *m[32];
	unsigned int n;

	while ((n = rte_ring_dequeue_burst(r, m, 32, NULL)) > 0)
		rte_pktmbuf_free_bulk((struct rte_mbuf **)m, n);
}

/* A burst of packets on the worker's queue and its turn; those of other workers' flows are let go. */
static void turn(struct tg_gateway *g, unsigned int worker, const struct frame *f, uint32_t packet)
{
	for (unsigned int i = 0; i < 32; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool[0]);

		if (m == NULL)
			fail("packets", "no memory");
		frame_write(f, rte_pktmbuf_mtod(m, uint8_t *), (packet + i) % FLOWS, packet + i,
			    (packet + i) >> 12);
		m->data_len = f->len;
		m->pkt_len = f->len;
		if (rte_ring_sp_enqueue(rx[worker], m) != 0)
			fail("packets", "no room");
	}
	tg_worker_turn(g->worker[worker]);
	take_all(tx[worker]);
	for (unsigned int i = 0; i < WORKERS; i++)
		take_all(g->inbox[i]);
}

/* SYNs, acknowledgements and requests of all flows; the worker forwards its own. */
static uint64_t run(struct tg_gateway *g, unsigned int worker)
{
	const struct frame_kind kind = {IPPROTO_TCP, .timestamps = true, .service_port = 443};
	static const uint8_t flags[4] = {TG_TCP_SYN, TG_TCP_ACK, TG_TCP_ACK | TG_TCP_PSH,
					 TG_TCP_ACK};
	const struct tg_worker_stats *st = &g->worker[worker]->stats;
	uint64_t before = st->forwarded;

	for (unsigned int t = 0; t < TURNS; t++) {
		unsigned int phase = t * 32 / FLOWS % 4;
		struct frame f;

		frame_make(&f, &kind, g->ports[0].mac, flags[phase],
			   phase == 2 ? FRAME_REQUEST : 0);
		turn(g, worker, &f, t * 32);
	}
	return st->forwarded - before;
}

static void remember(void)
{
	for (unsigned int i = 0; i < n_objects; i++) {
		size_t size = object[i].end - object[i].start;

		object[i].before = malloc(size);
		if (object[i].before == NULL)
			fail(object[i].what, "no memory");
		memcpy(object[i].before, (const void *)object[i].start, size);
	}
}

static unsigned int changed(unsigned int worker)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < n_objects; i++) {
		size_t size = object[i].end - object[i].start, at = 0;
		const unsigned char *now = (const void *)object[i].start;

		while (at < size && now[at] == object[i].before[at])
			at++;
		if (at < size)
			printf("FAIL worker %u wrote on a line of \"%s\", byte %zu of %zu\n",
			       worker, object[i].what, at, size);
		n += at < size;
		free(object[i].before);
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct tg_gateway g;
	unsigned int failed = 0;
	char err[512];

	(void)argc;
	if (tg_eal_start_private(argv[0], 256, err, sizeof(err)) != 0)
		fail("EAL", err);
	make_gateway(&g);
	for (unsigned int k = 0; k < WORKERS; k++) /* each takes the snapshot */
		tg_worker_turn(g.worker[k]);
	for (unsigned int k = 0; k < WORKERS; k++) {
		uint64_t forwarded;

		n_objects = 0;
		for (unsigned int i = 0; i < WORKERS; i++)
			if (i != k)
				add_worker(&g, g.worker[i]);
		add_shared(&g);
		remember();
		forwarded = run(&g, k);
		failed += changed(k);
		if (forwarded < TURNS * 32 / WORKERS / 2) {
			printf("FAIL worker %u forwarded only %llu packets\n", k,
			       (unsigned long long)forwarded);
			failed++;
		}
	}
	tg_gateway_stop(&g);
	tg_gateway_free(&g);
	printf("%u passed, %u failed, 0 skipped\n", failed == 0 ? WORKERS : 0, failed);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
