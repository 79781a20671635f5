/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which worker owns a flow. A port with receive side scaling decides by its Toeplitz hash and its
 * indirection table, computed in software for packets whose hash the port did not give; without
 * it our own keyed hash decides. Packets that arrived elsewhere cross by ring.
 *
 * Thread-safety: rings are multi-producer, single-consumer; everything else is the worker's.
 */
#ifndef TG_OWNER_H
#define TG_OWNER_H

#include "worker.h"

/* Index of the worker that owns packet p, which arrived on port with the given RSS hash
 * (has_rss: the port computed it). hash: keyed hash of p's flow key. */
unsigned int tg_owner_of(const struct tg_port *port, unsigned int n_workers, const struct tg_pkt *p,
			 bool has_rss, uint32_t rss, uint64_t hash);

/* Packets of the burst that other workers own go to their rings (TG_TAKEN), or are dropped as
 * handover_full. */
void tg_owner_hand_over(struct tg_worker *w, struct tg_burst *b);

/* Fills the burst with packets that were handed to this worker; returns their number. */
uint16_t tg_owner_take(struct tg_worker *w, struct tg_burst *b, uint64_t now);

/* Frees and counts what no worker took any more; after all have ended. */
void tg_owner_discard(struct tg_worker *w);

/* Registers the mbuf field that carries the arrival across. Once, before the first worker. */
int tg_owner_init(void);

#endif
