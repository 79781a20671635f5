/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo: an answer ended when the server sent what the client acknowledges, as the timestamp that the
 * client echoes (TSecr, RFC 7323) tells. With v that timestamp and d the fastest trip, it reached the
 * client in [x, x + period], x = line(v) + d - t_req; and before the acknowledgement came.
 */
#include "echo.h"

#define HALF (1 << 14) /* of a place */

/* 65536/n, rounded up. */
#define R(n)   ((65536 + (n)-1) / (n))
#define R8(n)  R(n), R(n + 1), R(n + 2), R(n + 3), R(n + 4), R(n + 5), R(n + 6), R(n + 7)
#define R32(n) R8(n), R8(n + 8), R8(n + 16), R8(n + 24)
static const uint32_t one_over[1 + 2 * NEAR_MAX + 2] = {
	65536,   R32(1),  R32(33), R32(65), R32(97), R32(129), R32(161), R32(193), R8(225),
	R8(233), R8(241), R(249),  R(250),  R(251),  R(252),   R(253),   R(254),   R(255),
};

/* The fastest trip takes no less than what q_lo and the path say. */
static inline int32_t low_trip(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
			       const struct tg_ack_far *f)
{
	int32_t path = (int32_t)f->path;

	if (!f->path_known)
		path = s != NULL ? units_of(c, s->floor) : 0;
	return least(f->d, f->q_lo + path);
}

/*
 * The fastest trip, estimated. d is late by the phase of the timestamps, on the average period / (n + 1)
 * with n echoes near it; q_lo and the path bound it below, early by as much. Where both lie within what
 * that explains, their mean by evidence; else the server never answers at once, and d it is.
 */
static inline int32_t trip(const struct tg_ack_far *f, int32_t period, int32_t low)
{
	int32_t late = (int32_t)((int64_t)period * one_over[f->d_near + 1] >> 16);
	int32_t early = (int32_t)((int64_t)period * one_over[f->q_near + 1] >> 16);
	int32_t apart = f->d - low;

	if (apart == 0)
		return f->d;
	if (apart > 3 * (late + early) || f->q_near == 0)
		return f->d - late;
	late = least(late, apart);
	early = least(early, apart);
	apart -= late + early;
	return low + early +
	       (int32_t)((int64_t)apart * f->d_near * one_over[f->d_near + f->q_near] >> 16);
}

/*
 * Where in [lo, hi] an answer ends. The middle of [x, x + period] is right on the average, whatever
 * the phase; clipped to [0, end] its middle is not. So the place is learnt at which the clipped
 * intervals' sum is that of the unclipped middles. Both in periods, 2^-15.
 */
static void learn_place(struct tg_pirate_server *s, struct tg_ack_far *f, int32_t middle,
			int32_t width)
{
	int32_t off = middle - (f->place * width >> 15);
	unsigned int gain = f->placed < 32 ? 3 : f->placed < 128 ? 4 : 5;
	int32_t place = f->place + off / (1 << gain);

	f->place = (uint16_t)(place < 0 ? 0 : place > 2 * HALF ? 2 * HALF : place);
	f->placed += f->placed < UINT8_MAX;
	if (s == NULL || f->placed % 16 != 0 || f->placed > 32) /* one connection, two voices */
		return;
	place = s->place != 0 ? s->place : HALF;
	place += (f->place - place) / 4;
	s->place = (uint16_t)(place < 1 ? 1 : place);
}

/* L between lo and hi, by the timestamps alone. */
static int32_t placed(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		      const struct tg_ack_near *n, struct tg_ack_far *f, int32_t x, int32_t lo,
		      int32_t hi)
{
	int64_t over = (int64_t)c->period[f->period - 1].over;
	int32_t period = c->period[f->period - 1].gaps, at;

	if (f->placed == 0)
		f->place = s != NULL && s->place != 0 ? s->place : HALF;
	at = lo + (int32_t)((int64_t)(hi - lo) * f->place >> 15);
	if (!n->batch && x + period >= 0)
		learn_place(s, f, (int32_t)((x + period / 2 - lo) * over >> 16),
			    (int32_t)((hi - lo) * over >> 16));
	return at;
}

/*
 * L, and its interval. An acknowledgement that came sooner than any is delayed was set off by the answer
 * itself and says best when that came. Where a pure one saw part of the answer and the timestamps allow
 * that the rest came then too, it did.
 */
