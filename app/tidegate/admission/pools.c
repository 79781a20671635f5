/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools by name: made, shared by snapshots, freed with the last of them. */
#include "admission/pools.h"

#include <errno.h>
#include <rte_common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"
#include "tg_mem.h"

static void let_go(struct tg_admission_pool *p)
{
	if (p == NULL || --p->users > 0)
		return;
	tg_admit_free(p->tokens);
	for (unsigned int w = 0; w < p->n_workers; w++)
		tg_mem_free(p->stats[w]);
	free(p->total);
	free(p->per_s);
	free(p);
}

static struct tg_admission_pool *make(const struct tg_admission_pools *t,
				      const struct tg_snapshot_env *env, const char *name,
				      const struct tg_admit_params *params)
{
	struct tg_admission_pool *p = calloc(1, sizeof(*p));
	int r;

	if (p == NULL)
		return NULL;
	p->users = 1;
	p->n_workers = t->n_workers;
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->total = calloc(params->slots, sizeof(*p->total));
	p->per_s = calloc(params->slots, sizeof(*p->per_s));
	r = p->total != NULL && p->per_s != NULL ? 0 : -ENOMEM;
	for (unsigned int w = 0; r == 0 && w < t->n_workers; w++) {
		p->stats[w] = tg_mem_zalloc("admission", sizeof(*p->stats[w]), 64, t->socket[w]);
		r = p->stats[w] != NULL ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = tg_admit_create(params, &env->clock, t->secret, t->n_workers, t->socket,
				    env->now, &p->tokens);
	if (r == 0)
		return p;
	let_go(p);
	return NULL;
}

/* A pool that services share is called by its name, another one by its service's. */
static const char *name_of(const struct tg_config_service *v)
{
	return v->admission->pool[0] != '\0' ? v->admission->pool : v->name;
}

/* Is it the pool that the service wants, by its name? */
static bool is_of(const struct tg_admission_pool *p, const struct tg_config_service *v)
{
	return p != NULL && strcmp(p->name, name_of(v)) == 0 &&
	       strcmp(tg_admit_params(p->tokens)->pool, v->admission->pool) == 0;
}

/* Is it the same but for its budget? */
static bool is_same(const struct tg_admission_pool *p, const struct tg_admit_params *params)
{
	struct tg_admit_params a = *tg_admit_params(p->tokens);

	a.budget_per_s = params->budget_per_s;
	return memcmp(&a, params, sizeof(a)) == 0;
}

/* The pools of a new snapshot. */
struct found {
	struct tg_admission_pool *pool[TG_ADMISSION_POOLS_MAX];
	unsigned int n;
};

/* The pool of a service: found already, the one in force, or a new one. NULL: no memory. */
static struct tg_admission_pool *pool_for(struct found *f, const struct tg_snapshot_env *env,
					  const struct tg_config_service *v)
{
	struct tg_admission_pool *p = NULL;

	for (unsigned int i = 0; i < f->n; i++)
		if (is_of(f->pool[i], v))
			return f->pool[i];
	for (unsigned int i = 0; i < TG_ADMISSION_POOLS_MAX && p == NULL; i++)
		if (is_of(env->admission->pool[i], v))
			p = env->admission->pool[i];
	if (p != NULL && is_same(p, v->admission))
		p->users++;
	else
		p = make(env->admission, env, name_of(v), v->admission);
	if (p != NULL)
		f->pool[f->n++] = p;
	return p;
}

/* Those that are in force keep their index, the others get what is free. */
static void number(struct tg_snapshot *s, struct tg_admission_pools *t, const struct found *f)
{
	unsigned int next = 0;

	for (unsigned int i = 0; i < f->n; i++)
		if (t->pool[f->pool[i]->index] == f->pool[i])
			s->pool[f->pool[i]->index] = f->pool[i];
	for (unsigned int i = 0; i < f->n; i++) {
		if (s->pool[f->pool[i]->index] == f->pool[i])
			continue;
		while (s->pool[next] != NULL)
			next++;
		f->pool[i]->index = (uint8_t)next;
		s->pool[next] = f->pool[i];
	}
	for (unsigned int i = 0; i < TG_ADMISSION_POOLS_MAX; i++) {
		struct tg_admission_pool *old = t->pool[i];

		t->pool[i] = s->pool[i];
		if (t->pool[i] != NULL) {
			t->pool[i]->users++;
			s->pools |= UINT64_C(1) << i;
		}
		let_go(old);
	}
}

/* Packets wait no longer than the time gate lets them. */
static struct tg_admission_rule rule(const struct tg_config_service *v,
				     struct tg_admission_pool *pool,
				     const struct tg_gate_limit *limit,
				     const struct tg_clock *clock)
{
	uint64_t wait = tg_us_to_ticks(clock, v->admission_wait_max_us);

	return (struct tg_admission_rule){
		.pool = pool,
		.wait_max = RTE_MIN(wait, limit->drop),
		.cost = (uint8_t)v->admission->cost,
	};
}

int tg_admission_compile(struct tg_snapshot *s, const struct tg_snapshot_env *env,
			 const uint16_t *service_id, char *err, size_t err_len)
{
	const struct tg_config *c = s->config;
	struct found f = {.n = 0};

	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *v = &c->services[i];
		struct tg_admission_pool *p;

		if (v->admission == NULL)
			continue;
		p = pool_for(&f, env, v);
		if (p == NULL) {
			snprintf(err, err_len,
				 "not enough memory for admission of service \"%s\": give more "
				 "huge pages, or fewer admission.segments.slots",
				 v->name);
			while (f.n > 0)
				let_go(f.pool[--f.n]);
			return -ENOMEM;
		}
		s->admission[service_id[i]] = rule(v, p, &s->limit[service_id[i]], &env->clock);
	}
	number(s, env->admission, &f);
	return 0;
}

void tg_admission_drop(struct tg_snapshot *s)
{
	for (unsigned int i = 0; i < TG_ADMISSION_POOLS_MAX; i++)
		let_go(s->pool[i]);
}

void tg_admission_pools_free(struct tg_admission_pools *t)
{
	for (unsigned int i = 0; i < TG_ADMISSION_POOLS_MAX; i++) {
		let_go(t->pool[i]);
		t->pool[i] = NULL;
	}
}
