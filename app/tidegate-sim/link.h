/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One direction of a link. A packet waits its turn (first come, first served) where there is a
 * rate, is sent in its bytes' time, and arrives after delay and jitter. What the queue has no room
 * for is dropped; what is lost was sent: it took its turn as any other. At any time
 *
 *	sent = dropped + lost + delivered + on the way
 *
 * Order is kept: a packet with little jitter waits for those before it. The share `reorder` is
 * exempt: such a packet comes early and passes whom it can; the others keep order among
 * themselves. Packets that arrive in the same nanosecond do so in the order they were sent.
 *
 * Losses follow Gilbert's chain ("Capacity of a burst-noise channel", BSTJ 1960) with all lost in
 * its bad state: a share `loss` in runs of `burst_loss` packets on average. Runs shorter than
 * chance makes them, 1/(1 - loss), are as long as chance makes them: independent losses.
 *
 * Each packet draws as many random numbers as the parameters ask for, whatever becomes of it, so
 * the n-th packet meets the same luck in two runs.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_SIM_LINK_H
#define TG_SIM_LINK_H

#include "packet.h"
#include "random.h"

struct tg_link_params {
	double delay_us;          /* >= 0 */
	struct tg_dist jitter_us; /* added to the delay; constant 0: none */
	double rate_mbps;         /* 0: no limit, and no queue */
	uint32_t queue_packets; /* that may wait beside the one being sent, where there is a rate */
	double loss;            /* 0..1 */
	double burst_loss;      /* mean packets lost in a row, >= 1; 1: independent losses */
	double reorder;         /* 0..1, share that may overtake */
	double reorder_us;      /* by how much such a packet is early; never before it was sent */
};

struct tg_link {
	const struct tg_link_params *params;
	struct tg_random random;
	uint32_t place; /* in a jitter trace */
	/* when the last packet will have been sent; latest arrival of those that keep order */
	uint64_t free_at, last_arrival;
	double ns_per_byte, fraction;  /* of a nanosecond, owed to free_at: no rate is rounded */
	double enter_loss, leave_loss; /* chances of the chain, a packet */
	bool losing;
	uint32_t queued; /* wait or are being sent; brought up to date by packets that come and arrive */
	struct tg_sim_packet *head, *tail; /* the queued ones, where there is a rate */
	/* packets, since the start; bytes of those that were sent (not dropped) */
	uint64_t sent, lost, dropped, delivered, bytes;
};

/* The parameters stay the caller's and must live as long. purpose, index: tg_random_init. */
void tg_link_init(struct tg_link *l, const struct tg_link_params *p, uint64_t seed,
		  uint64_t replication, const char *purpose, uint64_t index);
/* Takes the packet, now. It is handed to `arrives` with its own event when it arrives, or is freed and
 * counted. wire_bytes: with all headers and what a packet costs beside them (preamble, gap). */
void tg_link_send(struct tg_sim *s, struct tg_link *l, struct tg_sim_packet *p, uint32_t wire_bytes,
		  void (*arrives)(struct tg_event *e, uint64_t now));

#endif
