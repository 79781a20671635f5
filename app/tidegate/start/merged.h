/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the kernel merge what an interface receives (generic or large receive offload) before a port that reads from that
 * interface sees it? Merged segments are measured as one and do not fit onwards.
 *
 * Thread-safety: main thread. Writes at most `room` bytes; returns whether there is something to say. What cannot be
 * asked (no such interface, no socket) is not said.
 * Source: linux/ethtool.h, ETHTOOL_GGRO and ETHTOOL_GFLAGS.
 */
#ifndef TG_MERGED_H
#define TG_MERGED_H

#include <stdbool.h>
#include <stddef.h>

bool tg_merged_sentence(const char *port, unsigned int if_index, char *text, size_t room);

#endif
