/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_include
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#endif
/* Under AddressSanitizer an object on the free list must not be touched, as if it were freed. */
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at))
#endif

#define A_CHUNK 64u

struct free_object {
	struct free_object *next;
};

struct chunk {
	struct chunk *next;
	size_t bytes;
	_Alignas(max_align_t) unsigned char objects[];
};

void tg_pool_init(struct tg_pool *p, size_t size)
{
	size_t unit = _Alignof(max_align_t);

	*p = (struct tg_pool){.size = (size + unit - 1) / unit * unit};
}

static void grow(struct tg_pool *p)
{
	struct chunk *c = malloc(sizeof(*c) + A_CHUNK * p->size);

	if (c == NULL) {
		fprintf(stderr,
			"tidegate-sim: no memory for more than %llu objects of %zu bytes; lower the "
			"rates, or the number of clients, of the scenario\n",
			(unsigned long long)p->live, p->size);
		exit(EXIT_FAILURE);
	}
	c->next = p->chunks;
	c->bytes = A_CHUNK * p->size;
	p->chunks = c;
	for (unsigned int i = A_CHUNK; i-- > 0;) {
		struct free_object *o = (void *)(c->objects + i * p->size);

		o->next = p->free;
		p->free = o;
		ASAN_POISON_MEMORY_REGION(o, p->size);
	}
}

void *tg_pool_take(struct tg_pool *p)
{
	struct free_object *o;

	if (p->free == NULL)
		grow(p);
	o = p->free;
	ASAN_UNPOISON_MEMORY_REGION(o, p->size);
	p->free = o->next;
	p->live++;
	memset(o, 0, p->size);
	return o;
}

void tg_pool_give(struct tg_pool *p, void *object)
{
	struct free_object *o = object;

	o->next = p->free;
	p->free = o;
	p->live--;
	ASAN_POISON_MEMORY_REGION(o, p->size);
}

void tg_pool_free(struct tg_pool *p)
{
	struct chunk *c = p->chunks;

	while (c != NULL) {
		struct chunk *next = c->next;

		ASAN_UNPOISON_MEMORY_REGION(c->objects, c->bytes);
		free(c);
		c = next;
	}
	tg_pool_init(p, p->size);
}
