/* SPDX-License-Identifier: BSD-3-Clause */
/* What others may know of the checks. */
#include "health/private.h"

bool tg_health_of(const struct tg_gateway *g, uint16_t server, uint64_t now,
		  struct tg_health_view *out)
{
	const struct health_entry *e;
	const struct tg_check *c;

	if (g->health == NULL || !g->health->entry[server].used)
		return false;
	e = &g->health->entry[server];
	c = &e->check;
	*out = (struct tg_health_view){
		.type = e->rule.type,
		.up = c->up,
		.out = g->registry->server[server].failed,
		.suspect = e->suspect,
		.checks = c->checks,
		.failures = c->failures,
		.changes = c->changes,
		.suspects = e->suspects,
		.changed_ns = c->changed != 0 && now > c->changed
				      ? tg_ticks_to_ns(&g->clock, now - c->changed)
				      : 0,
		.why = c->why,
		.fell = c->fell,
	};
	return true;
}

bool tg_health_open(const struct tg_gateway *g, uint16_t service, uint64_t *times)
{
	*times = g->health != NULL ? g->health->opened[service] : 0;
	return g->health != NULL && g->health->open[service];
}

uint64_t tg_health_strays(const struct tg_gateway *g)
{
	return g->health != NULL ? g->health->stray : 0;
}

uint64_t tg_health_unsent(const struct tg_gateway *g)
{
	return g->health != NULL ? g->health->unsent : 0;
}
