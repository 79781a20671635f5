/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a gateway: its configuration with the ports of the simulation, its rings, its clock. */
#include <errno.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "control.h"
#include "gateway/private.h"
#include "port/rx.h"
#include "port/tx.h"
#include "restart/restart.h"
#include "start/eal.h"

#define container(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define VIRTUAL_HZ                 UINT64_C(1000000000)
#define SLOTS                      65536 /* a worker, unless the scenario says */

static const char *const side[PORTS] = {"front", "back"};

/* EAL's heap: what all gateways allocate, and some to spare. */
static unsigned int memory_mb(const struct tg_scenario *sc)
{
	json_t *table = json_object_get(sc->config, "flow_table");
	json_t *slots = json_object_get(table, "slots_per_worker");
	uint64_t per_worker, bytes = 0;

	per_worker = (uint64_t)(slots != NULL ? json_integer_value(slots) : SLOTS) * 2 * 140;
	per_worker += sc->n_servers * (sizeof(struct tg_server_stats) + 64);
	per_worker += TG_SERVICES_MAX * sizeof(struct tg_select_local) + TG_SERVERS_MAX * 16;
	per_worker += 8 << 20; /* lists of the transmit side, rings */
	for (uint32_t i = 0; i < sc->n_gateways; i++) {
		const struct tg_gateway_params *p = &sc->gateway[i];
		uint64_t buffers = 2 * (4864 + 2 * ((uint64_t)p->rx_ring + p->tx_ring + 256));

		/* the gateway's own buffers, and the simulation's, which are larger */
		bytes += p->workers * (per_worker + buffers * (2496 + 9728));
	}
	return 128 + (unsigned int)(bytes >> 20);
}

int tg_sim_gateways_start(const struct tg_scenario *sc, const char *program, char *err,
			  size_t err_len)
{
	return tg_eal_start_private(program, memory_mb(sc), err, err_len);
}

void tg_sim_gateways_end(void)
{
	tg_eal_end();
}

static json_t *port_json(const struct tg_gateway_params *p, const char *name, unsigned int which)
{
	char device[64];
	json_t *port;

	snprintf(device, sizeof(device), "net_ring_%s%s", name, side[which]);
	port = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:[s,s]}", "name", side[which], "port",
			 device, "role", which == FRONT ? "client" : "server", "mtu", 9000,
			 "rx_descriptors", (int)p->rx_ring, "tx_descriptors", (int)p->tx_ring,
			 "addresses", which == FRONT ? "203.0.113.1/32" : "203.0.113.2/32",
			 which == FRONT ? "2001:db8:ffff::1/128" : "2001:db8:ffff::2/128");
	if (p->rate_known && p->tx_rate_mbps > 0)
		json_object_set_new(port, "rate_mbps", json_integer((json_int_t)p->tx_rate_mbps));
	return port;
}

/* Every server of the configuration gets the link address of the station that has its address. */
static void add_macs(const struct tg_scenario *sc, json_t *config)
{
	json_t *service, *server;
	size_t i, j;

	json_array_foreach(json_object_get(config, "services"), i, service)
		json_array_foreach(json_object_get(service, "servers"), j, server) {
			const char *address = json_string_value(json_object_get(server, "address"));

			for (uint32_t k = 0; address != NULL && k < sc->n_servers; k++) {
				char mac[32];

				if (strcmp(sc->server[k].station.address, address) != 0)
					continue;
				snprintf(mac, sizeof(mac), "02:00:00:01:%02x:%02x", k >> 8,
					 k & 0xff);
				json_object_set_new(server, "mac", json_string(mac));
			}
		}
}

static int configuration(const struct tg_scenario *sc, const struct tg_gateway_params *p,
			 const char *name, const char *flows, struct tg_config **out,
			 struct tg_config_report *report)
{
	json_t *c = json_deep_copy(sc->config);
	json_t *ports = json_array();
	char *text;
	int r = -ENOMEM;

	json_object_set_new(c, "version", json_integer(1));
	for (unsigned int i = 0; i < PORTS; i++)
		json_array_append_new(ports, port_json(p, name, i));
	json_object_set_new(c, "ports", ports);
	if (json_object_get(c, "flow_table") == NULL)
		json_object_set_new(c, "flow_table", json_pack("{s:i}", "slots_per_worker", SLOTS));
	if (flows[0] != '\0')
		json_object_set_new(json_object_get(c, "flow_table"), "snapshot",
				    json_string(flows));
	add_macs(sc, c);
	text = json_dumps(c, JSON_COMPACT);
	if (text != NULL)
		r = tg_config_parse("config", text, strlen(text), out, report);
	free(text);
	json_decref(c);
	return r;
}

