/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for state that lives on the packet path: zeroed, from EAL's heap (huge pages, or
 * ordinary ones with --no-huge), on one NUMA node. Set-up and control only, never on the packet
 * path.
 *
 * Thread-safety: callable from any EAL or control thread.
 */
#ifndef TG_MEM_H
#define TG_MEM_H

#include <stddef.h>

/* size bytes aligned to align (a power of two), zeroed, on NUMA node socket (-1: any; a node
 * without memory left falls back to any node). NULL when there is none. */
void *tg_mem_zalloc(const char *what, size_t size, size_t align, int socket);
void tg_mem_free(void *p);

#endif
