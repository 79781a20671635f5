/* SPDX-License-Identifier: BSD-3-Clause */
/* What a packet's work takes, the gate in other places than its own, and ports that stamp packets. */
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "gateway/private.h"

#define container(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

static void drop_if_late(struct tg_sim_worker *w, struct tg_burst *b, unsigned int i)
{
	uint16_t service = b->pkt[i].key.service;

	if (service != TG_NO_SERVICE &&
	    tg_gate_late(&w->worker->snapshot->limit[service], b->arrival[i], w->time.now))
		tg_drop(b, i, TG_DROP_LATE);
}

static void work_on(struct tg_sim_worker *w, struct tg_burst *b)
{
	struct tg_sim_gateway *g = w->gateway;
	double us = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		uint64_t start = w->time.now;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		if (g->params->gate_at == TG_GATE_AT_DEQUEUE)
			drop_if_late(w, b, i);
		if (b->verdict[i] != TG_FORWARD)
			continue;
		us = tg_dist_sample(&g->params->work_us, &g->work, &g->work_place);
		w->time.now = start + (uint64_t)(us * 1000 + 0.5);
	}
}

void tg_sim_worker_spend(struct tg_virtual_time *t, unsigned int packets)
{
	struct tg_sim_worker *w = container(t, struct tg_sim_worker, time);
	const struct tg_gateway_params *p = w->gateway->params;
	struct tg_burst *b = &w->worker->burst;

	if (p->gate_at == TG_GATE_AT_ARRIVAL)
		for (unsigned int i = 0; i < b->n; i++)
			if (b->verdict[i] == TG_FORWARD)
				drop_if_late(w, b, i);
	t->now += (uint64_t)(p->ns_per_turn + p->ns_per_packet * packets + 0.5);
	if (tg_dist_mean(&p->work_us) > 0 || p->gate_at == TG_GATE_AT_DEQUEUE)
		work_on(w, b);
}

/* The product's gate only counts where another one drops. */
void tg_sim_gate_place(struct tg_sim_gateway *g)
{
	const struct tg_snapshot *s = g->gateway.snapshot;

	for (unsigned int i = 0; g->params->gate_at != TG_GATE_AT_TRANSMIT && i < s->n_services;
	     i++)
		s->limit[i].drop = UINT64_MAX;
}

/* The ports' clock: 156.25 MHz and 40 ppm too fast, and it began before ours did. */
uint64_t tg_sim_device_clock(uint64_t now)
{
	return 1000000 + (uint64_t)((double)now * 0.15625 * (1 + 40e-6));
}

int tg_sim_stamps_start(struct tg_sim_gateway *g)
{
	if (!g->params->rx_timestamps)
		return 0;
	if (rte_mbuf_dyn_rx_timestamp_register(&g->stamp_offset, &g->stamp_flag) != 0)
		return -1;
	for (unsigned int p = 0; p < PORTS; p++) {
		struct tg_port *port = &g->gateway.ports[p];

		port->stamp_offset = g->stamp_offset;
		port->stamp_flag = g->stamp_flag;
		tg_device_clock_init(&port->clock, &g->gateway.clock);
	}
	return 0;
}

/* What control does on a real port, whose clock is read through the driver. */
void tg_sim_stamps_tick(struct tg_sim_gateway *g, uint64_t now)
{
	for (unsigned int p = 0; g->params->rx_timestamps && p < PORTS; p++)
		tg_device_clock_read(&g->gateway.ports[p].clock, tg_sim_device_clock(now), now,
				     now);
}

void tg_sim_stamp(const struct tg_sim_gateway *g, struct rte_mbuf *m, uint64_t now)
{
	if (!g->params->rx_timestamps)
		return;
	m->ol_flags |= g->stamp_flag;
	*RTE_MBUF_DYNFIELD(m, g->stamp_offset, rte_mbuf_timestamp_t *) = tg_sim_device_clock(now);
}
