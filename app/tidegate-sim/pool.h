/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of one size from chunks, by a free list: what ended is used again, so memory follows what
 * is alive at the worst moment, and all of it goes at once with the pool.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_POOL_H
#define TG_POOL_H

#include <stddef.h>
#include <stdint.h>

struct tg_pool {
	void *free, *chunks;
	size_t size;   /* bytes of an object */
	uint64_t live; /* taken and not given back */
};

void tg_pool_init(struct tg_pool *p, size_t size);
/* Zeroed. Ends the process with a sentence without memory. */
void *tg_pool_take(struct tg_pool *p);
void tg_pool_give(struct tg_pool *p, void *object);
/* Frees every object, given back or not. */
void tg_pool_free(struct tg_pool *p);

#endif
