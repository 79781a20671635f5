/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The services of a capture, found by reading it once: the same structure that a configuration
 * file fills, with one service for each (address, protocol, port) that something was sent to, one
 * server each (the address itself), forward l2, no gate.
 *
 * Bounded: what does not fit the tables is counted. Of too many services those with the most
 * packets are kept.
 *
 * Thread-safety: one thread. Allocates and reads files: not for a packet path.
 */
#ifndef TG_DISCOVER_H
#define TG_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"
#include "conversation.h"
#include "progress.h"
#include "tg_config.h"

struct tg_discovery {
	struct tg_config *config; /**< owned until somebody takes it and sets NULL */
	struct tg_conversations *conversations;
	enum tg_found *found; /**< by index of service in config */
	uint64_t left_out;    /**< services that did not fit the configuration */
	uint64_t tables_full; /**< packets and conversations that did not fit the tables */
	unsigned int n_services;
};

/**
 * Read all of `cap` and find its services.
 *
 * A capture that is damaged is read up to the fault; the caller sees that in `cap`.
 *
 * @param stop   looked at now and then; true ends the reading early. NULL: none
 * @return 0 or -ENOMEM
 */
int tg_discover(struct tg_capture *cap, struct tg_progress *progress, const volatile bool *stop,
		struct tg_discovery *out);

void tg_discovery_free(struct tg_discovery *d);

#endif
