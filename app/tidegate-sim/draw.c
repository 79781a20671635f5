/* SPDX-License-Identifier: BSD-3-Clause */
/* What requests are like. Always drawn in the same order, so a policy changes no number. */
#include "client_group.h"

#define BYTES_MAX 1e9

/* Each client begins elsewhere in a trace, the first at its start: they do not repeat in step. */
static uint32_t place(const struct tg_dist *d, uint64_t index, uint64_t of)
{
	return d->kind == TG_DIST_TRACE
		       ? (uint32_t)((double)d->n_trace * (double)index / (double)of)
		       : 0;
}

void tg_draw_init(struct tg_draw *d, const struct tg_group *g, uint64_t index, uint64_t of)
{
	const struct tg_group_params *p = g->params;

	tg_random_init(&d->random, g->sim->seed, g->sim->replication, "requests",
		       (uint64_t)g->index << 32 | index);
	tg_random_init(&d->pauses, g->sim->seed, g->sim->replication, "think",
		       (uint64_t)g->index << 32 | index);
	d->bytes = place(&p->bytes, index, of);
	d->answer = place(&p->answer_bytes, index, of);
	d->work = place(&p->work_us, index, of);
	d->writes = place(&p->writes, index, of);
	d->gap = place(&p->write_gap_us, index, of);
	d->think = place(&p->think_us, index, of);
}

static uint32_t whole(double x)
{
	if (!(x >= 1))
		return 1;
	return x > BYTES_MAX ? (uint32_t)BYTES_MAX : (uint32_t)(x + 0.5);
}

static uint64_t ns_of_us(double us)
{
	return us > 0 ? (uint64_t)(us * 1e3 + 0.5) : 0;
}

struct tg_request *tg_draw_request(struct tg_draw *d, struct tg_group *g, uint64_t now)
{
	const struct tg_group_params *p = g->params;
	struct tg_request *r = tg_pool_take(&g->requests);

	r->id = g->sim->next_request++;
	r->class = g->index;
	r->created = now;
	r->bytes = whole(tg_dist_sample(&p->bytes, &d->random, &d->bytes));
	r->answer_bytes = whole(tg_dist_sample(&p->answer_bytes, &d->random, &d->answer));
	r->work_us = p->has_work ? tg_dist_sample(&p->work_us, &d->random, &d->work) : -1;
	r->writes = whole(tg_dist_sample(&p->writes, &d->random, &d->writes));
	if (r->writes > r->answer_bytes)
		r->writes = r->answer_bytes;
	r->write_gap_ns = ns_of_us(tg_dist_sample(&p->write_gap_us, &d->random, &d->gap));
	g->counts.asked++;
	return r;
}

uint64_t tg_draw_think(struct tg_draw *d, const struct tg_group_params *p)
{
	double toss = tg_random_uniform(&d->pauses);
	uint64_t ns = ns_of_us(tg_dist_sample(&p->think_us, &d->pauses, &d->think));

	return toss < p->think_share ? ns : 0;
}
