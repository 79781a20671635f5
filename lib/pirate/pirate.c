/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One interface over the estimators: which one a flow gets, and the way to it.
 */
#include <netinet/in.h>

#include "log2.h"
#include "state.h"

struct tg_pirate_config tg_pirate_compile(const struct tg_pirate_params *params,
					  const struct tg_clock *clock)
{
	struct tg_pirate_config c = {
		.clock = *clock,
		.longest = tg_s_to_ticks(clock, TG_PIRATE_LONGEST_S),
		.estimator = (uint8_t)params->estimator,
		.gap_rule = (uint8_t)params->gap_rule,
	};
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(c.longest);

	/* one octave to spare: an unused bucket is further from every gap than any used one may be */
	c.gap_shift = (uint8_t)(bits < TG_LOG2_OCTAVES ? 0 : bits + 1 - TG_LOG2_OCTAVES);
	return c;
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
		return tcp ? TG_ESTIMATOR_ACK : TG_ESTIMATOR_GAP;
	case TG_ESTIMATOR_ACK:
		return tcp ? TG_ESTIMATOR_ACK : TG_ESTIMATOR_OFF;
	case TG_ESTIMATOR_GAP:
		return TG_ESTIMATOR_GAP;
	default:
		return TG_ESTIMATOR_OFF;
	}
}

bool tg_pirate_arrive(const struct tg_pirate_config *c, uint8_t estimator, void *near, void *far,
		      const struct tg_pkt *p, uint64_t arrival, struct tg_sample *out)
{
	if (estimator == TG_ESTIMATOR_ACK)
		return tg_ack_arrive(c, near, far, p, arrival, out);
	if (estimator == TG_ESTIMATOR_GAP)
		return tg_gap_arrive(c, near, far, arrival, out);
	return false;
}

void tg_pirate_depart(const struct tg_pirate_config *c, uint8_t estimator, void *near, void *far,
		      const struct tg_pkt *p, uint64_t arrival, uint64_t departure)
{
	if (estimator == TG_ESTIMATOR_ACK)
		tg_ack_depart(c, near, far, p, arrival, departure);
	else if (estimator == TG_ESTIMATOR_GAP)
		tg_gap_depart(c, near, far, arrival);
}

bool tg_pirate_finish(const struct tg_pirate_config *c, uint8_t estimator, void *near, void *far,
		      struct tg_sample *out)
{
	if (estimator == TG_ESTIMATOR_ACK)
		return tg_ack_finish(near, far, out);
	if (estimator == TG_ESTIMATOR_GAP)
		return tg_gap_finish(c, near, far, out);
	return false;
}

bool tg_pirate_open(uint8_t estimator, const void *near, const void *far, uint64_t *since)
{
	const struct tg_ack_near *n = near;

	(void)far;
	if (estimator != TG_ESTIMATOR_ACK || n->state != TG_ACK_REQ)
		return false;
	*since = n->t_req;
	return true;
}
