/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ack without timestamps: what a client lets pass before it speaks is not the answer's. A part of ack.c;
 * runs once an exchange. What is usual for a flow is told by answers that its next request acknowledged.
 *
 * A client that has nothing to say acknowledges a single segment at once or when its timer ends: 40 ms (Linux),
 * 200 ms (Windows, BSD). An acknowledgement by itself that took four times what is usual, and without
 * such a timer no more than eight times, has the timer in it.
 *
 * Where the next request acknowledges an answer there may be any pause before it. What takes 16 times what
 * is usual is unsure, unless the client is known to acknowledge by itself and not even the longest timer
 * (half a second, RFC 9293 section 3.8.6.3) explains it: then the server took that long.
 *
 * A client that paused for longer than that without a word acknowledges nothing by itself, and may have paused in
 * every exchange (a proxy, a rewritten capture). Until it is seen to speak, what it takes is unsure where it is 64
 * times the handshake, or none was seen.
 *
 * Thread-safety: the flow's lcore.
 */
#ifndef TG_ACK_LATE_H
#define TG_ACK_LATE_H

#include "state.h"

/* out is what the acknowledgement alone says; its latency and interval may be made less, or it unsure. */
void tg_ack_judge(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
		  const struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out);

#endif
