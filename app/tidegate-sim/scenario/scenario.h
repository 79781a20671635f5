/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scenario: what a JSON file says (tidegate-sim.schema.json, doc/simulation.md). Strict: an
 * unknown key, an impossible value, an overload without end is a fault with file and JSON path.
 *
 * Thread-safety: immutable after loading.
 */
#ifndef TG_SCENARIO_H
#define TG_SCENARIO_H

#include <jansson.h>

#include "client.h"
#include "link.h"
#include "station.h"

#define TG_REPLICATIONS_MAX 1000

/* Where what is late is dropped. Only at transmit it is the product's own gate: the others are what
 * it is compared with, and there the product's gate counts what they let through. */
enum tg_gate_at {
	TG_GATE_AT_TRANSMIT = 0,
	TG_GATE_AT_ARRIVAL, /* when its burst was polled, before any work on it */
	TG_GATE_AT_DEQUEUE, /* when its turn comes, before the work on itself */
};

struct tg_gateway_params {
	uint32_t workers;          /* contexts, 1..16 */
	double ns_per_packet;      /* time a packet takes in the pipeline */
	double ns_per_turn;        /* and a turn, whatever it carries */
	uint32_t rx_ring, tx_ring; /* descriptors, powers of two */
	double tx_rate_mbps;       /* line rate that the transmit ring drains at; 0: at once */
	struct tg_dist work_us;    /* time a packet takes besides, drawn for each */
	enum tg_gate_at gate_at;
	bool rx_timestamps;        /* the ports stamp what they receive, by a clock of their own */
	bool rate_known;           /* the gateway is told that rate (ports[].rate_mbps) */
	double tick_ms;            /* control's */
	double fails_s, returns_s; /* 0: never; an ECMP rehash */
	bool keeps_flows;          /* it writes its flow table before it goes, and reads it again */
	bool oracle; /* costs are the truth, which no gateway can know: a bound, not a policy */
	struct tg_dist stall_us, stall_every_ms; /* a worker stops for so long; constant 0: never */
};

/* Where the services' VIPs are asked: index in this list is tg_group_params.service. */
struct tg_service_params {
	char name[64];
	char address[48];
	uint16_t port;
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	/* What open-loop groups will ask of its servers in the long run, as a share of what these
	 * can do; counts other services on the same servers. 0: closed loops alone. */
	double load;
};

struct tg_server_params {
	struct tg_station_params station;
	struct tg_link_params in, out; /* gateway -> server; server -> clients */
};

struct tg_scenario {
	char *file;
	uint64_t seed;
	uint32_t replications;
	double warmup_s, duration_s; /* measured for `duration` after `warmup` */
	uint32_t n_gateways, n_services, n_servers, n_groups;
	struct tg_gateway_params *gateway;
	json_t *config; /* tidegate's own configuration: services and flow_table. Ports and MACs are added */
	struct tg_service_params *service;
	struct tg_server_params *server;
	struct tg_group_params *group;
	double series_s; /* width of the windows of the results' series; 0: no series */
};

/* faults: one sentence each, "FILE: $.path: what is wrong, what is allowed"; all that can be found
 * in one go. notes: what is right but worth saying. */
struct tg_scenario_report {
	char **faults, **notes;
	unsigned int n_faults, n_notes;
};

/* A value put in place of the file's before it is read: path as "clients[0].rate", "[*]" for every
 * entry of a list; value is JSON, or else taken as a text. */
struct tg_scenario_setting {
	const char *path, *value;
};

/* 0 and *out; or -EINVAL with at least one fault, -ENOMEM. The report, zeroed before, is freed by
 * the caller in any case. */
int tg_scenario_load(const char *file, struct tg_scenario **out, struct tg_scenario_report *report);
int tg_scenario_load_with(const char *file, const struct tg_scenario_setting *set,
			  unsigned int n_set, struct tg_scenario **out,
			  struct tg_scenario_report *report);
/* The same from memory; file stands in the sentences, and traces lie beside it. */
int tg_scenario_parse(const char *file, const char *text, size_t len,
		      const struct tg_scenario_setting *set, unsigned int n_set,
		      struct tg_scenario **out, struct tg_scenario_report *report);

/* One more fault, a whole sentence. */
void tg_scenario_fault(struct tg_scenario_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tg_scenario_report_free(struct tg_scenario_report *report);
void tg_scenario_free(struct tg_scenario *s);

#endif
