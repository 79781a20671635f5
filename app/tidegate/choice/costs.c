/* SPDX-License-Identifier: BSD-3-Clause */
#include "choice/costs.h"

#include <math.h>
#include <stdlib.h>

#include "choice/load.h"
#include "gateway.h"

#define STALE_MS 1000 /* without a sample for so long, a server may be worth a probe */
#define CROWDING 4    /* `latency`: what a request a worker costs, in service times */

static void publish(uint32_t *to, double value)
{
	uint32_t word = value > 0 ? (uint32_t)fmin(value + 0.5, UINT32_MAX) : 0;

	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A mark that a worker took is a probe under way: the next one not before it had its time. */
static void mark_stale(struct tg_costs *c, uint16_t server, struct tg_load_view *v, uint64_t now,
		       uint64_t period)
{
	bool marked = __atomic_load_n(&c->stale[server], __ATOMIC_RELAXED) != 0;

	if (v->marked && !marked)
		v->probed = now;
	v->marked = marked;
	if (marked || now - v->newest < period || now - v->probed < period)
		return;
	__atomic_store_n(&c->stale[server], 1, __ATOMIC_RELAXED);
	v->marked = true;
}

/* The median of the known values (not 0) of each service's servers, for every one of them: service
 * and value sort as one number. */
static void medians(const struct tg_snapshot *s, const uint32_t *value, uint32_t *median)
{
	static uint64_t known[TG_SERVERS_MAX];
	static uint32_t of[TG_SERVICES_MAX];
	unsigned int n = 0;

	memset(of, 0, s->n_services * sizeof(*of));
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->server[i] != NULL && value[i] != 0)
			known[n++] = (uint64_t)s->service_of[i] << 32 | value[i];
	qsort(known, n, sizeof(*known), by_value);
	for (unsigned int from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && known[to] >> 32 == known[from] >> 32; to++)
			;
		of[known[from] >> 32] = (uint32_t)known[from + (to - from - 1) / 2];
	}
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->server[i] != NULL)
			publish(&median[i], of[s->service_of[i]]);
}

/*
 * The repaired hybrid is flat until all workers are busy: a request waits no longer at a server that
 * is half full. But a flow brings many requests, stays for longer than the server is as it is now,
 * and makes others wait there; and what differs between flat scores is noise. So each request there
 * counts for its share of a worker's time, and by the square: hardly at a server that is nearly
 * empty, where it would send flows to one that is far away. The time is that of the service's median
 * server, not this one's: a server that is far away, or answers late for a reason that holds no
 * worker, is not the more crowded by it. doc/choice.md has the figures.
 */
static double crowding(enum tg_policy policy, double requests, uint32_t workers, uint32_t median_ns)
{
	double each = requests / workers;

	return policy == TG_POLICY_LATENCY ? CROWDING * each * each * median_ns : 0;
}

static void one(struct tg_gateway *g, uint16_t server, uint32_t median_service, uint64_t now)
{
	struct tg_load_view *v = tg_load_of(g->load, server);
	struct tg_costs *c = g->costs;
	enum tg_policy policy = g->snapshot->service[g->snapshot->service_of[server]]->policy;
	uint32_t workers = g->snapshot->server[server]->workers;
	double known, one_more, there, crowd;

	if (v == NULL)
		return;
	there = v->in_system + v->fresh;
	crowd = crowding(policy, there, workers, median_service);
	known = v->service_ns > 0 ? v->predicted.score_ns + crowd : 0;
	/* the hybrid may read lower with one more request, as long as the model's wait is above
	 * the queue's; a pick never makes a server more attractive */
	one_more = fmax(v->one_more.score_ns - v->predicted.score_ns +
				crowding(policy, there + 1, workers, median_service) - crowd,
			v->service_ns / (2.0 * workers));
	publish(&c->cost_ns[server], known);
	if (known <= 0 ||
	    policy == TG_POLICY_HYBRID_SEED) /* the seed does not count its own picks */
		one_more = 0;
	publish(&c->marginal_ns[server], one_more);
	publish(&c->load_256[server], there * 256);
	publish(&c->crowd_256[server], 256 * tg_sharing(v->in_system, workers));
	publish(&c->withheld_256[server],
		v->since == 0 ? 0
			      : tg_select_withheld_256(tg_ticks_to_ns(&g->clock, now - v->since) /
						       1000000));
	mark_stale(c, server, v, now, tg_us_to_ticks(&g->clock, STALE_MS * 1000));
}

void tg_costs_update(struct tg_gateway *g, uint64_t now)
{
	static uint32_t service_ns[TG_SERVERS_MAX], median_service[TG_SERVERS_MAX];
	const struct tg_snapshot *s = g->snapshot;

	for (unsigned int i = 0; i < s->n_servers; i++) {
		const struct tg_load_view *v = tg_load_of(g->load, (uint16_t)i);

		publish(&service_ns[i], s->server[i] != NULL && v != NULL ? v->service_ns : 0);
	}
	medians(s, service_ns, median_service);
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (s->server[i] != NULL)
			one(g, (uint16_t)i, median_service[i], now);
	medians(s, g->costs->cost_ns, g->costs->median_ns);
	__atomic_store_n(&g->costs->tick, g->costs->tick + 1, __ATOMIC_RELEASE);
}
