/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many requests a server has is counted by flows that wait: one each. Whether that is their number, headers
 * tell in part:
 *
 *   together  what a client wrote in pieces before it heard anything is one request or several: at least one a
 *             flow is there. Several it was where answers came at several times, or to an older piece
 *             while a newer one was under way
 *   pauses    without a figure that is sure enough to be published nothing says whether a flow waits for its
 *             answer or pauses: at most one a flow is there
 *   carried   a tunnel's packets are any number of clients': neither
 *
 * Thread-safety: none; control's.
 */
#ifndef TG_VOUCH_H
#define TG_VOUCH_H

#include <stdint.h>

enum tg_requests_kind {
	TG_REQUESTS_UNKNOWN = 0,
	TG_REQUESTS_COUNTED,
	TG_REQUESTS_AT_LEAST,
	TG_REQUESTS_AT_MOST,
};

/* What came since the last call, cumulative counters' differences. */
struct tg_vouch_more {
	uint64_t seen;     /* flows whose wait ended */
	uint64_t measured; /* exchanges with a figure */
	uint64_t unsure;   /* exchanges whose figure is not published */
	uint64_t pieces;   /* what clients wrote in them beside the first piece */
	uint64_t joined;   /* of those, what was a request of its own */
	uint64_t carried;  /* of seen: in tunnels */
};

/* The same, fading. All zero at first. */
struct tg_vouch {
	double seen, measured, unsure, pieces, joined, carried;
};

void tg_vouch_take(struct tg_vouch *v, const struct tg_vouch_more *more, double dt_ns);

enum tg_requests_kind tg_vouch_kind(const struct tg_vouch *v);

/* "unknown", "counted", "at-least", "at-most" */
const char *tg_requests_kind_name(enum tg_requests_kind kind);

/* Requests an exchange as far as that shows, at least 1. */
double tg_vouch_each(const struct tg_vouch *v);

#endif
