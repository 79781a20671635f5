/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage: who pays, what waits for whom, and what goes on; a worker without ports, packets without
 * buffers. */
#include <netinet/in.h>
#include <string.h>

#include "admission/admission.h"
#include "admit_rig.h"
#include "snapshot.h"
#include "unit.h"

#define POOLS 2

static struct tg_worker *w;
static struct tg_snapshot *s;
static struct tg_virtual_time now;
static struct tg_admission_pool *pools[POOLS];
static struct tg_burst *out;

static void add_pool(uint8_t i, const struct tg_admit_params *a, uint64_t wait_max)
{
	pools[i] = calloc(1, sizeof(*pools[i]));
	pools[i]->index = i;
	pools[i]->tokens = pool(a, 1);
	pools[i]->stats[0] = calloc(1, sizeof(*pools[i]->stats[0]));
	s->pool[i] = pools[i];
	s->pools |= UINT64_C(1) << i;
	s->admission[i] = (struct tg_admission_rule){.pool = pools[i],
						     .wait_max = wait_max,
						     .cost = (uint8_t)a->cost};
}

static void set_up(void)
{
	w = aligned_alloc(64, sizeof(*w));
	memset(w, 0, sizeof(*w));
	s = calloc(1, sizeof(*s));
	out = calloc(1, sizeof(*out));
	s->admission = calloc(POOLS, sizeof(*s->admission));
	now.now = 0;
	w->virtual_time = &now;
	w->clock = tg_clock_init(1000000000);
	w->mode = TG_MODE_INLINE;
	w->snapshot = s;
	w->admission = tg_admission_create(-1);
	ck_assert_ptr_nonnull(w->admission);
}

static void tear_down(void)
{
	tg_admission_discard(w);
	tg_admission_free(w->admission);
	for (unsigned int i = 0; i < POOLS; i++) {
		if (pools[i] == NULL)
			continue;
		tg_admit_free(pools[i]->tokens);
		free(pools[i]->stats[0]);
		free(pools[i]);
		pools[i] = NULL;
	}
	free(s->admission);
	free(s);
	free(out);
	free(w);
}

/* One more packet of the burst that is being put together: of flow `hash`, a network, to a service. */
static void packet(uint64_t hash, uint32_t network, uint16_t service)
{
	struct tg_burst *b = &w->burst;
	unsigned int i = b->n++;

	b->now = now.now;
	b->arrival[i] = now.now;
	b->hash[i] = hash;
	b->wire_len[i] = 100;
	b->verdict[i] = TG_FORWARD;
	b->pkt[i] = (struct tg_pkt){.payload_len = 50};
	b->pkt[i].key.client = client(network);
	b->pkt[i].key.service = service;
	b->pkt[i].key.protocol = IPPROTO_UDP;
}

/* The burst goes through the stage. How many of it may go on? */
static unsigned int enter(void)
{
	unsigned int n = 0;

	tg_admission_burst(w, &w->burst);
	for (unsigned int i = 0; i < w->burst.n; i++)
		n += w->burst.verdict[i] == TG_FORWARD;
	w->burst.n = 0;
	return n;
}

static uint64_t both(const uint64_t counts[TG_ADMIT_CLASSES])
{
	return counts[TG_ADMIT_CALM] + counts[TG_ADMIT_BURST];
}

static struct tg_admit_params costs(enum tg_admit_cost cost, uint32_t budget_per_s)
{
	struct tg_admit_params a = calm_params(budget_per_s);

	a.auxiliary_percent = 0;
	a.cost = cost;
	return a;
}

/* What is refused has not paid for the rest of its flow's burst. */
START_TEST(only_who_was_let_in_has_paid)
{
	struct tg_admit_params a = costs(TG_ADMIT_EXCHANGE, 100); /* one an interval */

	add_pool(0, &a, 0);
	packet(7, 1, 0);
	packet(7, 1, 0); /* of the same request: free */
	packet(8, 1, 0);
	packet(8, 1, 0);
	ck_assert_uint_eq(enter(), 2);
	ck_assert_uint_eq(both(pools[0]->stats[0]->expired), 2);
	/* the next burst pays afresh */
	packet(7, 1, 0);
	ck_assert_uint_eq(enter(), 0);
}
END_TEST

