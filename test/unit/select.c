/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups, hashes, candidates, and the policies that are pure functions of the flow's hash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "select_rig.h"

START_TEST(policies_by_name)
{
	static const char *const names[] = {"maglev",
					    "rendezvous",
					    "round-robin",
					    "weighted-round-robin",
					    "least-connections",
					    "jsq",
					    "two-choices",
					    "random",
					    "model",
					    "queue",
					    "hybrid-seed",
					    "completion",
					    "latency",
					    "bid"};

	ck_assert_uint_eq(N_OF(names), TG_POLICY_COUNT);
	for (int i = 0; i < TG_POLICY_COUNT; i++) {
		ck_assert_str_eq(tg_policy((enum tg_policy)i)->name, names[i]);
		ck_assert_int_eq(tg_policy_by_name(names[i]), i);
	}
	ck_assert_ptr_null(tg_policy(TG_POLICY_COUNT));
	ck_assert_ptr_null(tg_policy((enum tg_policy) - 1));
	ck_assert_int_eq(tg_policy_by_name("fastest"), -ENOENT);
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

/* Whose turn is due, the first of equals, takes the next free place of its permutation: server by
 * server and place by place. */
static void is_by_its_definition(const struct tg_select_group *g)
{
	static uint16_t table[8191];
	uint64_t due[CAP];
	uint32_t place[CAP], skip[CAP];

	ck_assert_uint_le(g->table_size, N_OF(table));
	memset(table, 0xff, sizeof(table));
	for (uint32_t i = 0; i < g->n; i++) {
		uint64_t h = g->server[i].name_hash;

		due[i] = (UINT64_C(1) << 40) / g->server[i].weight;
		place[i] = (uint32_t)(XXH3_64bits_withSeed(&h, sizeof(h), 1) % g->table_size);
		skip[i] = (uint32_t)(XXH3_64bits_withSeed(&h, sizeof(h), 2) % (g->table_size - 1)) +
			  1;
	}
	for (uint32_t taken = 0; taken < g->table_size; taken++) {
		uint32_t i = 0;

		for (uint32_t k = 1; k < g->n; k++)
			i = due[k] < due[i] ? k : i;
		while (table[place[i]] != NOBODY)
			place[i] = (place[i] + skip[i]) % g->table_size;
		table[place[i]] = g->server[i].id;
		due[i] += (UINT64_C(1) << 40) / g->server[i].weight;
	}
	ck_assert_mem_eq(g->table, table, g->table_size * sizeof(table[0]));
}

START_TEST(maglev_by_its_definition)
{
	uint64_t r = 41;

	for (unsigned int round = 0; round < 60; round++) {
		unsigned int n = 1 + (unsigned int)(next_random(&r) >> 32) % CAP;
		/* from all alike to all different */
		unsigned int weights = 1 +
				       (unsigned int)(next_random(&r) >> 32) % (1u << round % 16);
		struct tg_select_server s[CAP];
		struct tg_select_group *g;

		for (unsigned int i = 0; i < n; i++)
			s[i] = server((uint16_t)i,
				      (uint16_t)(1 + (next_random(&r) >> 32) % weights));
		g = group(TG_POLICY_MAGLEV, s, n);
		is_by_its_definition(g);
		tg_select_group_free(g);
	}
}
END_TEST

/* What stays the same is not built again, and lives until its last user frees it. */
START_TEST(groups_are_shared)
{
	struct tg_select_server s[] = {server(3, 2), server(1, 1), server(2, 0)};
	struct tg_select_server turned[] = {s[1], s[2], s[0]};
	struct tg_select_group *a = group(TG_POLICY_LATENCY, s, 3), *b = NULL, *c;
	uint16_t at = tg_select_consistent(a, 12345);

	ck_assert_int_eq(tg_select_group_renew(a, TG_POLICY_LATENCY, turned, 3, -1, &b), 0);
	ck_assert_ptr_eq(b, a);
	tg_select_group_free(a);
	ck_assert_uint_eq(tg_select_consistent(b, 12345), at);
	for (unsigned int change = 0; change < 6; change++) {
		struct tg_select_server other[3];

		memcpy(other, s, sizeof(other));
		other[0].weight += change == 0;
		other[1].weight -= change == 1;
		other[1].id = change == 2 ? 9 : other[1].id;
		other[1].name_hash += change == 3;
		ck_assert_int_eq(tg_select_group_renew(b,
						       change == 4 ? TG_POLICY_MAGLEV
								   : TG_POLICY_LATENCY,
						       other, change == 5 ? 1 : 3, -1, &c),
				 0);
		ck_assert_ptr_ne(c, b);
		ck_assert_uint_eq(tg_select_count(c), change == 1 || change == 5 ? 1 : 2);
		tg_select_group_free(c);
	}
	ck_assert_int_eq(tg_select_group_renew(b, TG_POLICY_COUNT, s, 3, -1, &c), -EINVAL);
	ck_assert_uint_eq(tg_select_count(b), 2);
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

/* Shares are the weights, of any ratio. */
START_TEST(rendezvous_weights)
{
	static const uint16_t weights[][5] = {{1, 1, 1, 1, 1},
					      {1, 2, 3, 4, 10},
					      {100, 100, 100, 100, 1},
					      {65535, 1000, 1, 32768, 7}};

	for (size_t k = 0; k < N_OF(weights); k++) {
		struct tg_select_server s[5];
		struct tg_select_group *g;
		double share[5], sum = 0;

		for (uint16_t i = 0; i < 5; i++) {
			s[i] = server(i, weights[k][i]);
			sum += weights[k][i];
		}
		for (unsigned int i = 0; i < 5; i++)
			share[i] = weights[k][i] / sum;
		g = group(TG_POLICY_RENDEZVOUS, s, 5);
		check_shares(g, share, 5);
		tg_select_group_free(g);
	}
}
END_TEST

/* Twenty draws each; 999 degrees of freedom at 0.1 %: 1144. */
START_TEST(rendezvous_of_a_thousand)
{
	struct tg_select_group *g = equals(TG_POLICY_RENDEZVOUS, 1000);
	struct tg_select_local l = local(0, 1);
	unsigned int count[1000] = {0};
	double sum = 0;
	uint64_t r = 99;

	for (unsigned int i = 0; i < 20000; i++)
		count[tg_select_pick(g, &l, &view, next_random(&r))]++;
	for (unsigned int i = 0; i < 1000; i++)
		sum += (count[i] - 20.0) * (count[i] - 20.0) / 20;
	ck_assert_double_lt(sum, 1144);
	tg_select_group_free(g);
}
END_TEST

/* One of 20 leaves, one grows: exactly its own flows move, and exactly to it. */
START_TEST(rendezvous_disruption)
{
	struct tg_select_server s[20];
	struct tg_select_local l = local(0, 1);
	struct tg_select_group *all, *less, *more;
	unsigned int left = 0, gained = 0;
	uint64_t r = 8;

	for (uint16_t i = 0; i < 20; i++)
		s[i] = server(i, 5);
	all = group(TG_POLICY_RENDEZVOUS, s, 20);
	s[13].weight = 0;
	less = group(TG_POLICY_RENDEZVOUS, s, 20);
	s[13].weight = 10;
	more = group(TG_POLICY_RENDEZVOUS, s, 20);
	for (unsigned int i = 0; i < DRAWS; i++) {
		uint64_t hash = next_random(&r);
		uint16_t was = tg_select_pick(all, &l, &view, hash);
		uint16_t now = tg_select_pick(less, &l, &view, hash);

		ck_assert_uint_ne(now, 13);
		ck_assert(was == 13 || now == was);
		left += was == 13;
		now = tg_select_pick(more, &l, &view, hash);
		ck_assert(now == 13 || now == was);
		gained += now != was;
	}
	ck_assert_double_eq_tol(left, DRAWS / 20.0, 300);                    /* 5 % */
	ck_assert_double_eq_tol(gained, DRAWS * (2.0 / 21 - 1.0 / 20), 300); /* 4.5 % */
	tg_select_group_free(all);
	tg_select_group_free(less);
	tg_select_group_free(more);
}
END_TEST

/* The same servers as another gateway lists them: another order, other ids. */
struct gateways {
	struct tg_select_group *here, *there;
	uint16_t other_id[IDS];
};

static void make_gateways(struct gateways *w, enum tg_policy policy, unsigned int n)
{
	struct tg_select_server here[IDS], there[IDS];

	ck_assert_uint_ne(n % 7, 0);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int at = (i * 7 + 11) % n;

		here[i] = server((uint16_t)i, (uint16_t)(1 + i % 4));
		there[at] = here[i];
		there[at].id = w->other_id[i] = (uint16_t)((at + 500) % IDS);
	}
	w->here = group(policy, here, n);
	w->there = group(policy, there, n);
}

/* What is known is the same too. */
START_TEST(same_choice_on_every_gateway)
{
	static const enum tg_policy by_hash[] = {TG_POLICY_MAGLEV, TG_POLICY_RENDEZVOUS,
						 TG_POLICY_COMPLETION, TG_POLICY_LATENCY};
	static uint32_t there_cost[IDS], there_median[IDS], there_withheld[IDS];
	const struct tg_select_view there = {.cost_ns = there_cost,
					     .median_ns = there_median,
					     .withheld_256 = there_withheld};
	struct tg_select_local l = local(0, 1), k = local(1, 4);
	uint64_t r = 3;

	for (size_t p = 0; p < N_OF(by_hash); p++) {
		struct gateways w;
		unsigned int n = p == 0 ? 3 : 30;

		make_gateways(&w, by_hash[p], n);
		for (unsigned int i = 0; i < n; i++) {
			cost[i] = there_cost[w.other_id[i]] = 1000 + (uint32_t)(i * i % 7) * 900;
			median[i] = there_median[w.other_id[i]] = 2000;
			withheld[i] = there_withheld[w.other_id[i]] = i % 5 == 0 ? 200 : 0;
		}
		for (unsigned int i = 0; i < 20000; i++) {
			uint64_t hash = next_random(&r);

			ck_assert_uint_eq(w.other_id[tg_select_pick(w.here, &l, &view, hash)],
					  tg_select_pick(w.there, &k, &there, hash));
		}
		tg_select_group_free(w.here);
		tg_select_group_free(w.there);
	}
}
END_TEST

START_TEST(candidates_are_distinct_and_agree)
{
	static const unsigned int sizes[] = {1, 2, 3, 4, 5, 12, 13, 100, 1000};
	uint16_t a[TG_SELECT_CANDIDATES_MAX], b[TG_SELECT_CANDIDATES_MAX];
	uint64_t r = 17;

	for (size_t k = 0; k < N_OF(sizes); k++) {
		unsigned int n = sizes[k], all = n < N_OF(a) ? n : (unsigned int)N_OF(a);
		struct gateways w;

		make_gateways(&w, (enum tg_policy)(k % TG_POLICY_COUNT), n);
		for (unsigned int i = 0; i < 500; i++) {
			uint64_t hash = next_random(&r);

			ck_assert_uint_eq(tg_select_candidates(w.here, hash, a, N_OF(a)), all);
			ck_assert_uint_eq(a[0], tg_select_consistent(w.here, hash));
			for (unsigned int x = 0; x < all; x++)
				for (unsigned int y = 0; y < x; y++)
					ck_assert_uint_ne(a[x], a[y]);
			/* a shorter list is the beginning of the longer one */
			ck_assert_uint_eq(tg_select_candidates(w.there, hash, b, 3), n < 3 ? n : 3);
			for (unsigned int x = 0; x < n && x < 3; x++)
				ck_assert_uint_eq(b[x], w.other_id[a[x]]);
		}
		ck_assert_uint_eq(tg_select_candidates(w.here, 0, a, 0), 0);
		ck_assert_uint_eq(tg_select_candidates(w.here, 0, a, 1), 1);
		tg_select_group_free(w.here);
		tg_select_group_free(w.there);
	}
}
END_TEST

/* Weights so unequal that a draw never meets the light ones: the list is complete all the same. */
START_TEST(candidates_of_unequal_weights)
{
	struct tg_select_server s[4] = {server(0, 65535), server(1, 1), server(2, 1), server(3, 0)};
	struct tg_select_group *g = group(TG_POLICY_LATENCY, s, 4);
	uint16_t id[4];

	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_uint_eq(tg_select_candidates(g, i << 54, id, 4), 3);
		ck_assert_uint_eq(id[0] + id[1] + id[2], 3);
		ck_assert_uint_eq(id[0] * id[1] * id[2], 0);
	}
	tg_select_group_free(g);
}
END_TEST

