/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policies against their closed forms. Seeds are fixed, so the statistics are too; the bounds
 * are those of a chi-square test at 0.1 %.
 */
#include <errno.h>
#include <netinet/in.h>

#include "group.h"
#include "unit.h"

#define DRAWS   100000
#define IDS     1024
#define CAP     64
#define NOBODY  TG_NO_SERVER
#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static uint32_t cost[IDS], others[IDS], own[IDS];
static const struct tg_select_view view = {.cost_ns = cost, .others = others, .own = own};

static struct tg_select_server server(uint16_t id, uint16_t weight)
{
	struct tg_addr addr = tg_addr_from_v4(htonl(0x0a000000u + id));
	char name[16];

	snprintf(name, sizeof(name), "web%u", id);
	return (struct tg_select_server){.id = id,
					 .weight = weight,
					 .name_hash = tg_select_name_hash(name, &addr)};
}

static struct tg_select_group *group(enum tg_policy policy, const struct tg_select_server *s,
				     unsigned int n)
{
	struct tg_select_group *g = NULL;

	ck_assert_int_eq(tg_select_group_create(policy, s, n, -1, &g), 0);
	return g;
}

/* n servers of ids 0.. and weight 1. */
static struct tg_select_group *equals(enum tg_policy policy, unsigned int n)
{
	struct tg_select_server s[IDS];

	for (unsigned int i = 0; i < n; i++)
		s[i] = server((uint16_t)i, 1);
	return group(policy, s, n);
}

static struct tg_select_local local(unsigned int worker, unsigned int workers)
{
	struct tg_select_local l;

	tg_select_local_init(&l, worker, workers, 4711);
	ck_assert_uint_ne(l.random, 0);
	return l;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x9e3779b97f4a7c15);
}

static void count_entries(const struct tg_select_group *g, unsigned int *count)
{
	memset(count, 0, IDS * sizeof(*count));
	for (uint32_t i = 0; i < g->table_size; i++) {
		ck_assert_uint_lt(g->table[i], IDS);
		count[g->table[i]]++;
	}
}

static void draw(const struct tg_select_group *g, unsigned int *count)
{
	struct tg_select_local l = local(0, 1);
	uint64_t r = 99;

	memset(count, 0, IDS * sizeof(*count));
	for (unsigned int i = 0; i < DRAWS; i++)
		count[tg_select_pick(g, &l, &view, next_random(&r))]++;
}

/* Pearson's statistic of DRAWS draws against shares that sum to 1. */
static double chi_square(const unsigned int *count, const double *share, unsigned int n)
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

static void check_shares(const struct tg_select_group *g, const double *share, unsigned int n)
{
	unsigned int count[IDS];

	draw(g, count);
	ck_assert_double_lt(chi_square(count, share, n), chi_square_limit[n - 1]);
}

static void check_even(const struct tg_select_group *g, unsigned int n)
{
	double share[10];

	for (unsigned int i = 0; i < n; i++)
		share[i] = 1.0 / n;
	check_shares(g, share, n);
}

START_TEST(policies_by_name)
{
	for (int i = 0; i < TG_POLICY_COUNT; i++)
		ck_assert_int_eq(tg_policy_by_name(tg_policy((enum tg_policy)i)->name), i);
	ck_assert_str_eq(tg_policy(TG_POLICY_MAGLEV)->name, "maglev");
	ck_assert_str_eq(tg_policy(TG_POLICY_ROUND_ROBIN)->name, "round-robin");
	ck_assert_str_eq(tg_policy(TG_POLICY_LEAST_CONNECTIONS)->name, "least-connections");
	ck_assert_str_eq(tg_policy(TG_POLICY_LATENCY)->name, "latency");
	ck_assert_ptr_null(tg_policy(TG_POLICY_COUNT));
	ck_assert_ptr_null(tg_policy((enum tg_policy) - 1));
	ck_assert_int_eq(tg_policy_by_name("random"), -ENOENT);
	ck_assert_int_eq(tg_policy_by_name(""), -ENOENT);
}
END_TEST

