/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the frame to its service in one pass: parse, entrance and service for the usual frame, which is most of them.
 * What each stage finds is still in registers for the next one. The stages themselves come after it for
 * what is not usual, and give the same for what is.
 *
 * Thread-safety: the worker's.
 */
#ifndef TG_INGRESS_H
#define TG_INGRESS_H

#include "worker.h"

/*
 * True: every packet of the burst has its parsed header and its service, and is on its way; nothing else could
 * happen to it up to there. False: those that have are TG_AHEAD, which stages pass over, until tg_ingress_join;
 * the others are as they were.
 */
bool tg_ingress_burst(const struct tg_worker *w, struct tg_burst *b);

/* What was ahead is on its way again. */
void tg_ingress_join(struct tg_burst *b);

#endif
