/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive: one queue of one port, as one worker polls it, with the arrival rule of tg_gate.h.
 *
 * Thread-safety: the worker's own.
 */
#ifndef TG_RX_H
#define TG_RX_H

#include "port.h"
#include "tg_gate.h"
#include "worker.h"

struct tg_rx {
	bool active; /* this worker polls a queue of the port */
	uint16_t ethdev, queue, port;
	struct tg_arrival arrival;
	const struct tg_port *stamps; /* the port, if it stamps packets; else NULL */
	uint64_t oldest;              /* ticks: TG_STAMP_OLDEST_MS */
	struct tg_stamp_stats stamp;
};

void tg_rx_init(struct tg_rx *rx, const struct tg_port *p, uint16_t port, unsigned int worker,
		const struct tg_clock *clock);

/* Polls once, fills the burst and counts it as received; returns the number of packets. */
uint16_t tg_rx_poll(struct tg_worker *w, struct tg_rx *rx, struct tg_burst *b);

#endif
