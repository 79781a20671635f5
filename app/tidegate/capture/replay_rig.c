/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay_rig.h"

#include <errno.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_ring.h>
#include <stdlib.h>

#include "admission/admission.h"
#include "port/rx.h"
#include "port/tx.h"
#include "replay.h"

#define HZ       UINT64_C(1000000000)
#define RING     1024
#define BUFFERS  4095
#define ROOM     (9216 + RTE_PKTMBUF_HEADROOM)
#define RETRY_NS 2000 /* a turn is tried again while packets wait for tokens */

enum { IN, IN_BACK, OUT_BACK, OUT };

static const char *const ring_name[4] = {"replay_in", "replay_in_back", "replay_out_back",
					 "replay_out"};

static void spend(struct tg_virtual_time *t, unsigned int packets)
{
	t->now += TG_REPLAY_TURN_NS + TG_REPLAY_PACKET_NS * packets;
}

/* The configuration's services, one T for all, and ports and link addresses of our own. */
static json_t *adapt(const char *path, uint32_t limit_us)
{
	json_t *c = json_load_file(path, 0, NULL), *service, *server;
	uint32_t n = 0, rate = 0;
	size_t i, j;

	json_array_foreach(json_object_get(c, "ports"), i, service) {
		uint32_t mbps = (uint32_t)json_integer_value(json_object_get(service, "rate_mbps"));
		const char *role = json_string_value(json_object_get(service, "role"));

		if (mbps != 0 && role != NULL && strcmp(role, "client") != 0)
			rate = mbps;
	}
	json_array_foreach(json_object_get(c, "services"), i, service) {
		json_object_set_new(service, "sojourn_max_us", json_integer(limit_us));
		json_object_set_new(service, "gate", json_string("drop"));
		json_object_set_new(service, "gate_margin_us", json_integer(0));
		json_array_foreach(json_object_get(service, "servers"), j, server) {
			char mac[32];

			snprintf(mac, sizeof(mac), "02:00:00:02:%02x:%02x", n >> 8 & 0xff,
				 n & 0xff);
			json_object_set_new(server, "mac", json_string(mac));
			n++;
		}
	}
	json_object_set_new(
		c, "ports",
		json_pack("[{s:s,s:s,s:s,s:i,s:i,s:[s,s]},{s:s,s:s,s:s,s:i,s:i,s:[s,s]}]", "name",
			  "front", "port", "net_ring_replay_front", "role", "client", "mtu", 9000,
			  "rx_descriptors", RING, "addresses", "203.0.113.1/32",
			  "2001:db8:ffff::1/128", "name", "back", "port", "net_ring_replay_back",
			  "role", "server", "mtu", 9000, "rate_mbps", (int)rate, "addresses",
			  "203.0.113.2/32", "2001:db8:ffff::2/128"));
	return c;
}

static int configuration(const char *path, uint32_t limit_us, struct tg_config **out, char *text,
			 size_t room)
{
	struct tg_config_report report = {0};
	json_t *c = adapt(path, limit_us);
	char *plain = json_dumps(c, JSON_COMPACT);
	int r = -ENOMEM;

	if (plain != NULL)
		r = tg_config_parse(path, plain, strlen(plain), out, &report);
	if (r != 0)
		snprintf(text, room, "%s, for a replay",
			 report.n_faults > 0 ? report.faults[0] : "not enough memory");
	tg_config_report_free(&report);
	free(plain);
	json_decref(c);
	return r;
}

