/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a pool, and setting its rate. */
#include "private.h"

#include <errno.h>
#include <string.h>

#include "tg_mem.h"

#define CHUNKS 64 /* an lcore leases at most this part of what an lcore is due in an interval */

static bool in_range(const struct tg_admit_params *c, unsigned int n_lcores)
{
	bool power = (c->slots & (c->slots - 1)) == 0;

	return n_lcores >= 1 && n_lcores <= TG_ADMIT_LCORES_MAX && c->interval_us >= 1000 &&
	       c->interval_us <= 1000000 && c->auxiliary_percent <= 100 && c->ipv4_prefix <= 32 &&
	       c->ipv6_prefix <= 128 && c->slots >= 64 && c->slots <= 1u << 20 && power &&
	       c->calm_intervals >= 1 && c->n_rules <= TG_ADMIT_RULES_MAX;
}

static int make_lcore(struct tg_admit_lcore *l, uint32_t slots, int socket)
{
	l->slot = tg_mem_zalloc("segments", (slots + 1) * sizeof(*l->slot), 64, socket);
	l->owner = tg_mem_zalloc("segments", slots * sizeof(*l->owner), 64, socket);
	return l->slot != NULL && l->owner != NULL ? 0 : -ENOMEM;
}

int tg_admit_create(const struct tg_admit_params *params, const struct tg_clock *clock,
		    const uint8_t secret[TG_ADMIT_SECRET_SIZE], unsigned int n_lcores,
		    const int *socket, uint64_t now, struct tg_admit_pool **out)
{
	struct tg_admit_pool *p;
	int r;

	if (!in_range(params, n_lcores))
		return -EINVAL;
	p = tg_mem_zalloc("admission", sizeof(*p) + n_lcores * sizeof(p->lcore[0]), 64, -1);
	if (p == NULL)
		return -ENOMEM;
	p->params = *params;
	p->clock = *clock;
	p->interval = tg_us_to_ticks(clock, params->interval_us);
	p->slot_mask = params->slots - 1;
	p->plain = params->by == TG_ADMIT_BY_PREFIX && params->n_rules == 0 &&
		   params->max_per_s == 0;
	p->n_lcores = n_lcores;
	p->hot = tg_mem_zalloc("classes", (params->slots + 1) * sizeof(*p->hot), 64, -1);
	r = p->hot != NULL ? 0 : -ENOMEM;
	for (unsigned int i = 0; i < n_lcores && r == 0; i++)
		r = make_lcore(&p->lcore[i], params->slots, socket[i]);
	if (r != 0) {
		tg_admit_free(p);
		return r;
	}
	tg_admit_compile_keys(p, secret);
	tg_admit_set(p, params->budget_per_s, 0);
	tg_admit_first_cell(p, now);
	*out = p;
	return 0;
}

void tg_admit_free(struct tg_admit_pool *p)
{
	if (p == NULL)
		return;
	for (unsigned int i = 0; i < p->n_lcores; i++) {
		tg_mem_free(p->lcore[i].slot);
		tg_mem_free(p->lcore[i].owner);
	}
	tg_mem_free(p->hot);
	tg_mem_free(p);
}

const struct tg_admit_params *tg_admit_params(const struct tg_admit_pool *p)
{
	return &p->params;
}

void tg_admit_set(struct tg_admit_pool *p, uint64_t rate_per_s, uint64_t headroom_per_s)
{
	uint64_t chunk = (uint64_t)((unsigned __int128)rate_per_s * p->interval / p->clock.hz) /
			 p->n_lcores / CHUNKS;

	__atomic_store_n(&p->headroom_per_s, headroom_per_s, __ATOMIC_RELAXED);
	if (rate_per_s == tg_admit_read(&p->rate_per_s) && p->chunk != 0)
		return;
	__atomic_store_n(&p->rate_per_s, rate_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&p->chunk, chunk > 0 ? (int64_t)chunk : 1, __ATOMIC_RELAXED);
	tg_admit_compile_thresholds(p, rate_per_s);
}
