/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "flow_model.h"

/* ---- life of one entry ---- */

START_TEST(refuses_wrong_sizes)
{
	uint8_t secret[TG_FLOW_SECRET_SIZE] = {0};
	struct tg_clock clock = tg_clock_init(HZ);
	struct tg_flow_params p = usual;
	struct tg_flow_table *t = NULL;

	p.slots = 1023;
	ck_assert_int_eq(tg_flow_table_create(&p, &clock, secret, -1, &t), -EINVAL);
	p.slots = (1u << 28) + 1;
	ck_assert_int_eq(tg_flow_table_create(&p, &clock, secret, -1, &t), -EINVAL);
	p.slots = 1u << 28; /* right, but more than this EAL has */
	ck_assert_int_eq(tg_flow_table_create(&p, &clock, secret, -1, &t), -ENOMEM);
	ck_assert_ptr_null(t);
	tg_flow_table_free(NULL);
}
END_TEST

START_TEST(rounds_up_to_a_power_of_two)
{
	struct tg_flow_table *t = table(1025);

	ck_assert_uint_eq(tg_flow_slots(t), 2048);
	ck_assert_uint_eq(tg_flow_buckets(t), 128);
	tg_flow_table_free(t);
	t = table(1024);
	ck_assert_uint_eq(tg_flow_slots(t), 1024);
	tg_flow_table_free(t);
}
END_TEST

START_TEST(inserts_finds_removes)
{
	struct tg_flow_table *t = table(1024);
	struct tg_key k = key_of(1, IPPROTO_TCP), other = key_of(2, IPPROTO_TCP);
	struct tg_flow *f, zero = {0};

	ck_assert_ptr_null(find(t, &k));
	f = insert(t, &k, 17);
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq((uintptr_t)f % 64, 0);
	ck_assert_ptr_eq(find(t, &k), f);
	ck_assert_ptr_null(find(t, &other));
	ck_assert(tg_key_eq(&f->key, &k));
	ck_assert_uint_eq(f->last_seen, 17);
	ck_assert_uint_eq(f->state, TG_FLOW_NEW);
	tg_flow_remove(t, f);
	ck_assert_ptr_null(find(t, &k));
	ck_assert_uint_eq(f->state, TG_FLOW_FREE);
	ck_assert_uint_eq(tg_flow_table_stats(t)->inserted, 1);
	ck_assert_uint_eq(tg_flow_table_stats(t)->removed, 1);

	/* the next owner of the slot finds nothing of the last one */
	memset(f, 0xee, sizeof(*f));
	ck_assert_ptr_eq(insert(t, &k, 18), f);
	ck_assert_mem_eq(f->near, zero.near, sizeof(f->near));
	ck_assert_mem_eq(f->far, zero.far, sizeof(f->far));
	ck_assert_uint_eq(f->server | f->server_generation | f->estimator | f->tls, 0);
	tg_flow_table_free(t);
}
END_TEST

START_TEST(every_byte_of_the_key_counts)
{
	struct tg_flow_table *t = table(1024);
	struct tg_key k = key_of(1, IPPROTO_TCP);

	ck_assert_ptr_nonnull(insert(t, &k, 0));
	for (unsigned int i = 0; i < sizeof(k); i++) {
		struct tg_key near_miss = k;
		uint64_t h = tg_flow_hash(t, &k);

		((uint8_t *)&near_miss)[i] ^= 0x01;
		ck_assert_uint_ne(tg_flow_hash(t, &near_miss), h);
		ck_assert_ptr_null(find(t, &near_miss));
		ck_assert_ptr_null(tg_flow_find(t, &near_miss, h)); /* even where the tag fits */
	}
	tg_flow_table_free(t);
}
END_TEST

START_TEST(v4_and_v6_are_apart)
{
	struct tg_flow_table *t = table(1024);
	struct tg_key v4 = key_of(1, IPPROTO_TCP), v6 = v4;

	v6.client.b[10] = v6.client.b[11] = 0; /* ::a.b.c.d instead of ::ffff:a.b.c.d */
	ck_assert_ptr_nonnull(insert(t, &v4, 0));
	ck_assert_ptr_null(find(t, &v6));
	ck_assert_ptr_nonnull(insert(t, &v6, 0));
	ck_assert_ptr_ne(find(t, &v4), find(t, &v6));
	ck_assert_int_eq(tg_addr_parse("2001:db8::1", &v6.client), 0);
	ck_assert_ptr_nonnull(insert(t, &v6, 0));
	ck_assert_uint_eq(walk(t), 3);
	tg_flow_table_free(t);
}
END_TEST

