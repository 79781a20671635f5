/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many packet buffers a gateway of a configuration needs, and how large: the sum that the start
 * allocates by and --check judges by.
 *
 * Thread-safety: pure.
 */
#ifndef TG_BUFFERS_H
#define TG_BUFFERS_H

#include "tg_config.h"

#define TG_NODES_MAX        8u   /* pools */
#define TG_INBOX_SIZE       4096 /* handed over to a worker */
#define TG_CONTROL_OUT_SIZE 1024
#define TG_BUFFER_CACHE     256 /* of each lcore */

/* Room for the largest frame of any port in one buffer: the stages read no chains on receive. Bytes,
 * headroom included. */
uint16_t tg_buffer_size(const struct tg_config *c);

/* Buffers for every ring, list and burst that can hold one: of a pool, one a NUMA node. */
unsigned int tg_buffers_wanted(const struct tg_config *c, unsigned int n_workers);

/* What so many take, MiB. */
unsigned int tg_buffers_mib(const struct tg_config *c, unsigned int n);

#endif
