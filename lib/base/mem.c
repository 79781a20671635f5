/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_malloc.h>
#include <rte_memory.h>

#include "tg_mem.h"

void *tg_mem_zalloc(const char *what, size_t size, size_t align, int socket)
{
	void *p = rte_zmalloc_socket(what, size, (unsigned int)align, socket);

	if (p == NULL && socket != SOCKET_ID_ANY)
		p = rte_zmalloc_socket(what, size, (unsigned int)align, SOCKET_ID_ANY);
	return p;
}

void tg_mem_free(void *p)
{
	rte_free(p);
}
