/* SPDX-License-Identifier: BSD-3-Clause */
/* Auctions by key, by state, and in the order in which they are due. */
#include <errno.h>

#include "private.h"
#include "tg_mem.h"

static struct tg_auction *at(struct tg_bid_table *t, uint32_t link)
{
	return link == 0 ? NULL : &t->auction[link - 1];
}

_Static_assert(TG_BID_TABLE <= UINT16_MAX, "places are 16 bits");

static uint32_t link_of(const struct tg_bid_table *t, const struct tg_auction *a)
{
	return (uint32_t)(a - t->auction) + 1;
}

/* ------------------------------------------------------------------ by state */

static void unlink_from(struct tg_bid_table *t, struct tg_auction_list *l, struct tg_auction *a)
{
	*(a->prev == 0 ? &l->first : &at(t, a->prev)->next) = a->next;
	*(a->next == 0 ? &l->last : &at(t, a->next)->prev) = a->prev;
}

static void append(struct tg_bid_table *t, struct tg_auction_list *l, struct tg_auction *a)
{
	a->prev = l->last;
	a->next = 0;
	*(l->last == 0 ? &l->first : &at(t, l->last)->next) = link_of(t, a);
	l->last = link_of(t, a);
}

/* Services' windows differ, so those that are open are due in another order than they came: a binary heap
 * (J. W. J. Williams, CACM 7(6), 1964). */
static uint64_t due_at(const struct tg_bid_table *t, uint32_t place)
{
	return t->auction[t->heap[place]].deadline;
}

static void put(struct tg_bid_table *t, uint32_t place, uint16_t i)
{
	t->heap[place] = i;
	t->auction[i].place = (uint16_t)place;
}

/* To where it belongs, from a place that is free, among the first n. */
static void settle(struct tg_bid_table *t, uint32_t place, uint16_t i)
{
	uint64_t deadline = t->auction[i].deadline;
	uint32_t child;

	for (; place > 0 && due_at(t, (place - 1) / 2) > deadline; place = (place - 1) / 2)
		put(t, place, t->heap[(place - 1) / 2]);
	for (; (child = 2 * place + 1) < t->undecided; place = child) {
		if (child + 1 < t->undecided && due_at(t, child + 1) < due_at(t, child))
			child++;
		if (due_at(t, child) >= deadline)
			break;
		put(t, place, t->heap[child]);
	}
	put(t, place, i);
}

static void heap_remove(struct tg_bid_table *t, const struct tg_auction *a)
{
	uint32_t place = a->place;
	uint16_t last = t->heap[--t->undecided];

	if (place < t->undecided)
		settle(t, place, last);
}

static void heap_add(struct tg_bid_table *t, const struct tg_auction *a)
{
	settle(t, t->undecided++, (uint16_t)(link_of(t, a) - 1));
}

static struct tg_auction_list *list_of(struct tg_bid_table *t, uint8_t state)
{
	return state == TG_AUCTION_FREE ? &t->free : state == TG_AUCTION_CLOSED ? &t->closed : NULL;
}

/* The deadline may be another one already: where it stands is known by its place. */
void tg_auction_move(struct tg_bid_table *t, struct tg_auction *a, enum tg_auction_state to)
{
	struct tg_auction_list *from = list_of(t, a->state), *list = list_of(t, (uint8_t)to);

	if (from != NULL)
		unlink_from(t, from, a);
	else
		heap_remove(t, a);
	t->inside -= a->state == TG_AUCTION_OPEN;
	t->inside += to == TG_AUCTION_OPEN;
	a->state = (uint8_t)to;
	if (list != NULL)
		append(t, list, a);
	else
		heap_add(t, a);
}

/* ------------------------------------------------------------------ by key */

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
	struct tg_auction *a = at(t, t->free.first);
	uint32_t next, prev;

	if (a == NULL) {
		a = at(t, t->closed.first);
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
	return t->undecided > 0 && due_at(t, 0) <= now ? &t->auction[t->heap[0]] : NULL;
}

bool tg_bid_is_open(const struct tg_bid_table *t)
{
	return t->inside > 0;
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
		append(t, &t->free, &t->auction[i]);
	*out = t;
	return 0;
}

void tg_bid_table_free(struct tg_bid_table *t)
{
	tg_mem_free(t);
}
