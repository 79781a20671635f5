/* SPDX-License-Identifier: BSD-3-Clause */
#include "private.h"

void tg_neigh_input(struct tg_neigh_table *t, const struct tg_neigh_local *l,
		    const struct tg_clock *clock, struct tg_bucket *ping, struct tg_burst *b)
{
	if (b->port >= l->n_ports)
		return;
	for (unsigned int i = 0; i < b->n; i++) {
		uint16_t flags = b->pkt[i].flags;

		if (!(flags & (TG_PKT_ARP | TG_PKT_ND | TG_PKT_PING)) ||
		    b->verdict[i] != TG_FORWARD)
			continue;
		if (flags & TG_PKT_ARP)
			neigh_arp(t, l, b, i);
		else if (flags & TG_PKT_ND)
			neigh_nd(t, l, b, i);
		else
			neigh_ping(l, clock, ping, b, i);
	}
}
