/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run of a scenario: the parts, and how a packet goes from one to the next.
 *
 *	client -> link(to_gateway) -> gateway i (ECMP) -> link(server.in) -> server end -> station
 *	client <- link(from_server) <---- link(server.out) <---- server end <- station
 *
 * Thread-safety: one thread runs one simulation; a process may run several one after another.
 */
#ifndef TG_SIM_H
#define TG_SIM_H

#include "client.h"
#include "connection.h"
#include "event.h"
#include "link.h"
#include "packet.h"
#include "results/results.h"
#include "scenario/scenario.h"
#include "station.h"

struct tg_sim_gateway;

struct tg_sim {
	const struct tg_scenario *scenario;
	uint64_t seed, replication;
	struct tg_events *events;
	struct tg_station *station; /* by server index */
	struct tg_link *server_in, *server_out;
	struct tg_group **group;
	struct tg_link *to_gateway, *from_server; /* by group index */
	struct tg_sim_gateway **gateway;
	struct tg_results *results;
	struct tg_sim_packet *free_packets;
	uint64_t packets;   /* made so far, both directions */
	uint64_t in_flight; /* made and not freed */
	uint64_t unrouted;  /* no gateway was up */
	uint64_t vanished;  /* to or from a server that is down */
	uint64_t passed_on; /* from a server without a socket to the next that was named */
	uint64_t next_request, next_connection;
};

/*
 * run.c: one replication of a scenario from the first packet to the end of its duration. Its JSON
 * is the caller's; *packets: how many were simulated. tell (may be NULL) is called now and then with
 * the time so far. 0, -ECANCELED when tell said false, else -errno and a sentence. Gateways must have
 * been started (sim_gateway.h).
 */
typedef bool tg_run_tell(void *context, const struct tg_sim *s);
int tg_sim_run(const struct tg_scenario *sc, uint32_t replication, tg_run_tell *tell, void *context,
	       json_t **result, uint64_t *packets, char *err, size_t err_len);

/* network.c: the gateway that a connection's packets go to now; NULL: none is up. */
struct tg_sim_gateway *tg_network_gateway(const struct tg_sim *s, const struct tg_connection *c);

/* network.c: the way of a packet. Both take the packet. */
void tg_network_to_service(struct tg_sim *s, struct tg_sim_packet *p); /* from a client */
void tg_network_to_client(struct tg_sim *s, struct tg_sim_packet *p);  /* from server p->server */

/* A gateway forwarded a packet to server p->server; and from there to the server's end. Takes it. */
void tg_network_forwarded(struct tg_sim *s, struct tg_sim_packet *p, uint64_t now);

#endif
