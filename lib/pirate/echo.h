/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo, the part that runs a packet: the line along which a server's timestamps fall, and the least
 * distance of arrivals from it. A part of ack.c and echo.c, in line.
 *
 * Timestamps are compared modulo 2^32 (RFC 7323 section 5.2); microseconds wrap in 71 minutes, so
 * that the line's anchor follows within 20 minutes or the flow is taken up afresh.
 */
#ifndef TG_PIRATE_ECHO_H
#define TG_PIRATE_ECHO_H

#include "state.h"

#define NEAR_MAX 127
#define BEFORE   8 /* answers in a row that predate their request: fewer may well do */

static inline int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static inline int32_t most(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

/* A signed duration in units, at the ends of the range when it is beyond. */
static inline int32_t units_of(const struct tg_pirate_config *c, uint64_t ticks)
{
	const int64_t far = INT32_MAX / 4;
	int64_t u = (int64_t)ticks >> c->gap_shift;

	if ((uint64_t)(u + far) <= 2 * (uint64_t)far)
		return (int32_t)u;
	return (int32_t)(u > 0 ? far : -far);
}

static inline uint64_t ticks_of(const struct tg_pirate_config *c, int32_t units)
{
	return (uint64_t)((int64_t)units * ((int64_t)1 << c->gap_shift));
}

/* n units of timestamps of that period (1..4), n <= most. */
static inline uint64_t span_of(const struct tg_pirate_config *c, unsigned int period, uint32_t n)
{
	return c->period[period - 1].ticks * n >> 16;
}

/* Is v near enough to the line's anchor to be told from one a wrap away? */
static inline bool on_line(const struct tg_pirate_config *c, const struct tg_ack_far *f, uint32_t v)
{
	uint32_t m = c->period[f->period - 1].most;

	return v - f->v_anchor + m <= 2 * m;
}

/* When the line has v, in ticks; v is on it. */
static inline uint64_t line(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
			    const struct tg_ack_far *f, uint32_t v)
{
	int64_t at = (int64_t)(int32_t)(v - f->v_anchor) *
			     (int64_t)c->period[f->period - 1].ticks >>
		     16;

	if (s != NULL)
		at += (at >> 8) * s->drift >> 24;
	return f->anchor + (uint64_t)at;
}

/* How much a clock may have gone wrong in a time: 2000 ppm (the rate we know our own by may be as wrong)
 * or, when the server's drift is learnt, 15. */
static inline unsigned int doubt(const struct tg_pirate_server *s)
{
	return s != NULL && s->rate_by[2] != 0 ? 16 : 9;
}

void tg_echo_handshake(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		       struct tg_ack_far *f, const struct tg_pkt *p, uint64_t arrival);
void tg_echo_move_anchor(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			 struct tg_ack_far *f, uint32_t v, uint64_t arrival);
void tg_echo_anchor_at(struct tg_ack_far *f, uint32_t v, uint64_t at, uint32_t span);
bool tg_echo_know_period(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			 struct tg_ack_near *n, struct tg_ack_far *f);
bool tg_echo_sample(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out);

/* Where the line has v, which came at arrival; moved on to there when it is old. */
static inline uint64_t echo_line(const struct tg_pirate_config *c, struct tg_pirate_server *s,
				 struct tg_ack_far *f, uint32_t v, uint64_t arrival)
{
	if (arrival - f->anchor > c->window || !on_line(c, f, v))
		tg_echo_move_anchor(c, s, f, v, arrival);
	return line(c, s, f, v);
}

/*
 * What was believed of the trips no longer fits: the clocks drift, or the route changed. The newer
 * evidence stands. The bound of the other direction moves along, by as much and no more: a path that
 * jitters is shorter at times than the handshake said. What the handshake itself showed (q_hi) stays:
 * one accident on the way of a SYN is the same for all of a connection, and averages out over many.
 */
static inline void fall(const struct tg_pirate_config *c, struct tg_ack_far *f, int32_t by)
{
	int32_t period = c->period[f->period - 1].gaps, bound;

	if (by > period)
		f->d_near = 0;
	f->d -= by;
	if (f->fresh || !f->path_known)
		return;
	bound = f->d - (int32_t)f->path + period;
	f->q_lo = most(least(f->q_lo, bound), f->q_lo - by);
}

/* A packet that echoes v, which is on the line at `at`, has come. */
static inline void echo_passes(const struct tg_pirate_config *c, struct tg_ack_far *f, uint64_t at,
			       uint64_t arrival)
{
	int32_t under = f->d - units_of(c, arrival - at);

	if (under > 0)
		fall(c, f, under);
}

/* The line is wrong. Another one may not be, once. */
static inline void echo_gives_up(struct tg_ack_far *f)
{
	f->period = 0;
	f->possible = 0;
	f->anchored = 0;
	f->hopeless = f->again;
	f->again = 1;
}

/* Was what v tells written before the request came: does it answer an older one? Not seconds before: then
 * the line is wrong, and is given up. */
static inline bool echo_predates(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
				 const struct tg_ack_near *n, struct tg_ack_far *f, uint64_t at)
{
	int64_t before = (int64_t)(n->t_req - at - span_of(c, f->period, 1) - ticks_of(c, f->d));

	if (before <= (int64_t)((n->t_req - f->anchor) >> doubt(s)) ||
	    (f->possible & (f->possible - 1)) != 0) /* not found to be this flow's period */
		return false;
	if (before < (int64_t)c->clock.hz)
		return true;
	echo_gives_up(f);
	return false;
}

/*
 * So many answers in a row predate their request, and none of them came as soon as d says: d is of a packet that
 * seemed to come too early, or of a route that is no more. The promptest of them stands. Where several
 * requests are always in flight (no sample comes between either) d stands as long as some are prompt.
 * late: from the line to the arrival.
 */
static inline void echo_doubts(struct tg_ack_far *f, int32_t late)
{
	int32_t over = most(0, late - f->d) >> TG_BEHIND;
	uint16_t behind = (uint16_t)least(over, UINT16_MAX);

	f->behind = f->before == 0 || behind < f->behind ? behind : f->behind;
	if (++f->before < BEFORE)
		return;
	f->before = 0;
	if (f->behind == 0)
		return;
	if (f->raised) { /* the line itself goes wrong: no period of this server's */
		echo_gives_up(f);
		return;
	}
	f->raised = 1;
	f->d += (int32_t)f->behind << TG_BEHIND;
	f->d_near = 0;
}

#endif
