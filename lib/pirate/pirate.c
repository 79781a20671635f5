/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One interface over the estimators: which one a flow gets, and the way to it.
 */
#include <netinet/in.h>

#include "gap_envelope.h"
#include "log2.h"
#include "state.h"

#define PROMPT_US   35000  /* no stack delays an acknowledgement by so little */
#define DELAYED_US  500000 /* nor by more: RFC 9293 section 3.8.6.3 */
#define TIMER_US    40000  /* Linux delays them by this, .. */
#define TIMER2_US   200000 /* .. Windows and BSD by this */
#define RTO_US      200000 /* Linux's least, BSD's 230 ms; RFC 6298 section 2 asks for a second */
#define RTO_OVER_US 60000  /* a client's delayed acknowledgement counts for the path, with room */
#define WINDOW_S    4      /* a clock that drifts by 20 ppm goes wrong by 80 us in it */

/* What the echo estimator needs of the clock: no division on a packet's way. */
static void compile_periods(struct tg_pirate_config *c)
{
	static const uint64_t period_us[4] = {1, 1000, 4000, 10000};

	for (unsigned int k = 0; k < 4; k++) {
		unsigned __int128 ticks = ((unsigned __int128)c->clock.hz << 16) * period_us[k];
		uint64_t units;

		c->period[k].ticks = (uint64_t)(ticks / 1000000);
		units = c->period[k].ticks >> 16 >> c->gap_shift;
		c->period[k].over = (UINT64_C(1) << 31) / (units > 0 ? units : 1);
		c->period[k].gaps = (int32_t)units;
		c->period[k].most = (uint32_t)(UINT64_C(1200000000) / period_us[k]);
	}
}

struct tg_pirate_config tg_pirate_compile(const struct tg_pirate_params *params,
					  const struct tg_clock *clock)
{
	struct tg_pirate_config c = {
		.clock = *clock,
		.longest = tg_s_to_ticks(clock, TG_PIRATE_LONGEST_S),
		.delayed = tg_us_to_ticks(clock, DELAYED_US),
		.window = tg_s_to_ticks(clock, WINDOW_S),
		.estimator = (uint8_t)params->estimator,
		.gap_rule = (uint8_t)params->gap_rule,
	};
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(c.longest);

	/* one octave to spare: an unused bucket is further from every gap than any used one may be */
	c.gap_shift = (uint8_t)(bits < TG_LOG2_OCTAVES ? 0 : bits + 1 - TG_LOG2_OCTAVES);
	c.prompt = (int32_t)(tg_us_to_ticks(clock, PROMPT_US) >> c.gap_shift);
	c.timer[0] = (int32_t)(tg_us_to_ticks(clock, TIMER_US) >> c.gap_shift);
	c.timer[1] = (int32_t)(tg_us_to_ticks(clock, TIMER2_US) >> c.gap_shift);
	c.rto = (int32_t)(tg_us_to_ticks(clock, RTO_US) >> c.gap_shift);
	c.rto_over = (int32_t)(tg_us_to_ticks(clock, RTO_OVER_US) >> c.gap_shift);
	compile_periods(&c);
	return c;
}

/* What a flow is measured by: an enum tg_estimator; for gaps read by the envelope rule this, or, of what carries
 * flows of others, TG_PIRATE_CARRIER. */
#define BY_ENVELOPE TG_ESTIMATOR_COUNT

static bool is_envelope(uint8_t estimator)
{
	return estimator >= BY_ENVELOPE;
}

/* ESP, GRE, IP in IP and the like: any number of conversations in one. */
static bool is_carrier(const struct tg_pkt *p)
{
	return p->key.protocol != IPPROTO_TCP &&
	       (!tg_has_ports(p->key.protocol) || (p->flags & TG_PKT_TUNNEL) != 0);
}

static uint8_t by_gaps(const struct tg_pirate_config *c, const struct tg_pkt *p)
{
	if (c->gap_rule != TG_GAP_ENVELOPE)
		return TG_ESTIMATOR_GAP;
	return is_carrier(p) ? TG_PIRATE_CARRIER : BY_ENVELOPE;
}

