/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A choice of a server, by policy and number of servers. One server in eight is five times as slow
 * as the others, which makes some flows draw further candidates, and one flow in some hundreds is a
 * probe. Every 128 choices control's tick comes. The base is the same loop without the choice.
 */
#include <errno.h>

#include "bench.h"
#include "stream.h"
#include "tg_mem.h"
#include "tg_select.h"

#define TICK_BURSTS 4 /* a power of two */
#define SERVICE_NS  1000000
#define PER_FLOW_NS 50000

struct choose_state {
	struct stream stream;
	struct tg_select_group *group;
	struct tg_select_local local;
	struct tg_select_view view;
	uint32_t n, tick, bursts;
	uint64_t sum;
	/* by server id, of n each */
	uint32_t *cost, *marginal, *median, *load, *withheld, *others, *stale, *own;
	struct tg_select_tally *tally;
};

static void choose_free(void *state)
{
	struct choose_state *s = state;

	tg_select_group_free(s->group);
	tg_mem_free(s->cost);
	tg_mem_free(s->tally);
	tg_mem_free(s);
}

static int make_arrays(struct choose_state *s)
{
	uint32_t n = s->n;

	s->cost = tg_mem_zalloc("bench", 8 * n * sizeof(*s->cost), 64, -1);
	s->tally = tg_mem_zalloc("bench", n * sizeof(*s->tally), 64, -1);
	if (s->cost == NULL || s->tally == NULL)
		return -ENOMEM;
	s->marginal = s->cost + n;
	s->median = s->cost + 2 * n;
	s->load = s->cost + 3 * n;
	s->withheld = s->cost + 4 * n;
	s->others = s->cost + 5 * n;
	s->stale = s->cost + 6 * n;
	s->own = s->cost + 7 * n;
	for (uint32_t i = 0; i < n; i++) {
		s->cost[i] = (SERVICE_NS + i * 17 % 64 * 1000) * (i % 8 == 3 ? 5 : 1);
		s->marginal[i] = PER_FLOW_NS;
		s->median[i] = SERVICE_NS;
		s->load[i] = i * 37 % 1000;
		s->others[i] = i * 41 % 100;
		s->own[i] = i * 43 % 100;
	}
	s->view = (struct tg_select_view){
		.cost_ns = s->cost,
		.marginal_ns = s->marginal,
		.median_ns = s->median,
		.load_256 = s->load,
		.withheld_256 = s->withheld,
		.others = s->others,
		.stale = s->stale,
		.tick = &s->tick,
		.own = s->own,
		.tally = s->tally,
	};
	return 0;
}

static int make_group(struct choose_state *s, const char *policy)
{
	struct tg_select_server *servers = tg_mem_zalloc("bench", s->n * sizeof(*servers), 64, -1);
	int p = tg_policy_by_name(policy), rc;

	if (servers == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct tg_addr address = tg_addr_from_v4(stream_address(i));

		servers[i] = (struct tg_select_server){
			.id = (uint16_t)i,
			.weight = (uint16_t)(1 + i % 4),
			.name_hash = tg_select_name_hash("bench", &address),
		};
	}
	rc = p < 0 ? p : tg_select_group_create((enum tg_policy)p, servers, s->n, -1, &s->group);
	tg_mem_free(servers);
	return rc;
}

static int choose_setup(const struct bench_family *f, uint64_t flows, void **state)
{
	struct choose_state *s = tg_mem_zalloc("bench", sizeof(*s), 64, -1);
	int rc;

	*state = s;
	if (s == NULL)
		return -ENOMEM;
	s->n = (uint32_t)flows;
	s->stream = (struct stream){.random = 1, .flows = 1};
	tg_select_local_init(&s->local, 0, 1, 1);
	rc = make_arrays(s);
	if (rc == 0)
		rc = make_group(s, f->kind);
	if (rc < 0)
		choose_free(s);
	return rc;
}

static inline uint64_t next_hash(struct choose_state *s)
{
	stream_next(&s->stream);
	return (uint64_t)s->stream.low << 32 | s->stream.low;
}

static inline void turn(struct choose_state *s)
{
	if ((s->bursts++ & (TICK_BURSTS - 1)) == 0) {
		s->tick++;
		s->stale[s->bursts % s->n] = 1;
	}
}

static uint64_t choose_run(void *state, unsigned int bursts)
{
	struct choose_state *s = state;
	uint64_t done = 0;

	while (bursts-- > 0) {
		turn(s);
		for (unsigned int i = 0; i < BENCH_BURST; i++) {
			uint16_t id = tg_select_pick(s->group, &s->local, &s->view, next_hash(s));

			done += id != TG_NO_SERVER;
			tg_select_request(&s->local, s->local.probe);
		}
	}
	return done;
}

static void choose_base(void *state, unsigned int bursts)
{
	struct choose_state *s = state;

	while (bursts-- > 0) {
		turn(s);
		for (unsigned int i = 0; i < BENCH_BURST; i++) {
			s->sum += next_hash(s);
			tg_select_request(&s->local, false);
		}
	}
}

static uint64_t memory(const struct bench_family *f, uint64_t flows)
{
	(void)f;
	(void)flows;
	return UINT64_C(2) << 20;
}

#define CHOOSE(policy, others_on_demand)                                                    \
	{                                                                                   \
		.name = "choose/" policy, .what = "a new flow's server by " policy,         \
		.flows = {{4, others_on_demand}, {100, true}, {1000, others_on_demand}},    \
		.is_net = true, .memory = memory, .setup = choose_setup, .run = choose_run, \
		.base = choose_base, .free = choose_free, .kind = policy                    \
	}

const struct bench_family bench_choose[BENCH_CHOICES] = {
	CHOOSE("maglev", true),
	CHOOSE("rendezvous", true),
	CHOOSE("round-robin", true),
	CHOOSE("weighted-round-robin", true),
	CHOOSE("least-connections", true),
	CHOOSE("jsq", true),
	CHOOSE("two-choices", true),
	CHOOSE("random", true),
	CHOOSE("model", true),
	CHOOSE("queue", true),
	CHOOSE("hybrid-seed", true),
	CHOOSE("completion", true),
	CHOOSE("latency", false),
};
