/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses are ours: open addressing, at most half full, never changed once built. */
#include <errno.h>

#include "private.h"
#include "tg_mem.h"

/* The place of (address, port), or the free one where it belongs. */
static struct neigh_place *place_of(struct tg_neigh_local *l, const struct tg_neigh_address *a)
{
	for (uint32_t h = neigh_hash(&a->address);; h++) {
		struct neigh_place *p = &l->place[h & l->mask];

		if (p->flags == 0 || (p->port == a->port && tg_addr_eq(&p->address, &a->address)))
			return p;
	}
}

int tg_neigh_local_create(const struct tg_neigh_address *addresses, unsigned int n,
			  const struct tg_neigh_port *ports, unsigned int n_ports, int socket,
			  struct tg_neigh_local **out)
{
	uint32_t places = rte_align32pow2(2 * n + 2);
	size_t size = sizeof(struct tg_neigh_local) + places * sizeof(struct neigh_place);
	struct tg_neigh_local *l;

	l = tg_mem_zalloc("tg_neigh_local", size + n_ports * sizeof(*ports), RTE_CACHE_LINE_SIZE,
			  socket);
	if (l == NULL)
		return -ENOMEM;
	l->n_ports = n_ports;
	l->mask = places - 1;
	l->ports = (struct tg_neigh_port *)&l->place[places];
	if (n_ports > 0)
		memcpy(l->ports, ports, n_ports * sizeof(*ports));
	for (unsigned int i = 0; i < n; i++) {
		const struct tg_neigh_address *a = &addresses[i];
		struct neigh_place *p = place_of(l, a);

		p->address = a->address;
		p->port = a->port;
		p->flags |= !a->vip || a->ping ? NEIGH_OURS | NEIGH_PING : NEIGH_OURS;
	}
	*out = l;
	return 0;
}

void tg_neigh_local_free(struct tg_neigh_local *l)
{
	tg_mem_free(l);
}

unsigned int neigh_local_flags(const struct tg_neigh_local *l, const struct tg_addr *a,
			       uint16_t port)
{
	unsigned int flags = 0;

	for (uint32_t h = neigh_hash(a);; h++) {
		const struct neigh_place *p = &l->place[h & l->mask];

		if (p->flags == 0)
			return flags;
		if ((p->port == port || p->port == TG_NEIGH_ANY_PORT) && tg_addr_eq(&p->address, a))
			flags |= p->flags;
	}
}

bool tg_neigh_is_local(const struct tg_neigh_local *l, const struct tg_addr *a, uint16_t port)
{
	return neigh_local_flags(l, a, port) != 0;
}
