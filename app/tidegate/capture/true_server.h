/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which server a packet really went to, where a capture or a mirror port is behind a balancer:
 * the outer destination address (IP in IP, GRE), or the destination MAC, if it is a configured server's.
 *
 * Thread-safety: immutable once built. Bounded by the configuration.
 */
#ifndef TG_TRUE_SERVER_H
#define TG_TRUE_SERVER_H

#include <stdint.h>

#include "snapshot.h"

struct tg_true_servers;

/** Servers of a snapshot by address and MAC; NULL without memory. */
struct tg_true_servers *tg_true_servers_create(const struct tg_snapshot *s);
void tg_true_servers_free(struct tg_true_servers *t);

/**
 * The server of one Ethernet frame of *length captured and *wire_len real bytes. An outer IP header
 * addressed to a server, and GRE behind it, is taken off in place, so that the pipeline sees what its clients sent.
 *
 * @return a server id, or TG_NO_SERVER if the capture does not tell
 */
uint16_t tg_true_server(const struct tg_true_servers *t, uint8_t *frame, uint32_t *length,
			uint32_t *wire_len);

/** The same for every packet of a burst, server[] filled in. What lies in several buffers is not told. */
void tg_true_servers_burst(const struct tg_true_servers *t, struct tg_burst *b);

#endif