/* Second candidates are spread as the weights say, given the first. */
START_TEST(candidates_by_weight)
{
	struct tg_select_server s[5];
	struct tg_select_group *g;
	unsigned int count[IDS] = {0}, n = 0;
	double share[5];
	uint64_t r = 23;

	for (uint16_t i = 0; i < 5; i++)
		s[i] = server(i, (uint16_t)(i + 1));
	g = group(TG_POLICY_LATENCY, s, 5);
	while (n < DRAWS) {
		uint16_t id[2];

		tg_select_candidates(g, next_random(&r), id, 2);
		if (id[0] != 4)
			continue;
		count[id[1]]++;
		n++;
	}
	for (unsigned int i = 0; i < 4; i++)
		share[i] = (i + 1) / 10.0;
	ck_assert_double_lt(chi_square(count, share, 4), chi_square_limit[3]);
	tg_select_group_free(g);
}
END_TEST

/* Gateways of different versions stand side by side. */
START_TEST(candidates_are_for_ever)
{
	static const uint16_t want[8][3] = {{2, 0, 1}, {2, 1, 0}, {1, 0, 3}, {1, 2, 0},
					    {0, 5, 2}, {0, 1, 2}, {1, 0, 3}, {5, 0, 1}};
	struct tg_select_server s[6];
	struct tg_select_group *g;
	uint16_t id[3];

	for (uint16_t i = 0; i < 6; i++)
		s[i] = server(i, (uint16_t)(6 - i));
	g = group(TG_POLICY_LATENCY, s, 6);
	for (uint64_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(tg_select_candidates(g, i << 61, id, 3), 3);
		ck_assert_mem_eq(id, want[i], sizeof(id));
	}
	tg_select_group_free(g);
}
END_TEST

