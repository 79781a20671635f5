/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool as people see it. */
#include "private.h"

#include <stddef.h>
#include <string.h>

const char *tg_admit_cost_name(unsigned int cost)
{
	static const char *const names[] = {"exchange", "connection", "packet", "byte"};

	return cost < 4 ? names[cost] : NULL;
}

const char *tg_admit_by_name(unsigned int by)
{
	static const char *const names[] = {"prefix", "service", "match"};

	return by < 3 ? names[by] : NULL;
}

const char *tg_admit_variant_name(unsigned int variant)
{
	static const char *const names[] = {"strict", "work-conserving"};

	return variant < 2 ? names[variant] : NULL;
}

const char *tg_admit_value_name(unsigned int value)
{
	static const char *const names[] = {"platinum", "gold", "silver", "bronze", "best-effort"};

	return value < TG_ADMIT_VALUES ? names[value] : NULL;
}

void tg_admit_look(const struct tg_admit_pool *p, struct tg_admit_view *out)
{
	const struct tg_admit_cell *c = tg_admit_cell_now(p);

	*out = (struct tg_admit_view){
		.interval = c->number,
		.rate_per_s = tg_admit_read(&p->rate_per_s),
		.headroom_per_s = tg_admit_read(&p->headroom_per_s),
		.base = (uint64_t)c->base,
		.auxiliary = (uint64_t)c->auxiliary,
		.extra = (uint64_t)__atomic_load_n(&c->extra, __ATOMIC_RELAXED),
		.base_leased = (uint64_t)__atomic_load_n(&c->base_leased, __ATOMIC_RELAXED),
		.auxiliary_leased = (uint64_t)__atomic_load_n(&c->auxiliary_leased,
							      __ATOMIC_RELAXED),
		.extra_leased = (uint64_t)__atomic_load_n(&c->extra_leased, __ATOMIC_RELAXED),
		.debt = tg_admit_read(&p->debt),
		.strangers_burst = tg_admit_is_hot(p, tg_admit_strangers(p), (uint32_t)c->number),
	};
}

/* The network, or as much of it as the owner's rule or the pool's `by` make it. */
static struct tg_prefix network(const struct tg_admit_pool *p, const struct tg_admit_owner *o)
{
	unsigned int family = tg_addr_is_v4(&o->client) ? 0 : 1;
	struct tg_prefix n = {.addr = o->client};
	uint64_t w[2];

	n.len = (uint8_t)(family == 0 ? 96 + p->params.ipv4_prefix : p->params.ipv6_prefix);
	memcpy(w, n.addr.b, sizeof(w));
	w[0] &= p->mask[family][0];
	w[1] &= p->mask[family][1];
	memcpy(n.addr.b, w, sizeof(w));
	return n;
}

void tg_admit_slot(const struct tg_admit_pool *p, uint32_t slot, struct tg_admit_slot_view *out)
{
	uint32_t number = (uint32_t)tg_admit_cell_now(p)->number;

	*out = (struct tg_admit_slot_view){.burst = tg_admit_is_hot(p, slot, number)};
	for (unsigned int i = 0; i < p->n_lcores; i++) {
		const struct tg_admit_owner *o = &p->lcore[i].owner[slot];

		out->total += tg_admit_read(&p->lcore[i].slot[slot].total);
		if (!o->used)
			continue;
		out->used = true;
		out->value = o->value;
		out->rule = o->rule;
		out->service = o->service;
		out->address = network(p, o);
	}
}

const struct tg_admit_stats *tg_admit_lcore_stats(const struct tg_admit_pool *p, unsigned int lcore)
{
	return &p->lcore[lcore].stats;
}
