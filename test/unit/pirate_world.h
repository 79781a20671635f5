/* SPDX-License-Identifier: BSD-3-Clause */
/* A server whose timestamps count, a client and a path between them: for the tests of echo. */
#ifndef TG_PIRATE_WORLD_H
#define TG_PIRATE_WORLD_H

#include <math.h>

#include "pirate_rig.h"
#include "unit.h"

/* Of one connection: a server whose timestamps count periods, at some offset and drift. */
struct world {
	struct rig r;
	struct tg_pirate_server server;
	double period, offset, ppm; /* ns, periods, 10^-6 */
	double there, back;         /* ns: gateway to server; server to client to gateway */
	uint32_t seq, ack;
	uint32_t v; /* what the client echoes */
};

static inline uint32_t stamp(const struct world *w, double t)
{
	return (uint32_t)(uint64_t)floor(t * (1 + w->ppm * 1e-6) / w->period + w->offset);
}

static inline bool echo(struct rig *r, uint64_t t, uint8_t flags, uint32_t seq, uint16_t len,
			uint32_t ack, uint32_t v)
{
	struct tg_pkt p = segment(flags, seq, len, ack);

	p.flags = TG_PKT_TS;
	p.tsecr = v;
	return pass(r, &p, t);
}

static inline void reset(struct world *w, double period)
{
	memset(w, 0, sizeof(*w));
	w->period = period;
	w->offset = 77777.3;
	w->there = 20e3;
	w->back = 80e3;
}

/* SYN, the server's answer at once, and the client's ACK. */
static inline void greet(struct world *w, double t)
{
	start(&w->r, TG_ESTIMATOR_ECHO);
	w->r.server = &w->server;
	w->seq = 1000;
	w->ack = 5001;
	ck_assert(!echo(&w->r, (uint64_t)t, TG_TCP_SYN, w->seq++, 0, 0, 0));
	w->v = stamp(w, t + w->there);
	ck_assert(!echo(&w->r, (uint64_t)(t + w->there + w->back), ACK, w->seq, 0, w->ack, w->v));
}

static inline bool ask(struct world *w, double t)
{
	bool sampled = echo(&w->r, (uint64_t)t, PSH, w->seq, 100, w->ack, w->v);

	w->seq += 100;
	return sampled;
}

/* The request of time t is answered after `takes` in the server; returns when it is here again. */
static inline double answer(struct world *w, double t, double takes, uint32_t bytes)
{
	w->v = stamp(w, t + w->there + takes);
	w->ack += bytes;
	return t + w->there + takes + w->back;
}

static inline bool acknowledge(struct world *w, double t)
{
	return echo(&w->r, (uint64_t)t, ACK, w->seq, 0, w->ack, w->v);
}

/* A few exchanges after which the period is known. */
static inline double warm_up(struct world *w, double t)
{
	for (int i = 0; i < 24; i++) {
		ask(w, t);
		t = answer(w, t, 3.37e6, 200);
		acknowledge(w, t);
		t += 7.91e6;
	}
	return t;
}

/* A new world with a connection of known period in it; the time then. */
static inline double set_off(struct world *w, double t)
{
	reset(w, 1e6);
	greet(w, t);
	return warm_up(w, t + 5e6);
}

static inline double ms(uint64_t ticks)
{
	return (double)ticks / 1e6;
}

#endif
