/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * services[].mss_clamp: the segment sizes that SYNs tell are lowered to what fits through the encapsulation.
 * A client's SYN bounds what servers send to it; the SYN-ACK, which bounds what the client sends, passes here
 * only in services that take bids.
 *
 * Thread-safety: a worker's own.
 */
#ifndef TG_CLAMP_H
#define TG_CLAMP_H

#include "worker.h"

void tg_clamp_burst(struct tg_worker *w, struct tg_burst *b);

#endif
