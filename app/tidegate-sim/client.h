/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks: a group of clients of one kind. Closed loop: each client asks, waits for the answer,
 * thinks, asks again. Open loop: requests come at times of their own. What a request is (bytes,
 * work, class) is drawn from streams of the group that no policy touches.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_CLIENT_H
#define TG_CLIENT_H

#include "connection.h"
#include "link.h"
#include "random.h"

enum tg_arrivals {
	TG_ARRIVALS_CLOSED, /* a fixed number of clients in a loop */
	TG_ARRIVALS_POISSON,
	TG_ARRIVALS_PACED, /* gaps by a distribution */
	TG_ARRIVALS_VARYING, /* Poisson whose rate follows points (time, rate), straight lines between */
	TG_ARRIVALS_ON_OFF, /* Poisson at `rate` in on periods, at `rate_off` in off periods */
	TG_ARRIVALS_TRACE,  /* times in a file */
};

struct tg_rate_point {
	double time_s, rate;
};

struct tg_group_params {
	char name[64];
	uint16_t service; /* index */
	enum tg_traffic traffic;
	enum tg_arrivals arrivals;
	char prefix[64];  /* addresses of its clients, "198.18.0.0/16" or IPv6 */
	uint32_t clients; /* closed loop; open loop: how many addresses are used in turn */
	double rate,
		rate_off; /* open loop: requests a second, of the whole group (bursts and pages arrive less often) */
	struct tg_dist on_ms, off_ms, gap_us; /* gaps, points and times: in absolute virtual time */
	const struct tg_rate_point *points;
	uint32_t n_points;
	const double *times_s; /* trace */
	uint32_t n_times;
	double start_s, stop_s;  /* asks in this time only; stop 0: until the end */
	struct tg_dist think_us; /* between an answer and the next request of a closed loop */
	double think_share;      /* before this share of requests; 1: before each */
	struct tg_dist
		requests; /* a connection, >= 1; then a new one. Open loop: a connection each where 1. Below 1: without end */
	uint32_t connections; /* open loop with keep-alive: as many are kept open, requests go to an idle one, else wait */
	uint32_t depth; /* pipelining: requests under way on a connection, 1. A pause of a closed loop holds up all */
	uint32_t burst; /* asked together on a connection; the next burst when all are answered; 1. Sets depth aside */
	uint32_t objects; /* a page: after the first answer so many at once, each on up to `page_connections` */
	uint32_t page_connections;
	struct tg_dist bytes, answer_bytes;
	struct tg_dist work_us; /* has_work: else the station draws */
	bool has_work;
	struct tg_dist writes, write_gap_us; /* the server's answer in several writes */
	double timeout_s; /* a request not answered by then: connection reset, counted as failed; 0: none */
	double retry_ms; /* after a failure a client of a closed loop pauses so long; 0: 10 ms */
	uint32_t tunnel_users; /* tunnel, closed loop: so many clients share one, each with a connection inside; 0: 4 */
	struct tg_tcp_params tcp, server_tcp;
	struct tg_link_params to_gateway, from_server;
};

struct tg_group; /* a running group */

/* Prepares the group's clients and their first events. NULL without memory. The parameters stay the
 * caller's and must outlive the group. Groups that ask the same service need prefixes apart:
 * ports are unique for each address within its group. */
struct tg_group *tg_group_create(struct tg_sim *s, const struct tg_group_params *p, uint16_t index);
/* Frees whatever the group had, open connections too: no packet of it may be in flight, no event of
 * it may fire afterwards. Before the queue of events is freed. */
void tg_group_free(struct tg_group *g);
/* Forgets what was counted but for the conservation counts: the warm-up ends. */
void tg_group_begin(struct tg_group *g, uint64_t now);
/* Asks no more: clients stop after their current answers and close their connections. */
void tg_group_end(struct tg_group *g, uint64_t now);

/* asked = answered + failed + open, since the start; the rest since tg_group_begin. */
struct tg_group_counts {
	uint64_t asked, answered, failed, open;
	uint64_t connections, broken; /* opened; reset, given up, timed out */
	/* open when their gateway went; of these at the first candidate of their hash, and at one of
	 * those that a GUE header names */
	uint64_t moved, moved_first, moved_named;
	uint64_t syn_retransmitted, retransmitted, timeouts; /* by either end */
};
struct tg_group_counts tg_group_counts(const struct tg_group *g);

#endif
