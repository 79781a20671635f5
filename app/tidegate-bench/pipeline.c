/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gateway as it runs: its worker's loop, ageing and gate included, on a net_null port. What
 * the port receives is written into its buffers by a receive callback; what it sends goes back to
 * the pool at once, so the same few buffers stay in the cache. `io` is that port without a gateway:
 * receive with the same bytes written, send.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "bench.h"
#include "frame.h"
#include "gateway.h"
#include "pipeline.h"

#define DEVICE      "net_null_bench"
#define MEASURED    443                  /* port of the service that is measured as configured */
#define UNMEASURED  80                   /* the same with its estimator off */
#define BUFFERS     (UINT64_C(64) << 20) /* pool, queues, tables of constant size */
#define MIXED       32                   /* a power of two, above 4 */
#define NEW_SILENCE 10                   /* s: longer than a TCP flow in state NEW is kept */
#define STEADY_NS   100                  /* that a packet takes on the steady clock */

struct kind {
	struct frame_kind frame;
	const char *forward;
	bool fresh;  /* every measured packet begins a flow; `flows` others are in the table */
	bool mixed;  /* one of MIXED does */
	bool pirate; /* the base is the same traffic for the service that is not measured */
	/* its admission; the base is the same traffic for a service without. NULL: none */
	const char *admit;
};

/* What the port receives. */
struct source {
	struct stream stream;
	bool in_order; /* flows one after the other, from next; else at random */
	uint64_t next;
	const struct frame *often, *seldom; /* three of four packets, one of four */
	const struct frame *begins;         /* one of MIXED, of the flow `next`; NULL: none */
	const struct tg_worker *worker;     /* whose clock servers go by */
	uint64_t ms;                        /* ticks */
	uint32_t packets;
	unsigned int bursts_left;
	bool *stop; /* set with the last burst */
};

/* --steady: time that the packets make. The same way through the code each time, whatever the machine does. */
struct steady {
	struct tg_virtual_time time;
	uint64_t packet; /* ticks */
};

struct pipeline_state {
	const struct kind *kind;
	struct steady steady;
	uint64_t flows;
	struct tg_gateway gateway;
	const struct rte_eth_rxtx_callback *callback;
	struct source source;
	struct frame syn, ack, request, unmeasured_syn, unmeasured_ack, unmeasured_request;
};

bool bench_steady;

static void spend(struct tg_virtual_time *time, unsigned int packets)
{
	struct steady *s = (struct steady *)time;

	time->now += packets * s->packet;
}

static uint16_t write_packets(uint16_t port, uint16_t queue, struct rte_mbuf *m[], uint16_t n,
			      uint16_t max, void *arg)
{
	struct source *s = arg;
	uint32_t ms = (uint32_t)(tg_worker_now(s->worker) / s->ms);

	(void)port;
	(void)queue;
	(void)max;
	for (uint16_t i = 0; i < n; i++) {
		uint64_t flow = s->in_order ? s->next++ : stream_next(&s->stream);
		/* bits of the generator that do not choose the flow */
		const struct frame *f = s->stream.low & 3 ? s->often : s->seldom;

		if (s->begins != NULL && (s->stream.low & (MIXED - 1)) == MIXED - 1) {
			f = s->begins;
			flow = s->next++;
		}
		frame_write(f, rte_pktmbuf_mtod(m[i], uint8_t *), flow, s->packets++, ms);
		m[i]->data_len = f->len;
		m[i]->pkt_len = f->len;
	}
	if (--s->bursts_left == 0)
		__atomic_store_n(s->stop, true, __ATOMIC_RELAXED);
	return n;
}

/* The worker's loop over the given packets, until the bursts are through. */
static void work(struct pipeline_state *s, const struct frame *often, const struct frame *seldom,
		 unsigned int bursts)
{
	s->source.often = often;
	s->source.seldom = seldom;
	s->source.bursts_left = bursts;
	__atomic_store_n(&s->gateway.stop, false, __ATOMIC_RELAXED);
	tg_worker_main(s->gateway.worker[0]);
}

static uint64_t pipeline_run(void *state, unsigned int bursts)
{
	struct pipeline_state *s = state;
	const struct tg_worker_stats *st = &s->gateway.worker[0]->stats;
	uint64_t before = st->forwarded - st->stateless;

	s->source.begins = s->kind->mixed ? &s->syn : NULL;
	if (s->kind->fresh)
		work(s, &s->syn, &s->syn, bursts);
	else
		work(s, &s->ack, &s->request, bursts);
	return st->forwarded - st->stateless - before;
}

