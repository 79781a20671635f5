/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fragments follow their first one. Only the first fragment of a datagram has ports; they are remembered
 * under (source, destination, identification, protocol), and each later fragment gets them: from there on
 * it is a packet of that flow, found by the same key, and goes to the same server. Protocols without ports
 * need no memory: their fragments have the flow's key as they are.
 *
 * A later fragment that comes before its first one, or whose first one is forgotten, keeps
 * TG_KEY_FRAGMENT, by which the service stage drops it as `fragment` if it is for a service.
 *
 * The table: one a worker, FRAGMENT_BUCKETS buckets of four, keyed hash (an attacker chooses identifications),
 * forgotten after FRAGMENT_LIFE_S; a full bucket gives up its oldest. Where several workers share the load the
 * first fragment goes to its flow's owner, and both remember it, so that the later ones find their way
 * after it by the same ring, in order.
 *
 * Thread-safety: the worker's. Sources: RFC 791 section 3.2, RFC 8200 section 4.5.
 */
#ifndef TG_FRAGMENTS_H
#define TG_FRAGMENTS_H

#include "worker.h"

#define TG_FRAGMENT_BUCKETS 1024
#define TG_FRAGMENT_WAYS    4
#define TG_FRAGMENT_LIFE_S  5

struct tg_fragments;

/* NULL without memory. */
struct tg_fragments *tg_fragments_create(int socket);
void tg_fragments_free(struct tg_fragments *t);

/* The burst has fragments (tg_burst.fragments): gives them the keys of their flows. */
void tg_fragments_burst(struct tg_worker *w, struct tg_burst *b);

#endif
