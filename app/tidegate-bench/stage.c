/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single stages on one burst of real packets. The base prepares what the stage will change (and
 * writes the packets' headers, so they are as fresh as from a port); the difference is the stage.
 * The flow table and the estimator, whose cost depends on the number of flows, are hash/own and
 * stage/pirate.
 */
#include <errno.h>
#include <netinet/in.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "bench.h"
#include "frame.h"
#include "tg_encap.h"
#include "tg_gate.h"
#include "tg_mem.h"
#include "tg_parse.h"
#include "tg_service.h"

#define FLOWS    1000
#define SERVERS  4
#define PORT     443
#define LIMIT_US UINT32_MAX /* of the gate: on, but never reached */

struct stage_state;

struct stage {
	void (*prepare)(struct stage_state *s);
	void (*run)(struct stage_state *s);
};

struct stage_state {
	const struct stage *stage;
	struct tg_burst burst;
	struct stream stream;
	struct frame frame;
	uint32_t packets;
	uint64_t through;
	uint16_t data_off;
	struct rte_mempool *pool;
	struct tg_service_table *services;
	uint64_t mac;
	struct tg_route route[SERVERS];
	uint16_t outer_id;
	struct tg_clock clock;
	struct tg_gate_limit limit[1];
	struct tg_gate_stats gate;
	struct tg_gate_wire wire; /* of no known rate */
	struct tg_gate_item items[BENCH_BURST];
};

static void write_frames(struct stage_state *s)
{
	struct tg_burst *b = &s->burst;

	for (unsigned int i = 0; i < BENCH_BURST; i++) {
		struct rte_mbuf *m = b->mbuf[i];

		m->data_off = s->data_off;
		m->data_len = s->frame.len;
		m->pkt_len = s->frame.len;
		frame_write(&s->frame, rte_pktmbuf_mtod(m, uint8_t *), stream_next(&s->stream),
			    s->packets++, 0);
		b->verdict[i] = TG_FORWARD;
	}
}

static void forget_service(struct stage_state *s)
{
	for (unsigned int i = 0; i < BENCH_BURST; i++) {
		s->burst.pkt[i].key.service = TG_NO_SERVICE;
		s->burst.verdict[i] = TG_FORWARD;
	}
}

static void run_parse(struct stage_state *s)
{
	tg_parse_burst(&s->burst);
}

static void run_service(struct stage_state *s)
{
	tg_service_match(s->services, &s->burst);
}

static void run_encap(struct stage_state *s)
{
	tg_encap_burst(s->route, &s->burst, &s->outer_id);
}

/* What the transmit side hands over. */
static void prepare_gate(struct stage_state *s)
{
	for (unsigned int i = 0; i < BENCH_BURST; i++)
		s->items[i] = (struct tg_gate_item){.mbuf = s->burst.mbuf[i],
						    .arrival = s->burst.arrival[i],
						    .service = s->burst.pkt[i].key.service};
}

/* With both clock reads. */
static void run_gate(struct stage_state *s)
{
	uint16_t pass[BENCH_BURST], late[BENCH_BURST], n;
	uint64_t gate = rte_rdtsc();
	struct tg_gate_span span;

	n = tg_gate_check_burst(s->limit, s->limit, &s->gate, &s->wire, s->items, BENCH_BURST, gate,
				pass, late, &span);
	tg_gate_sent_burst(s->limit, s->limit, &s->gate, &s->clock, s->items, pass, n, gate,
			   rte_rdtsc(), &span);
}

static uint64_t stage_run(void *state, unsigned int bursts)
{
	struct stage_state *s = state;
	uint64_t through = 0;

	while (bursts-- > 0) {
		s->stage->prepare(s);
		s->stage->run(s);
		for (unsigned int i = 0; i < BENCH_BURST; i++)
			through += s->burst.verdict[i] == TG_FORWARD;
	}
	return through;
}

static void stage_base(void *state, unsigned int bursts)
{
	struct stage_state *s = state;
	uint64_t through = 0;

	while (bursts-- > 0) {
		s->stage->prepare(s);
		for (unsigned int i = 0; i < BENCH_BURST; i++)
			through += s->burst.verdict[i] == TG_FORWARD;
	}
	s->through = through; /* or the loop above would go */
}

static void stage_free(void *state)
{
	struct stage_state *s = state;

	rte_pktmbuf_free_bulk(s->burst.mbuf, s->burst.n);
	rte_mempool_free(s->pool);
	tg_service_table_free(s->services);
	tg_mem_free(s);
}

/* One service on the frames' address. */
static int make_services(struct stage_state *s)
{
	struct tg_service_rule rule = {.protocol = IPPROTO_TCP,
				       .port = rte_cpu_to_be_16(PORT),
				       .service = 0};

	if (tg_addr_parse(FRAME_VIP_V4, &rule.address) < 0)
		return -EINVAL;
	return tg_service_table_create(&rule, 1, -1, &s->services, NULL);
}

static void make_routes(struct stage_state *s)
{
	static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 1};

	s->mac = tg_mac_word(mac);
	for (unsigned int i = 0; i < SERVERS; i++) {
		s->route[i] = (struct tg_route){
			.mac = &s->mac,
			.local = tg_addr_from_v4(rte_cpu_to_be_32(0x0a000002)),
			.remote = tg_addr_from_v4(rte_cpu_to_be_32(0x0a00000b + i)),
			.mtu = 1500,
			.forward = TG_FORWARD_IPIP,
			.decrement_ttl = true,
		};
		tg_encap_prepare(&s->route[i]);
	}
}