static void latency(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    const struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out)
{
	int32_t period = c->period[f->period - 1].gaps, end = (int32_t)f->end;
	int32_t low = low_trip(c, s, f), x = least(f->from + trip(f, period, low), end);
	int32_t lo = most(x, 0), hi = most(least(x + period, end), lo);
	uint64_t waited = tg_ack_waited(n);

	out->confidence = n->batch ? TG_CONFIDENCE_FAIR : TG_CONFIDENCE_GOOD;
	out->bound = false;
	out->lo = ticks_of(c, lo);
	out->hi = ticks_of(c, hi);
	if (f->pure && end - most(f->from + low, 0) < c->prompt) {
		out->hi = out->latency = waited;
	} else if (!f->pure && n->prompt && waited >= out->lo && waited <= out->hi) {
		out->latency = waited;
	} else {
		out->latency = ticks_of(c, placed(c, s, n, f, x, lo, hi));
		out->bound = f->spans;
		if (f->spans)
			out->confidence = TG_CONFIDENCE_FAIR;
	}
}

/* An exchange's end is evidence of the fastest trip. */
static void learn_d(const struct tg_pirate_config *c, struct tg_ack_far *f)
{
	int32_t under = f->d - ((int32_t)f->end - f->from);

	if (under > 0) /* the period was not known when it came */
		fall(c, f, under);
	if (under > -c->period[f->period - 1].gaps)
		f->d_near += f->d_near < NEAR_MAX;
}

/*
 * And its request bounds from below what the server's clock showed when it came there. Early in the
 * connection what is left between d and that bounds the path; later the path is known, and a bound too high
 * for d shows that the server's clock is slow.
 */
static void learn_q(const struct tg_pirate_config *c, struct tg_ack_far *f, int32_t bound)
{
	int32_t period = c->period[f->period - 1].gaps, over = bound - f->q_lo;

	if (over > period)
		f->q_near = 0;
	if (over > -period)
		f->q_near += f->q_near < NEAR_MAX;
	if (over <= 0)
		return;
	f->q_lo = bound;
	if (f->fresh) {
		f->path = (uint32_t)least((int32_t)f->path, most(0, f->d - bound));
	} else {
		f->d = most(f->d, least(bound + (int32_t)f->path - period, f->d + over));
		f->q_hi = most(f->q_hi, least(bound, f->q_hi + over));
	}
}

/*
 * S: the server's own timestamps say it, less the time between the departures of SYN and request; two
 * roundings make that right to a period. What the path leaves of L is finer as long as it agrees: on a
 * path that jitters it does not.
 */
static void server_time(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
			const struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out)
{
	int32_t period = c->period[f->period - 1].gaps, own = (int32_t)f->own;
	int32_t asked = own - f->from;
	int32_t served = units_of(c, out->latency) - own, left, raw, lo, hi;

	if (!n->batch)
		learn_q(c, f, asked - period);
	if (!f->q_known)
		return;
	/* Not the clock that the handshake showed: a cookie, a SYN-ACK lost. */
	if (f->q_lo > f->q_hi + period / 8 + (int32_t)f->path / 8 ||
	    f->d - f->q_lo + 2 * period < (s != NULL ? units_of(c, s->floor) / 2 : 0)) {
		f->q_known = 0;
		return;
	}
	left = served - (int32_t)f->path;
	lo = least(f->q_lo, f->q_hi) - asked;
	hi = f->q_hi + period - asked;
	raw = hi - period;
	if (left < raw - period || left > raw + period) /* the path is not what it was then */
		left = raw;
	left = least(most(left, lo), hi);
	out->server = ticks_of(c, most(0, least(left, served)));
}

bool tg_echo_sample(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out)
{
	if (!f->stamped)
		return false;
	if (f->fresh || !f->anchored || f->period == 0) {
		if (!tg_echo_know_period(c, s, n, f)) {
			if (s != NULL)
				s->no_period++;
			return false;
		}
		f->from = units_of(c, line(c, s, f, f->v_end) - n->t_req);
	}
	learn_d(c, f);
	out->kind = TG_ESTIMATOR_ECHO;
	latency(c, s, n, f, out);
	server_time(c, s, n, f, out);
	return true;
}
