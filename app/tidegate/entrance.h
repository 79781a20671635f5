/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a router checks before it forwards (RFC 1812 sections 5.2.2, 5.3.7), inline only: a capture or
 * a mirror port is read as it is.
 *
 * Thread-safety: the worker's.
 */
#ifndef TG_ENTRANCE_H
#define TG_ENTRANCE_H

#include "worker.h"

/* Drops frames for other stations (not_ours), multicast that is neither ARP nor ND (multicast),
 * source addresses that no single host has (bad_source), and IPv4 headers whose checksum is wrong
 * (ip_checksum). */
void tg_entrance(const struct tg_worker *w, struct tg_burst *b);

#endif
