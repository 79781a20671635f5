/* SPDX-License-Identifier: BSD-3-Clause */
/* Source ports. Each address takes them in turn, so one rests as long as there are others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client_group.h"

#define FIRST 1024u
#define PORTS (65536u - FIRST)

int tg_ports_init(struct tg_ports *p, uint32_t addresses, struct tg_random *from)
{
	*p = (struct tg_ports){.mask = 63};
	p->bucket = calloc(p->mask + 1, sizeof(struct tg_connection *));
	p->next = calloc(addresses, sizeof(*p->next));
	if (p->bucket == NULL || p->next == NULL) {
		tg_ports_free(p);
		return -ENOMEM;
	}
	/* Hosts do not all begin with the same, nor does one in every replication: where a hash of the
	 * addresses and ports places flows, its luck is a part of what replications differ in. */
	for (uint32_t i = 0; i < addresses; i++)
		p->next[i] = (uint16_t)tg_random_below(from, PORTS);
	return 0;
}

void tg_ports_free(struct tg_ports *p)
{
	free(p->bucket);
	free(p->next);
	p->bucket = NULL;
	p->next = NULL;
}

static struct tg_connection **bucket(const struct tg_ports *p, uint32_t address, uint16_t port)
{
	uint64_t h = ((uint64_t)address << 16 | port) * UINT64_C(0x9e3779b97f4a7c15);

	return &p->bucket[(h >> 40) & p->mask];
}

static bool in_use(const struct tg_ports *p, uint32_t address, uint16_t port)
{
	const struct tg_connection *c = *bucket(p, address, port);

	while (c != NULL && (c->client_index != address || c->client_port != port))
		c = c->same_hash;
	return c != NULL;
}

uint16_t tg_ports_next(struct tg_ports *p, uint32_t address)
{
	for (uint32_t tried = 0; tried < PORTS; tried++) {
		uint16_t port = (uint16_t)(FIRST + p->next[address]);

		p->next[address] = (uint16_t)((p->next[address] + 1u) % PORTS);
		if (!in_use(p, address, port))
			return port;
	}
	return 0;
}

static void put(struct tg_ports *p, struct tg_connection *c)
{
	struct tg_connection **at = bucket(p, c->client_index, c->client_port);

	c->same_hash = *at;
	*at = c;
}

static void grow(struct tg_ports *p)
{
	struct tg_connection **old = p->bucket;
	uint32_t n = p->mask + 1;

	if (n > UINT32_C(1) << 23) /* as fine as the hash: chains grow from here on */
		return;
	p->bucket = calloc((size_t)n * 2, sizeof(struct tg_connection *));
	if (p->bucket == NULL) { /* longer chains are slower, and still right */
		p->bucket = old;
		return;
	}
	p->mask = n * 2 - 1;
	for (uint32_t i = 0; i < n; i++) {
		for (struct tg_connection *c = old[i], *next; c != NULL; c = next) {
			next = c->same_hash;
			put(p, c);
		}
	}
	free(old);
}

void tg_ports_add(struct tg_ports *p, struct tg_connection *c)
{
	if (p->used > p->mask)
		grow(p);
	put(p, c);
	p->used++;
}

void tg_ports_remove(struct tg_ports *p, struct tg_connection *c)
{
	struct tg_connection **at = bucket(p, c->client_index, c->client_port);

	while (*at != c)
		at = &(*at)->same_hash;
	*at = c->same_hash;
	p->used--;
}