/* ---- hash and buckets ---- */

START_TEST(hash_depends_on_the_secret)
{
	struct tg_flow_table *a = table_with(&usual, 0), *b = table_with(&usual, 1);
	struct tg_flow_table *c = table_with(&usual, 0);
	uint64_t ca = 0, cb = 0;
	unsigned int same = 0;

	for (uint32_t i = 0; i < 200; i++) {
		struct tg_key k = key_of(i, IPPROTO_TCP);

		ck_assert_uint_eq(tg_flow_hash(a, &k), tg_flow_hash(c, &k));
		ck_assert_uint_ne(tg_flow_hash(a, &k), tg_flow_hash(b, &k));
		ck_assert_ptr_nonnull(insert(a, &k, 0));
		ck_assert_ptr_nonnull(insert(b, &k, 0));
	}
	for (unsigned int i = 0; i < 200; i++)
		same += tg_key_eq(&tg_flow_next(a, &ca)->key, &tg_flow_next(b, &cb)->key);
	ck_assert_uint_lt(same, 20); /* order of place: 1 is expected by chance */
	tg_flow_table_free(a);
	tg_flow_table_free(b);
	tg_flow_table_free(c);
}
END_TEST

/* One hash for all: one pair of buckets and one tag. */
static void fill_one_pair(uint64_t hash)
{
	struct tg_flow_table *t = table(1024);
	struct tg_flow *f[2 * TG_FLOW_BUCKET];
	struct tg_key k;

	for (uint32_t i = 0; i < 2 * TG_FLOW_BUCKET; i++) {
		k = key_of(i, IPPROTO_UDP);
		f[i] = tg_flow_insert(t, &k, hash, i);
		ck_assert_ptr_nonnull(f[i]);
	}
	k = key_of(1000, IPPROTO_UDP);
	ck_assert_ptr_null(tg_flow_insert(t, &k, hash, 0));
	ck_assert_ptr_null(tg_flow_insert(t, &k, hash, 0));
	ck_assert_uint_eq(tg_flow_table_stats(t)->full, 2);
	ck_assert_uint_eq(walk(t), 2 * TG_FLOW_BUCKET);
	for (uint32_t i = 0; i < 2 * TG_FLOW_BUCKET; i++) {
		k = key_of(i, IPPROTO_UDP);
		ck_assert_ptr_eq(tg_flow_find(t, &k, hash), f[i]);
		ck_assert_uint_eq(f[i]->last_seen, i);
	}
	k = key_of(1000, IPPROTO_UDP);
	ck_assert_ptr_null(tg_flow_find(t, &k, hash));
	for (unsigned int i = 0; i < 2 * TG_FLOW_BUCKET; i++) { /* any place can be had again */
		tg_flow_remove(t, f[i]);
		ck_assert_ptr_eq(tg_flow_insert(t, &k, hash, 0), f[i]);
		tg_flow_remove(t, f[i]);
		k = key_of(i, IPPROTO_UDP);
		ck_assert_ptr_eq(tg_flow_insert(t, &k, hash, i), f[i]);
		k = key_of(1000, IPPROTO_UDP);
	}
	tg_flow_table_free(t);
}

START_TEST(fills_both_buckets_of_a_key)
{
	fill_one_pair(0);          /* tag 0 would mean free; first and second bucket alike */
	fill_one_pair(UINT64_MAX); /* the last bucket */
	fill_one_pair(UINT64_C(0x8000000000000000));
	fill_one_pair(UINT64_C(0x1234567890abcdef));
}
END_TEST

static void burst_of(struct tg_burst *b, const struct tg_key *keys, uint16_t n, uint64_t arrival)
{
	memset(b, 0, sizeof(*b));
	b->n = n;
	for (unsigned int i = 0; i < n; i++) {
		b->pkt[i].key = keys[i];
		b->pkt[i].tcp_flags = TG_TCP_ACK;
		b->arrival[i] = arrival;
	}
}