int tg_sim_gateway_check(const struct tg_scenario *sc, struct tg_scenario_report *report)
{
	const struct tg_gateway_params p = {.workers = 1, .rx_ring = 1024, .tx_ring = 256};
	struct tg_config_report faults = {0};
	struct tg_config *c = NULL;
	int r = configuration(sc, &p, "check", "", &c, &faults);

	for (unsigned int i = 0; i < faults.n_faults; i++)
		tg_scenario_fault(report, "%s: $.%s", sc->file, faults.faults[i]);
	tg_config_report_free(&faults);
	tg_config_free(c);
	return r;
}

/* Rings of one worker and side; the names are unique over restarts and replications. */
static int make_rings(struct tg_sim_gateway *g, unsigned int port)
{
	for (uint32_t w = 0; w < g->params->workers; w++) {
		struct tg_sim_worker *worker = &g->worker[w];
		char name[48];
		const unsigned int flags = RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ;

		snprintf(name, sizeof(name), "%s%c_rx%u", g->name, side[port][0], w);
		worker->rx[port] = rte_ring_create(name, g->params->rx_ring, -1, flags);
		snprintf(name, sizeof(name), "%s%c_tx%u", g->name, side[port][0], w);
		worker->tx[port] = rte_ring_create(name, g->params->tx_ring, -1, flags);
		if (worker->rx[port] == NULL || worker->tx[port] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int make_port(struct tg_sim_gateway *g, unsigned int port)
{
	struct rte_ring *rx[TG_SIM_WORKERS_MAX], *tx[TG_SIM_WORKERS_MAX];
	char name[32];
	int r = make_rings(g, port);

	if (r != 0)
		return r;
	for (uint32_t w = 0; w < g->params->workers; w++) {
		rx[w] = g->worker[w].rx[port];
		tx[w] = g->worker[w].tx[port];
	}
	snprintf(name, sizeof(name), "%s%s", g->name, side[port]);
	r = rte_eth_from_rings(name, rx, g->params->workers, tx, g->params->workers, 0);
	return r < 0 ? -ENODEV : 0;
}

static void free_port(struct tg_sim_gateway *g, unsigned int port)
{
	char name[64];

	snprintf(name, sizeof(name), "net_ring_%s%s", g->name, side[port]);
	rte_vdev_uninit(name);
	for (uint32_t w = 0; w < g->params->workers; w++) {
		rte_ring_free(g->worker[w].rx[port]);
		rte_ring_free(g->worker[w].tx[port]);
		g->worker[w].rx[port] = g->worker[w].tx[port] = NULL;
	}
}

static void describe(struct tg_sim_gateway *g, struct tg_gateway_env *env)
{
	struct tg_random r;

	env->name = g->name;
	env->n_workers = g->params->workers;
	env->clock = tg_clock_init(VIRTUAL_HZ);
	env->now = tg_events_now(g->sim->events);
	tg_random_init(&r, g->sim->seed, g->sim->replication, "gateway", g->index);
	env->seed = tg_random_next(&r);
	for (size_t i = 0; i < sizeof(env->flow_secret); i++)
		env->flow_secret[i] = (uint8_t)tg_random_next(&r);
	for (uint32_t w = 0; w < g->params->workers; w++) {
		env->lcore[w] = rte_get_main_lcore();
		env->virtual_time[w] = &g->worker[w].time;
		g->worker[w].time.now = env->now;
	}
}

/* The far end knows what a ring device does not: these rings are a NIC's, and empty at the start. */
static void attach_workers(struct tg_sim_gateway *g)
{
	struct tg_gateway *gw = &g->gateway;

	for (unsigned int p = 0; p < gw->n_ports; p++) {
		gw->ports[p].rx_ring = g->params->rx_ring;
		gw->ports[p].started = tg_events_now(g->sim->events);
	}
	for (uint32_t w = 0; w < g->params->workers; w++) {
		g->worker[w].worker = gw->worker[w];
		g->worker[w].free_at = 0;
		for (unsigned int p = 0; p < gw->n_ports; p++)
			tg_rx_init(&gw->worker[w]->rx[p], &gw->ports[p], (uint16_t)p, w,
				   &gw->clock);
	}
}

static int make_gateway(struct tg_sim_gateway *g, char *err, size_t err_len)
{
	struct tg_gateway_env env = {0};
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	int r = configuration(g->sim->scenario, g->params, g->name, g->flows, &c, &report);

	if (r != 0)
		snprintf(err, err_len, "%s",
			 report.n_faults > 0 ? report.faults[0] : "not enough memory");
	tg_config_report_free(&report);
	if (r != 0)
		return r;
	describe(g, &env);
	g->options.config = g->sim->scenario->file;
	return tg_gateway_make(&g->gateway, &g->options, &env, c, err, err_len);
}

int tg_sim_gateway_make(struct tg_sim_gateway *g, char *err, size_t err_len)
{
	static unsigned int starts;
	char name[40];
	unsigned int n = 0;
	int r = 0;

	snprintf(g->name, sizeof(g->name), "s%u_", starts++ % 1000000);
	snprintf(name, sizeof(name), "%sbuffers", g->name);
	for (unsigned int p = 0; p < PORTS && r == 0; p++)
		r = make_port(g, p);
	n = g->params->workers * 2 * (g->params->rx_ring + g->params->tx_ring + 512) + 64;
	g->pool = r == 0 ? tg_sim_buffers_create(name, n, g) : NULL;
	if (g->pool == NULL) {
		snprintf(err, err_len,
			 "gateway %u: no memory for its rings and %u buffers; take smaller rx_ring "
			 "and tx_ring",
			 g->index, n);
		r = r != 0 ? r : -ENOMEM;
	} else {
		r = make_gateway(g, err, err_len);
	}
	if (r == 0 && tg_sim_stamps_start(g) != 0) {
		snprintf(err, err_len, "gateway %u: no room for time stamps in a buffer", g->index);
		tg_gateway_stop(&g->gateway);
		tg_gateway_free(&g->gateway);
		r = -ENOMEM;
	}
	if (r == 0 && tg_restart_attach(&g->gateway) != 0) {
		snprintf(err, err_len, "gateway %u: no memory to keep its flows", g->index);
		tg_gateway_stop(&g->gateway);
		tg_gateway_free(&g->gateway);
		r = -ENOMEM;
	}
	if (r == 0) {
		tg_sim_gate_place(g);
		attach_workers(g);
		if (g->gateway.restart != NULL)
			tg_restart_restore(g->gateway.restart);
		g->made = g->up = true;
		return 0;
	}
	rte_mempool_free(g->pool);
	for (unsigned int p = 0; p < PORTS; p++)
		free_port(g, p);
	return r;
}

static void give_back(struct rte_ring *r)
{
	void *m;

	while (rte_ring_sc_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
}

void tg_sim_gateway_unmake(struct tg_sim_gateway *g)
{
	if (!g->made)
		return;
	for (unsigned int p = 0; p < PORTS; p++) {
		tg_event_cancel(g->sim->events, &g->wire[p].event);
		rte_pktmbuf_free(g->wire[p].current);
		g->wire[p].current = NULL;
	}
	for (uint32_t w = 0; w < g->params->workers; w++) {
		tg_event_cancel(g->sim->events, &g->worker[w].turn);
		for (unsigned int p = 0; p < PORTS; p++) {
			give_back(g->worker[w].rx[p]);
			give_back(g->worker[w].tx[p]);
		}
		tg_tx_discard(g->worker[w].worker);
	}
	tg_totals_free(&g->before);
	memset(&g->before, 0, sizeof(g->before));
	tg_gateway_stop(&g->gateway);
	tg_gateway_free(&g->gateway);
	for (unsigned int p = 0; p < PORTS; p++)
		free_port(g, p);
	rte_mempool_free(g->pool);
	g->pool = NULL;
	g->made = g->up = false;
}

static void tick(struct tg_event *e, uint64_t now)
{
	struct tg_sim_gateway *g = container(e, struct tg_sim_gateway, tick);

	if (g->made) {
		tg_sim_stamps_tick(g, now);
		tg_control_tick(&g->gateway, now);
		tg_sim_level_sample(g, now);
		for (uint32_t w = 0; w < g->params->workers; w++)
			if (!tg_event_waiting(&g->worker[w].turn))
				tg_event_at(g->sim->events, &g->worker[w].turn, now);
	}
	tg_event_at(g->sim->events, e, now + (uint64_t)(g->params->tick_ms * 1e6));
}

/* The process ends, with its tables or after it wrote them; later another one starts. */
static void change(struct tg_event *e, uint64_t now)
{
	struct tg_sim_gateway *g = container(e, struct tg_sim_gateway, change);
	uint64_t back = (uint64_t)(g->params->returns_s * 1e9);
	char err[512];

	if (g->made) {
		tg_sim_moved(g);
		if (g->gateway.restart != NULL)
			tg_restart_end(g->gateway.restart, true);
		tg_sim_gateway_unmake(g);
		if (back > now)
			tg_event_at(g->sim->events, e, back);
	} else if (tg_sim_gateway_make(g, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate-sim: gateway %u does not return: %s\n", g->index, err);
	}
}

static int make_paths(struct tg_sim_gateway *g, char *err, size_t err_len)
{
	const struct tg_scenario *sc = g->sim->scenario;

	g->path = calloc(sc->n_groups, sizeof(*g->path));
	for (uint32_t i = 0; g->path != NULL && i < sc->n_groups; i++) {
		const struct tg_service_params *v = &sc->service[sc->group[i].service];
		struct tg_frame_path *path = &g->path[i];
		struct tg_prefix prefix;

		if (tg_prefix_parse(sc->group[i].prefix, &prefix) != 0 ||
		    tg_addr_parse(v->address, &path->service) != 0) {
			snprintf(err, err_len, "clients \"%s\": no addresses", sc->group[i].name);
			return -EINVAL;
		}
		path->client = prefix.addr;
		path->service_port = v->port;
		path->protocol = v->protocol;
		path->from_mac[0] = path->to_mac[0] = 2;
		path->from_mac[5] = 1;
	}
	return g->path != NULL ? 0 : -ENOMEM;
}

int tg_sim_gateway_create(struct tg_sim *s, uint32_t index, struct tg_sim_gateway **out, char *err,
			  size_t err_len)
{
	struct tg_sim_gateway *g = calloc(1, sizeof(*g));
	int r;

	snprintf(err, err_len, "not enough memory for gateway %u", index);
	if (g == NULL)
		return -ENOMEM;
	g->sim = s;
	g->index = index;
	g->params = &s->scenario->gateway[index];
	if (g->params->keeps_flows)
		snprintf(g->flows, sizeof(g->flows), "/tmp/tidegate-sim-%d-%u.flows", (int)getpid(),
			 index);
	tg_random_init(&g->random, s->seed, s->replication, "stall", index);
	tg_random_init(&g->work, s->seed, s->replication, "work", index);
	for (uint32_t w = 0; w < g->params->workers; w++) {
		g->worker[w].gateway = g;
		g->worker[w].time.spend = tg_sim_worker_spend;
		g->worker[w].turn.fire = tg_sim_worker_turn;
	}
	for (unsigned int p = 0; p < PORTS; p++)
		g->wire[p] = (struct tg_sim_wire){
			.event.fire = tg_sim_wire_free,
			.gateway = g,
			.port = p,
			.byte_ns = g->params->tx_rate_mbps > 0 ? 8000 / g->params->tx_rate_mbps : 0,
		};
	g->tick.fire = tick;
	g->change.fire = change;
	r = make_paths(g, err, err_len);
	if (r == 0)
		r = tg_sim_level_start(g);
	if (r == 0)
		r = tg_sim_gateway_make(g, err, err_len);
	if (r != 0) {
		tg_sim_gateway_free(g);
		return r;
	}
	for (uint32_t i = 0; i < s->scenario->n_groups; i++)
		memcpy(g->path[i].to_mac, g->gateway.ports[FRONT].mac, 6);
	tg_event_at(s->events, &g->tick, 0);
	if (g->params->fails_s > 0)
		tg_event_at(s->events, &g->change, (uint64_t)(g->params->fails_s * 1e9));
	*out = g;
	return 0;
}

void tg_sim_gateway_free(struct tg_sim_gateway *g)
{
	if (g == NULL)
		return;
	tg_sim_gateway_unmake(g);
	tg_event_cancel(g->sim->events, &g->tick);
	tg_event_cancel(g->sim->events, &g->change);
	if (g->flows[0] != '\0')
		unlink(g->flows);
	free(g->path);
	free(g->level);
	free(g);
}