/* In shadow mode all go on; each request counts once. */
START_TEST(in_shadow_mode_a_request_would_wait_once)
{
	struct tg_admit_params a = costs(TG_ADMIT_EXCHANGE, 100);

	w->mode = TG_MODE_SHADOW;
	add_pool(0, &a, 1000);
	for (unsigned int i = 0; i < 6; i++)
		packet(7 + i / 2, 1, 0);
	ck_assert_uint_eq(enter(), 6);
	ck_assert_uint_eq(both(pools[0]->stats[0]->would_wait), 2);
}
END_TEST

/* A network that has had its cap waits alone, however much of it there is and of however many flows. */
START_TEST(a_cap_holds_its_own_network_only)
{
	struct tg_admit_params a = costs(TG_ADMIT_PACKET, 100000);
	unsigned int turns = 0;

	a.max_per_s = 100; /* one an interval */
	a.hi_per_s = 100000;
	add_pool(0, &a, 100 * INTERVAL);
	now.now = INTERVAL / 2;
	for (unsigned int i = 0; i < 20 * TG_BURST_MAX; i++) {
		packet(i % 50, 1, 0);
		if (w->burst.n == TG_BURST_MAX)
			ck_assert_uint_eq(enter(), i < TG_BURST_MAX);
	}
	packet(1000, 2, 0);
	packet(1000, 2, 0);
	ck_assert_uint_eq(enter(), 0); /* in order behind what waits .. */
	while (tg_admission_next(w, out) == 0)
		ck_assert_uint_lt(turns++, 20);
	ck_assert_uint_eq(out->n, 1); /* .. but not for it: its own cap is one as well */
	ck_assert_uint_eq(out->pkt[0].key.client.b[14], 2);
	/* an interval on: one of each network, the oldest */
	now.now = 3 * INTERVAL / 2;
	tg_admission_turn(w, now.now);
	for (unsigned int n = 0; n < 2; n += out->n) {
		tg_admission_next(w, out);
		ck_assert_uint_lt(turns++, 60);
	}
	ck_assert_uint_eq(w->admission->waiting.n, 20 * TG_BURST_MAX - 2);
	for (unsigned int i = 0; i < 40; i++)
		ck_assert_uint_eq(tg_admission_next(w, out), 0);
}
END_TEST

/* However often and however late it is looked at: a flow's packets go on in their order. */
START_TEST(order_within_a_flow_is_kept_under_a_cap)
{
	struct tg_admit_params a = costs(TG_ADMIT_PACKET, 100000);
	uint64_t last[5] = {0}, seen = 0;

	a.max_per_s = 300;
	add_pool(0, &a, 1000 * INTERVAL);
	for (unsigned int i = 0; i < 300; i++) {
		now.now = i + 1;
		packet(i % 5, i % 5 % 2, 0);
		seen += enter();
	}
	for (unsigned int k = 1; k < 200 && seen < 300; k++) {
		now.now = k * INTERVAL / 2;
		tg_admission_turn(w, now.now);
		for (unsigned int turn = 0; turn < 20; turn++) {
			tg_admission_next(w, out);
			for (unsigned int i = 0; i < out->n; i++, seen++) {
				unsigned int flow = (unsigned int)((out->arrival[i] - 1) % 5);

				ck_assert_uint_gt(out->arrival[i], last[flow]);
				last[flow] = out->arrival[i];
			}
		}
	}
	ck_assert_uint_eq(seen, 300);
}
END_TEST

START_TEST(a_pools_burst_leaves_room_for_another_pool)
{
	struct tg_admit_params a = costs(TG_ADMIT_PACKET, 100), b = costs(TG_ADMIT_PACKET, 100);
	unsigned int held = 0;

	add_pool(0, &a, 100 * INTERVAL);
	add_pool(1, &b, 100 * INTERVAL);
	for (unsigned int i = 0; i < 2 * TG_WAITING_MAX; i++) {
		packet(i, 1, 0);
		if (w->burst.n == TG_BURST_MAX)
			enter();
	}
	ck_assert_uint_gt(pools[0]->stats[0]->full[TG_ADMIT_BURST], 0);
	for (unsigned int i = 0; i < 100; i++) {
		packet(100000 + i, 2, 1);
		enter();
	}
	for (unsigned int c = 0; c < TG_ADMIT_CLASSES; c++) {
		held += pools[1]->stats[0]->waiting[c];
		ck_assert_uint_eq(pools[1]->stats[0]->full[c], 0);
	}
	ck_assert_uint_eq(held, 99); /* one had a token */
}
END_TEST