/* When one of 20 goes, the lists of flows that did not have it stay, but for what Maglev moves. */
START_TEST(candidates_disruption)
{
	struct tg_select_server s[20];
	struct tg_select_group *all, *less;
	unsigned int had = 0, moved = 0;
	uint64_t r = 77;

	for (uint16_t i = 0; i < 20; i++)
		s[i] = server(i, 5);
	all = group(TG_POLICY_LATENCY, s, 20);
	s[13].weight = 0;
	less = group(TG_POLICY_LATENCY, s, 20);
	for (unsigned int i = 0; i < DRAWS; i++) {
		uint64_t hash = next_random(&r);
		uint16_t a[3], b[3];

		tg_select_candidates(all, hash, a, 3);
		tg_select_candidates(less, hash, b, 3);
		if (a[0] == 13 || a[1] == 13 || a[2] == 13)
			had++;
		else
			moved += memcmp(a, b, sizeof(a)) != 0;
	}
	ck_assert_double_eq_tol(had, DRAWS * 3 / 20.0, 500);
	ck_assert_uint_lt(moved, DRAWS / 20 * 2);
	tg_select_group_free(all);
	tg_select_group_free(less);
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

static Suite *suite(void)
{
	Suite *s = suite_create("select");

	UNIT_CASE(s, "group", policies_by_name, empty_and_single, limits, candidates_only,
		  groups_are_shared);
	UNIT_CASE(s, "maglev", maglev_balance, maglev_spreads_hashes, maglev_weights,
		  maglev_disruption, maglev_same_everywhere, maglev_is_for_ever,
		  maglev_by_its_definition, consistent_whatever_the_policy);
	UNIT_CASE(s, "rendezvous", rendezvous_weights, rendezvous_of_a_thousand,
		  rendezvous_disruption);
	UNIT_CASE(s, "candidates", same_choice_on_every_gateway, candidates_are_distinct_and_agree,
		  candidates_of_unequal_weights, candidates_by_weight, candidates_are_for_ever,
		  candidates_disruption);
	UNIT_CASE(s, "hash", flow_hash, name_hash, hashes_are_for_ever);
	return s;
}

UNIT_MAIN_EAL(suite)