START_TEST(burst_tells_colliding_tags_apart)
{
	struct tg_flow_table *t = table(1024);
	struct tg_key k = key_of(1, IPPROTO_TCP);
	uint64_t hash = tg_flow_hash(t, &k);
	struct tg_burst b;
	struct tg_flow *f;

	for (uint32_t i = 100; i < 120; i++) { /* fill the first bucket and part of the second */
		struct tg_key decoy = key_of(i, IPPROTO_TCP);

		ck_assert_ptr_nonnull(tg_flow_insert(t, &decoy, hash, 5));
	}
	burst_of(&b, &k, 1, 9);
	tg_flow_lookup(t, &b);
	ck_assert_ptr_null(b.flow[0]);
	f = tg_flow_insert(t, &k, hash, 5);
	tg_flow_lookup(t, &b);
	ck_assert_ptr_eq(b.flow[0], f);
	ck_assert_uint_eq(f->last_seen, 9);
	for (uint32_t i = 100; i < 120; i++) {
		struct tg_key decoy = key_of(i, IPPROTO_TCP);

		ck_assert_uint_eq(tg_flow_find(t, &decoy, hash)->last_seen, 5);
	}
	tg_flow_table_free(t);
}
END_TEST

/* Share of the slots in use when an insert fails first, and when 1 % of the last 1024 did. */
static void measure_load(uint32_t slots, double *first, double *percent)
{
	struct tg_flow_table *t = table(slots);
	uint64_t failed = 0;
	uint32_t i = 0;

	*first = 0;
	do {
		failed = tg_flow_table_stats(t)->full;
		for (uint32_t end = i + 1024; i < end; i++) {
			struct tg_key k = key_of(i, IPPROTO_TCP);

			if (insert(t, &k, 0) == NULL && *first == 0)
				*first = (double)live(t) / slots;
		}
	} while (tg_flow_table_stats(t)->full - failed < 10);
	*percent = (double)live(t) / slots;
	ck_assert_uint_eq(walk(t), live(t));
	tg_flow_table_free(t);
}

START_TEST(fills_well_before_it_refuses)
{
	static const uint32_t sizes[] = {1 << 10, 1 << 14, 1 << 18};

	for (unsigned int i = 0; i < 3; i++) {
		double first, percent;

		measure_load(sizes[i], &first, &percent);
		printf("flow table of %u slots: first insert refused at %.1f %%, one in a hundred at "
		       "%.1f %%\n",
		       sizes[i], 100 * first, 100 * percent);
		ck_assert_double_ge(first, 0.8);
		ck_assert_double_ge(percent, 0.85);
	}
}
END_TEST

/* ---- the burst ---- */

START_TEST(burst_sees_duplicates_and_passes_over_dropped)
{
	struct tg_flow_table *t = table(1024);
	struct tg_key keys[TG_BURST_MAX];
	struct tg_flow *f[4], *untouched = (struct tg_flow *)&keys;
	struct tg_burst b;

	for (unsigned int i = 0; i < TG_BURST_MAX; i++)
		keys[i] = key_of(i % 5, IPPROTO_TCP); /* flow 4 is not there */
	for (unsigned int i = 0; i < 4; i++)
		f[i] = insert(t, &keys[i], 1);
	burst_of(&b, keys, TG_BURST_MAX, 0);
	for (unsigned int i = 0; i < TG_BURST_MAX; i++) {
		b.arrival[i] = 100 + i;
		b.flow[i] = untouched;
		b.hash[i] = 77;
	}
	for (unsigned int i = 25; i < TG_BURST_MAX; i++)
		b.verdict[i] = i % 2 ? TG_DROP : TG_REPLY;
	tg_flow_lookup(t, &b);
	for (unsigned int i = 0; i < 25; i++) {
		ck_assert_ptr_eq(b.flow[i], i % 5 == 4 ? NULL : f[i % 5]);
		ck_assert_uint_eq(b.hash[i], tg_flow_hash(t, &keys[i]));
	}
	for (unsigned int i = 25; i < TG_BURST_MAX; i++) {
		ck_assert_ptr_eq(b.flow[i], untouched);
		ck_assert_uint_eq(b.hash[i], 77);
	}
	for (unsigned int i = 0; i < 4; i++)
		ck_assert_uint_eq(f[i]->last_seen, 100 + 20 + i); /* the last of its packets */

	b.n = 0;
	b.flow[0] = untouched;
	tg_flow_lookup(t, &b);
	ck_assert_ptr_eq(b.flow[0], untouched);
	tg_flow_table_free(t);
}
END_TEST

#define A TG_TCP_ACK
#define S TG_TCP_SYN
#define F (TG_TCP_FIN | TG_TCP_ACK)
#define R TG_TCP_RST