/* Calm goes before burst, value before time; value never saves what is late. */
START_TEST(calm_before_burst_value_before_time_late_never)
{
	struct tg_admit_params a = costs(TG_ADMIT_PACKET, 1000); /* ten an interval */

	a.hi_per_s = 1000;
	a.n_rules = 2;
	a.rule[0] = rule("0.0.2.0/24", "", TG_ADMIT_BRONZE);
	a.rule[1] = rule("0.0.3.0/24", "", TG_ADMIT_PLATINUM);
	add_pool(0, &a, 3 * INTERVAL);
	for (unsigned int i = 0; i < 12; i++)
		packet(i, 1, 0); /* the last ones: burst */
	packet(20, 2, 0);
	packet(21, 3, 0);
	ck_assert_uint_eq(enter(), 1);
	while (tg_admission_next(w, out) > 0)
		;
	now.now = INTERVAL - 1;
	tg_admission_turn(w, now.now);
	/* nine are due: platinum, silver in order of coming (0 is gone), no bronze, no burst */
	ck_assert_uint_eq(tg_admission_next(w, out), 9);
	ck_assert_uint_eq(out->pkt[0].key.client.b[14], 3);
	for (unsigned int i = 1; i < 9; i++)
		ck_assert_uint_eq(out->pkt[i].key.client.b[14], 1);
	packet(30, 3, 0); /* platinum: waits, and longer than it may */
	ck_assert_uint_eq(enter(), 0);
	now.now = 10 * INTERVAL;
	tg_admission_turn(w, now.now);
	ck_assert_uint_eq(tg_admission_next(w, out), 0);
	ck_assert_uint_eq(w->admission->waiting.n, 0);
	ck_assert_uint_gt(pools[0]->stats[0]->expired[TG_ADMIT_CALM], 1);
}
END_TEST

/* All that may go on does. How many of them are of that network? */
static unsigned int go_on(uint8_t network)
{
	unsigned int n = 0;

	while (tg_admission_next(w, out) > 0)
		for (unsigned int i = 0; i < out->n; i++)
			n += out->pkt[i].key.client.b[12] == network;
	return n;
}

/* A million networks that are never seen again, ten times the budget: those who have been there go before
 * them. */
START_TEST(a_flood_of_networks_waits_behind_who_has_a_slot)
{
	struct tg_admit_params a = costs(TG_ADMIT_PACKET, 100000); /* a thousand an interval */
	const unsigned int bursts = 400;
	unsigned int asked = 0, served = 0;

	a.auxiliary_percent = 20;
	add_pool(0, &a, 10 * INTERVAL);
	for (unsigned int k = 0; k < 100; k++)
		for (unsigned int i = 0; i < bursts; i++) {
			bool calm = i % 80 == 0;

			now.now = k * INTERVAL + i * INTERVAL / bursts;
			tg_admission_turn(w, now.now);
			for (unsigned int j = 0; j < 25; j++)
				packet(1000000 + (k * bursts + i) * 25 + j,
				       (k * bursts + i) * 25 + j, 0);
			if (calm)
				packet(i, 0xfe0000, 0);
			tg_admission_burst(w, &w->burst);
			asked += calm;
			served += calm && w->burst.verdict[25] == TG_FORWARD;
			w->burst.n = 0;
			served += go_on(0xfe);
		}
	ck_assert_uint_eq(served, asked);
	ck_assert_uint_gt(tg_admit_lcore_stats(pools[0]->tokens, 0)->collisions, 500000);
}
END_TEST

/* The last packet put together is one of TCP, of a flow that is measured by its acknowledgements. */
static void as_tcp(struct tg_flow *f, uint8_t flags, uint16_t payload)
{
	unsigned int i = w->burst.n - 1u;
	struct tg_pkt *p = &w->burst.pkt[i];

	p->key.protocol = IPPROTO_TCP;
	p->tcp_flags = flags;
	p->payload_len = payload;
	w->burst.flow[i] = f;
}

/* A pool without a token left. */
static void add_spent_pool(enum tg_admit_cost cost)
{
	struct tg_admit_params a = costs(cost, 100);

	add_pool(0, &a, 100 * INTERVAL);
	packet(1, 9, 0);
	packet(2, 9, 0);
	as_tcp(NULL, TG_TCP_SYN, cost == TG_ADMIT_CONNECTION ? 0 : 10);
	ck_assert_uint_eq(enter(), 1);
	ck_assert_uint_eq(w->admission->waiting.n, 1);
}

