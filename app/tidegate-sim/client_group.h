/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A running group: its memory, its clients, its ports, when they ask. Private to the two ends.
 *
 * A client carries out visits, one after another: a burst of requests, a window of them, or a page
 * with its objects. In a closed loop a client starts its next visit itself; in an open loop the
 * group gives each arrival to an idle client with its connection still open, or to a new one.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_GROUP_H
#define TG_GROUP_H

#include "pool.h"
#include "sim.h"

#define TG_CONNECTIONS_MAX 64 /* of a client */

/* What is drawn for requests, by one stream: the same numbers whatever a policy does. */
struct tg_draw {
	struct tg_random pauses;
	struct tg_random random;
	uint32_t bytes, answer, work, writes, gap, think; /* places in traces */
};

/* A client's connection; NULL: to be opened when it is needed. */
struct tg_slot {
	struct tg_connection *connection;
	uint64_t left; /* requests it may still be asked */
	uint32_t open; /* asked and not answered */
};

struct tg_client {
	struct tg_group *group;
	struct tg_client *next;                  /* of those with room */
	struct tg_event event;                   /* thinks; pauses after a failure */
	struct tg_event limit;                   /* the oldest request's time-out, moved lazily */
	struct tg_request *wanted, *last_wanted; /* of its visits, not asked yet */
	uint32_t owed;   /* closed loop: visits to start when it has thought */
	uint32_t open;   /* asked and not answered */
	uint32_t visits; /* under way */
	uint32_t address;
	uint16_t slots;
	bool hold; /* a page: nothing more before its first answer */
	bool pausing;
	bool listed;               /* among those with room */
	struct tg_draw *draw;      /* the client's own, or the group's */
	struct tg_random requests; /* how many a connection carries */
	uint32_t requests_place;
	struct tg_slot slot[];
};

/* Ports in use: a chained hash of (address, port) that grows. */
struct tg_ports {
	struct tg_connection **bucket;
	uint32_t mask, used;
	uint16_t *next; /* by address: cyclic, so that a port rests as long as can be */
};

struct tg_group {
	struct tg_sim *sim;
	const struct tg_group_params *params;
	uint16_t index;
	uint64_t ends_made;
	struct tg_group_counts counts; /* but for `open` */
	struct tg_pool connections, ends, ranges, jobs, requests, clients, draws;
	struct tg_ports ports;
	struct tg_connection **tunnel; /* by address */
	uint32_t addresses, next_address;
	uint32_t depth, batch; /* visits at once of a client; requests of a visit */
	uint64_t timeout_ns, stop_ns;
	bool ended;
	struct tg_client **client; /* closed loop: all; open loop: NULL */
	uint32_t n_clients;

	/* open loop */
	struct tg_draw draw;
	struct tg_client *room, *last_room;    /* clients that may take a visit, in turn */
	struct tg_request *queue, *last_queue; /* what waits for a client */
	struct tg_event arrival;
	struct tg_random arrivals;
	uint32_t gap_place, on_place, off_place, next_time;
	double phase_until; /* seconds: of this on or off period */
	bool on;
};

/* ports.c. from: where each address begins. */
int tg_ports_init(struct tg_ports *p, uint32_t addresses, struct tg_random *from);
void tg_ports_free(struct tg_ports *p);
/* A port that no open connection of the address has; 0: there is none. */
uint16_t tg_ports_next(struct tg_ports *p, uint32_t address);
void tg_ports_add(struct tg_ports *p, struct tg_connection *c);
void tg_ports_remove(struct tg_ports *p, struct tg_connection *c);

/* arrivals.c: the time of the next arrival after `from`; UINT64_MAX: there is none. */
void tg_arrivals_init(struct tg_group *g);
uint64_t tg_arrivals_next(struct tg_group *g, uint64_t from);

/* draw.c */
void tg_draw_init(struct tg_draw *d, const struct tg_group *g, uint64_t index, uint64_t of);
struct tg_request *tg_draw_request(struct tg_draw *d, struct tg_group *g, uint64_t now);
uint64_t tg_draw_think(struct tg_draw *d, const struct tg_group_params *p);

/* client.c */
struct tg_client *tg_client_new(struct tg_group *g, uint32_t address, struct tg_draw *draw);
/* A visit's requests are asked, as far as its connections take them. */
void tg_client_take(struct tg_client *u, struct tg_request *first, struct tg_request *last);
void tg_client_pump(struct tg_client *u, uint64_t now);
void tg_client_close(struct tg_client *u, uint64_t now); /* its connections */

/* visit.c: what a group and its clients tell each other */
struct tg_request *tg_visit_draw(struct tg_group *g, struct tg_draw *d, uint64_t now,
				 struct tg_request **last);
/* Closed loop: as many visits as it owes, now; and when a visit is over. */
void tg_visit_start(struct tg_client *u, uint64_t now);
void tg_visit_over(struct tg_client *u, uint32_t visits, uint64_t now);
void tg_visit_arrival(struct tg_event *e, uint64_t now);

#endif
