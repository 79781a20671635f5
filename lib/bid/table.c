/* SPDX-License-Identifier: BSD-3-Clause */
/* Auctions by key, and in lists by state. */
#include <errno.h>

#include "private.h"
#include "tg_mem.h"

static struct tg_auction *at(struct tg_bid_table *t, uint32_t link)
{
	return link == 0 ? NULL : &t->auction[link - 1];
}

static uint32_t link_of(const struct tg_bid_table *t, const struct tg_auction *a)
{
	return (uint32_t)(a - t->auction) + 1;
}

static void leave(struct tg_bid_table *t, struct tg_auction *a)
{
	struct tg_auction_list *l = &t->list[a->state];

	*(a->prev == 0 ? &l->first : &at(t, a->prev)->next) = a->next;
	*(a->next == 0 ? &l->last : &at(t, a->next)->prev) = a->prev;
}

/* Behind everyone who is due no later: from the end, where it belongs as a rule. */
static void join(struct tg_bid_table *t, struct tg_auction *a, enum tg_auction_state to)
{
	struct tg_auction_list *l = &t->list[to];
	bool sorted = to == TG_AUCTION_OPEN || to == TG_AUCTION_WAITING;
	uint32_t before = l->last;

	while (sorted && before != 0 && at(t, before)->deadline > a->deadline)
		before = at(t, before)->prev;
	a->prev = before;
	a->next = before == 0 ? l->first : at(t, before)->next;
	*(before == 0 ? &l->first : &at(t, before)->next) = link_of(t, a);
	*(a->next == 0 ? &l->last : &at(t, a->next)->prev) = link_of(t, a);
	a->state = (uint8_t)to;
}

void tg_auction_move(struct tg_bid_table *t, struct tg_auction *a, enum tg_auction_state to)
{
	leave(t, a);
	join(t, a, to);
}

static uint32_t *bucket_of(struct tg_bid_table *t, uint64_t hash)
{
	return &t->bucket[hash & (TG_BID_BUCKETS - 1)];
}

struct tg_auction *tg_bid_find(struct tg_bid_table *t, const struct tg_key *key, uint64_t hash)
{
	struct tg_auction *a = at(t, *bucket_of(t, hash));

	while (a != NULL && !tg_key_eq(&a->syn.key, key))
		a = at(t, a->chain);
	return a;
}

void tg_bid_forget(struct tg_bid_table *t, struct tg_auction *a)
{
	uint32_t *link = bucket_of(t, a->hash);

	while (*link != link_of(t, a))
		link = &at(t, *link)->chain;
	*link = a->chain;
	if (a->state != TG_AUCTION_CLOSED)
		t->services[a->syn.key.service].open--;
	tg_auction_move(t, a, TG_AUCTION_FREE);
}

struct tg_auction *tg_auction_new(struct tg_bid_table *t, const struct tg_key *key, uint64_t hash)
{
	struct tg_auction *a = at(t, t->list[TG_AUCTION_FREE].first);
	uint32_t next, prev;

	if (a == NULL) {
		a = at(t, t->list[TG_AUCTION_CLOSED].first);
		if (a == NULL)
			return NULL;
		tg_bid_forget(t, a);
	}
	next = a->next;
	prev = a->prev;
	memset(a, 0, sizeof(*a));
	a->next = next;
	a->prev = prev;
	a->syn.key = *key;
	a->hash = hash;
	a->chain = *bucket_of(t, hash);
	*bucket_of(t, hash) = link_of(t, a);
	return a;
}

struct tg_auction *tg_bid_due(struct tg_bid_table *t, uint64_t now)
{
	struct tg_auction *a = at(t, t->list[TG_AUCTION_OPEN].first);

	if (a != NULL && a->deadline <= now)
		return a;
	a = at(t, t->list[TG_AUCTION_WAITING].first);
	return a != NULL && a->deadline <= now ? a : NULL;
}

bool tg_bid_is_open(const struct tg_bid_table *t)
{
	return t->list[TG_AUCTION_OPEN].first != 0;
}

int tg_bid_table_create(struct tg_bid_server *servers, struct tg_bid_service *services,
			uint64_t seed, int socket, struct tg_bid_table **out)
{
	struct tg_bid_table *t = tg_mem_zalloc("auctions", sizeof(*t), 64, socket);

	if (t == NULL)
		return -ENOMEM;
	t->servers = servers;
	t->services = services;
	t->random = seed | 1;
	for (unsigned int i = 0; i < TG_BID_TABLE; i++)
		join(t, &t->auction[i], TG_AUCTION_FREE);
	*out = t;
	return 0;
}

void tg_bid_table_free(struct tg_bid_table *t)
{
	tg_mem_free(t);
}