/* The states of the header's table, packet by packet. */
START_TEST(states_follow_packets)
{
	static const struct {
		uint8_t from, protocol, tcp_flags, payload, to;
	} rule[] = {
		{TG_FLOW_NEW, IPPROTO_TCP, S, 0, TG_FLOW_NEW},
		{TG_FLOW_NEW, IPPROTO_TCP, S, 1, TG_FLOW_NEW},
		{TG_FLOW_NEW, IPPROTO_TCP, A, 0, TG_FLOW_OPEN},
		{TG_FLOW_NEW, IPPROTO_TCP, A, 1, TG_FLOW_OPEN},
		{TG_FLOW_NEW, IPPROTO_TCP, F, 0, TG_FLOW_SHUT},
		{TG_FLOW_NEW, IPPROTO_TCP, R, 0, TG_FLOW_SHUT},
		{TG_FLOW_OPEN, IPPROTO_TCP, S, 0, TG_FLOW_OPEN},
		{TG_FLOW_OPEN, IPPROTO_TCP, A, 0, TG_FLOW_OPEN},
		{TG_FLOW_OPEN, IPPROTO_TCP, F, 1, TG_FLOW_SHUT},
		{TG_FLOW_OPEN, IPPROTO_TCP, R | A, 0, TG_FLOW_SHUT},
		{TG_FLOW_SHUT, IPPROTO_TCP, A, 0, TG_FLOW_SHUT}, /* a long download */
		{TG_FLOW_SHUT, IPPROTO_TCP, A, 1, TG_FLOW_OPEN}, /* the RST was a forgery */
		{TG_FLOW_SHUT, IPPROTO_TCP, F, 1, TG_FLOW_SHUT},
		{TG_FLOW_SHUT, IPPROTO_TCP, S, 0, TG_FLOW_SHUT}, /* the caller's to decide */
		{TG_FLOW_NEW, IPPROTO_UDP, R, 0, TG_FLOW_OPEN},
		{TG_FLOW_OPEN, IPPROTO_UDP, F, 0, TG_FLOW_OPEN},
		{TG_FLOW_NEW, IPPROTO_ESP, 0, 9, TG_FLOW_OPEN},
	};

	for (unsigned int i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		struct tg_flow_table *t = table(1024);
		struct tg_key k = key_of(1, rule[i].protocol);
		struct tg_flow *f = insert(t, &k, 1);
		struct tg_burst b;

		burst_of(&b, &k, 1, 2);
		b.pkt[0].tcp_flags = rule[i].tcp_flags;
		b.pkt[0].payload_len = rule[i].payload;
		f->state = rule[i].from;
		tg_flow_lookup(t, &b);
		ck_assert_msg(f->state == rule[i].to, "rule %u: state %u", i, f->state);
		ck_assert_uint_eq(f->last_seen, 2);
		f->state = rule[i].from;
		tg_flow_touch(f, &b.pkt[0], 3);
		ck_assert_msg(f->state == rule[i].to, "rule %u, one packet: state %u", i, f->state);
		ck_assert_uint_eq(f->last_seen, 3);
		tg_flow_table_free(t);
	}
}
END_TEST

/* ---- ageing ---- */

static bool survives(const struct tg_flow_params *p, uint8_t protocol, uint8_t state,
		     uint64_t last_seen, uint64_t now)
{
	struct tg_flow_table *t = table_with(p, 0);
	struct tg_key k = key_of(1, protocol);
	bool stays;

	insert(t, &k, last_seen)->state = state;
	stays = sweep_all(t, now) == 0;
	ck_assert_uint_eq(walk(t), stays);
	ck_assert_uint_eq(tg_flow_table_stats(t)->expired, !stays);
	tg_flow_table_free(t);
	return stays;
}

static void check_idle(const struct tg_flow_params *p, uint8_t protocol, uint8_t state, uint64_t s)
{
	ck_assert(survives(p, protocol, state, 5, 5 + s * HZ - 1));
	ck_assert(!survives(p, protocol, state, 5, 5 + s * HZ));
}

START_TEST(ages_to_the_tick)
{
	struct tg_flow_params p = usual; /* 300, 30, 7 */

	check_idle(&p, IPPROTO_TCP, TG_FLOW_NEW, 7);
	check_idle(&p, IPPROTO_TCP, TG_FLOW_OPEN, 300);
	check_idle(&p, IPPROTO_TCP, TG_FLOW_SHUT, 7);
	check_idle(&p, IPPROTO_UDP, TG_FLOW_NEW, 30);
	check_idle(&p, IPPROTO_UDP, TG_FLOW_OPEN, 30);
	check_idle(&p, IPPROTO_ESP, TG_FLOW_OPEN, 30);
	p.closed_s = 1; /* a handshake is given its time, but no more than the connection */
	check_idle(&p, IPPROTO_TCP, TG_FLOW_NEW, TG_FLOW_HANDSHAKE_S);
	check_idle(&p, IPPROTO_TCP, TG_FLOW_SHUT, 1);
	p.tcp_idle_s = 2;
	check_idle(&p, IPPROTO_TCP, TG_FLOW_NEW, 2);
	p.tcp_idle_s = p.udp_idle_s = p.closed_s = 86400;
	check_idle(&p, IPPROTO_TCP, TG_FLOW_OPEN, 86400);
	check_idle(&p, IPPROTO_UDP, TG_FLOW_NEW, 86400);
}
END_TEST