/* A burst as it comes from the service stage. */
static int make_burst(struct stage_state *s)
{
	static const struct frame_kind kind = {.protocol = IPPROTO_TCP,
					       .timestamps = true,
					       .service_port = PORT};
	static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 2};
	struct tg_burst *b = &s->burst;
	uint64_t now = rte_rdtsc(); /* all packets of a poll have one arrival */

	s->pool = rte_pktmbuf_pool_create("bench", 2 * BENCH_BURST - 1, 0, 0,
					  RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (s->pool == NULL || rte_pktmbuf_alloc_bulk(s->pool, b->mbuf, BENCH_BURST) < 0)
		return -ENOMEM;
	b->n = BENCH_BURST;
	s->data_off = b->mbuf[0]->data_off;
	frame_make(&s->frame, &kind, mac, TG_TCP_ACK, FRAME_REQUEST);
	write_frames(s);
	for (unsigned int i = 0; i < BENCH_BURST; i++) {
		b->wire_len[i] = s->frame.len;
		b->arrival[i] = now;
		b->server[i] = (uint16_t)(i % SERVERS);
	}
	tg_parse_burst(b);
	tg_service_match(s->services, b);
	return 0;
}

static int stage_setup(const struct bench_family *f, uint64_t flows, void **state)
{
	const struct tg_gate_params gate = {.sojourn_max_us = LIMIT_US, .action = TG_GATE_DROP};
	struct stage_state *s = tg_mem_zalloc("bench", sizeof(*s), 64, -1);
	int rc;

	(void)flows;
	if (s == NULL)
		return -ENOMEM;
	s->stage = f->kind;
	s->stream = (struct stream){.random = 1, .flows = FLOWS};
	s->clock = tg_clock_init(rte_get_tsc_hz());
	s->limit[0] = tg_gate_compile(&gate, &s->clock);
	make_routes(s);
	rc = make_services(s);
	if (rc == 0)
		rc = make_burst(s);
	if (rc < 0)
		stage_free(s);
	*state = s;
	return rc;
}

static uint64_t memory(const struct bench_family *f, uint64_t flows)
{
	(void)f;
	(void)flows;
	return UINT64_C(1) << 20;
}

static const struct stage parse = {write_frames, run_parse};
static const struct stage service = {forget_service, run_service};
static const struct stage encap = {write_frames, run_encap};
static const struct stage gate = {prepare_gate, run_gate};

#define COMMON                                                                    \
	.is_net = true, .memory = memory, .setup = stage_setup, .run = stage_run, \
	.base = stage_base, .free = stage_free

const struct bench_family bench_stage[BENCH_STAGES] = {
	{.name = "stage/parse", .what = "frame to parsed header", .kind = &parse, COMMON},
	{.name = "stage/service", .what = "destination to service", .kind = &service, COMMON},
	{.name = "stage/encap", .what = "IPIP, IPv4 in IPv4", .kind = &encap, COMMON},
	{.name = "stage/gate", .what = "time gate, its clock reads included", .kind = &gate, COMMON},
};