START_TEST(empty_and_single)
{
	const struct tg_select_server down[] = {server(1, 0), server(2, 0)};
	const struct tg_select_server one[] = {server(1, 0), server(7, 3), server(2, 0)};

	for (int p = 0; p < TG_POLICY_COUNT; p++) {
		struct tg_select_local l = local(1, 2);
		struct tg_select_group *none = group((enum tg_policy)p, NULL, 0),
				       *zero = group((enum tg_policy)p, down, N_OF(down)),
				       *g = group((enum tg_policy)p, one, N_OF(one));

		ck_assert_uint_eq(tg_select_count(none), 0);
		ck_assert_uint_eq(tg_select_count(zero), 0);
		ck_assert_uint_eq(tg_select_count(g), 1);
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t hash = i * (UINT64_MAX / 999);

			ck_assert_uint_eq(tg_select_pick(none, &l, &view, hash), NOBODY);
			ck_assert_uint_eq(tg_select_pick(zero, &l, &view, hash), NOBODY);
			ck_assert_uint_eq(tg_select_consistent(zero, hash), NOBODY);
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, hash), 7);
			ck_assert_uint_eq(tg_select_consistent(g, hash), 7);
		}
		tg_select_group_free(none);
		tg_select_group_free(zero);
		tg_select_group_free(g);
	}
	tg_select_group_free(NULL);
}
END_TEST

START_TEST(limits)
{
	struct tg_select_server *s = calloc(10486, sizeof(*s));
	struct tg_select_group *g = NULL;

	for (unsigned int i = 0; i < 10486; i++)
		s[i] = server((uint16_t)i, 1);
	ck_assert_int_eq(tg_select_group_create(TG_POLICY_COUNT, s, 1, -1, &g), -EINVAL);
	ck_assert_int_eq(tg_select_group_create(TG_POLICY_MAGLEV, s, 10486, -1, &g), -EINVAL);
	ck_assert_ptr_null(g);
	g = group(TG_POLICY_MAGLEV, s, 10485);
	ck_assert_uint_eq(tg_select_count(g), 10485);
	ck_assert_uint_lt(tg_select_consistent(g, UINT64_MAX), 10485);
	tg_select_group_free(g);
	free(s);
}
END_TEST

static bool is_prime(uint32_t n)
{
	for (uint32_t d = 2; d * d <= n; d++) {
		if (n % d == 0)
			return false;
	}
	return n > 1;
}

/* Servers take turns, so with equal weights shares differ by one entry at most. */
START_TEST(maglev_balance)
{
	static const unsigned int sizes[] = {1, 2, 3, 10, 11, 100, 1000};
	unsigned int count[IDS];

	for (size_t k = 0; k < N_OF(sizes); k++) {
		unsigned int n = sizes[k];
		struct tg_select_group *g = equals(TG_POLICY_MAGLEV, n);

		ck_assert(is_prime(g->table_size));
		ck_assert_uint_ge(g->table_size, 100 * n);
		count_entries(g, count);
		for (unsigned int i = 0; i < n; i++)
			ck_assert(count[i] == g->table_size / n ||
				  count[i] == g->table_size / n + 1);
		tg_select_group_free(g);
	}
}
END_TEST

START_TEST(maglev_spreads_hashes)
{
	struct tg_select_group *g = equals(TG_POLICY_MAGLEV, 10);

	check_even(g, 10);
	tg_select_group_free(g);
}
END_TEST

START_TEST(maglev_weights)
{
	static const uint16_t weights[][5] = {{1, 2, 3, 4, 10},
					      {100, 100, 100, 100, 1},
					      {65535, 65535, 1, 32768, 7}};
	unsigned int count[IDS];

	for (size_t k = 0; k < N_OF(weights); k++) {
		struct tg_select_server s[5];
		struct tg_select_group *g;
		double sum = 0;

		for (uint16_t i = 0; i < 5; i++) {
			s[i] = server(i, weights[k][i]);
			sum += weights[k][i];
		}
		g = group(TG_POLICY_MAGLEV, s, 5);
		count_entries(g, count);
		/* stride scheduling keeps any two within one turn of each other's due */
		for (unsigned int i = 0; i < 5; i++)
			ck_assert_double_eq_tol(count[i], weights[k][i] / sum * g->table_size, 2);
		tg_select_group_free(g);
	}
}
END_TEST

