/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A gateway of the simulation: the product's own (struct tg_gateway: ports, workers, control), its
 * ports being DPDK ring devices whose far ends are the simulated network, its clock the
 * simulation's. It sees header bytes and nothing else.
 *
 * A worker's turn happens when its receive ring holds something, when a packet was handed to it, or
 * with control's tick; it takes ns_per_turn + ns_per_packet for each packet, spent between the
 * stages and the gate. What was sent leaves the transmit ring at the port's line rate.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_SIM_GATEWAY_H
#define TG_SIM_GATEWAY_H

#include <jansson.h>
#include <stddef.h>

#include "sim.h"

/* Once a process, before the first gateway: DPDK without huge pages, devices or privileges, with
 * the memory that the scenario takes. 0, -errno and a sentence. */
int tg_sim_gateways_start(const struct tg_scenario *sc, const char *program, char *err,
			  size_t err_len);
void tg_sim_gateways_end(void);

/* Checks the scenario's `config` as a gateway would, with the ports that the simulation adds: faults
 * go to the report. 0, -EINVAL, -ENOMEM. */
int tg_sim_gateway_check(const struct tg_scenario *sc, struct tg_scenario_report *report);

/* Gateway `index` of the scenario. 0, -errno and a sentence. */
int tg_sim_gateway_create(struct tg_sim *s, uint32_t index, struct tg_sim_gateway **out, char *err,
			  size_t err_len);
void tg_sim_gateway_free(struct tg_sim_gateway *g);

/* Is it in the ECMP group? (fails_s, returns_s) */
bool tg_sim_gateway_up(const struct tg_sim_gateway *g);

/* A packet arrived at the client side; taken. Those that leave go to tg_network_forwarded. */
void tg_sim_gateway_input(struct tg_sim_gateway *g, struct tg_sim_packet *p, uint64_t now);

/* Forgets what was measured and counted: the warm-up ends. Flows and what control has learnt stay. */
void tg_sim_gateway_begin(struct tg_sim_gateway *g);

/*
 * What the gateway itself reports (the product's report with "clock":"virtual"), and beside it what
 * only the simulation can see: {"wire":{"missed","late"}}: packets that found the receive ring full,
 * and that were sent later than their service allows, their last bit counted.
 */
json_t *tg_sim_gateway_json(struct tg_sim_gateway *g);

/* Conservation, since the start: in = missed + out + dropped + inside. */
struct tg_sim_gateway_counts {
	uint64_t in, missed, out, dropped, inside;
};
struct tg_sim_gateway_counts tg_sim_gateway_counts(const struct tg_sim_gateway *g);

#endif
