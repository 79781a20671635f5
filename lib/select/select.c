/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "group.h"
#include "tg_mem.h"

static const struct tg_policy_ops *const policies[TG_POLICY_COUNT] = {
	[TG_POLICY_MAGLEV] = &tg_policy_maglev,
	[TG_POLICY_RENDEZVOUS] = &tg_policy_rendezvous,
	[TG_POLICY_ROUND_ROBIN] = &tg_policy_round_robin,
	[TG_POLICY_WEIGHTED_ROUND_ROBIN] = &tg_policy_weighted_round_robin,
	[TG_POLICY_LEAST_CONNECTIONS] = &tg_policy_least_connections,
	[TG_POLICY_JSQ] = &tg_policy_jsq,
	[TG_POLICY_TWO_CHOICES] = &tg_policy_two_choices,
	[TG_POLICY_RANDOM] = &tg_policy_random,
	[TG_POLICY_MODEL] = &tg_policy_model,
	[TG_POLICY_QUEUE] = &tg_policy_queue,
	[TG_POLICY_HYBRID_SEED] = &tg_policy_hybrid_seed,
	[TG_POLICY_COMPLETION] = &tg_policy_completion,
	[TG_POLICY_LATENCY] = &tg_policy_latency,
	[TG_POLICY_BID] = &tg_policy_bid,
};

const struct tg_policy_ops *tg_policy(enum tg_policy p)
{
	return (unsigned int)p < TG_POLICY_COUNT ? policies[p] : NULL;
}

int tg_policy_by_name(const char *name)
{
	for (int i = 0; i < TG_POLICY_COUNT; i++) {
		if (strcmp(policies[i]->name, name) == 0)
			return i;
	}
	return -ENOENT;
}

/* Not by id or place in the configuration, which differ between gateways. */
static int by_name(const void *a, const void *b)
{
	const struct tg_select_server *x = a, *y = b;

	if (x->name_hash != y->name_hash)
		return x->name_hash < y->name_hash ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static struct tg_select_group *alloc_group(unsigned int n, uint32_t table_size, int socket)
{
	struct tg_select_group *g;
	size_t servers = n * sizeof(g->server[0]);

	g = tg_mem_zalloc("select group", sizeof(*g) + servers + table_size * sizeof(g->table[0]),
			  64, socket);
	if (g == NULL)
		return NULL;
	g->server = (struct tg_select_server *)(g + 1);
	g->table = (uint16_t *)(g->server + n);
	g->table_size = table_size;
	return g;
}

/* All but its table. */
static void take_servers(struct tg_select_group *g, const struct tg_select_server *servers,
			 unsigned int n)
{
	g->users = 1;
	for (unsigned int i = 0; i < n; i++) {
		if (servers[i].weight == 0)
			continue;
		g->server[g->n++] = servers[i];
		if (servers[i].weight > g->max_weight)
			g->max_weight = servers[i].weight;
	}
	qsort(g->server, g->n, sizeof(g->server[0]), by_name);
}

static bool same(const struct tg_select_group *a, const struct tg_select_group *b)
{
	if (a == NULL || a->ops != b->ops || a->n != b->n || a->table_size != b->table_size)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct tg_select_server *x = &a->server[i], *y = &b->server[i];

		if (x->name_hash != y->name_hash || x->id != y->id || x->weight != y->weight)
			return false;
	}
	return true;
}

int tg_select_group_renew(struct tg_select_group *before, enum tg_policy policy,
			  const struct tg_select_server *servers, unsigned int n, int socket,
			  struct tg_select_group **out)
{
	uint32_t table_size = tg_maglev_size(n);
	struct tg_select_group *g;

	if (tg_policy(policy) == NULL || table_size == 0)
		return -EINVAL;
	g = alloc_group(n, table_size, socket);
	if (g == NULL)
		return -ENOMEM;
	g->ops = tg_policy(policy);
	take_servers(g, servers, n);
	if (same(before, g)) {
		tg_select_group_free(g);
		before->users++;
		*out = before;
		return 0;
	}
	if (g->n > 0 && tg_maglev_fill(g) < 0) {
		tg_select_group_free(g);
		return -ENOMEM;
	}
	*out = g;
	return 0;
}

int tg_select_group_create(enum tg_policy policy, const struct tg_select_server *servers,
			   unsigned int n, int socket, struct tg_select_group **out)
{
	return tg_select_group_renew(NULL, policy, servers, n, socket, out);
}

void tg_select_group_free(struct tg_select_group *g)
{
	if (g != NULL && --g->users == 0)
		tg_mem_free(g);
}

void tg_select_local_init(struct tg_select_local *l, unsigned int worker, unsigned int workers,
			  uint64_t seed)
{
	/* a fraction of the 32-bit range, which round robin makes one of its servers */
	l->cursor = (uint32_t)(((uint64_t)worker << 32) / workers);
	l->debt_milli = 0;
	l->probe = false;
	l->random = XXH3_64bits_withSeed(&worker, sizeof(worker), seed);
	if (l->random == 0)
		l->random = seed;
}

static void count_pick(const struct tg_select_view *v, uint16_t id)
{
	struct tg_select_tally *t = &v->tally[id];
	uint32_t tick = tg_select_word(v->tick, 0);

	if (t->tick != tick) {
		t->tick = tick;
		t->picked = 0;
	}
	if (t->picked < TG_SELECT_PICKED_MAX)
		t->picked++;
}

uint16_t tg_select_pick(const struct tg_select_group *g, struct tg_select_local *l,
			const struct tg_select_view *v, uint64_t hash)
{
	uint16_t id;

	l->probe = false;
	if (g->n == 0)
		return TG_NO_SERVER;
	id = g->ops->pick(g, l, v, hash);
	if (v->tally != NULL)
		count_pick(v, id);
	return id;
}

uint32_t tg_select_withheld_256(uint64_t up_ms)
{
	return up_ms < TG_SELECT_RAMP_MS ? 255 - (uint32_t)(up_ms * 255 / TG_SELECT_RAMP_MS) : 0;
}

uint16_t tg_select_consistent(const struct tg_select_group *g, uint64_t hash)
{
	return g->n > 0 ? g->table[tg_select_scale(hash, g->table_size)] : TG_NO_SERVER;
}

unsigned int tg_select_count(const struct tg_select_group *g)
{
	return g->n;
}

uint64_t tg_select_flow_hash(const struct tg_key *key)
{
	_Static_assert(offsetof(struct tg_key, flags) == 21,
		       "client, ports and protocol lie together");
	return XXH3_64bits(key, offsetof(struct tg_key, flags));
}

uint64_t tg_select_name_hash(const char *name, const struct tg_addr *addr)
{
	return XXH3_64bits_withSeed(addr->b, sizeof(addr->b), XXH3_64bits(name, strlen(name)));
}