/* One of 20 leaves: its entries go to others, who keep nearly all of theirs; then it comes back. */
START_TEST(maglev_disruption)
{
	struct tg_select_server s[20];
	struct tg_select_group *all, *less, *again;
	unsigned int moved = 0, count[IDS];

	for (uint16_t i = 0; i < 20; i++)
		s[i] = server(i, 5);
	all = group(TG_POLICY_MAGLEV, s, 20);
	s[13].weight = 0;
	less = group(TG_POLICY_MAGLEV, s, 20);
	s[13].weight = 5;
	again = group(TG_POLICY_MAGLEV, s, 20);
	ck_assert_uint_eq(all->table_size, less->table_size);
	for (uint32_t i = 0; i < all->table_size; i++) {
		ck_assert_uint_ne(less->table[i], 13);
		moved += all->table[i] != 13 && all->table[i] != less->table[i];
	}
	/* a hash modulo the number of servers would move 95 % of them */
	ck_assert_uint_lt(moved, all->table_size * 5 / 100);
	count_entries(less, count);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert(i == 13 ? count[i] == 0
				  : count[i] - less->table_size / 19 <= 1); /* still even */
	ck_assert_mem_eq(all->table, again->table, all->table_size * sizeof(all->table[0]));
	tg_select_group_free(all);
	tg_select_group_free(less);
	tg_select_group_free(again);
}
END_TEST

/* Another gateway lists the same servers in another order and under other ids. */
START_TEST(maglev_same_everywhere)
{
	struct tg_select_server here[30], there[30];
	struct tg_select_group *a, *b;
	struct tg_select_local l = local(0, 1);

	for (uint16_t i = 0; i < 30; i++) {
		here[i] = server(i, (uint16_t)(1 + i % 4));
		there[(i * 7 + 11) % 30] = here[i];
	}
	for (uint16_t i = 0; i < 30; i++)
		there[i].id = (uint16_t)(500 + i);
	a = group(TG_POLICY_MAGLEV, here, 30);
	b = group(TG_POLICY_MAGLEV, there, 30);
	ck_assert_uint_eq(a->table_size, b->table_size);
	for (uint32_t i = 0; i < a->table_size; i++)
		ck_assert_uint_eq(500u + (a->table[i] * 7u + 11) % 30, b->table[i]);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15);

		ck_assert_uint_eq(tg_select_pick(a, &l, &view, hash),
				  tg_select_consistent(a, hash));
	}
	tg_select_group_free(a);
	tg_select_group_free(b);
}
END_TEST

START_TEST(consistent_whatever_the_policy)
{
	struct tg_select_group *g[TG_POLICY_COUNT];

	for (int p = 0; p < TG_POLICY_COUNT; p++)
		g[p] = equals((enum tg_policy)p, 9);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t hash = i * (UINT64_MAX / 4999);

		for (int p = 1; p < TG_POLICY_COUNT; p++)
			ck_assert_uint_eq(tg_select_consistent(g[p], hash),
					  tg_select_consistent(g[0], hash));
	}
	for (int p = 0; p < TG_POLICY_COUNT; p++)
		tg_select_group_free(g[p]);
}
END_TEST

START_TEST(flow_hash)
{
	struct tg_key key = {.client_port = 1, .service_port = 2, .protocol = 6}, other;
	uint64_t hash;

	memset(key.client.b, 0x5a, sizeof(key.client.b));
	hash = tg_select_flow_hash(&key);
	for (size_t i = 0; i < sizeof(key); i++) {
		other = key;
		((uint8_t *)&other)[i] ^= 0x10;
		/* service id and flags are left out: ids may differ between gateways */
		if (i >= offsetof(struct tg_key, flags))
			ck_assert_uint_eq(tg_select_flow_hash(&other), hash);
		else
			ck_assert_uint_ne(tg_select_flow_hash(&other), hash);
	}
}
END_TEST

