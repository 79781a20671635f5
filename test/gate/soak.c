/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak SECONDS [KIND...]: whatever builds up, does a late packet leave? One line a kind; exit code 0 when
 * none did. Needs two cores; no root, no huge pages.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_udp.h>

#include "control.h"
#include "soak.h"
#include "tsc.h"

#define FLOWS 1000u
#define NETS  8u /* of clients: one has nine tenths of the flows */

/* Nine tenths of what comes are one segment's, which is in burst; the others are calm. */
#define TOKENS                                                                                                   \
	"\"policy\": \"maglev\", \"admission_wait_max_us\": 1000000, \"admission\": {\"cost\": "                 \
	"\"packet\", \"budget_per_s\": 2000000, \"interval_us\": 1000, \"auxiliary_percent\": 1, \"segments\": " \
	"{\"hi_per_s\": 500000}}"

/* Answers wait for others for up to 300 us, of a T of 500. */
#define BIDS                                                                                        \
	"\"policy\": \"bid\", \"gate_margin_us\": 20, \"bid\": {\"window_us\": 300, \"syn_rate\": " \
	"10000000, \"missed\": 1000}"

static const struct soak_kind kinds[] = {
	{.name = "saturated", .what = "more than it can do", .limit_us = 500, .tx_ring = 1024},
	{.name = "driver",
	 .what = "the driver takes 300 000 a second",
	 .limit_us = 500,
	 .tx_ring = 64,
	 .consumer_pps = 300000},
	{.name = "stage",
	 .what = "one burst in 200 takes 400 us of work",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .work_every = 200,
	 .work_us = 400},
	{.name = "wait",
	 .what = "bursts wait for up to 32 others",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .held = 32},
	{.name = "stall",
	 .what = "the worker stands still for 3 ms, its ring fills",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .stall_every_ms = 10,
	 .stall_us = 3000},
	{.name = "sigstop",
	 .what = "SIGSTOP for 10 ms",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .stop_every_ms = 40,
	 .stop_us = 10000},
	{.name = "busy",
	 .what = "another process spins on the core",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .busy = true},
	{.name = "tokens",
	 .what = "2 000 000 tokens a second, for less than what comes",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .service = TOKENS,
	 .waits = true},
	{.name = "tokens-stall",
	 .what = "the same, and the worker stands still for 3 ms",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .service = TOKENS,
	 .waits = true,
	 .stall_every_ms = 10,
	 .stall_us = 3000},
	{.name = "tokens-sigstop",
	 .what = "the same, and SIGSTOP for 10 ms",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .service = TOKENS,
	 .waits = true,
	 .stop_every_ms = 40,
	 .stop_us = 10000},
	{.name = "bids",
	 .what = "a connection opened by every fourth packet; SYN-ACKs wait for others' bids",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .service = BIDS,
	 .waits = true,
	 .bids = true},
	{.name = "bids-stall",
	 .what = "the same, and the worker stands still for 3 ms",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .service = BIDS,
	 .waits = true,
	 .bids = true,
	 .stall_every_ms = 10,
	 .stall_us = 3000},
	{.name = "bids-sigstop",
	 .what = "the same, and SIGSTOP for 10 ms",
	 .limit_us = 500,
	 .tx_ring = 1024,
	 .service = BIDS,
	 .waits = true,
	 .bids = true,
	 .stop_every_ms = 40,
	 .stop_us = 10000},
};

struct feeder {
	struct soak_rig *rig;
	const struct soak_kind *kind;
	uint8_t frame[NETS][SOAK_FRAME];
	uint32_t flow;
	uint64_t offered, start, taken, to_clients;
};

static void make_frame(const struct feeder *f, uint8_t *frame, unsigned int net)
{
	struct rte_ether_hdr *e = (struct rte_ether_hdr *)frame;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(e + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	memset(frame, 0, SOAK_FRAME);
	memcpy(&e->dst_addr, f->rig->mac, 6);
	e->src_addr.addr_bytes[0] = 2;
	e->src_addr.addr_bytes[5] = 1;
	e->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->total_length = rte_cpu_to_be_16(SOAK_FRAME - sizeof(*e));
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(198, 51, 100 + net, 10));
	ip->dst_addr = RTE_BE32(RTE_IPV4(192, 0, 2, 10));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->dst_port = RTE_BE16(53);
	udp->dgram_len = rte_cpu_to_be_16(SOAK_FRAME - sizeof(*e) - sizeof(*ip));
}

