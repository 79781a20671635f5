/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration file: JSON, strict. Every key, unit, range and default: doc/configuration.md
 * and tidegate.schema.json beside this file. The structures here are what a stage's own parameters
 * are filled from; they own all their memory.
 *
 * Thread-safety: a tg_config is immutable once loaded.
 */
#ifndef TG_CONFIG_H
#define TG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tg_addr.h"
#include "tg_admit.h"
#include "tg_bid.h"
#include "tg_encap.h"
#include "tg_flow.h"
#include "tg_gate.h"
#include "tg_guard.h"
#include "tg_health.h"
#include "tg_pirate.h"
#include "tg_select.h"
#include "tg_service.h"

#define TG_NAME_MAX           64  /* names of services, servers, ports; with the NUL */
#define TG_PATH_MAX           108 /* a Unix socket's path */
#define TG_CAPTURES_STANDARD  "/var/lib/tidegate"
#define TG_SERVICES_MAX       4096
#define TG_SERVERS_MAX        8192 /* over all services */
#define TG_PORTS_MAX          16
#define TG_PORT_ADDRESSES_MAX 16
#define TG_SERVICE_PORTS_MAX  64

enum tg_server_state { TG_SERVER_UP = 0, TG_SERVER_DRAIN, TG_SERVER_DOWN };
enum tg_port_role { TG_ROLE_CLIENT = 0, TG_ROLE_SERVER, TG_ROLE_BOTH };
enum tg_idle_mode { TG_IDLE_POLL = 0, TG_IDLE_PAUSE, TG_IDLE_SLEEP };

struct tg_config_server {
	char name[TG_NAME_MAX];
	struct tg_addr address;
	bool has_mac;
	uint8_t mac[6];
	uint16_t weight;
	uint16_t workers;         /* for the queueing model */
	uint32_t service_time_us; /* 0: learn */
	uint32_t delay_us;        /* its own, or its tier's */
	char tier[TG_NAME_MAX];   /* "" if none */
	double alpha;             /* 0: learn */
	enum tg_server_state state;
	uint16_t hop_offset; /* routers between it and the gateway; TG_BID_HOPS_LEARN */
};

struct tg_config_service {
	char name[TG_NAME_MAX];
	struct tg_addr address;
	uint8_t protocol;     /* IPPROTO_TCP, IPPROTO_UDP, TG_PROTOCOL_ANY; any number offline */
	unsigned int n_ports; /* 0: any port */
	uint16_t ports[TG_SERVICE_PORTS_MAX]; /* host order */
	enum tg_forward forward;
	enum tg_policy policy;
	struct tg_pirate_params pirate;
	struct tg_gate_params gate;
	struct tg_bid_params bid;
	struct tg_health_params health;
	struct tg_guard_params guard; /* limits and access */
	uint32_t admission_wait_max_us;
	struct tg_admit_params *admission; /* NULL: off. Services of one pool have the same */
	bool decrement_ttl, answer_ping;
	bool mss_clamp;
	bool announce; /* its address is on the kernel's interface while a server is alive */
	unsigned int n_servers;
	struct tg_config_server *servers;
};

struct tg_config_port {
	char name[TG_NAME_MAX];
	char port[TG_NAME_MAX]; /* ethdev name or number */
	enum tg_port_role role;
	unsigned int n_addresses, n_gateways;
	struct tg_prefix addresses[TG_PORT_ADDRESSES_MAX];
	struct tg_addr gateways[TG_PORT_ADDRESSES_MAX];
	uint16_t vlan; /* 0: keep the frame's tags */
	uint16_t mtu, rx_descriptors, tx_descriptors;
	uint16_t rx_queues;       /* 0: one a worker if the port can */
	uint32_t rate_mbps;       /* 0: unknown */
	char kernel[TG_NAME_MAX]; /* ethdev of the kernel's end; "": none */
};

/* The loop of every worker. */
struct tg_config_workers {
	uint32_t background_us;            /* of background work between two polls */
	uint32_t background_share_percent; /* of packet time, owed to background work */
	uint32_t late_ms; /* a task, a worker or control that is late for so long: an alarm */
	enum tg_idle_mode idle;
	uint32_t idle_sleep_max_us;
};

/* The page of metrics. */
struct tg_config_metrics {
	uint32_t port;            /* on 127.0.0.1; 0: none */
	char socket[TG_PATH_MAX]; /* "": none */
	uint32_t servers_max;     /* that have series */
};

struct tg_config {
	struct tg_flow_params flow_table;
	char flow_snapshot[TG_PATH_MAX]; /* file that outlives a restart; "": none */
	uint32_t flow_snapshot_s;        /* written so often besides; 0: at the stop only */
	struct tg_config_workers workers;
	char control_socket[TG_PATH_MAX];
	uint32_t control_mode;
	char control_group[TG_NAME_MAX]; /* "" if none */
	struct tg_config_metrics metrics;
	char captures[TG_PATH_MAX]; /* folder of `capture start` */
	unsigned int n_ports;
	struct tg_config_port ports[TG_PORTS_MAX];
	unsigned int n_services;
	struct tg_config_service *services;
};

/* Everything that is wrong, one sentence each: "FILE: services[0].servers[1].weight: 70000 is
 * out of range (0..65535)". And what is right but worth saying (accepted, has no effect yet). */
struct tg_config_report {
	unsigned int n_faults, n_notes;
	char **faults, **notes;
	unsigned int n_defaults;
	char **defaults; /* "services[0].policy = latency" : every default in use */
};

/* 0 and *out, or -EINVAL with at least one fault (all that can be found in one go; beyond 100 the
 * last one counts the rest, of notes too), -ENOMEM. report must be zeroed and is freed by the caller in any case. */
int tg_config_load(const char *path, struct tg_config **out, struct tg_config_report *report);
/* The same from memory; name stands in the sentences. */
int tg_config_parse(const char *name, const char *text, size_t len, struct tg_config **out,
		    struct tg_config_report *report);

/* A configuration with every default and no port or service, to be filled by a program. */
struct tg_config *tg_config_new(void);
/* One more service, zeroed but for the defaults; NULL when full or out of memory. Pointers to
 * earlier services become invalid. */
struct tg_config_service *tg_config_add_service(struct tg_config *c);
struct tg_config_server *tg_config_add_server(struct tg_config_service *s);
/* Does any service have it? */
bool tg_config_has_admission(const struct tg_config *c);
/* Open at once a worker, over all services that take bids. */
unsigned int tg_config_auctions(const struct tg_config *c);
/* For a copy of a service; NULL: it has none, or no memory. */
struct tg_admit_params *tg_config_copy_admission(const struct tg_config_service *s);
void tg_config_free(struct tg_config *c);
void tg_config_report_free(struct tg_config_report *r);

/* What a reload from a to b would change that only a restart can: 0, -EBUSY with faults, -ENOMEM.
 * Ports are compared in their order. */
int tg_config_reloadable(const struct tg_config *a, const struct tg_config *b,
			 struct tg_config_report *report);

#endif
