/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages, in order:
 *
 *	rx -> parse -> entrance -> neigh -> service -> owner -> flow -> admit -+-> pirate ----------+-> encap -> gate -> tx
 *	                                                                +-> select (new flow) -+
 *
 * tg_pipeline_run is everything between rx and gate. The driver of the loop (port/ in the gateway,
 * capture/ offline, the bench) fills a burst, runs it, sends what is still TG_FORWARD through the
 * gate, tells the pipeline what left (tg_pipeline_departed) and has the rest counted and freed
 * (tg_pipeline_finish).
 *
 * Filling a burst: n, port, now, mbuf[], arrival[], wire_len[], verdict[] = TG_FORWARD, and
 * server[] = TG_NO_SERVER, or the id of the server that the packet is known to go to (offline).
 */
#ifndef TG_PIPELINE_H
#define TG_PIPELINE_H

#include "worker.h"

void tg_pipeline_run(struct tg_worker *w, struct tg_burst *b);

/* A burst of packets that another worker handed over: parsed again, from service on. */
void tg_pipeline_run_handed(struct tg_worker *w, struct tg_burst *b);

/* A connection whose server was found elsewhere (auction/auction.c): its entry, made or taken over from an older
 * connection of the same ports, as if its SYN had come and left at `departed`. False: there is no room. */
bool tg_pipeline_settle(struct tg_worker *w, const struct tg_pkt *syn, uint64_t hash,
			uint16_t server, uint64_t departed);

/* A burst of packets that waited for tokens and have them: from service on. b->now is the time of the poll
 * that found them. */
void tg_pipeline_run_released(struct tg_worker *w, struct tg_burst *b);

/* A packet of flow f (NULL: none) that was polled at `polled` (b->now then) was accepted by the driver
 * at `departure` (or would have been, where nothing is sent): counts it for its server, and its
 * exchange opens. */
void tg_pipeline_departed(struct tg_worker *w, struct tg_flow *f, const struct tg_pkt *p,
			  uint16_t server, uint32_t bytes, uint64_t polled, uint64_t departure);

/* The same for packets left[0..n) of a burst, of bytes[0..n), in the turn that polled them: their entries
 * are those that the flow stage found or made. */
void tg_pipeline_departed_burst(struct tg_worker *w, struct tg_burst *b, const uint8_t *left,
				const uint32_t *bytes, unsigned int n, uint64_t departure);

/* Counts packets that are TG_DROP by reason and frees them. The one place that frees. */
void tg_pipeline_finish(struct tg_worker *w, struct tg_burst *b);

/* Ageing, one small step: `buckets` buckets of the flow table. */
void tg_pipeline_age(struct tg_worker *w, uint64_t now, unsigned int buckets);

/* Ends every flow (offline, at the end of the capture): what can be measured still is. */
void tg_pipeline_end(struct tg_worker *w);

#endif