START_TEST(name_hash)
{
	struct tg_addr a = tg_addr_from_v4(htonl(0x0a000001)),
		       b = tg_addr_from_v4(htonl(0x0a000002));

	ck_assert_uint_eq(tg_select_name_hash("a", &a), tg_select_name_hash("a", &a));
	ck_assert_uint_ne(tg_select_name_hash("a", &a), tg_select_name_hash("b", &a));
	ck_assert_uint_ne(tg_select_name_hash("a", &a), tg_select_name_hash("a", &b));
	ck_assert_uint_ne(tg_select_name_hash("", &a), tg_select_name_hash("", &b));
}
END_TEST

/* Gateways of different versions stand side by side: these never change. The values are
 * libxxhash's own, over the bytes the header names. */
START_TEST(hashes_are_for_ever)
{
	struct tg_key key = {.client_port = htons(40000),
			     .service_port = htons(443),
			     .protocol = IPPROTO_TCP};
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse("10.0.0.11", &a), 0);
	ck_assert_int_eq(tg_addr_parse("198.51.100.7", &key.client), 0);
	ck_assert(tg_select_name_hash("a", &a) == UINT64_C(0x9bf19a7203c02470));
	ck_assert(tg_select_flow_hash(&key) == UINT64_C(0x67647973ec7cc8f7));
}
END_TEST

/* Nor does the table that a set of servers gives. */
START_TEST(maglev_is_for_ever)
{
	static const uint16_t want[16] = {2, 5, 2, 0, 1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 5, 0};
	struct tg_select_server s[6];
	struct tg_select_group *g;

	for (uint16_t i = 0; i < 6; i++)
		s[i] = server(i, (uint16_t)(6 - i));
	g = group(TG_POLICY_MAGLEV, s, 6);
	for (uint64_t i = 0; i < 16; i++)
		ck_assert_uint_eq(tg_select_consistent(g, i << 60), want[i]);
	tg_select_group_free(g);
}
END_TEST

START_TEST(round_robin_cycles)
{
	struct tg_select_server s[6];
	struct tg_select_local l = local(0, 1);
	struct tg_select_group *g;
	uint16_t first[5];
	unsigned int seen = 0;

	for (uint16_t i = 0; i < 6; i++)
		s[i] = server(i, (uint16_t)(10 * i)); /* 0 is none; weights do not count */
	g = group(TG_POLICY_ROUND_ROBIN, s, 6);
	for (unsigned int i = 0; i < 5; i++) {
		first[i] = tg_select_pick(g, &l, &view, i);
		seen |= 1u << first[i];
	}
	ck_assert_uint_eq(seen, 0x3e);
	for (unsigned int i = 0; i < 50; i++)
		ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), first[i % 5]);
	tg_select_group_free(g);
}
END_TEST

/* Four workers over eight servers start two apart. */
START_TEST(round_robin_workers_apart)
{
	struct tg_select_group *g = equals(TG_POLICY_ROUND_ROBIN, 8);
	struct tg_select_local one = local(0, 1);
	uint16_t order[8];

	for (unsigned int i = 0; i < 8; i++)
		order[i] = tg_select_pick(g, &one, &view, 0);
	for (unsigned int w = 0; w < 4; w++) {
		struct tg_select_local l = local(w, 4);

		for (unsigned int i = 0; i < 16; i++)
			ck_assert_uint_eq(tg_select_pick(g, &l, &view, 0), order[(2 * w + i) % 8]);
	}
	tg_select_group_free(g);
}
END_TEST

