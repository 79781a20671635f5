/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo, the server's clock: the line of a connection's timestamps, the period they count in, and how the
 * server's clock drifts against ours.
 */
#include "echo.h"

/* Windows between two handshakes that tell a drift: a tick of 1 ms is 8 ppm of the least, and
 * microseconds wrap in 71 minutes. */
#define PAIR_LEAST 32
#define PAIR_MOST  280
#define VOTE       16 /* periods after which a connection speaks for its server */
#define BORNE_OUT  4  /* answers as prompt as d says */
#define CREEP      17 /* what is known of a clock gets 2^-17, 8 ppm, of its age less exact */
#define COOKIE     63 /* Linux hides a SYN cookie's options in these bits of its timestamp */

void tg_echo_anchor_at(struct tg_ack_far *f, uint32_t v, uint64_t at, uint32_t span)
{
	f->anchor = at;
	f->v_anchor = v;
	f->span = span;
	f->d = 0;
	f->d_near = 1;
	f->q_lo = INT32_MIN / 4;
	f->q_near = 0;
	f->q_known = 0;
	f->anchored = 1;
	f->fresh = 1;
	if ((f->possible & (f->possible - 1)) != 0 || f->possible == 0)
		f->possible = 15;
}

static void set_period(const struct tg_pirate_config *c, struct tg_ack_far *f, unsigned int period)
{
	if (f->period == period)
		return;
	f->period = period & 7;
	if (period != 0 && f->q_known) /* the answer to a SYN was written at once */
		f->q_lo = most(f->q_lo, f->q_hi - c->period[period - 1].gaps);
}

/* A cookie's timestamp is up to 63 units early, and its low bits are the client's options: the same
 * from one connection to the next, where those of true ones are not. */
static bool is_cookie(struct tg_pirate_server *s, uint32_t v)
{
	uint8_t low = (uint8_t)((v & COOKIE) + 1);
	bool seen = false;

	for (unsigned int i = 0; i < 4; i++)
		seen |= s->cookie[i] == low;
	s->cookie[s->cookie_at++ & 3] = low;
	return seen;
}