unsigned int soak_enter(struct rte_ring *to, struct rte_mbuf **m, unsigned int n)
{
	static uint32_t batch = 1;
	const struct soak_tag tag = {.batch = batch};
	struct soak_batch *b = &soak_batch[batch];
	unsigned int in;

	if (n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		memcpy(rte_pktmbuf_mtod_offset(m[i], uint8_t *, m[i]->data_len - sizeof(tag)), &tag,
		       sizeof(tag));
	__atomic_store_n(&b->after, 0, __ATOMIC_RELAXED);
	b->before = rte_rdtsc();
	in = rte_ring_sp_enqueue_burst(to, (void **)m, n, NULL);
	__atomic_store_n(&b->after, rte_rdtsc(), __ATOMIC_RELEASE);
	rte_pktmbuf_free_bulk(m + in, n - in);
	batch = batch + 1 < SOAK_BATCHES ? batch + 1 : 1;
	return in;
}

/* Packet k of the clients. */
static void write_frame(const struct feeder *f, uint8_t *data, uint32_t k)
{
	const size_t port = sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr);
	uint32_t flow = k % FLOWS;
	uint16_t from = rte_cpu_to_be_16((uint16_t)(1024 + flow));

	memcpy(data, f->frame[flow % 10 == 0 ? 1 + flow / 10 % (NETS - 1) : 0], SOAK_FRAME);
	if (f->kind->bids)
		soak_bids_write(data, k);
	else
		memcpy(data + port, &from, sizeof(from));
}

/* A batch into the receive ring. */
static void produce(struct feeder *f)
{
	unsigned int room = rte_ring_free_count(f->rig->in), n = RTE_MIN(room, SOAK_BURST);
	struct rte_mbuf *m[SOAK_BURST];

	if (n == 0 || rte_pktmbuf_alloc_bulk(f->rig->pool, m, n) != 0)
		return;
	for (unsigned int i = 0; i < n; i++) {
		write_frame(f, rte_pktmbuf_mtod(m[i], uint8_t *), f->flow++);
		m[i]->data_len = SOAK_FRAME;
		m[i]->pkt_len = SOAK_FRAME;
	}
	f->offered += soak_enter(f->rig->in, m, n);
}

/* What comes by the front leaves for clients. */
static void consume_front(struct feeder *f)
{
	struct rte_mbuf *m[SOAK_BURST];
	unsigned int n = rte_ring_sc_dequeue_burst(f->rig->front_out, (void **)m, SOAK_BURST, NULL);

	f->to_clients += n;
	rte_pktmbuf_free_bulk(m, n);
}

/* The driver's far end: as fast as it may. */
static void consume(struct feeder *f, uint64_t now)
{
	struct rte_mbuf *m[SOAK_BURST];
	uint64_t due = UINT64_MAX;
	unsigned int n = SOAK_BURST;

	if (f->kind->consumer_pps != 0) {
		due = (uint64_t)((double)(now - f->start) / (double)f->rig->gateway.clock.hz *
				 (double)f->kind->consumer_pps);
		if (due <= f->taken)
			return;
		n = (unsigned int)RTE_MIN(due - f->taken, (uint64_t)SOAK_BURST);
	}
	n = rte_ring_sc_dequeue_burst(f->rig->out, (void **)m, n, NULL);
	if (f->kind->bids)
		soak_bids_serve(f->rig, m, n, now);
	else
		rte_pktmbuf_free_bulk(m, n);
	consume_front(f);
	f->taken += n;
	/* what was not there is not made up for later */
	if (n == 0 && due != UINT64_MAX)
		f->taken = due;
}

static uint32_t stall_us;

/* On the worker's thread, wherever it is just then. */
static void stand_still(int signo)
{
	const struct timespec t = {0, stall_us * 1000L};

	(void)signo;
	nanosleep(&t, NULL);
}

static pthread_t worker_thread;

static int run_worker(void *worker)
{
	worker_thread = pthread_self();
	return tg_worker_main(worker);
}

static void feed(struct feeder *f, double seconds)
{
	const struct tg_clock *clock = &f->rig->gateway.clock;
	uint64_t end = rte_rdtsc() + (uint64_t)(seconds * (double)clock->hz), now;
	uint64_t stall = tg_us_to_ticks(clock, f->kind->stall_every_ms * 1000u), next, tick = 0;

	f->start = rte_rdtsc();
	next = f->start + stall;
	while ((now = rte_rdtsc()) < end) {
		produce(f);
		/* of one that opens a connection come four, two of which are answered */
		for (unsigned int i = 0; i == 0 || (f->kind->bids && i < 3); i++)
			consume(f, now);
		if (stall != 0 && now >= next) {
			pthread_kill(worker_thread, SIGUSR1);
			next = now + stall;
		}
		if (now >= tick) {
			tg_control_tick(&f->rig->gateway, now);
			tick = now + tg_us_to_ticks(clock, 5000);
		}
	}
}

/* What waited for tokens and went on, by class. */
static void add_waited(const struct soak_rig *r, uint64_t waited[TG_ADMIT_CLASSES])
{
	const struct tg_admission_pool *p = r->gateway.snapshot->pool[0];

	for (unsigned int c = 0; c < TG_ADMIT_CLASSES; c++)
		waited[c] = p != NULL ? p->stats[0]->released[c] : 0;
}