/* The cursor outlives a reload that takes servers away, or brings more. */
START_TEST(round_robin_over_reloads)
{
	struct tg_select_group *many = equals(TG_POLICY_ROUND_ROBIN, 8),
			       *few = equals(TG_POLICY_ROUND_ROBIN, 3);

	for (unsigned int at = 0; at < 8; at++) {
		struct tg_select_local l = local(0, 1);
		unsigned int count[8] = {0};

		for (unsigned int i = 0; i < at; i++)
			tg_select_pick(many, &l, &view, 0);
		for (unsigned int i = 0; i < 30; i++)
			count[tg_select_pick(few, &l, &view, 0)]++;
		for (unsigned int i = 0; i < 8; i++)
			ck_assert_uint_eq(count[i], i < 3 ? 10 : 0);
		for (unsigned int i = 0; i < 80; i++)
			count[tg_select_pick(many, &l, &view, 0)]++;
		for (unsigned int i = 0; i < 8; i++)
			ck_assert_uint_eq(count[i], i < 3 ? 20 : 10);
	}
	tg_select_group_free(many);
	tg_select_group_free(few);
}
END_TEST

/* (a + 1) / weight against (b + 1) / weight, in exact integers. */
static bool less_loaded(const struct tg_select_server *a, const struct tg_select_server *b)
{
	unsigned __int128 x = (unsigned __int128)((uint64_t)own[a->id] + others[a->id] + 1) *
			      b->weight;
	unsigned __int128 y = (unsigned __int128)((uint64_t)own[b->id] + others[b->id] + 1) *
			      a->weight;

	return x < y;
}

START_TEST(least_connections_takes_the_least)
{
	uint64_t r = 5;

	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int n = 1 + (unsigned int)(next_random(&r) >> 32) % 8;
		uint32_t range = round % 2 == 0 ? 6 : UINT32_MAX;
		struct tg_select_local l = local(round % 4, 4);
		struct tg_select_server s[8];
		struct tg_select_group *g;

		for (uint16_t i = 0; i < n; i++) {
			s[i] = server(i,
				      (uint16_t)(1 + (next_random(&r) >> 33) % (range & 0xfffe)));
			own[i] = (uint32_t)(next_random(&r) >> 32) % range;
			others[i] = (uint32_t)(next_random(&r) >> 32) % range;
		}
		g = group(TG_POLICY_LEAST_CONNECTIONS, s, n);
		for (unsigned int k = 0; k < 4; k++) {
			uint16_t id = tg_select_pick(g, &l, &view, next_random(&r));

			ck_assert_uint_lt(id, n);
			for (unsigned int i = 0; i < n; i++)
				ck_assert(!less_loaded(&s[i], &s[id]));
		}
		tg_select_group_free(g);
	}
}
END_TEST

START_TEST(least_connections_spreads_ties)
{
	struct tg_select_group *g = equals(TG_POLICY_LEAST_CONNECTIONS, 4);

	for (unsigned int i = 0; i < 4; i++) {
		own[i] = i;
		others[i] = 10 - i; /* alike in sum */
	}
	check_even(g, 4);
	tg_select_group_free(g);
}
END_TEST

/*
 * The better of two different ones of n, but one draw in 64 goes anywhere: the share of rank r
 * (0 the best) is 63/64 * 2 (n - 1 - r) / (n (n - 1)) + 1 / (64 n).
 */
static void check_ranks(const struct tg_select_group *g, const unsigned int *rank, unsigned int n)
{
	double share[10];

	for (unsigned int i = 0; i < n; i++)
		share[i] = 63.0 / 64 * 2 * (n - 1 - rank[i]) / (n * (n - 1)) + 1.0 / (64 * n);
	check_shares(g, share, n);
}

START_TEST(latency_prefers_the_lower)
{
	struct tg_select_group *two = equals(TG_POLICY_LATENCY, 2),
			       *five = equals(TG_POLICY_LATENCY, 5);

	cost[0] = 200;
	cost[1] = 199;
	check_ranks(two, (const unsigned int[]){1, 0}, 2);
	cost[0] = 1;
	check_ranks(two, (const unsigned int[]){0, 1}, 2);
	memcpy(cost, (const uint32_t[]){500, 100, UINT32_MAX, 300, 200}, 5 * sizeof(cost[0]));
	own[1] = 1000; /* flows do not count where costs differ */
	check_ranks(five, (const unsigned int[]){3, 0, 4, 2, 1}, 5);
	tg_select_group_free(two);
	tg_select_group_free(five);
}
END_TEST