static int make_ports(struct tg_replay_rig *r)
{
	for (unsigned int i = 0; i < 4; i++) {
		r->ring[i] = rte_ring_create(ring_name[i], i == OUT ? 256 : RING, -1,
					     RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (r->ring[i] == NULL)
			return -ENOMEM;
	}
	if (rte_eth_from_rings("replay_front", &r->ring[IN], 1, &r->ring[IN_BACK], 1, 0) < 0 ||
	    rte_eth_from_rings("replay_back", &r->ring[OUT_BACK], 1, &r->ring[OUT], 1, 0) < 0)
		return -ENODEV;
	r->pool = rte_pktmbuf_pool_create("replay", BUFFERS, 0, sizeof(uint64_t), ROOM, -1);
	return r->pool != NULL ? 0 : -ENOMEM;
}

/* When each packet came is known to the nanosecond: the front port stamps it, by a clock that is ours. */
static int stamp(struct tg_replay_rig *r, uint64_t start)
{
	struct tg_port *p = &r->gateway.ports[0];

	p->rx_ring = RING;
	p->started = start;
	if (rte_mbuf_dyn_rx_timestamp_register(&p->stamp_offset, &p->stamp_flag) != 0)
		return -ENOMEM;
	tg_device_clock_init(&p->clock, &r->gateway.clock);
	tg_device_clock_read(&p->clock, start - HZ / 2, start - HZ / 2, start - HZ / 2);
	tg_device_clock_read(&p->clock, start, start, start);
	tg_rx_init(&r->worker->rx[0], p, 0, 0, &r->gateway.clock);
	return 0;
}

static int model_servers(struct tg_replay_rig *r)
{
	const struct tg_config *c = r->gateway.snapshot->config;

	for (unsigned int i = 0; i < c->n_services; i++)
		for (unsigned int k = 0; k < c->services[i].n_servers; k++) {
			const struct tg_config_server *s = &c->services[i].servers[k];
			struct tg_replay_server *out = &r->server[r->n_servers];

			if (r->n_servers == TG_REPLAY_SERVERS)
				return 0;
			r->n_servers++;
			out->workers = s->workers > 0 ? s->workers : 1;
			out->service_ns = (uint64_t)s->service_time_us * 1000;
			out->free = calloc(out->workers, sizeof(*out->free));
			if (out->free == NULL)
				return -ENOMEM;
		}
	return 0;
}

int tg_replay_rig_make(struct tg_replay_rig *r, const char *config, uint32_t limit_us,
		       uint64_t start, char *text, size_t room)
{
	struct tg_gateway_env env = {.name = "replay_",
				     .n_workers = 1,
				     .lcore = {rte_get_main_lcore()},
				     .clock = tg_clock_init(HZ),
				     .virtual_time = {&r->time},
				     .now = start,
				     .seed = 1};
	struct tg_config *c = NULL;
	uint32_t rate;
	int rc;

	snprintf(text, room, "not enough memory for a replay");
	r->time = (struct tg_virtual_time){.now = start, .spend = spend};
	r->now = r->free_at = start;
	r->limit_ns = limit_us != 0 ? limit_us * UINT64_C(1000) : UINT64_MAX;
	rc = make_ports(r);
	if (rc == 0)
		rc = configuration(config, limit_us, &c, text, room);
	if (rc != 0)
		return rc;
	rate = tg_replay_rate(c);
	r->byte_ns = rate > 0 ? 8000.0 / rate : 0;
	r->options.config = config;
	rc = tg_gateway_make(&r->gateway, &r->options, &env, c, text, room);
	if (rc != 0)
		return rc;
	r->worker = r->gateway.worker[0];
	rc = stamp(r, start);
	return rc != 0 ? rc : model_servers(r);
}

void tg_replay_rig_free(struct tg_replay_rig *r)
{
	void *m;

	rte_pktmbuf_free(r->leaving);
	for (unsigned int i = 0; i < 4; i++)
		while (r->ring[i] != NULL && rte_ring_sc_dequeue(r->ring[i], &m) == 0)
			rte_pktmbuf_free(m);
	if (r->worker != NULL) {
		tg_tx_discard(r->worker);
		tg_gateway_stop(&r->gateway);
		tg_gateway_free(&r->gateway);
	}
	rte_vdev_uninit("net_ring_replay_front");
	rte_vdev_uninit("net_ring_replay_back");
	for (unsigned int i = 0; i < 4; i++)
		rte_ring_free(r->ring[i]);
	rte_mempool_free(r->pool);
	for (uint32_t i = 0; i < r->n_servers; i++)
		free(r->server[i].free);
}

/* The server works on it as soon as a worker of it is free. */
static void serve(struct tg_replay_rig *r, const struct rte_mbuf *m, uint64_t at)
{
	const uint8_t *mac = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tg_replay_server *s = &r->server[(mac[4] << 8 | mac[5]) % TG_REPLAY_SERVERS];
	unsigned int first = 0;
	uint64_t start;

	if (s->service_ns == 0 || s->free == NULL)
		return;
	for (unsigned int i = 1; i < s->workers; i++)
		if (s->free[i] < s->free[first])
			first = i;
	start = RTE_MAX(at, s->free[first]);
	s->free[first] = start + s->service_ns;
	tg_hist_record(&r->at_server, start - at, 1);
}

/* The last bit of one packet is on the link; the next one follows. */
static void link_step(struct tg_replay_rig *r, uint64_t at)
{
	void *m;

	if (r->leaving != NULL) {
		uint64_t sojourn = at - *(const uint64_t *)rte_mbuf_to_priv(r->leaving);

		tg_hist_record(&r->on_wire, sojourn, 1);
		r->violations += sojourn > r->limit_ns;
		serve(r, r->leaving, at);
		rte_pktmbuf_free(r->leaving);
		r->leaving = NULL;
	}
	if (rte_ring_sc_dequeue(r->ring[OUT], &m) != 0)
		return;
	r->leaving = m;
	r->left_at = at + (uint64_t)((r->leaving->pkt_len + 24) * r->byte_ns + 0.5);
}

/* When is there something to do for the worker? */
static uint64_t turn_due(const struct tg_replay_rig *r)
{
	uint64_t soon = RTE_MAX(r->now, r->free_at);

	if (!rte_ring_empty(r->ring[IN]) ||
	    (r->worker->tx[1].n > 0 && rte_ring_free_count(r->ring[OUT]) > 0))
		return soon;
	return tg_admission_waits(r->worker) ? soon + RETRY_NS : UINT64_MAX;
}

static uint64_t link_due(const struct tg_replay_rig *r)
{
	if (r->leaving != NULL)
		return r->left_at;
	return rte_ring_empty(r->ring[OUT]) ? UINT64_MAX : RTE_MAX(r->now, r->free_at);
}

static void run_until(struct tg_replay_rig *r, uint64_t end)
{
	for (;;) {
		uint64_t turn = turn_due(r), link = link_due(r), next = RTE_MIN(turn, link);
		void *m;

		if (next > end || next == UINT64_MAX)
			return;
		r->now = next;
		if (link <= turn) {
			link_step(r, next);
			continue;
		}
		r->time.now = next;
		tg_worker_turn(r->worker);
		r->free_at = r->time.now;
		while (rte_ring_sc_dequeue(r->ring[IN_BACK], &m) == 0)
			rte_pktmbuf_free(m); /* an answer of the gateway's own: to nobody */
	}
}

struct rte_mbuf *tg_replay_buffer(struct tg_replay_rig *r)
{
	return rte_pktmbuf_alloc(r->pool);
}

void tg_replay_arrive(struct tg_replay_rig *r, struct rte_mbuf *m, uint64_t at)
{
	const struct tg_port *p = &r->gateway.ports[0];
	struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);

	run_until(r, at);
	r->now = RTE_MAX(r->now, at);
	/* addressed to the gateway, by a sender that is one; the capture says nothing of checksums
	 * that a card filled in */
	memcpy(&e->dst_addr, p->mac, RTE_ETHER_ADDR_LEN);
	e->src_addr.addr_bytes[0] &= 0xfe;
	m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD | p->stamp_flag;
	*RTE_MBUF_DYNFIELD(m, p->stamp_offset, rte_mbuf_timestamp_t *) = at;
	*(uint64_t *)rte_mbuf_to_priv(m) = at;
	if (rte_ring_sp_enqueue(r->ring[IN], m) == 0)
		return;
	r->missed++;
	rte_pktmbuf_free(m);
}

void tg_replay_finish(struct tg_replay_rig *r)
{
	run_until(r, UINT64_MAX - 1);
}
