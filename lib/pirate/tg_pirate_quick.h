/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tg_pirate's calls a packet, in line for the packet path: a TCP flow's, of which most there are few instructions
 * long, without a call and its seven values. The same code as behind tg_pirate.h, which says what they do.
 *
 * Thread-safety: the flow's lcore.
 */
#ifndef TG_PIRATE_QUICK_H
#define TG_PIRATE_QUICK_H

#include "ack.h"

TG_ALWAYS bool tg_pirate_arrive_quick(const struct tg_pirate_config *c,
				      struct tg_pirate_server *server, uint8_t estimator,
				      void *near, void *far, const struct tg_pkt *p,
				      uint64_t arrival, struct tg_sample *out)
{
	if (estimator == TG_ESTIMATOR_ECHO)
		return ack_arrives(c, server, near, far, p, arrival, out, true);
	return tg_pirate_arrive(c, server, estimator, near, far, p, arrival, out);
}

TG_ALWAYS void tg_pirate_depart_quick(const struct tg_pirate_config *c,
				      struct tg_pirate_server *server, uint8_t estimator,
				      void *near, void *far, const struct tg_pkt *p,
				      uint64_t arrival, uint64_t departure)
{
	if (estimator == TG_ESTIMATOR_ECHO || estimator == TG_ESTIMATOR_ACK)
		ack_departs(c, server, near, far, p, arrival, departure);
	else
		tg_pirate_depart(c, server, estimator, near, far, p, arrival, departure);
}

/* Has tg_pirate_depart nothing to do for a packet that is neither SYN nor RST and has no payload? As its flow stands when
 * it has arrived: only a SYN that departs in between changes that. */
TG_ALWAYS bool tg_pirate_steady_quick(uint8_t estimator, const void *near)
{
	const struct tg_ack_near *n = near;

	return estimator == TG_ESTIMATOR_ECHO && n->seq_known && !n->handshake;
}

TG_ALWAYS bool tg_pirate_open_quick(uint8_t estimator, const void *near, const void *far,
				    uint64_t *since)
{
	const struct tg_ack_near *n = near;

	if (estimator != TG_ESTIMATOR_ECHO && estimator != TG_ESTIMATOR_ACK)
		return tg_pirate_open(estimator, near, far, since);
	if (n->state != TG_ACK_REQ)
		return false;
	*since = n->t_req;
	return true;
}

#endif