static uint32_t address_hash(const struct tg_addr *a)
{
	uint64_t w[2];

	memcpy(w, a, sizeof(w));
	w[0] = (w[0] ^ w[1] * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(w[0] >> 32) | 1;
}

/* The median of what three clients showed: no one of them moves it far. */
static void take_rate(struct tg_pirate_server *s, int32_t rate, uint32_t by)
{
	int32_t a, b, c;
	unsigned int at = s->rate_at % 3;

	for (unsigned int i = 0; i < 3; i++)
		if (s->rate_by[i] == by)
			at = i;
	if (at == s->rate_at % 3)
		s->rate_at++;
	s->rate[at] = rate;
	s->rate_by[at] = by;
	if (s->rate_by[2] == 0)
		return;
	a = s->rate[0];
	b = s->rate[1];
	c = s->rate[2];
	s->drift = most(least(a, b), least(most(a, b), c));
}

/*
 * The drift of a server's clock against ours, from two handshakes of one client some minutes apart:
 * to one client a server shows one offset (Linux since 4.10; before, one to all). A pair that shows
 * more than any clock drifts does not have that in common. Off the packets' way: it divides.
 */
static void learn_drift(const struct tg_pirate_config *c, struct tg_pirate_server *s, uint32_t v,
			uint32_t by, uint64_t syn)
{
	uint64_t apart = syn - s->shook;
	uint32_t n = v - s->shook_v;
	int64_t more;

	if (s->shook_by == 0 || apart > PAIR_MOST * c->window) {
		s->shook = syn;
		s->shook_v = v;
		s->shook_by = by;
		return;
	}
	if (by != s->shook_by || s->period == 0 || apart < PAIR_LEAST * c->window ||
	    n > c->period[s->period - 1].most)
		return;
	s->shook_by = 0;
	more = (int64_t)(apart - span_of(c, s->period, n));
	if (more < (int64_t)(apart >> 9) && more > -(int64_t)(apart >> 9))
		take_rate(s, (int32_t)(more * 65536 / (int64_t)(apart >> 16)), by);
}

void tg_echo_handshake(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		       struct tg_ack_far *f, const struct tg_pkt *p, uint64_t arrival)
{
	uint64_t gap = ticks_of(c, (int32_t)f->path);
	uint32_t v = p->tsecr;
	bool cookie = false;

	if (v == 0) /* some stacks say 0 in a SYN-ACK */
		return;
	if (s != NULL) {
		if (s->floor == 0 || gap < s->floor)
			s->floor = gap > 0 ? gap : 1;
		cookie = is_cookie(s, v);
		if (!cookie)
			learn_drift(c, s, v, address_hash(&p->key.client), f->anchor);
	}
	tg_echo_anchor_at(f, v, arrival, f->path);
	f->q_hi = -(int32_t)f->path;
	f->q_known = !cookie;
	set_period(c, f, s != NULL ? s->period : 0);
}

/* The line goes on from v, which comes with `arrival`; what is measured from it stays, less what a clock may drift. */
void tg_echo_move_anchor(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			 struct tg_ack_far *f, uint32_t v, uint64_t arrival)
{
	uint64_t age = arrival - f->anchor;
	int32_t creep;

	if (!on_line(c, f, v) || age > PAIR_MOST * c->window) {
		tg_echo_anchor_at(f, v, arrival, 0);
		f->fresh = 0;
		return;
	}
	creep = units_of(c, age >> CREEP); /* 8 ppm */
	f->anchor = line(c, s, f, v);
	f->v_anchor = v;
	f->fresh = 0;
	f->d += creep;
	f->q_lo = most(f->q_lo - creep, INT32_MIN / 4);
	if (f->d_near >= BORNE_OUT)
		f->raised = 0;
	f->d_near -= f->d_near / 8;
	f->q_near -= f->q_near / 8;
}

static void vote(struct tg_pirate_server *s, struct tg_ack_far *f)
{
	unsigned int others = 0;

	if (s == NULL || f->voted || !f->fresh || f->v_end - f->v_anchor < VOTE)
		return;
	f->voted = 1;
	if (++s->votes[f->period - 1] == UINT8_MAX)
		for (unsigned int k = 0; k < 4; k++)
			s->votes[k] /= 2;
	for (unsigned int k = 0; k < 4; k++)
		if (k + 1 != f->period)
			others += s->votes[k];
	if (s->votes[f->period - 1] > 2 * others)
		s->period = (uint8_t)f->period;
}

/*
 * An exchange bounds the period from both sides: its answer was sent after the request came, and
 * before the acknowledgement did. Rules out what does not fit.
 */
static unsigned int periods_that_fit(const struct tg_pirate_config *c, const struct tg_ack_near *n,
				     const struct tg_ack_far *f)
{
	uint32_t dv = f->v_end - f->v_anchor;
	uint64_t least_age = n->t_req - f->anchor;
	uint64_t most_age = least_age + ticks_of(c, (int32_t)f->end) +
			    ticks_of(c, (int32_t)f->span);
	uint64_t slack = most_age >> 9; /* 2000 ppm: as far as our own rate may be wrong */
	unsigned int fit = 0;

	if ((int64_t)least_age < 0)
		least_age = 0;
	for (unsigned int left = f->possible; left != 0; left &= left - 1) {
		unsigned int k = (unsigned int)__builtin_ctz(left) + 1;

		if (dv >= c->period[k - 1].most)
			continue;
		if (span_of(c, k, dv + 1) + slack >= least_age &&
		    (dv == 0 || span_of(c, k, dv - 1) <= most_age + slack))
			fit |= 1u << (k - 1);
	}
	return fit;
}

/* Does the one period left explain the time that passed? A short one also fits where the request came
 * at once and only its answer took long, and nothing is said by timestamps that hardly moved. */
static bool shows_period(const struct tg_pirate_config *c, const struct tg_ack_near *n,
			 const struct tg_ack_far *f)
{
	unsigned int period = (unsigned int)__builtin_ctz(f->possible) + 1;
	uint32_t dv = f->v_end - f->v_anchor;
	uint64_t age = n->t_req - f->anchor + ticks_of(c, (int32_t)f->end);

	return f->period == period || (dv >= 2 && dv < c->period[period - 1].most &&
				       age / 4 <= span_of(c, period, dv + 1));
}

/* Whether the flow's period is known, with what this exchange tells of it. */
bool tg_echo_know_period(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			 struct tg_ack_near *n, struct tg_ack_far *f)
{
	uint64_t t_end = n->t_req + ticks_of(c, (int32_t)f->end);

	if (f->hopeless)
		return false;
	if (!f->anchored || (f->period == 0 && t_end - f->anchor > PAIR_MOST * c->window)) {
		tg_echo_anchor_at(f, f->v_end, t_end, f->end);
		return false;
	}
	if (f->fresh && !n->batch)
		f->possible = periods_that_fit(c, n, f) & 15;
	if (f->possible == 0) {
		f->period = 0;
		f->hopeless = f->again;
		f->again = 1;
		tg_echo_anchor_at(f, f->v_end, t_end, f->end);
	} else if ((f->possible & (f->possible - 1)) == 0 && shows_period(c, n, f)) {
		set_period(c, f, (unsigned int)__builtin_ctz(f->possible) + 1);
		vote(s, f);
	} else if (s != NULL && s->period != 0 && f->possible >> (s->period - 1) & 1) {
		set_period(c, f, s->period);
	} else if (f->fresh) {
		f->period = 0;
	}
	return f->period != 0;
}
