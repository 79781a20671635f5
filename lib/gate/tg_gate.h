/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time gate: a packet that was in the gateway longer than its service allows is dropped and
 * counted immediately before rte_eth_tx_burst. The claim is about the clock read: sojourn at the
 * read <= T for every packet handed to the driver. The caller reads the clock afresh, after the
 * burst is complete and with nothing that can wait before the driver is called; and once more after
 * tx, to count what may have become late in between (late_uncertain: published, not hidden).
 *
 * Thread-safety: limits are immutable; stats have one writer, readers use relaxed loads; a
 * tg_arrival belongs to the lcore that polls its queue.
 * Source: the sojourn-time upper-bound gate; see doc/gate.md.
 */
#ifndef TG_GATE_H
#define TG_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_arrival.h"
#include "tg_burst.h"
#include "tg_clock.h"
#include "tg_hist.h"

enum tg_gate_action {
	TG_GATE_SHADOW = 0, /* count, send all the same */
	TG_GATE_DROP,
};

/* What the operator sets, per service. */
struct tg_gate_params {
	uint32_t sojourn_max_us; /* T; 0: off */
	uint32_t margin_us;      /* taken off T before comparing, < T */
	enum tg_gate_action action;
	bool early; /* where late packets are dropped: also before the decision (tg_gate_early) */
};

/* The same in ticks. */
struct tg_gate_limit {
	uint64_t cut;   /* T - margin; UINT64_MAX when off */
	uint64_t drop;  /* above this a packet is dropped: cut, or UINT64_MAX in shadow */
	uint64_t max;   /* T; UINT64_MAX when off */
	uint64_t early; /* drop, or UINT64_MAX where no early check is wanted */
	uint8_t action;
};

/* Where most of a late packet's time went. */
enum tg_gate_place {
	TG_GATE_RING,   /* before it was received: the receive ring, or a stopped thread */
	TG_GATE_STAGES, /* between its poll and its first read at the gate: work, or a wait in them */
	TG_GATE_DRIVER, /* waiting for a driver that took no more */
	TG_GATE_WIRE, /* in time here, but what lies in the transmit ring before it takes too long */
	TG_GATE_PLACES
};

/* "ring", "stages", "driver", "wire" */
const char *tg_gate_place_name(enum tg_gate_place place);

struct tg_gate_stats {
	uint64_t checked; /* packets that came to the gate, again for each retry */
	uint64_t late;    /* above T - margin at the read: dropped, or sent in shadow */
	uint64_t late_dropped;
	uint64_t late_uncertain;          /* handed over in time, above T at the read after tx */
	uint64_t late_early;              /* dropped before the decision; not among the others */
	uint64_t future;                  /* arrived after the read, on paper: passed as age 0 */
	uint64_t late_at[TG_GATE_PLACES]; /* the late ones, by where their time went */
	uint64_t max_sojourn_ns;          /* of packets handed to the driver, at the gate's read */
	struct tg_hist sojourn;           /* of packets handed to the driver */
	struct tg_hist handing; /* from the gate's read to the driver's return, a packet each */
	/* age of the first copy when a request comes again (tg_copies.h): reported, never a reason
	 * to drop */
	struct tg_hist again;      /* the first copy was forwarded: lost further on, or slow */
	struct tg_hist after_drop; /* the first copy was dropped here: what the drop cost */
	/* late ones by service id and place, [id * TG_GATE_PLACES + place]; NULL: not wanted. The
	 * owner's memory */
	uint64_t *late_service;
};

/* A margin of T or more leaves a cut of 0. */
struct tg_gate_limit tg_gate_compile(const struct tg_gate_params *params,
				     const struct tg_clock *clock);

/* Of n limits: what passes this one at once passes every one of them. */
struct tg_gate_limit tg_gate_strictest(const struct tg_gate_limit *limits, unsigned int n);

/* Time in the gateway at `now`. An arrival after `now` (another core's clock read) counts as 0. */
static inline uint64_t tg_gate_sojourn(uint64_t arrival, uint64_t now)
{
	return now > arrival ? now - arrival : 0;
}

/* One packet: is it above T - margin at `now`? */
static inline bool tg_gate_late(const struct tg_gate_limit *l, uint64_t arrival, uint64_t now)
{
	return tg_gate_sojourn(arrival, now) > l->cut;
}

