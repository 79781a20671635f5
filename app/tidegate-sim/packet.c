/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "connection.h"
#include "pool.h"
#include "sim.h"

/* What s->free_packets leads to: a packet that is never handed out, and the pool behind it. */
struct packets {
	struct tg_sim_packet anchor;
	struct tg_pool pool;
};

static struct packets *packets_of(const struct tg_sim *s)
{
	return (struct packets *)(void *)s->free_packets;
}

static void make_packets(struct tg_sim *s)
{
	struct packets *k = calloc(1, sizeof(*k));

	if (k == NULL) {
		fprintf(stderr, "tidegate-sim: no memory for the first packet; free some\n");
		exit(EXIT_FAILURE);
	}
	tg_pool_init(&k->pool, sizeof(struct tg_sim_packet));
	s->free_packets = &k->anchor;
}

struct tg_sim_packet *tg_sim_packet_new(struct tg_sim *s, struct tg_connection *c)
{
	struct tg_sim_packet *p;

	if (s->free_packets == NULL)
		make_packets(s);
	p = tg_pool_take(&packets_of(s)->pool);
	p->connection = c;
	tg_connection_ref(c);
	s->packets++;
	s->in_flight++;
	return p;
}

void tg_sim_packet_free(struct tg_sim *s, struct tg_sim_packet *p)
{
	struct tg_connection *c = p->connection;

	tg_event_cancel(s->events, &p->event);
	tg_pool_give(&packets_of(s)->pool, p);
	s->in_flight--;
	tg_connection_unref(c);
}

void tg_sim_packets_free(struct tg_sim *s)
{
	if (s->free_packets == NULL)
		return;
	tg_pool_free(&packets_of(s)->pool);
	free(packets_of(s));
	s->free_packets = NULL;
	s->in_flight = 0;
}
