/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single value of services[].admission shows. */
#include <netinet/in.h>
#include <string.h>

#include "reader.h"

/* An exchange shows only to the estimator that follows it. */
static void check_cost(struct tg_reader *r, const struct tg_config_service *s)
{
	enum tg_estimator e = s->pirate.estimator;
	bool tcp_only = e == TG_ESTIMATOR_ACK || e == TG_ESTIMATOR_ECHO;
	size_t mark;

	if (s->admission->cost != TG_ADMIT_EXCHANGE ||
	    !(e == TG_ESTIMATOR_OFF || (tcp_only && s->protocol == IPPROTO_UDP)))
		return;
	mark = tg_path_push(r, ".admission.cost");
	tg_fault(r, "\"exchange\" needs an estimator that sees exchanges; take \"packet\", "
		    "\"connection\", \"byte\", or estimator \"auto\"");
	tg_path_pop(r, mark);
}

/* What the servers' times tell is how many requests they can do. */
static void check_derived(struct tg_reader *r, const struct tg_config_service *s)
{
	size_t mark = tg_path_push(r, ".admission.budget_per_s");

	if (s->admission->budget_per_s == 0 && s->admission->cost != TG_ADMIT_EXCHANGE)
		tg_fault(r, "must be given for cost \"%s\": only a budget of exchanges is derived",
			 tg_admit_cost_name(s->admission->cost));
	tg_path_pop(r, mark);
}

/* Who asks for more than the whole budget is in burst, if anybody is. */
static void check_threshold(struct tg_reader *r, const struct tg_config_service *s)
{
	const struct tg_admit_params *a = s->admission;
	size_t mark = tg_path_push(r, ".admission.segments.hi_per_s");

	if (a->budget_per_s > 0 && a->hi_per_s > a->budget_per_s)
		tg_fault(r,
			 "%u is above the budget of all segments together, which is %u: lower it "
			 "(0: an eighth of the budget)",
			 a->hi_per_s, a->budget_per_s);
	tg_path_pop(r, mark);
}

/* Is it another description of a pool that an earlier service has described? */
static void check_pool(struct tg_reader *r, const struct tg_config *c, unsigned int i)
{
	const struct tg_admit_params *a = c->services[i].admission;
	size_t mark;

	for (unsigned int j = 0; j < i; j++) {
		const struct tg_admit_params *b = c->services[j].admission;

		if (b == NULL || a->pool[0] == '\0' || strcmp(a->pool, b->pool) != 0 ||
		    memcmp(a, b, sizeof(*a)) == 0)
			continue;
		mark = tg_path_push(r, ".admission");
		tg_fault(r, "must be the same as services[%u].admission: they share pool \"%s\"", j,
			 a->pool);
		tg_path_pop(r, mark);
		return;
	}
}

/* The services that have, or begin, a pool. */
static unsigned int count_pools(const struct tg_config *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_admit_params *a = c->services[i].admission;
		bool first = a != NULL;

		for (unsigned int j = 0; first && a->pool[0] != '\0' && j < i; j++)
			first = c->services[j].admission == NULL ||
				strcmp(a->pool, c->services[j].admission->pool) != 0;
		n += first;
	}
	return n;
}

void tg_cross_check_admission(struct tg_reader *r, const struct tg_config *c)
{
	unsigned int pools = count_pools(c);

	if (pools > TG_ADMIT_POOLS_MAX)
		tg_fault(r,
			 "services[].admission: makes %u pools of tokens, at most %d are possible; "
			 "let services share some (admission.pool)",
			 pools, TG_ADMIT_POOLS_MAX);
	for (unsigned int i = 0; i < c->n_services; i++) {
		size_t mark = tg_path_push(r, "services[%u]", i);

		if (c->services[i].admission != NULL) {
			check_cost(r, &c->services[i]);
			check_derived(r, &c->services[i]);
			check_threshold(r, &c->services[i]);
			check_pool(r, c, i);
		}
		tg_path_pop(r, mark);
	}
}