static int report(const struct soak_rig *r, const struct soak_kind *k, const struct feeder *f)
{
	const struct tg_clock *c = &r->gateway.clock;
	const struct tg_worker_stats *w = &r->gateway.worker[0]->stats;
	const struct tg_gate_stats *g = &w->gate;
	uint64_t waited[TG_ADMIT_CLASSES];
	bool counted = soak_seen.late_after <= g->late_uncertain;
	bool good = soak_seen.late == 0 && counted && soak_seen.sent > 0;

	add_waited(r, waited);
	if (k->waits)
		good = good && waited[TG_ADMIT_CALM] + waited[TG_ADMIT_BURST] + f->to_clients > 0;

	printf("{\"kind\": \"%s\", \"what\": \"%s\", \"limit_us\": %u, \"offered\": %" PRIu64
	       ", \"received\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"waited\": {\"calm\": %" PRIu64
	       ", \"burst\": %" PRIu64 ", \"bids\": %" PRIu64 "}, \"dropped_late\": %" PRIu64
	       ", \"late_at\": {\"ring\": %" PRIu64 ", \"stages\": %" PRIu64
	       ", \"driver\": %" PRIu64 "}, \"late\": %" PRIu64 ", \"late_uncertain\": %" PRIu64
	       ", \"seen_after_tx\": %" PRIu64 ", \"seen_later_still\": %" PRIu64
	       ", \"unknown\": %" PRIu64 ", \"made\": %" PRIu64
	       ", \"oldest_us\": %.1f, \"max_sojourn_us\": %.1f, \"arrival_early_us\": %.1f, "
	       "\"good\": %s}\n",
	       k->name, k->what, k->limit_us, f->offered, w->received, soak_seen.sent,
	       waited[TG_ADMIT_CALM], waited[TG_ADMIT_BURST], f->to_clients, g->late_dropped,
	       g->late_at[TG_GATE_RING], g->late_at[TG_GATE_STAGES], g->late_at[TG_GATE_DRIVER],
	       soak_seen.late, g->late_uncertain, soak_seen.late_after, soak_seen.late_since,
	       soak_seen.unknown, soak_seen.made, (double)tg_ticks_to_ns(c, soak_seen.oldest) / 1e3,
	       (double)g->max_sojourn_ns / 1e3, (double)tg_ticks_to_ns(c, soak_seen.early) / 1e3,
	       good ? "true" : "false");
	fflush(stdout);
	return good ? 0 : 1;
}

static int run(const struct soak_kind *k, double seconds)
{
	static struct soak_rig rig;
	static struct feeder f;
	char err[512];
	int bad;

	if (soak_rig_make(&rig, k, err, sizeof(err)) != 0) {
		fprintf(stderr, "soak: %s: %s\n", k->name, err);
		return 1;
	}
	f = (struct feeder){.rig = &rig, .kind = k};
	for (unsigned int net = 0; net < NETS; net++)
		make_frame(&f, f.frame[net], net);
	soak_witness_begin(k, &rig.gateway.clock);
	stall_us = k->stall_us;
	rte_eal_remote_launch(run_worker, rig.gateway.worker[0], rig.lcore);
	rte_delay_us_sleep(10000);
	soak_disturb(k, (unsigned int)rte_lcore_to_cpu_id((int)rig.lcore));
	feed(&f, seconds);
	soak_calm();
	__atomic_store_n(&rig.gateway.stop, true, __ATOMIC_RELAXED);
	/* what waits for the driver gets its chance */
	while (rte_eal_get_lcore_state(rig.lcore) == RUNNING)
		consume(&f, rte_rdtsc());
	rte_eal_wait_lcore(rig.lcore);
	soak_bids_end();
	bad = report(&rig, k, &f);
	soak_rig_free(&rig);
	return bad;
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc <= 2;
}

int main(int argc, char **argv)
{
	struct sigaction still = {.sa_handler = stand_still};
	char prefix[48], *args[] = {argv[0],
				    (char[]){"--no-huge"},
				    (char[]){"-m"},
				    (char[]){"384"},
				    (char[]){"--no-pci"},
				    (char[]){"--no-telemetry"},
				    (char[]){"--no-shconf"},
				    (char[]){"--log-level=lib.eal:error"},
				    (char[]){"-l"},
				    (char[]){"0,1"},
				    prefix};
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
	int bad = 0, ran = 0;

	if (seconds <= 0 || seconds > 60) {
		fprintf(stderr, "usage: soak SECONDS [KIND...]  (0 < SECONDS <= 60, each)\n");
		return 2;
	}
	snprintf(prefix, sizeof(prefix), "--file-prefix=tidegate-soak-%ld", (long)getpid());
	tg_tsc_start();
	if (rte_eal_init(RTE_DIM(args), args) < 0) {
		fprintf(stderr, "soak: DPDK does not start: two cores are needed\n");
		return 1;
	}
	sigaction(SIGUSR1, &still, NULL);
	for (size_t i = 0; i < RTE_DIM(kinds); i++) {
		if (!wanted(kinds[i].name, argc, argv))
			continue;
		bad += run(&kinds[i], seconds);
		ran++;
	}
	rte_eal_cleanup();
	return bad != 0 || ran == 0;
}