START_TEST(time_may_jump)
{
	const struct tg_flow_params *p = &usual;

	ck_assert(survives(p, IPPROTO_TCP, TG_FLOW_OPEN, 10, 9)); /* back a tick */
	ck_assert(survives(p, IPPROTO_TCP, TG_FLOW_SHUT, 100 * YEAR, 0));
	ck_assert(survives(p, IPPROTO_TCP, TG_FLOW_OPEN, UINT64_MAX, 0));
	ck_assert(survives(p, IPPROTO_TCP, TG_FLOW_OPEN, 42, 42));
	ck_assert(!survives(p, IPPROTO_TCP, TG_FLOW_OPEN, 0, 100 * YEAR));
	ck_assert(!survives(p, IPPROTO_TCP, TG_FLOW_OPEN, 0, UINT64_MAX));
}
END_TEST

START_TEST(new_idle_times_hold_from_the_next_sweep)
{
	struct tg_flow_table *t = table(1024);
	struct tg_flow_params p = usual;
	struct tg_key k = key_of(1, IPPROTO_UDP);

	insert(t, &k, 0);
	ck_assert_uint_eq(sweep_all(t, 29 * HZ), 0);
	p.udp_idle_s = 10;
	tg_flow_table_set_idle(t, &p);
	ck_assert_ptr_nonnull(find(t, &k));
	ck_assert_uint_eq(sweep_all(t, 29 * HZ), 1);
	tg_flow_table_free(t);
}
END_TEST

struct seen {
	struct tg_flow_table *t;
	unsigned int n;
	uint64_t clients; /* bit i: client i went */
	uint64_t stayed;
};

/* The entry is whole, and still findable, when it is reported. */
static void on_gone(void *ctx, struct tg_flow *f)
{
	struct seen *s = ctx;

	s->n++;
	s->clients |= UINT64_C(1) << f->server;
	ck_assert_uint_eq(f->far[63], 0x5a);
	ck_assert_ptr_eq(find(s->t, &f->key), f);
}

static void on_stays(void *ctx, struct tg_flow *f)
{
	struct seen *s = ctx;

	s->stayed |= UINT64_C(1) << f->server;
}

START_TEST(sweeps_in_steps_and_reports)
{
	struct tg_flow_table *t = table(1024);
	struct seen s = {.t = t};
	unsigned int steps = 0;

	for (uint16_t i = 0; i < 64; i++) {
		struct tg_key k = key_of(i, IPPROTO_UDP);
		struct tg_flow *f = insert(t, &k, i % 2 ? 0 : 100 * HZ);

		f->server = i;
		f->far[63] = 0x5a;
	}
	tg_flow_sweep(t, 0, 13, NULL, NULL, NULL); /* a round may start anywhere */
	while (steps < tg_flow_buckets(t)) {
		unsigned int before = s.n;

		ck_assert_uint_eq(tg_flow_sweep(t, 100 * HZ, 1, on_gone, on_stays, &s),
				  s.n - before);
		steps++;
	}
	ck_assert_uint_eq(s.n, 32);
	ck_assert_uint_eq(s.clients, UINT64_C(0xaaaaaaaaaaaaaaaa));
	ck_assert_uint_eq(s.stayed, UINT64_C(0x5555555555555555));
	ck_assert_uint_eq(walk(t), 32);
	ck_assert_uint_eq(tg_flow_sweep(t, 100 * HZ, 3 * tg_flow_buckets(t), on_gone, NULL, &s), 0);
	ck_assert_uint_eq(tg_flow_sweep(t, 300 * HZ, 0, on_gone, NULL, &s), 0);
	tg_flow_table_free(t);
}
END_TEST

/* ---- at length ---- */