uint8_t tg_pirate_choose(const struct tg_pirate_config *c, const struct tg_pkt *p)
{
	bool tcp = p->key.protocol == IPPROTO_TCP;

	/* Fragments between two addresses belong to any number of conversations. ICMP asks nothing
	 * of a service: an echo request's rhythm is its sender's. */
	if ((p->key.flags & TG_KEY_FRAGMENT) || p->key.protocol == IPPROTO_ICMP ||
	    p->key.protocol == IPPROTO_ICMPV6)
		return TG_ESTIMATOR_OFF;
	switch (c->estimator) {
	case TG_ESTIMATOR_AUTO:
		if (!tcp)
			return by_gaps(c, p);
		return p->flags & TG_PKT_TS ? TG_ESTIMATOR_ECHO : TG_ESTIMATOR_ACK;
	case TG_ESTIMATOR_ECHO:
		return tcp ? TG_ESTIMATOR_ECHO : TG_ESTIMATOR_OFF;
	case TG_ESTIMATOR_ACK:
		return tcp ? TG_ESTIMATOR_ACK : TG_ESTIMATOR_OFF;
	case TG_ESTIMATOR_GAP:
		return by_gaps(c, p);
	default:
		return TG_ESTIMATOR_OFF;
	}
}

bool tg_pirate_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		      uint8_t estimator, void *near, void *far, const struct tg_pkt *p,
		      uint64_t arrival, struct tg_sample *out)
{
	if (estimator == TG_ESTIMATOR_ACK)
		return tg_ack_arrive(c, server, near, far, p, arrival, out);
	if (estimator == TG_ESTIMATOR_ECHO)
		return tg_echo_arrive(c, server, near, far, p, arrival, out);
	if (is_envelope(estimator)) {
		tg_envelope_hears(c, near, p->ip_len, arrival);
		return tg_envelope_arrive(c, server, near, far, out);
	}
	if (estimator == TG_ESTIMATOR_GAP)
		return tg_gap_arrive(c, near, far, arrival, out);
	return false;
}

void tg_pirate_depart(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		      uint8_t estimator, void *near, void *far, const struct tg_pkt *p,
		      uint64_t arrival, uint64_t departure)
{
	if (estimator == TG_ESTIMATOR_ACK || estimator == TG_ESTIMATOR_ECHO)
		tg_ack_depart(c, server, near, far, p, arrival, departure);
	else if (is_envelope(estimator))
		tg_envelope_depart(c, near, far, p, arrival);
	else if (estimator == TG_ESTIMATOR_GAP)
		tg_gap_depart(c, near, far, arrival);
}

bool tg_pirate_finish(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		      uint8_t estimator, void *near, void *far, struct tg_sample *out)
{
	if (estimator == TG_ESTIMATOR_ACK)
		return tg_ack_finish(c, near, far, out);
	if (estimator == TG_ESTIMATOR_ECHO)
		return tg_echo_finish(c, server, near, far, out);
	if (is_envelope(estimator))
		return tg_envelope_close(c, server, near, far, out);
	if (estimator == TG_ESTIMATOR_GAP)
		return tg_gap_finish(c, near, far, out);
	return false;
}

bool tg_pirate_opens(const struct tg_pirate_config *c, uint8_t estimator, const void *near,
		     const void *far, const struct tg_pkt *p, uint64_t arrival)
{
	if (estimator == TG_ESTIMATOR_ACK || estimator == TG_ESTIMATOR_ECHO)
		return tg_ack_opens(near, p);
	if (is_envelope(estimator))
		return tg_envelope_opens(c, near, far, p->ip_len, arrival);
	if (estimator == TG_ESTIMATOR_GAP)
		return tg_gap_opens(c, near, arrival);
	return false;
}

uint64_t tg_pirate_held(const struct tg_pirate_config *c, uint8_t estimator, const void *far)
{
	const struct tg_ack_far *f = far;

	return estimator == TG_ESTIMATOR_ACK || estimator == TG_ESTIMATOR_ECHO
		       ? (uint64_t)f->own << c->gap_shift
		       : 0;
}

bool tg_pirate_open(uint8_t estimator, const void *near, const void *far, uint64_t *since)
{
	const struct tg_ack_near *n = near;

	if (is_envelope(estimator))
		return tg_envelope_open(near, far, since);
	if ((estimator != TG_ESTIMATOR_ACK && estimator != TG_ESTIMATOR_ECHO) ||
	    n->state != TG_ACK_REQ)
		return false;
	*since = n->t_req;
	return true;
}

bool tg_pirate_guesses(uint8_t estimator)
{
	return is_envelope(estimator);
}
