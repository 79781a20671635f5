/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of health checks share. Thread-safety: control's, but for the sources. */
#ifndef TG_HEALTH_PRIVATE_H
#define TG_HEALTH_PRIVATE_H

#include "health/health.h"
#include "tg_probe.h"

/* Immutable, part of a snapshot. */
struct tg_health_sources {
	unsigned int n;
	struct tg_addr own[TG_PORTS_MAX * TG_PORT_ADDRESSES_MAX]; /* each once */
	struct {
		struct tg_addr from; /* unset: it is not checked */
		bool on_link;        /* its own link address is where frames go */
	} server[];                  /* by id */
};

struct health_entry {
	bool used;
	bool came_up; /* since the last snapshot: it begins slowly */
	bool suspect;
	uint16_t own_port; /* of the check under way; 0: none */
	struct tg_check check;
	struct tg_check_rule rule;
	struct tg_suspect_window sums, window; /* cumulative; of the last second */
	uint64_t suspects;
};

struct tg_health {
	bool dirty;          /* a server went up or down: who is left out may differ */
	bool apply;          /* it does */
	bool refused;        /* and could not be put in force */
	uint64_t apply_due;  /* ticks: not before */
	unsigned int cursor; /* where the next tick begins to look for what is due */
	uint16_t outer_id;   /* of outer IPv4 headers */
	uint64_t window_due; /* ticks: passive */
	uint64_t stray, unsent;
	uint16_t holder[TG_HEALTH_PORTS]; /* server id; TG_NO_SERVER: free */
	bool open[TG_SERVICES_MAX];
	uint64_t opened[TG_SERVICES_MAX];
	struct health_entry entry[TG_SERVERS_MAX];
};

static inline const struct tg_config_service *health_service(const struct tg_gateway *g,
							     uint16_t server)
{
	return g->snapshot->service[g->snapshot->service_of[server]];
}

/* Begins a check of a server: its first packet. Not begun: no port is free, or no buffer. */
void health_begin(struct tg_gateway *g, uint16_t server, uint64_t now);
/* Sends what a check asks for; releases its port if it is over. */
void health_act(struct tg_gateway *g, uint16_t server, enum tg_check_act act, uint64_t now);
void health_release(struct tg_health *h, struct health_entry *e);
/* What workers handed over. */
void health_receive(struct tg_gateway *g, uint64_t now);

/* Cumulative, of the traffic through all workers. */
struct tg_suspect_window health_traffic(const struct tg_gateway *g, uint16_t server);
/* Once a second: who stands out. */
void health_passive(struct tg_gateway *g, uint64_t now);

/* After anything that may have ended a check of that server, which was up or not before. */
void health_look(struct tg_gateway *g, uint16_t server, bool was_up);

#endif
