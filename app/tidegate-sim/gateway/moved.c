/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of the connections whose gateway goes: how many there are, and how many of them are at
 * a server that a gateway which does not know them would find. So what a restart or an ECMP rehash
 * costs is known to the last connection before it happens.
 */
#include <netinet/in.h>

#include "client_group.h"
#include "end.h"
#include "gateway/private.h"
#include "tg_select.h"

/* The server's end of an open connection; NULL: there is none. */
static const struct tg_end *server_end(const struct tg_connection *c)
{
	const struct tg_end *e = c->server_ends;

	if (c->closed || c->traffic != TG_TRAFFIC_TCP || !tg_tcp_connected(c->client_end))
		return NULL;
	while (e != NULL && e->state != TG_END_OPEN)
		e = e->next;
	return e;
}

static void count(struct tg_sim_gateway *g, struct tg_group *group, const struct tg_connection *c)
{
	const struct tg_snapshot *s = g->gateway.snapshot;
	const struct tg_frame_path *path = &g->path[c->group];
	const struct tg_end *e = server_end(c);
	struct tg_key key = {.protocol = path->protocol};
	uint16_t candidate[TG_SELECT_CANDIDATES];
	unsigned int n;

	if (e == NULL || tg_network_gateway(g->sim, c) != g)
		return;
	group->counts.moved++;
	key.client = tg_sim_client_address(&path->client, c->client_index + 1);
	key.client_port = htons(c->client_port);
	key.service_port = htons(path->service_port);
	n = tg_select_candidates(s->group[c->service], tg_select_flow_hash(&key), candidate,
				 TG_SELECT_CANDIDATES);
	for (unsigned int i = 0; i < n; i++) {
		if (tg_sim_station_of(g, s->server[candidate[i]])->index != e->server)
			continue;
		group->counts.moved_first += i == 0;
		group->counts.moved_named++;
	}
}

void tg_sim_moved(struct tg_sim_gateway *g)
{
	for (uint32_t i = 0; i < g->sim->scenario->n_groups; i++) {
		struct tg_group *group = g->sim->group[i];

		for (uint32_t b = 0; b <= group->ports.mask; b++)
			for (const struct tg_connection *c = group->ports.bucket[b]; c != NULL;
			     c = c->same_hash)
				count(g, group, c);
	}
}
