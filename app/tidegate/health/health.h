/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Health checks of servers, control's side (what a check is: lib/health; for operators:
 * doc/health.md). A probe goes to the service's address and takes the very way that the server's
 * traffic takes: the route, its encapsulation, worker 0's queue. It comes from an own address of the
 * port to the server, from a port in TG_HEALTH_PORT_FIRST.., so that the server answers us directly.
 * Workers hand what comes to such a port to control, by a ring.
 *
 * A server that failed is left out of the next snapshot as if it were down (registry.server[].failed);
 * the state that an operator gave it is another matter and stays. When all servers of a service
 * that could take flows failed, none is left out: the checks may be what is wrong (fail open).
 *
 * Thread-safety: control's thread, under the gateway's mutex, which readers of views hold;
 * tg_health_answers is a worker's. Inline only; in a simulation nothing is checked.
 */
#ifndef TG_HEALTH_CONTROL_H
#define TG_HEALTH_CONTROL_H

#include "gateway.h"
#include "tg_health.h"

#define TG_HEALTH_PORT_FIRST 61000
#define TG_HEALTH_PORTS      1000 /* checks that can be under way at once */
#define TG_HEALTH_ANSWERS    1024 /* waiting for control's next tick */

struct tg_health;

/* -ENOMEM. */
int tg_health_create(struct tg_health **out);
void tg_health_free(struct tg_health *h);

/* Where probes of a snapshot come from; *out stays NULL when nothing is checked. */
int tg_health_sources_make(const struct tg_snapshot_env *env, const struct tg_snapshot *s,
			   struct tg_health_sources **out);
void tg_health_sources_free(struct tg_health_sources *p);

/* A snapshot came into force. */
void tg_health_take(struct tg_gateway *g, uint64_t now);

/* Control's tick, not under the mutex: it may put another snapshot in force. */
void tg_health_tick(struct tg_gateway *g, uint64_t now);

/* Which server's check is under way at each of the TG_HEALTH_PORTS, TG_NO_SERVER: none. Control stores
 * single words while workers read them. NULL for NULL. */
const uint16_t *tg_health_checked(const struct tg_health *h);

/* Packet path: what can be an answer to a check under way goes to control, anything else at the ports
 * of checks is dropped, and so is what control's ring has no room for. */
void tg_health_answers(struct tg_worker *w, struct tg_burst *b);

/* The gateway stops: answers that control has not looked at are let go. */
void tg_health_discard(struct tg_gateway *g);

/* One server as its checks see it. */
struct tg_health_view {
	enum tg_health_type type;
	bool up;
	bool out; /* left out of selection for it */
	bool suspect;
	uint64_t checks, failures, changes, suspects;
	uint64_t changed_ns; /* ago; 0: never */
	enum tg_health_reason why, fell;
};

/* False: the server is not checked. */
bool tg_health_of(const struct tg_gateway *g, uint16_t server, uint64_t now,
		  struct tg_health_view *out);

/* A service all of whose servers fail is open; how often it began to be. */
bool tg_health_open(const struct tg_gateway *g, uint16_t service, uint64_t *times);

/* Answers that belonged to no check, or to one that was over; probes that could not be sent. */
uint64_t tg_health_strays(const struct tg_gateway *g);
uint64_t tg_health_unsent(const struct tg_gateway *g);

#endif
