/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP's numbers as ack and echo read them: how far one is ahead of another, modulo 2^32, and what payload is new.
 * A part of ack.h.
 *
 * Thread-safety: the flow's lcore.
 */
#ifndef TG_PIRATE_ACK_NUMBER_H
#define TG_PIRATE_ACK_NUMBER_H

#include "state.h"

#define WINDOW_MAX (1u << 30)

enum step { STEP_NONE, STEP_AHEAD, STEP_WILD };

static inline enum step step_of(uint32_t from, uint32_t to)
{
	uint32_t d = to - from;

	if (d - 1 < WINDOW_MAX)
		return STEP_AHEAD;
	return 0 - d <= WINDOW_MAX ? STEP_NONE : STEP_WILD;
}

/* Keep-alive (RFC 9293 section 3.8.4) and zero-window probes repeat the byte before seq_end. */
static inline bool is_probe(const struct tg_ack_near *n, const struct tg_pkt *p)
{
	return p->seq + 1 == n->seq_end && p->payload_len <= 1 && n->seq_known;
}

static inline bool is_new_payload(const struct tg_ack_near *n, const struct tg_pkt *p)
{
	return p->payload_len > 0 && n->seq_known &&
	       step_of(n->seq_end, p->seq + p->payload_len) == STEP_AHEAD;
}

#endif
