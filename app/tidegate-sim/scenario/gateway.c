/* SPDX-License-Identifier: BSD-3-Clause */
/* gateways[] */
#include "scenario/scenario_reader.h"

static void read_ring(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	uint32_t n = 0;

	tg_read_uint(r, k, v, &n);
	if ((n & (n - 1)) != 0)
		tg_fault(r, "%u is no power of two", n);
	else if (n != 0)
		*(uint32_t *)at = n;
}

static const char *gate_at_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_GATE_AT_TRANSMIT] = "transmit",
		[TG_GATE_AT_ARRIVAL] = "arrival",
		[TG_GATE_AT_DEQUEUE] = "dequeue",
		NULL,
	};

	return names[i];
}

#define RING(field) TG_KEY(tg_gateway_params, field, read_ring), .min = 64, .max = 16384

static const struct tg_config_key keys[] = {
	{TG_UINT(tg_gateway_params, workers, 1, 16)},
	{TG_REAL(tg_gateway_params, ns_per_packet, 0, 1000000000)},
	{TG_REAL(tg_gateway_params, ns_per_turn, 0, 1000000000)},
	{TG_DIST(tg_gateway_params, work_us, 0, 1000000)},
	{TG_KEY(tg_gateway_params, gate_at, tg_read_choice), .choice = gate_at_name},
	{TG_KEY(tg_gateway_params, rx_timestamps, tg_read_bool)},
	{RING(rx_ring)},
	{RING(tx_ring)},
	{TG_REAL(tg_gateway_params, tx_rate_mbps, 0, 10000000)},
	{TG_KEY(tg_gateway_params, rate_known, tg_read_bool)},
	{TG_KEY(tg_gateway_params, tick_ms, tg_read_positive), .max = 10000},
	{TG_KEY(tg_gateway_params, oracle, tg_read_bool)},
	{TG_REAL(tg_gateway_params, fails_s, 0, TG_SIM_SECONDS_MAX)},
	{TG_REAL(tg_gateway_params, returns_s, 0, TG_SIM_SECONDS_MAX)},
	{TG_KEY(tg_gateway_params, keeps_flows, tg_read_bool)},
	{TG_DIST(tg_gateway_params, stall_us, 0, 10000000)},
	{TG_DIST(tg_gateway_params, stall_every_ms, 0, TG_SIM_MS_MAX)},
};

static const struct tg_gateway_params standard = {
	.workers = 1,
	.ns_per_packet = 100,
	.ns_per_turn = 200,
	.rx_ring = 1024,
	.tx_ring = 1024,
	.tick_ms = 5,
};

static void settle(struct tg_reader *r, const struct tg_gateway_params *g)
{
	if (g->rate_known && g->tx_rate_mbps != (uint32_t)g->tx_rate_mbps)
		TG_MEMBER_FAULT(r, "tx_rate_mbps", "%g is no whole number, which rate_known needs",
				g->tx_rate_mbps);
	if (g->returns_s > 0 && g->returns_s <= g->fails_s)
		TG_MEMBER_FAULT(r, "returns_s", "%g is not after fails_s, %g", g->returns_s,
				g->fails_s);
	if (g->returns_s > 0 && g->fails_s == 0)
		TG_MEMBER_FAULT(r, "fails_s",
				"is missing: a gateway that returns has failed before");
	if (g->keeps_flows && g->returns_s == 0)
		TG_MEMBER_FAULT(r, "returns_s", "is missing: keeps_flows is for one that returns");
	if ((tg_dist_mean(&g->stall_us) > 0) != (tg_dist_mean(&g->stall_every_ms) > 0))
		TG_MEMBER_FAULT(r, "stall_every_ms", "and stall_us go together: both, or neither");
	else if (tg_dist_mean(&g->stall_us) >= 1000 * tg_dist_mean(&g->stall_every_ms) &&
		 tg_dist_mean(&g->stall_us) > 0)
		TG_MEMBER_FAULT(r, "stall_us",
				"is not shorter than stall_every_ms: it would always stand still");
}

static void read_gateway(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_scenario *s = at;

	s->gateway[i] = standard;
	if (tg_read_object(r, keys, TG_COUNT(keys), v, &s->gateway[i]))
		settle(r, &s->gateway[i]);
}

void tg_read_gateways(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_scenario *s = at;
	size_t n = json_array_size(v);

	(void)k;
	if (n >= 1 && n <= TG_SIM_GATEWAYS_MAX) {
		s->gateway = tg_scenario_own(r, n, sizeof(*s->gateway));
		if (s->gateway == NULL)
			return;
		s->n_gateways = (uint32_t)n;
	}
	tg_read_list(r, v, 1, TG_SIM_GATEWAYS_MAX, "gateways", read_gateway, s);
}
