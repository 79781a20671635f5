/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tg_mem.h"

#define LARGE (UINT64_C(2) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; glibc knows it from 2.36 on */
#endif

/*
 * Huge pages are all there once EAL has them. Ordinary ones come with the first write to each, in a
 * large table in any order and one fault a packet: all of them now, in one call. A kernel that
 * cannot do it says so, and they come as before.
 */
static void populate(void *p, size_t size)
{
	uintptr_t page = (uintptr_t)getpagesize(), from, to;

	if (size < LARGE || rte_eal_has_hugepages())
		return;
	from = ((uintptr_t)p + page - 1) & ~(page - 1);
	to = ((uintptr_t)p + size) & ~(page - 1);
	madvise((void *)from, to - from, MADV_HUGEPAGE); /* where memory is anonymous */
	madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

void *tg_mem_zalloc(const char *what, size_t size, size_t align, int socket)
{
	void *p = rte_zmalloc_socket(what, size, (unsigned int)align, socket);

	if (p == NULL && socket != SOCKET_ID_ANY)
		p = rte_zmalloc_socket(what, size, (unsigned int)align, SOCKET_ID_ANY);
	if (p != NULL)
		populate(p, size);
	return p;
}

void tg_mem_free(void *p)
{
	rte_free(p);
}