static void unmeasured_base(void *state, unsigned int bursts)
{
	struct pipeline_state *s = state;

	work(s, &s->unmeasured_ack, &s->unmeasured_request, bursts);
}

static uint64_t io_run(void *state, unsigned int bursts)
{
	struct pipeline_state *s = state;
	uint16_t port = s->gateway.ports[0].ethdev;
	struct rte_mbuf *m[BENCH_BURST];
	uint64_t sent = 0;

	s->source.often = s->kind->fresh ? &s->syn : &s->ack;
	s->source.seldom = s->kind->fresh ? &s->syn : &s->request;
	s->source.bursts_left = bursts;
	while (bursts-- > 0) {
		uint16_t n = rte_eth_rx_burst(port, 0, m, BENCH_BURST);

		sent += rte_eth_tx_burst(port, 0, m, n);
	}
	return sent;
}

static void io_base(void *state, unsigned int bursts)
{
	io_run(state, bursts);
}

/* Flows that a run began go; those that were there before are OPEN and stay. */
static void forget_fresh(void *state)
{
	struct pipeline_state *s = state;
	struct tg_worker *w = s->gateway.worker[0];

	tg_pipeline_age(w, tg_worker_now(w) + NEW_SILENCE * s->gateway.clock.hz,
			tg_flow_buckets(w->flows));
}

static const char config_format[] =
	"{\"version\": 1, \"flow_table\": {\"slots_per_worker\": %u}, \"ports\": [{\"name\": \"p\","
	"\"port\": \"" DEVICE "\", \"role\": \"both\","
	"\"addresses\": [\"10.0.0.2/24\", \"2001:db8:a::2/64\"]}], \"services\": [";

static const char service_format[] =
	"{\"name\": \"s%u\", \"address\": \"%s\", \"protocol\": \"%s\", \"ports\": [%u],"
	"\"forward\": \"%s\", \"estimator\": \"%s\", %s\"servers\": ["
	"{\"name\": \"a\", \"address\": \"%s1\", \"mac\": \"02:00:00:00:00:01\"},"
	"{\"name\": \"b\", \"address\": \"%s2\", \"mac\": \"02:00:00:00:00:02\"},"
	"{\"name\": \"c\", \"address\": \"%s3\", \"mac\": \"02:00:00:00:00:03\"},"
	"{\"name\": \"d\", \"address\": \"%s4\", \"mac\": \"02:00:00:00:00:04\"}]}";

/* Every packet asks, and gets what it asks for. */
/* Every packet takes a token, or those that open an exchange do. */
static const char a_packet[] =
	"\"admission\": {\"cost\": \"packet\", \"budget_per_s\": 4000000000}, ";
static const char an_exchange[] = "\"admission\": {\"budget_per_s\": 4000000000}, ";

/* At most 80 % of the table are used. */
static uint32_t slots_for(const struct kind *k, uint64_t flows)
{
	uint64_t all = k->pirate || k->admit != NULL ? 2 * flows : flows;

	if (k->fresh || k->mixed)
		all += BENCH_TURN * BENCH_BURST;
	return rte_align32pow2((uint32_t)RTE_MAX(all + all / 4, UINT64_C(1024)));
}

static struct tg_config *make_config(const struct kind *k, uint64_t flows)
{
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), config_format, slots_for(k, flows));

	for (unsigned int i = 0; i < 2; i++) {
		const char *net = k->frame.v6 ? "2001:db8:a::1" : "10.0.0.1";

		n += (size_t)snprintf(text + n, sizeof(text) - n, service_format, i,
				      k->frame.v6 ? FRAME_VIP_V6 : FRAME_VIP_V4,
				      k->frame.protocol == IPPROTO_TCP ? "tcp" : "udp",
				      i == 0 ? MEASURED : UNMEASURED, k->forward,
				      i == 0 || k->admit != NULL ? "auto" : "off",
				      i == 0 && k->admit != NULL ? k->admit : "", net, net, net,
				      net);
		n += (size_t)snprintf(text + n, sizeof(text) - n, i == 0 ? ", " : "]}");
	}
	if (tg_config_parse("tidegate-bench", text, n, &c, &report) < 0)
		fprintf(stderr, "%s\n", report.n_faults > 0 ? report.faults[0] : "configuration");
	tg_config_report_free(&report);
	return c;
}