/* Whoever waits, what opens no exchange goes on: acknowledgements, resets, what is an answer to a ping. */
START_TEST(what_opens_no_exchange_is_not_held)
{
	struct tg_flow f = {.estimator = TG_ESTIMATOR_ACK};

	add_spent_pool(TG_ADMIT_EXCHANGE);
	packet(10, 1, 0);
	as_tcp(&f, TG_TCP_ACK, 0);
	packet(11, 1, 0);
	as_tcp(NULL, TG_TCP_SYN, 0);
	packet(12, 1, 0);
	as_tcp(NULL, TG_TCP_RST | TG_TCP_ACK, 0);
	packet(13, 1, 0);
	w->burst.pkt[w->burst.n - 1].flags = TG_PKT_ICMP_ERROR;
	packet(14, 1, 0);
	w->burst.pkt[w->burst.n - 1].flags = TG_PKT_LATER;
	ck_assert_uint_eq(enter(), 5);
	packet(15, 1, 0);
	as_tcp(NULL, TG_TCP_ACK, 10); /* a request */
	ck_assert_uint_eq(enter(), 0);
	/* behind it all of its flow waits, and it alone pays */
	packet(15, 1, 0);
	as_tcp(NULL, TG_TCP_ACK, 0);
	ck_assert_uint_eq(enter(), 0);
	ck_assert_uint_eq(w->admission->waiting.n, 3);
	ck_assert_uint_eq(both(pools[0]->stats[0]->held), 3);
}
END_TEST

/* A connection is a SYN of TCP, also of a flow that is known and over, and the first datagram of others. */
START_TEST(a_connection_pays_when_it_begins)
{
	struct tg_flow open = {.state = TG_FLOW_OPEN}, shut = {.state = TG_FLOW_SHUT};

	add_spent_pool(TG_ADMIT_CONNECTION);
	packet(10, 1, 0);
	as_tcp(&open, TG_TCP_ACK, 1000);
	packet(11, 1, 0);
	as_tcp(&open, TG_TCP_SYN, 0); /* sent again */
	packet(12, 1, 0);
	as_tcp(NULL, TG_TCP_ACK, 1000); /* found in its middle */
	packet(13, 1, 0);
	w->burst.flow[w->burst.n - 1] = &open; /* a datagram */
	ck_assert_uint_eq(enter(), 4);
	packet(20, 1, 0);
	as_tcp(NULL, TG_TCP_SYN, 0);
	packet(21, 1, 0);
	as_tcp(&shut, TG_TCP_SYN, 0);
	packet(22, 1, 0);
	w->burst.flow[w->burst.n - 1] = NULL;
	ck_assert_uint_eq(enter(), 0);
}
END_TEST

/* A hundred bytes cost a hundred tokens. */
START_TEST(bytes_pay_by_the_byte)
{
	struct tg_admit_params a = costs(TG_ADMIT_BYTE, 100000); /* a thousand an interval */

	a.hi_per_s = 100000;
	add_pool(0, &a, 100 * INTERVAL);
	now.now = INTERVAL - 1;
	for (unsigned int i = 0; i < 20; i++)
		packet(i, 1, 0);
	ck_assert_uint_eq(enter(), 10);
	ck_assert_uint_eq(tg_admit_lcore_stats(pools[0]->tokens, 0)->admitted[TG_ADMIT_CALM], 1000);
	ck_assert_uint_eq(both(pools[0]->stats[0]->held), 10);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("admission_stage");
	TCase *tc = tcase_create("stage");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, only_who_was_let_in_has_paid);
	tcase_add_test(tc, in_shadow_mode_a_request_would_wait_once);
	tcase_add_test(tc, a_cap_holds_its_own_network_only);
	tcase_add_test(tc, order_within_a_flow_is_kept_under_a_cap);
	tcase_add_test(tc, a_pools_burst_leaves_room_for_another_pool);
	tcase_add_test(tc, calm_before_burst_value_before_time_late_never);
	tcase_add_test(tc, a_flood_of_networks_waits_behind_who_has_a_slot);
	tcase_add_test(tc, what_opens_no_exchange_is_not_held);
	tcase_add_test(tc, a_connection_pays_when_it_begins);
	tcase_add_test(tc, bytes_pay_by_the_byte);
	suite_add_tcase(suite, tc);
	return suite;
}

UNIT_MAIN_EAL(suite)
