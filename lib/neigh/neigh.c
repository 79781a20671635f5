/* SPDX-License-Identifier: BSD-3-Clause */
/* The table: chains that control links and unlinks while workers walk them. */
#include <errno.h>

#include "private.h"
#include "tg_mem.h"

int tg_neigh_table_create(const struct tg_clock *clock, int socket, struct tg_neigh_table **out)
{
	struct tg_neigh_table *t;

	t = tg_mem_zalloc("tg_neigh", sizeof(*t), RTE_CACHE_LINE_SIZE, socket);
	if (t == NULL)
		return -ENOMEM;
	t->clock = *clock;
	*out = t;
	return 0;
}

void tg_neigh_table_free(struct tg_neigh_table *t)
{
	tg_mem_free(t);
}

static inline uint16_t *chain_of(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *a)
{
	return &t->bucket[(neigh_hash(a) + port) % NEIGH_BUCKETS];
}

struct neigh_entry *neigh_find(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *a)
{
	uint16_t i = __atomic_load_n(chain_of(t, port, a), __ATOMIC_ACQUIRE);

	while (i != 0) {
		struct neigh_entry *e = &t->entry[i - 1];

		if (e->port == port && tg_addr_eq(&e->address, a))
			return e;
		i = __atomic_load_n(&e->next, __ATOMIC_ACQUIRE);
	}
	return NULL;
}

static inline void news(struct neigh_entry *e, uint64_t now)
{
	if (now > __atomic_load_n(&e->news, __ATOMIC_RELAXED))
		__atomic_store_n(&e->news, now, __ATOMIC_RELAXED);
}

/* Frames of another VLAN speak of another network. */
static bool same_vlan(const struct tg_neigh_port *port, const struct tg_pkt *p)
{
	return port->vlan == 0 || ((p->flags & TG_PKT_VLAN) && (p->vlan & 0xfff) == port->vlan);
}

