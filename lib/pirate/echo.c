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

static inline unsigned int octaves(int32_t units)
{
	return 31 - (unsigned int)__builtin_clz((unsigned int)units | 1);
}

/* v / 2^by, without a division. */
static inline int64_t toward_zero(int64_t v, unsigned int by)
{
	return (v + (v < 0 ? (INT64_C(1) << by) - 1 : 0)) >> by;
}

/*
 * Where in [lo, hi] an answer ends. The middle of [x, x + period] is right on the average, whatever
 * the phase; clipped to [0, end] its middle is not. So the place is learnt at which the clipped
 * intervals' sum is that of the unclipped middles. Both in periods, 2^-15.
 */
static void learn_place(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			struct tg_ack_far *f, int32_t off, int32_t wide)
{
	unsigned int gain = f->placed < 32 ? 3 : f->placed < 128 ? 4 : 5;
	int64_t periods = (int64_t)off * (int64_t)c->period[f->period - 1].over >> 16;
	int32_t place;

	gain += octaves(wide) - octaves(c->period[f->period - 1].gaps);
	place = f->place + (int32_t)toward_zero(periods, gain);
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
		      const struct tg_ack_near *n, struct tg_ack_far *f, int32_t middle,
		      int32_t wide, int32_t lo, int32_t hi)
{
	int32_t at;

	if (f->placed == 0)
		f->place = s != NULL && s->place != 0 ? s->place : HALF;
	at = lo + (int32_t)((int64_t)(hi - lo) * f->place >> 15);
	if (!n->batch && middle + wide / 2 >= 0)
		learn_place(c, s, f, middle - at, wide);
	return at;
}

/*
 * How much longer a trip is than the fastest one, on the average: what a handshake took more than the fastest
 * trip of its connection's first exchanges, a client at a time. Kept as a share of the path, which is
 * what jitter grows with. Once a connection: it divides.
 */
static uint32_t share_of(int32_t part, uint32_t whole)
{
	return part <= 0 || whole == 0 ? 0 : (uint32_t)(((uint64_t)part << 16) / whole);
}

static void set_share(struct tg_pirate_server *s)
{
	uint32_t a = share_of(s->excess, s->trips), b = share_of(s->late, s->later);

	s->share = s->later != 0 && b < a ? b : a;
	s->reach = a;
}

static void learn_excess(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			 struct tg_ack_far *f)
{
	int32_t period = c->period[f->period - 1].gaps, path = (int32_t)f->path, over;
	int32_t n;

	if (s == NULL || !f->fresh || !f->q_known || !f->path_known)
		return;
	over = -trip(f, period, low_trip(c, s, f)) - period / 2;
	over = most(least(over, path), -period);
	s->trips_n += s->trips_n < 64;
	n = s->trips_n;
	s->excess += (over - s->excess) / n;
	s->trips = (uint32_t)((int32_t)s->trips + (path - (int32_t)s->trips) / n);
	set_share(s);
}

static void learn_late(struct tg_pirate_server *s, const struct tg_ack_far *f, int32_t late,
		       int32_t most_late)
{
	int32_t path = (int32_t)f->path, weight;

	if (s == NULL || !f->path_known || s->excess <= 0 || late > most_late ||
	    f->echoes == UINT8_MAX)
		return;
	late = most(late, -most_late);
	s->late_n += s->late_n < 64;
	weight = one_over[s->late_n];
	s->late += (int32_t)((int64_t)(late - s->late) * weight >> 16);
	s->later = (uint32_t)((int32_t)s->later +
			      (int32_t)((int64_t)(path - (int32_t)s->later) * weight >> 16));
	if (s->late_n < 64 || f->echoes % 16 == 0)
		set_share(s);
}

static int32_t part_of_path(const struct tg_ack_far *f, uint32_t share, int32_t period)
{
	uint64_t over = (uint64_t)f->path * share >> 16;

	return most(0, (int32_t)(over < (1u << 28) ? over : (1u << 28)) - period / 8);
}

static int32_t excess(const struct tg_pirate_server *s, const struct tg_ack_far *f, int32_t period)
{
	return s != NULL && f->path_known ? part_of_path(f, s->share, period) : 0;
}

/* How much longer than the fastest trip one may be. */
static int32_t slowest(const struct tg_pirate_server *s, const struct tg_ack_far *f, int32_t period)
{
	return s != NULL && f->path_known ? 4 * part_of_path(f, s->reach, period) : 0;
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
	int32_t low = low_trip(c, s, f), over = excess(s, f, period),
		wide = period + slowest(s, f, period);
	int32_t x = least(f->from + trip(f, period, low), end);
	int32_t lo = most(x, 0), hi = most(least(x + wide, end), lo);
	uint64_t waited = n->several ? ticks_of(c, end) : tg_ack_waited(n);

	out->confidence = n->batch ? TG_CONFIDENCE_FAIR : TG_CONFIDENCE_GOOD;
	out->bound = false;
	if (!n->batch)
		learn_late(s, f, end - f->from - trip(f, period, low) - period / 2, wide);
	out->lo = ticks_of(c, lo);
	out->hi = ticks_of(c, hi);
	if (f->pure && end - most(f->from + low, 0) < c->prompt) {
		out->hi = out->latency = waited;
	} else if (!f->pure && n->prompt && waited >= out->lo && waited <= out->hi) {
		out->latency = waited;
	} else {
		out->latency = ticks_of(c, placed(c, s, n, f, x + over + period / 2, wide, lo, hi));
		out->grain = ticks_of(c, period);
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
	int32_t over = excess(s, f, period), left, raw, lo, hi;
	int32_t served = most(0, units_of(c, out->latency) - own - over);

	if (!n->batch)
		learn_q(c, f, asked - period);
	if (f->path_known && served >= (int32_t)f->path / 2)
		out->server = ticks_of(c, most(0, served - (int32_t)f->path));
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
	if (over > 0)
		left = (lo + hi) / 2;
	else if (left < raw - period || left > raw + period) /* the path is not what it was then */
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
	f->before = 0;
	learn_d(c, f);
	f->echoes += f->echoes < UINT8_MAX;
	if (f->echoes == 8 || f->echoes == 32)
		learn_excess(c, s, f);
	out->kind = TG_ESTIMATOR_ECHO;
	latency(c, s, n, f, out);
	server_time(c, s, n, f, out);
	if (n->several) {
		out->latency = out->hi = tg_ack_waited(n) > out->hi ? tg_ack_waited(n) : out->hi;
		out->confidence = TG_CONFIDENCE_FAIR;
	}
	return true;
}
