/* SPDX-License-Identifier: BSD-3-Clause */
/* The policies of the model. Bids go through lib/bid as in the gateway. */
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "tg_bid.h"
#include "tg_mem.h"

#define HZ            1e9
#define SERVICE       1
#define DELAY_NOISE_S 20e-6 /* delay-coded: a host's own jitter, exponential */

static struct tg_bid_server servers[SERVERS_MAX];
static struct tg_bid_service services[SERVICE + 1];
static struct tg_bid_table *table;
static struct tg_bid_config config;
static double credit[SERVERS_MAX];
static unsigned int cursor;
static uint32_t sessions;

/* The table's memory, without DPDK. */
void *tg_mem_zalloc(const char *what, size_t size, size_t align, int socket)
{
	(void)what, (void)align, (void)socket;
	return calloc(1, size);
}

void tg_mem_free(void *p)
{
	free(p);
}

const char *policy_name(enum policy p)
{
	static const char *const names[POLICIES] = {"round-robin", "least-connections",
						    "dwrr",        "two-choices",
						    "jsq",         "bid",
						    "delay-coded"};

	return names[p];
}

void choose_start(const struct setting *set)
{
	const struct tg_clock clock = tg_clock_init((uint64_t)HZ);
	const struct tg_bid_params p = {.window_us = set->policy == DELAY ? 0 : 300,
					.syn_rate = 10000000,
					.auctions = TG_BID_TABLE,
					.missed = 3,
					.probe_s = 10};

	memset(servers, 0, sizeof(servers));
	memset(services, 0, sizeof(services));
	memset(credit, 0, sizeof(credit));
	cursor = sessions = 0;
	config = tg_bid_compile(&p, &clock, 1);
	config.n = set->n;
	for (unsigned int i = 0; i < set->n; i++)
		config.server[i] = (uint16_t)i;
	if (tg_bid_table_create(servers, services, set->seed, -1, &table) != 0)
		abort();
}

void choose_end(void)
{
	tg_bid_table_free(table);
}

/* The least of a value, ties at random. */
static unsigned int least(struct state *st, const double *value)
{
	unsigned int best = 0, ties = 0;

	for (unsigned int i = 0; i < st->set->n; i++) {
		if (ties > 0 && value[i] > value[best])
			continue;
		ties = ties > 0 && value[i] == value[best] ? ties + 1 : 1;
		if (uniform(&st->random) * ties < 1)
			best = i;
	}
	return best;
}

static unsigned int fewest(struct state *st)
{
	double open[SERVERS_MAX];

	for (unsigned int i = 0; i < st->set->n; i++)
		open[i] = st->open[i];
	return least(st, open);
}

static unsigned int two(struct state *st)
{
	unsigned int n = st->set->n, x = (unsigned int)(uniform(&st->random) * n);
	unsigned int y = (x + 1 + (unsigned int)(uniform(&st->random) * (n - 1))) % n;

	return st->open[y] < st->open[x] ? y : x;
}

/* Dynamic weighted round robin: weights by the last report, dealt out smoothly. */
static unsigned int dwrr(struct state *st)
{
	unsigned int best = 0;
	double sum = 0;

	for (unsigned int i = 0; i < st->set->n; i++) {
		double w = 1 / (1 + st->weighed[i]);

		credit[i] += w;
		sum += w;
		if (credit[i] > credit[best])
			best = i;
	}
	credit[best] -= sum;
	return best;
}

static uint8_t ttl_of(const struct state *st, unsigned int i)
{
	return tg_bid_encode(st->bid[i] / (st->set->heavy ? st->set->full_s : TG_BID_STEPS));
}

/* An auction; answers in the order of when[]. */
static unsigned int auction(struct state *st, const double *when, double *after)
{
	const uint32_t id = ++sessions;
	const struct tg_pkt syn = {.key = {.service = SERVICE,
					   .protocol = IPPROTO_TCP,
					   .client_port = (uint16_t)id,
					   .client = {{(uint8_t)(id >> 16), (uint8_t)(id >> 24)}}}};
	static char packet;
	uint64_t start = (uint64_t)((100 + st->now) * HZ), at = start;
	struct tg_auction *a = tg_bid_open(table, &config, &syn, sessions, TG_NO_SERVER, start);
	struct tg_bid_offer won;
	void *gone[TG_BID_HELD];
	unsigned int n_gone;

	while (!tg_bid_ripe(&config, a, at)) {
		unsigned int first = 0;
		double t = INFINITY;

		for (unsigned int i = 0; i < a->n; i++)
			if (!(a->answered >> i & 1) && when[a->server[i]] < t) {
				t = when[a->server[i]];
				first = i;
			}
		at = start + (uint64_t)(t * HZ);
		if (config.window > 0 && at - start > config.window && a->n_held > 0) {
			at = start + config.window;
			break;
		}
		tg_bid_answer(table, &config, a, (uint8_t)first, ttl_of(st, a->server[first]), 0,
			      &packet, at);
	}
	tg_bid_close(table, &config, a, NULL, at, &won, gone, &n_gone);
	/* the others' answers come, and are late */
	for (unsigned int i = 0; i < a->n; i++)
		if (!(a->answered >> i & 1))
			tg_bid_late(table, &config, a->server[i]);
	*after = (double)(at - start) / HZ;
	return a->server[won.slot];
}

static unsigned int bid(struct state *st, double *after, bool delayed)
{
	double when[SERVERS_MAX];

	for (unsigned int i = 0; i < st->set->n; i++) {
		when[i] = st->set->rtt_s + exponential(&st->random, DELAY_NOISE_S);
		if (delayed)
			when[i] += 1e-9 * (double)tg_bid_delay_ns(ttl_of(st, i), TG_BID_DELAY_US);
	}
	return auction(st, when, after);
}

unsigned int choose(struct state *st, double *after)
{
	*after = 0;
	switch (st->set->policy) {
	case RR:
		return cursor++ % st->set->n;
	case LCF:
		return fewest(st);
	case DWRR:
		return dwrr(st);
	case TWO:
		return two(st);
	case JSQ:
		return least(st, st->report);
	case BID:
		return bid(st, after, false);
	default:
		return bid(st, after, true);
	}
}