START_TEST(latency_counts_the_delay)
{
	struct tg_select_server s[3] = {server(0, 1), server(1, 1), server(2, 1)};
	struct tg_select_group *g;

	cost[0] = 50000;
	cost[1] = 50000;
	cost[2] = 60000;
	s[0].delay_us = 11;      /* 61000 */
	s[1].delay_us = 4294968; /* in 32 bits it would wrap to 704 ns */
	g = group(TG_POLICY_LATENCY, s, 3);
	check_ranks(g, (const unsigned int[]){1, 2, 0}, 3);
	tg_select_group_free(g);
}
END_TEST

/* Unmeasured counts as the mean of the measured: here 200. */
START_TEST(latency_of_the_unmeasured)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 3);

	cost[0] = 100;
	cost[1] = 300;
	check_ranks(g, (const unsigned int[]){0, 2, 1}, 3);
	cost[1] = 140; /* 120: half of the sum, not a third */
	check_ranks(g, (const unsigned int[]){0, 2, 1}, 3);
	cost[1] = 0; /* none is worse than the only one measured: open flows decide */
	own[0] = 2;
	others[1] = 1;
	check_ranks(g, (const unsigned int[]){2, 1, 0}, 3);
	tg_select_group_free(g);
}
END_TEST

START_TEST(latency_all_unmeasured)
{
	struct tg_select_group *g = equals(TG_POLICY_LATENCY, 4);

	check_even(g, 4);
	own[0] = 3;
	others[1] = 2;
	own[2] = 1;
	check_ranks(g, (const unsigned int[]){3, 2, 1, 0}, 4);
	tg_select_group_free(g);
}
END_TEST

/* Whatever is known of a server without weight, and however attractive, it gets nothing. */
START_TEST(candidates_only)
{
	uint64_t r = 31;

	for (unsigned int round = 0; round < 1000; round++) {
		enum tg_policy policy = (enum tg_policy)(round % TG_POLICY_COUNT);
		unsigned int n = (unsigned int)(next_random(&r) >> 32) % CAP, up = 0;
		struct tg_select_local l = local(round % 3, 3);
		struct tg_select_server s[CAP];
		uint16_t weight_of[IDS] = {0};
		struct tg_select_group *g;

		for (unsigned int i = 0; i < n; i++) {
			uint16_t id = (uint16_t)(i * 16 + (next_random(&r) >> 60)); /* sparse */

			s[i] = server(id, (uint16_t)((next_random(&r) >> 32) % 3));
			weight_of[id] = s[i].weight;
			up += s[i].weight > 0;
			cost[id] = s[i].weight > 0 ? (uint32_t)(next_random(&r) >> 40) : 1;
			own[id] = s[i].weight;
			others[id] = 0;
		}
		g = group(policy, s, n);
		ck_assert_uint_eq(tg_select_count(g), up);
		for (unsigned int k = 0; k < 50; k++) {
			uint16_t id = tg_select_pick(g, &l, &view, next_random(&r));

			ck_assert(up == 0 ? id == NOBODY : id < IDS && weight_of[id] > 0);
		}
		tg_select_group_free(g);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("select");

	UNIT_CASE(s, "group", policies_by_name, empty_and_single, limits, candidates_only);
	UNIT_CASE(s, "maglev", maglev_balance, maglev_spreads_hashes, maglev_weights,
		  maglev_disruption, maglev_same_everywhere, maglev_is_for_ever,
		  consistent_whatever_the_policy);
	UNIT_CASE(s, "hash", flow_hash, name_hash, hashes_are_for_ever);
	UNIT_CASE(s, "round-robin", round_robin_cycles, round_robin_workers_apart,
		  round_robin_over_reloads);
	UNIT_CASE(s, "least-connections", least_connections_takes_the_least,
		  least_connections_spreads_ties);
	UNIT_CASE(s, "latency", latency_prefers_the_lower, latency_counts_the_delay,
		  latency_of_the_unmeasured, latency_all_unmeasured);
	return s;
}

UNIT_MAIN_EAL(suite)