void neigh_learn(struct tg_neigh_table *t, const struct tg_neigh_local *l, const struct tg_burst *b,
		 unsigned int i, const struct tg_addr *a, const uint8_t mac[6], bool override)
{
	struct neigh_entry *e;
	uint64_t old, word = tg_mac_word(mac);

	if (!neigh_mac_ok(mac) || !same_vlan(&l->ports[b->port], &b->pkt[i]))
		return;
	e = neigh_find(t, b->port, a);
	if (e == NULL)
		return;
	old = __atomic_load_n(&e->word, __ATOMIC_RELAXED);
	if ((old & NEIGH_FIXED) || ((old & TG_MAC_VALID) && old != word && !override))
		return;
	/* First the news: control must not find the word valid and the news of before. */
	news(e, b->now);
	/* Lost against control or another worker: theirs is as good. */
	if (old != word)
		__atomic_compare_exchange_n(&e->word, &old, word, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}

void neigh_confirm(struct tg_neigh_table *t, const struct tg_burst *b, const struct tg_addr *a)
{
	struct neigh_entry *e = neigh_find(t, b->port, a);

	if (e != NULL)
		news(e, b->now);
}

static struct neigh_entry *take_free(struct tg_neigh_table *t)
{
	for (unsigned int n = 0; n < TG_NEIGH_MAX; n++) {
		struct neigh_entry *e = &t->entry[t->place];

		t->place = (t->place + 1) % TG_NEIGH_MAX;
		if (e->state == NEIGH_FREE)
			return e;
	}
	return NULL;
}

static struct neigh_entry *insert(struct tg_neigh_table *t, uint16_t port,
				  const struct tg_addr *address)
{
	uint16_t *chain = chain_of(t, port, address);
	struct neigh_entry *e = take_free(t);

	if (e == NULL)
		return NULL;
	memset(e, 0, sizeof(*e));
	e->state = NEIGH_LIVE;
	e->address = *address;
	e->port = port;
	e->next = *chain;
	/* all of it before a worker can find it */
	__atomic_store_n(chain, (uint16_t)(e - t->entry + 1), __ATOMIC_RELEASE);
	return e;
}

/* Its own link stays: a worker that stands on it walks on. */
static void unlink_entry(struct tg_neigh_table *t, struct neigh_entry *e)
{
	uint16_t me = (uint16_t)(e - t->entry + 1);
	uint16_t *link = chain_of(t, e->port, &e->address);

	while (*link != me)
		link = &t->entry[*link - 1].next;
	__atomic_store_n(link, e->next, __ATOMIC_RELEASE);
	e->state = NEIGH_GONE;
}

int tg_neigh_add(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *address,
		 const struct tg_addr *source, const uint8_t *fixed, const uint64_t **word)
{
	struct neigh_entry *e;

	if (tg_addr_is_v4(address) != tg_addr_is_v4(source))
		return -EINVAL;
	e = neigh_find(t, port, address);
	if (e == NULL)
		e = insert(t, port, address);
	if (e == NULL)
		return -ENOSPC;
	e->source = *source;
	e->kept = true;
	t->fixed[e - t->entry] = fixed != NULL ? tg_mac_word(fixed) | NEIGH_FIXED : 0;
	*word = &e->word;
	return 0;
}

void tg_neigh_watch(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *address)
{
	struct neigh_entry *e = neigh_find(t, port, address);

	if (e == NULL || e->watched)
		return;
	e->watched = true;
	e->ask_at = 0; /* it may have been put off for longer */
}

void tg_neigh_commit(struct tg_neigh_table *t)
{
	for (unsigned int i = 0; i < TG_NEIGH_MAX; i++) {
		struct neigh_entry *e = &t->entry[i];

		if (e->state != NEIGH_LIVE || !e->kept)
			continue;
		if (t->fixed[i] != 0)
			__atomic_store_n(&e->word, t->fixed[i], __ATOMIC_RELAXED);
		else if (__atomic_load_n(&e->word, __ATOMIC_RELAXED) & NEIGH_FIXED)
			__atomic_fetch_and(&e->word, ~NEIGH_FIXED, __ATOMIC_RELAXED);
	}
}

void tg_neigh_mark(struct tg_neigh_table *t)
{
	for (unsigned int i = 0; i < TG_NEIGH_MAX; i++) {
		t->entry[i].kept = false;
		t->entry[i].watched = false;
	}
}

void tg_neigh_forget(struct tg_neigh_table *t)
{
	for (unsigned int i = 0; i < TG_NEIGH_MAX; i++)
		if (t->entry[i].state == NEIGH_LIVE && !t->entry[i].kept)
			unlink_entry(t, &t->entry[i]);
}

void tg_neigh_purge(struct tg_neigh_table *t)
{
	for (unsigned int i = 0; i < TG_NEIGH_MAX; i++)
		if (t->entry[i].state == NEIGH_GONE)
			t->entry[i].state = NEIGH_FREE;
	tg_neigh_forget(t);
}

bool tg_neigh_get(const struct tg_neigh_table *t, unsigned int i, uint64_t now,
		  struct tg_neigh_info *out)
{
	const struct neigh_entry *e = t->entry, *end = e + TG_NEIGH_MAX;
	uint64_t word, heard;

	while (e < end && (e->state != NEIGH_LIVE || i-- > 0))
		e++;
	if (e == end)
		return false;
	word = __atomic_load_n(&e->word, __ATOMIC_RELAXED);
	heard = __atomic_load_n(&e->news, __ATOMIC_RELAXED);
	out->address = e->address;
	out->port = e->port;
	neigh_mac_of(word, out->mac);
	out->valid = word & TG_MAC_VALID;
	out->fixed = word & NEIGH_FIXED;
	out->age_ns = UINT64_MAX;
	if (heard != 0 && !out->fixed)
		out->age_ns = now > heard ? tg_ticks_to_ns(&t->clock, now - heard) : 0;
	return true;
}