static int start_gateway(struct pipeline_state *s)
{
	static const struct tg_options options = {.config = "tidegate-bench"};
	struct tg_config *c;
	char err[512];
	int rc;

	if (rte_lcore_count() != 1) {
		fputs("tidegate-bench: give EAL one lcore: the worker runs on the main one\n",
		      stderr);
		return -EINVAL;
	}
	c = make_config(s->kind, s->flows);
	if (c == NULL)
		return -EINVAL;
	rc = rte_eal_hotplug_add("vdev", DEVICE, "");
	if (rc < 0) {
		tg_config_free(c);
		return rc;
	}
	rc = tg_gateway_start(&s->gateway, &options, c, err, sizeof(err));
	if (rc < 0) {
		fprintf(stderr, "tidegate-bench: %s\n", err);
		rte_eal_hotplug_remove("vdev", DEVICE);
	}
	return rc;
}

static void pipeline_free(void *state)
{
	struct pipeline_state *s = state;

	if (s->callback != NULL) {
		rte_eth_remove_rx_callback(s->gateway.ports[0].ethdev, 0, s->callback);
		rte_free((void *)(uintptr_t)s->callback);
	}
	tg_gateway_stop(&s->gateway);
	tg_gateway_free(&s->gateway);
	rte_eal_hotplug_remove("vdev", DEVICE);
	free(s);
}

static void make_frames(struct pipeline_state *s)
{
	struct frame_kind k = s->kind->frame;
	const uint8_t *mac = s->gateway.ports[0].mac;
	/* a datagram always carries something */
	uint16_t ack_payload = k.protocol == IPPROTO_TCP ? 0 : FRAME_REQUEST;

	k.service_port = MEASURED;
	frame_make(&s->syn, &k, mac, TG_TCP_SYN, 0);
	frame_make(&s->ack, &k, mac, TG_TCP_ACK, ack_payload);
	frame_make(&s->request, &k, mac, TG_TCP_ACK | TG_TCP_PSH, FRAME_REQUEST);
	k.service_port = UNMEASURED;
	frame_make(&s->unmeasured_syn, &k, mac, TG_TCP_SYN, 0);
	frame_make(&s->unmeasured_ack, &k, mac, TG_TCP_ACK, ack_payload);
	frame_make(&s->unmeasured_request, &k, mac, TG_TCP_ACK | TG_TCP_PSH, FRAME_REQUEST);
}

/* A SYN and an ACK of every flow. */
static void open_flows(struct pipeline_state *s, const struct frame *syn, const struct frame *ack)
{
	unsigned int bursts = (unsigned int)(s->flows / BENCH_BURST + 1);

	s->source.in_order = true;
	s->source.next = 0;
	work(s, syn, syn, bursts);
	s->source.next = 0;
	work(s, ack, ack, bursts);
	s->source.in_order = s->kind->fresh;
}

static int pipeline_setup(const struct bench_family *f, uint64_t flows, void **state)
{
	struct pipeline_state *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->kind = f->kind;
	s->flows = flows > 0 ? flows : 1000;
	rc = start_gateway(s);
	if (rc < 0) {
		free(s);
		return rc;
	}
	s->source = (struct source){
		.stream = {.random = 1, .flows = s->flows},
		.worker = s->gateway.worker[0],
		.ms = s->gateway.clock.hz / 1000,
		.stop = &s->gateway.stop,
	};
	if (bench_steady) {
		uint64_t hz = s->gateway.clock.hz;

		s->steady = (struct steady){
			/* at a whole second: timestamps step at the same packets each time */
			.time = {.now = (rte_rdtsc() / hz + 1) * hz, .spend = spend},
			.packet = tg_ns_to_ticks(&s->gateway.clock, STEADY_NS),
		};
		s->gateway.worker[0]->virtual_time = &s->steady.time;
	}
	make_frames(s);
	s->callback = rte_eth_add_rx_callback(s->gateway.ports[0].ethdev, 0, write_packets,
					      &s->source);
	if (s->callback == NULL) {
		pipeline_free(s);
		return -ENOMEM;
	}
	open_flows(s, &s->syn, &s->ack);
	if (s->kind->pirate || s->kind->admit != NULL)
		open_flows(s, &s->unmeasured_syn, &s->unmeasured_ack);
	*state = s;
	return 0;
}

