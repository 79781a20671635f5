/* SPDX-License-Identifier: BSD-3-Clause */
/* How many tokens a pool gets: from the configuration, or from what its servers can do. */
#include <math.h>
#include <stdlib.h>

#include "api/totals.h"
#include "choice/load.h"
#include "gateway.h"

#define SHARE       0.9 /* of what the servers can do, when the budget is derived: the margin */
#define ERROR_MAX   0.35 /* of the prediction, over the last windows: above, the model does not fit */
#define WINDOWS_MIN 10 /* of each server: an early guess that holds requests back spoils the next */
#define STALE_NS \
	UINT64_C(5000000000) /* a derived budget that the model no longer vouches for ends */
#define LOOK_NS 1000000000u  /* segments' rates */

/* What the servers of a pool can do together, and do. */
struct ability {
	double capacity_per_s, load_per_s, error, weight;
	bool all_known;
	uint32_t budget_per_s; /* configured */
};

static void add_server(const struct tg_gateway *g, uint16_t i, struct ability *a)
{
	const struct tg_config_server *c = g->snapshot->server[i];
	const struct tg_load_view *v = tg_load_of(g->load, i);

	if (c->state != TG_SERVER_UP || c->weight == 0)
		return;
	if (v == NULL || v->service_ns <= 0 || v->mape_windows < WINDOWS_MIN) {
		a->all_known = false;
		return;
	}
	a->capacity_per_s += tg_headroom_hz(c->workers, v->service_ns, 0);
	a->load_per_s += v->lambda_hz;
	a->error += v->mape_lately * v->lambda_hz;
	a->weight += v->lambda_hz;
}

static struct ability look_at_servers(const struct tg_gateway *g, const struct tg_admission_pool *p)
{
	const struct tg_snapshot *s = g->snapshot;
	struct ability a = {.all_known = true};

	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->server[i] != NULL && s->admission[s->service_of[i]].pool == p) {
			a.budget_per_s = s->service[s->service_of[i]]->admission->budget_per_s;
			add_server(g, (uint16_t)i, &a);
		}
	return a;
}

/* Does the model describe these servers? */
static bool fits(const struct ability *a)
{
	return a->all_known && a->capacity_per_s > 0 && a->weight > 0 &&
	       a->error / a->weight <= ERROR_MAX;
}

/* Headroom and derived budgets are requests; a pool that counts packets or bytes has its own measure. */
static bool counts_requests(const struct tg_admission_pool *p)
{
	return tg_admit_params(p->tokens)->cost == TG_ADMIT_EXCHANGE;
}

/* A budget that is too low makes requests wait until they are sent again, which the model was not made for:
 * so a derived one must not outlive the fit for long, or it would never be put right. */
static double derived(const struct tg_gateway *g, struct tg_admission_pool *p, double capacity,
		      double in_force, uint64_t now)
{
	if (p->fits) {
		p->fitted = now;
		return capacity * SHARE;
	}
	return tg_ticks_to_ns(&g->clock, now - p->fitted) < STALE_NS ? in_force : 0;
}

static void update(const struct tg_gateway *g, struct tg_admission_pool *p, uint64_t ticks)
{
	struct ability a = look_at_servers(g, p);
	struct tg_admit_view now;
	double budget = a.budget_per_s, headroom = 0;

	tg_admit_look(p->tokens, &now);
	if (!a.all_known)
		p->ability = (struct tg_ability){.begun = 0};
	p->capacity_per_s = a.all_known && a.capacity_per_s > 0
				    ? tg_ability_look(&p->ability, a.capacity_per_s,
						      tg_ticks_to_ns(&g->clock, ticks))
				    : 0;
	p->rho = a.capacity_per_s > 0 ? a.load_per_s / a.capacity_per_s : 0;
	p->error = a.weight > 0 ? a.error / a.weight : 0;
	p->fits = fits(&a) && counts_requests(p);
	if (p->fits)
		headroom = a.capacity_per_s * fmax(0, 1 - p->rho);
	if (a.budget_per_s == 0)
		budget = derived(g, p, p->capacity_per_s, (double)now.rate_per_s, ticks);
	tg_admit_set(p->tokens, (uint64_t)budget, (uint64_t)headroom);
}

/* Rates of segments, by what they asked for since the last look. */
static void look_at_segments(const struct tg_gateway *g, struct tg_admission_pool *p, uint64_t now)
{
	uint64_t ns = tg_ticks_to_ns(&g->clock, now - p->looked);
	uint32_t slots = tg_admit_params(p->tokens)->slots;

	if (p->looked != 0 && ns < LOOK_NS)
		return;
	for (uint32_t i = 0; i < slots; i++) {
		struct tg_admit_slot_view v;
		double rate;

		tg_admit_slot(p->tokens, i, &v);
		rate = p->looked != 0 ? (double)(v.total - p->total[i]) * 1e9 / (double)ns : 0;
		p->per_s[i] = (uint32_t)fmin(rate + 0.5, UINT32_MAX);
		p->total[i] = v.total;
	}
	p->looked = now | 1;
}

void tg_admission_update(struct tg_gateway *g, uint64_t now)
{
	for (uint64_t left = g->snapshot->pools; left != 0; left &= left - 1) {
		struct tg_admission_pool *p = g->snapshot->pool[__builtin_ctzll(left)];

		update(g, p, now);
		look_at_segments(g, p, now);
	}
}
