/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the policies share: servers, groups, a view, and shares against closed forms.
 * Seeds are fixed, so the statistics are too; the bounds are those of a chi-square test at 0.1 %.
 */
#ifndef SELECT_RIG_H
#define SELECT_RIG_H

#include <errno.h>
#include <netinet/in.h>

#include "group.h"
#include "unit.h"

#define DRAWS   100000
#define IDS     1024
#define CAP     64
#define NOBODY  TG_NO_SERVER
#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

/* What a gateway knows, and one worker of it. */
static uint32_t cost[IDS], marginal[IDS], median[IDS], load[IDS], withheld[IDS], others[IDS],
	stale[IDS], tick, own[IDS];
static struct tg_select_tally tally[IDS];
static const struct tg_select_view view = {.cost_ns = cost,
					   .marginal_ns = marginal,
					   .median_ns = median,
					   .load_256 = load,
					   .withheld_256 = withheld,
					   .others = others,
					   .stale = stale,
					   .tick = &tick,
					   .own = own,
					   .tally = tally};

static inline struct tg_select_server server(uint16_t id, uint16_t weight)
{
	struct tg_addr addr = tg_addr_from_v4(htonl(0x0a000000u + id));
	char name[16];

	snprintf(name, sizeof(name), "web%u", id);
	return (struct tg_select_server){.id = id,
					 .weight = weight,
					 .name_hash = tg_select_name_hash(name, &addr)};
}

static inline struct tg_select_group *group(enum tg_policy policy, const struct tg_select_server *s,
					    unsigned int n)
{
	struct tg_select_group *g = NULL;

	ck_assert_int_eq(tg_select_group_create(policy, s, n, -1, &g), 0);
	return g;
}

/* n servers of ids 0.. and weight 1. */
static inline struct tg_select_group *equals(enum tg_policy policy, unsigned int n)
{
	struct tg_select_server s[IDS];

	for (unsigned int i = 0; i < n; i++)
		s[i] = server((uint16_t)i, 1);
	return group(policy, s, n);
}

static inline struct tg_select_local local(unsigned int worker, unsigned int workers)
{
	struct tg_select_local l;

	tg_select_local_init(&l, worker, workers, 4711);
	ck_assert_uint_ne(l.random, 0);
	return l;
}

static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x9e3779b97f4a7c15);
}

static inline void count_entries(const struct tg_select_group *g, unsigned int *count)
{
	memset(count, 0, IDS * sizeof(*count));
	for (uint32_t i = 0; i < g->table_size; i++) {
		ck_assert_uint_lt(g->table[i], IDS);
		count[g->table[i]]++;
	}
}

static inline void draw(const struct tg_select_group *g, unsigned int *count)
{
	struct tg_select_local l = local(0, 1);
	uint64_t r = 99;

	memset(count, 0, IDS * sizeof(*count));
	for (unsigned int i = 0; i < DRAWS; i++)
		count[tg_select_pick(g, &l, &view, next_random(&r))]++;
}

/* Pearson's statistic of DRAWS draws against shares that sum to 1. */
static inline double chi_square(const unsigned int *count, const double *share, unsigned int n)
{
	double sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		double want = share[i] * DRAWS, off = count[i] - want;

		sum += off * off / want;
	}
	return sum;
}

static const double chi_square_limit[] = {0,     10.83, 13.82, 16.27, 18.47, 20.52,
					  22.46, 24.32, 26.12, 27.88}; /* by degrees of freedom */

static inline void check_shares(const struct tg_select_group *g, const double *share,
				unsigned int n)
{
	unsigned int count[IDS];

	draw(g, count);
	ck_assert_double_lt(chi_square(count, share, n), chi_square_limit[n - 1]);
}

static inline void check_even(const struct tg_select_group *g, unsigned int n)
{
	double share[10];

	for (unsigned int i = 0; i < n; i++)
		share[i] = 1.0 / n;
	check_shares(g, share, n);
}

#endif