static uint64_t memory(const struct bench_family *f, uint64_t flows)
{
	return slots_for(f->kind, flows) * (sizeof(struct tg_flow) + 2) + BUFFERS;
}

#define TCP4                                                \
	{                                                   \
		.protocol = IPPROTO_TCP, .timestamps = true \
	}
#define SMALL_AND_BIG                            \
	{                                        \
		{1000, false}, {1000000, false}, \
		{                                \
			10000000, true           \
		}                                \
	}
#define BIG                                     \
	{                                       \
		{1000, true}, {1000000, false}, \
		{                               \
			10000000, true          \
		}                               \
	}
#define COMMON .memory = memory, .setup = pipeline_setup, .free = pipeline_free

static const struct kind established = {.frame = TCP4, .forward = "ipip"};
static const struct kind fresh = {.frame = TCP4, .forward = "ipip", .fresh = true};
static const struct kind gue = {.frame = TCP4, .forward = "gue"};
static const struct kind gre = {.frame = TCP4, .forward = "gre"};
static const struct kind mixed = {.frame = TCP4, .forward = "ipip", .mixed = true};
static const struct kind l2 = {.frame = TCP4, .forward = "l2"};
static const struct kind ipv6 = {.frame = {.protocol = IPPROTO_TCP, .timestamps = true, .v6 = true},
				 .forward = "ipip"};
static const struct kind udp = {.frame = {.protocol = IPPROTO_UDP}, .forward = "ipip"};
static const struct kind nots = {.frame = {.protocol = IPPROTO_TCP}, .forward = "ipip"};
static const struct kind admit = {.frame = TCP4, .forward = "ipip", .admit = a_packet};
static const struct kind admit_exchange = {.frame = TCP4, .forward = "ipip", .admit = an_exchange};
static const struct kind pirate = {.frame = TCP4, .forward = "ipip", .pirate = true};

const struct bench_family bench_pipeline[BENCH_PIPELINES] = {
	{.name = "io",
	 .what = "receive and send, no gateway: the base of what follows",
	 .kind = &established,
	 .run = io_run,
	 COMMON},
	{.name = "pipeline/established",
	 .what = "known TCP flows with timestamps, one packet of four a request; IPIP",
	 .kind = &established,
	 .flows = SMALL_AND_BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "pipeline/new",
	 .what = "SYNs of new flows, beside that many known ones",
	 .kind = &fresh,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 .tidy = forget_fresh,
	 COMMON},
	{.name = "pipeline/gue",
	 .what = "as established, in GUE",
	 .kind = &gue,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "pipeline/gre",
	 .what = "as established, in GRE",
	 .kind = &gre,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "pipeline/mixed",
	 .what = "as established, one packet of 32 the SYN of a new flow",
	 .kind = &mixed,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 .tidy = forget_fresh,
	 COMMON},
	{.name = "pipeline/l2",
	 .what = "as established, forwarded by MAC address",
	 .kind = &l2,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "pipeline/ipv6",
	 .what = "as established, IPv6 in IPv6",
	 .kind = &ipv6,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "pipeline/udp",
	 .what = "known UDP flows",
	 .kind = &udp,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "pipeline/nots",
	 .what = "as established, without TCP timestamps",
	 .kind = &nots,
	 .flows = BIG,
	 .run = pipeline_run,
	 .base = io_base,
	 COMMON},
	{.name = "stage/admit",
	 .what = "admission of a packet that takes a token: with less without",
	 .kind = &admit,
	 .flows = {{1000, false}},
	 .is_net = true,
	 .run = pipeline_run,
	 .base = unmeasured_base,
	 COMMON},
	{.name = "stage/admit-exchange",
	 .what = "admission by exchange, of which most packets open none: with less without",
	 .kind = &admit_exchange,
	 .flows = {{1000, false}},
	 .is_net = true,
	 .run = pipeline_run,
	 .base = unmeasured_base,
	 COMMON},
	{.name = "stage/pirate",
	 .what = "latency measurement alone: established less the same with its estimator off",
	 .kind = &pirate,
	 .flows = SMALL_AND_BIG,
	 .is_net = true,
	 .run = pipeline_run,
	 .base = unmeasured_base,
	 COMMON},
};
