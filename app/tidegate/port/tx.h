/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmit: the gate, then rte_eth_tx_burst, with nothing between. What the driver refuses waits
 * in a short list and passes the gate again before each retry.
 *
 * Thread-safety: one worker, one queue of the port.
 */
#ifndef TG_TX_H
#define TG_TX_H

#include "pipeline.h"

#define TG_TX_WAITING 256 /* packets the driver refused */

/* A packet at the gate, and what must be known when it has left. */
struct tg_tx_item {
	struct tg_gate_item gate;
	struct tg_flow *flow;
	uint16_t server;
	struct tg_pkt pkt;
};

struct tg_tx {
	uint16_t ethdev, queue;
	uint16_t n; /* waiting, oldest first */
	/* a bond sends its LACP frames from within rte_eth_tx_burst: that is called when nothing is to
	 * be sent too, by one worker */
	bool keeps_bond;
	struct tg_gate_wire wire;
	struct tg_tx_item waiting[TG_TX_WAITING];
};

void tg_tx_init(struct tg_tx *tx, const struct tg_port *p, unsigned int worker,
		const struct tg_clock *clock);

/* Sends what of the burst is TG_FORWARD or TG_REPLY. Packets that are late, or do not fit the
 * waiting list, become TG_DROP; in shadow mode all of them, as `shadow`. */
void tg_tx_burst(struct tg_worker *w, struct tg_burst *b);

/* Once a turn: retries what waits on every port, and gives bonds their turn. */
void tg_tx_retry(struct tg_worker *w);

/* Sends frames of our own (control's requests): mbuf->port is the port's index. What the drivers refuse stays the
 * caller's: moved to the front of frames, their number is returned. */
uint16_t tg_tx_own(struct tg_worker *w, struct rte_mbuf **frames, uint16_t n);

/* Frees what waits; returns how many. */
unsigned int tg_tx_discard(struct tg_worker *w);

#endif