START_TEST(walks_every_entry_once)
{
	struct tg_flow_table *t = table(1024);
	uint64_t cursor = 0;
	struct tg_flow *f;

	ck_assert_ptr_null(tg_flow_next(t, &cursor));
	ck_assert_ptr_null(tg_flow_next(t, &cursor)); /* and stays at the end */
	for (uint32_t i = 0; i < 700; i++) {
		struct tg_key k = key_of(i, IPPROTO_TCP);

		ck_assert_ptr_nonnull(insert(t, &k, 0));
	}
	cursor = 0;
	while ((f = tg_flow_next(t, &cursor)) != NULL) {
		ck_assert_uint_eq(f->tls, 0);
		f->tls = 1;
	}
	for (uint32_t i = 0; i < 700; i++) {
		struct tg_key k = key_of(i, IPPROTO_TCP);

		ck_assert_uint_eq(find(t, &k)->tls, 1);
	}
	tg_flow_table_free(t);
}
END_TEST

#define CYCLES 10000000u
#define WINDOW 500u

START_TEST(ten_million_flows_come_and_go)
{
	struct tg_flow_table *t = table(1024);

	for (uint32_t i = 0; i < CYCLES + WINDOW; i++) {
		if (i < CYCLES) {
			struct tg_key k = key_of(i, IPPROTO_TCP);

			if (insert(t, &k, i) == NULL)
				ck_abort_msg("flow %u refused at half load", i);
		}
		if (i >= WINDOW) {
			struct tg_key k = key_of(i - WINDOW, IPPROTO_TCP);
			struct tg_flow *f = find(t, &k);

			if (f == NULL || f->last_seen != i - WINDOW)
				ck_abort_msg("flow %u is lost", i - WINDOW);
			tg_flow_remove(t, f);
		}
	}
	ck_assert_uint_eq(tg_flow_table_stats(t)->inserted, CYCLES);
	ck_assert_uint_eq(tg_flow_table_stats(t)->removed, CYCLES);
	ck_assert_uint_eq(tg_flow_table_stats(t)->full, 0);
	ck_assert_uint_eq(live(t), 0);
	ck_assert_uint_eq(walk(t), 0);
	for (uint32_t i = 0; i < 700; i++) { /* as good as new */
		struct tg_key k = key_of(i, IPPROTO_TCP);

		ck_assert_ptr_nonnull(insert(t, &k, 0));
	}
	tg_flow_table_free(t);
}
END_TEST

/* ---- against a model ---- */

START_TEST(agrees_with_a_model)
{
	static struct model m;

	m.t = table(1024);
	m.now = YEAR;
	for (unsigned int i = 0; i < MODEL_KEYS; i++) {
		m.flow[i].key = key_of(i, i % 3 ? IPPROTO_TCP : IPPROTO_UDP);
		if (i % 5 == 0)
			m.flow[i].key.client.b[0] = 0x20; /* IPv6 */
		m.flow[i].hash = tg_flow_hash(m.t, &m.flow[i].key);
	}
	for (unsigned int op = 0; op < MODEL_OPS; op++) {
		unsigned int i = (unsigned int)(rnd() % MODEL_KEYS),
			     what = (unsigned int)(rnd() % 64);

		m.now += rnd() % (HZ / 500);
		if (what < 36)
			model_insert(&m, i);
		else if (what < 50)
			model_find(&m, i);
		else if (what < 60)
			model_remove(&m, i);
		else
			model_burst(&m);
		if (op % 4096 == 0)
			model_sweep(&m);
	}
	model_sweep(&m);
	ck_assert_uint_gt(m.expired, 1000);
	ck_assert_uint_gt(tg_flow_table_stats(m.t)->full, 1000);
	tg_flow_table_free(m.t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flow");

	UNIT_CASE(s, "entry", refuses_wrong_sizes, rounds_up_to_a_power_of_two,
		  inserts_finds_removes, every_byte_of_the_key_counts, v4_and_v6_are_apart);
	UNIT_CASE(s, "buckets", hash_depends_on_the_secret, fills_both_buckets_of_a_key,
		  burst_tells_colliding_tags_apart, fills_well_before_it_refuses);
	UNIT_CASE(s, "burst", burst_sees_duplicates_and_passes_over_dropped, states_follow_packets);
	UNIT_CASE(s, "ageing", ages_to_the_tick, time_may_jump,
		  new_idle_times_hold_from_the_next_sweep, sweeps_in_steps_and_reports);
	UNIT_CASE(s, "length", walks_every_entry_once, ten_million_flows_come_and_go,
		  agrees_with_a_model);
	return s;
}

UNIT_MAIN_EAL(suite)