/* A packet at the gate. service: its id, or TG_NO_SERVICE for an answer of our own, which has no
 * limit. */
struct tg_gate_item {
	struct rte_mbuf *mbuf;
	uint64_t arrival; /* ticks */
	uint64_t polled;  /* ticks: when the poll that found it had returned */
	uint64_t gated; /* ticks: its first read at the gate, if the driver refused it then; else 0 */
	uint32_t bytes; /* of the frame; read only where the wire's rate is known */
	uint16_t service;
};

/*
 * items[0..n): what is about to be handed to the driver. limits is indexed by service id.
 * Fills pass[] and late[] (n places each) with indices of what may go and what must be freed, in
 * order; returns the number in pass, the rest (n - that) is in late. Counts checked and late.
 */
uint16_t tg_gate_check(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		       const struct tg_gate_item *items, uint16_t n, uint64_t now, uint16_t *pass,
		       uint16_t *late);

/*
 * The predictive gate: the wire behind a transmit ring whose line rate is known. What was accepted
 * so far has left at `free`; a packet goes only if its own last bit leaves within T - margin:
 * (free or now, whichever is later) + its own time on the wire - arrival <= T - margin. Where several
 * lcores share a port each has its share of the rate, which is cautious.
 *
 * Thread-safety: the lcore that owns the transmit queue.
 */
#define TG_GATE_WIRE_OVERHEAD 24 /* Ethernet: preamble 8, frame check 4, gap 12 */

struct tg_gate_wire {
	uint64_t byte; /* ticks that a byte takes, times 2^20; 0: the rate is not known */
	uint64_t free; /* ticks */
};

/* rate_mbps 0: not known. sharers: lcores that send by this port, >= 1. */
void tg_gate_wire_init(struct tg_gate_wire *wire, uint32_t rate_mbps, unsigned int sharers,
		       const struct tg_clock *clock);

/* As tg_gate_check, with what the wire adds. Late by the wire alone counts as TG_GATE_WIRE. */
uint16_t tg_gate_check_wire(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
			    const struct tg_gate_wire *wire, const struct tg_gate_item *items,
			    uint16_t n, uint64_t now, uint16_t *pass, uint16_t *late);

/* Earliest and latest arrival of a burst. */
struct tg_gate_span {
	uint64_t oldest, newest;
};

/*
 * Either gate for n <= TG_BURST_MAX, and nearly free in the usual case: where the oldest packet is in
 * time by the strictest limit, all of them are. *span is for tg_gate_sent_burst.
 */
uint16_t tg_gate_check_burst(const struct tg_gate_limit *limits,
			     const struct tg_gate_limit *strictest, struct tg_gate_stats *stats,
			     const struct tg_gate_wire *wire, const struct tg_gate_item *items,
			     uint16_t n, uint64_t now, uint16_t *pass, uint16_t *late,
			     struct tg_gate_span *span);

/* The driver accepted items[pass[0..n_sent)] at `now`: they are on their way to the wire. */
void tg_gate_wire_sent(struct tg_gate_wire *wire, const struct tg_gate_item *items,
		       const uint16_t *pass, uint16_t n_sent, uint64_t now);

/*
 * Before the decision, at b->now: drops (TG_DROP_LATE) what is late already and whose service wants
 * that. It saves the work on packets that could not leave anyway; it proves nothing about the rest,
 * and never replaces the gate.
 */
void tg_gate_early(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		   struct tg_burst *b);

/* After tx, at the second read `after`: the driver accepted items[pass[0..n_sent)]; `gate` is what
 * tg_gate_check was told. Records sojourn, max and late_uncertain. */
void tg_gate_sent(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		  const struct tg_clock *clock, const struct tg_gate_item *items,
		  const uint16_t *pass, uint16_t n_sent, uint64_t gate, uint64_t after);

/* The same after tg_gate_check_burst, which filled *span. */
void tg_gate_sent_burst(const struct tg_gate_limit *limits, const struct tg_gate_limit *strictest,
			struct tg_gate_stats *stats, const struct tg_clock *clock,
			const struct tg_gate_item *items, const uint16_t *pass, uint16_t n_sent,
			uint64_t gate, uint64_t after, const struct tg_gate_span *span);

#endif
