/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control knows of every server now: it differences the workers' cumulative counters each tick
 * and lets the sums fade, so that a server that got slow shows within some hundred milliseconds.
 * From that come the costs by which new flows are placed, and how good the prediction was.
 *
 *   service   tau: sum of S / sum of F, F the requests that shared a worker then; fades in 500 ms
 *   q         requests at the server: waiting * S / (S + P), P the time that an answer takes to show, times
 *             requests an exchange (vouch.h)
 *   censored  a request that has waited for more than 4 S + P adds its age: a hung server shows
 *   window    L and S of the last 5 to 10 s, for people and for Cs2
 *
 * Where S is not known (no handshake was seen, headers hidden) L stands for it, path and all.
 *
 * Thread-safety: control's, under the gateway's mutex; telemetry reads under the same.
 * Source: doc/select.md; formulas in tg_queueing.h.
 */
#ifndef TG_LOAD_H
#define TG_LOAD_H

#include "choice/vouch.h"
#include "gateway.h"
#include "tg_queueing.h"

struct tg_load;

/* One server as it is now. Times in ns; a figure that is not known is 0. */
struct tg_load_view {
	double service_ns; /* tau, or as configured */
	double server_ns;  /* S, fades in 200 ms: what a request takes there now, queue and all */
	double path_ns;    /* P, fades in 500 ms */
	double lambda_hz, ca2, cs2;
	double cs2_seen; /* of S in the window; cs2 is this one, or as configured */
	double in_system; /* q, as new flows are placed by it: with what each exchange may be more than one */
	double in_system_bound; /* one request for each flow that waits: at least or at most so many, .. */
	enum tg_requests_kind
		in_system_kind; /* .. or about so many, counted: then q may be published */
	double each;            /* requests an exchange, at least 1 */
	uint32_t waiting, fresh;
	uint32_t overdue;              /* of those waiting: for longer than 4 S + P */
	uint64_t newest;               /* ticks: when a sample was last seen, 0 never */
	struct tg_predicted predicted; /* by the law of its service's policy */
	struct tg_predicted one_more;  /* the same, if one more request were there */
	uint64_t since;                /* ticks: when it came up; 0: with the gateway */
	uint64_t probed;               /* ticks: when a worker last took its mark to probe it */
	bool marked;
	double mape; /* mean absolute error of the prediction over windows of 200 exchanges */
	double mape_lately; /* of the last ones: fades in 50 */
	uint64_t mape_windows;
};

int tg_load_create(struct tg_load **out);
void tg_load_free(struct tg_load *l);

/* Every tick, after workers may have counted more. */
void tg_load_update(struct tg_load *l, struct tg_gateway *g, uint64_t now);

/* NULL: no such server in use, or nothing yet. */
struct tg_load_view *tg_load_of(struct tg_load *l, uint16_t server);

/* L and S of the window, from now's cumulative ones (of tg_totals). */
void tg_load_window(const struct tg_load *l, uint16_t server, const struct tg_hist *latency_now,
		    const struct tg_hist *server_now, struct tg_hist *latency,
		    struct tg_hist *server_time);

/* Open requests by age, all workers: a complete sweep's. bins: TG_AGE_BINS. */
void tg_load_ages(const struct tg_gateway *g, uint16_t server, uint32_t *bins);

#endif
