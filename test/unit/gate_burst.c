/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate once a burst against the gate packet by packet; and first copies of what it dropped. */
#include <netinet/in.h>

#include "tg_copies.h"
#include "tg_gate.h"
#include "unit.h"

static uint64_t random_state = 4242;

static uint64_t random_below(uint64_t n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (random_state >> 33) % n;
}

static const struct tg_clock *ghz(void)
{
	static struct tg_clock c;

	c = tg_clock_init(1000000000);
	return &c;
}

#define SERVICES 4

static struct tg_gate_limit limits[SERVICES];
static struct tg_gate_stats one, burst;
static uint64_t one_late[SERVICES * TG_GATE_PLACES], burst_late[SERVICES * TG_GATE_PLACES];

static void begin(void)
{
	static const struct tg_gate_params params[SERVICES] = {
		{0},
		{.sojourn_max_us = 100, .margin_us = 20, .action = TG_GATE_DROP},
		{.sojourn_max_us = 60, .margin_us = 20, .action = TG_GATE_SHADOW},
		{.sojourn_max_us = 500, .action = TG_GATE_DROP, .early = true},
	};

	memset(&one, 0, sizeof(one));
	memset(&burst, 0, sizeof(burst));
	memset(one_late, 0, sizeof(one_late));
	memset(burst_late, 0, sizeof(burst_late));
	one.late_service = one_late;
	burst.late_service = burst_late;
	for (unsigned int i = 0; i < SERVICES; i++)
		limits[i] = tg_gate_compile(&params[i], ghz());
}

START_TEST(strictest_of_all)
{
	struct tg_gate_limit l;

	begin();
	l = tg_gate_strictest(limits, 0);
	ck_assert(l.cut == UINT64_MAX && l.drop == UINT64_MAX && l.max == UINT64_MAX);
	l = tg_gate_strictest(limits, 1);
	ck_assert(l.cut == UINT64_MAX && l.max == UINT64_MAX && l.early == UINT64_MAX);
	l = tg_gate_strictest(limits, SERVICES);
	ck_assert_uint_eq(l.cut, 40000);
	ck_assert_uint_eq(l.drop, 80000);
	ck_assert_uint_eq(l.max, 60000);
	ck_assert_uint_eq(l.early, 500000);
}
END_TEST

/* Bursts of one arrival and of several, calm and late, some from the future: whoever looks once a
 * burst decides and counts to the last bit what the look at each packet gives. */
START_TEST(a_burst_is_as_its_packets)
{
	const struct tg_gate_wire none = {0};
	struct tg_gate_limit strictest;
	uint64_t calm = 0;

	begin();
	strictest = tg_gate_strictest(limits, SERVICES);
	for (unsigned int round = 0; round < 30000; round++) {
		uint16_t n = (uint16_t)(1 + random_below(TG_BURST_MAX)), pass[2][TG_BURST_MAX],
			 late[2][TG_BURST_MAX], np, nb, sent;
		uint64_t now = 1000000 + round * 1000u, after = now + random_below(30000);
		uint64_t spread = random_below(3) == 0 ? 50000 : 1, age = random_below(55000);
		struct tg_gate_item items[TG_BURST_MAX];
		struct tg_gate_span span;

		if (random_below(4) == 0)
			age = random_below(700000);
		for (unsigned int i = 0; i < n; i++) {
			uint64_t arrival = now - age - random_below(spread);

			if (random_below(4000) == 0)
				arrival = now + 5;
			items[i] = (struct tg_gate_item){
				.arrival = arrival,
				.polled = arrival,
				.service = random_below(20) == 0
						   ? TG_NO_SERVICE
						   : (uint16_t)random_below(SERVICES)};
		}
		np = tg_gate_check(limits, &one, items, n, now, pass[0], late[0]);
		nb = tg_gate_check_burst(limits, &strictest, &burst, &none, items, n, now, pass[1],
					 late[1], &span);
		ck_assert_uint_eq(np, nb);
		ck_assert_mem_eq(pass[0], pass[1], np * sizeof(pass[0][0]));
		ck_assert_mem_eq(late[0], late[1], (n - np) * sizeof(late[0][0]));
		calm += now - span.oldest <= strictest.cut;
		sent = (uint16_t)random_below(np + 1u);
		tg_gate_sent(limits, &one, ghz(), items, pass[0], sent, now, after);
		tg_gate_sent_burst(limits, &strictest, &burst, ghz(), items, pass[1], sent, now,
				   after, &span);
	}
	ck_assert_uint_gt(calm, 5000);
	ck_assert_uint_gt(one.late_uncertain, 20);
	ck_assert_uint_gt(one.late_dropped, 1000);
	ck_assert_uint_gt(one.future, 20);
	one.late_service = burst.late_service = NULL;
	ck_assert_mem_eq(&one, &burst, sizeof(one));
	ck_assert_mem_eq(one_late, burst_late, sizeof(one_late));
}
END_TEST

START_TEST(late_by_service_and_place)
{
	const struct tg_gate_item items[] = {
		{.arrival = 1000, .polled = 300000, .service = 1},   /* in the ring */
		{.arrival = 299000, .polled = 300000, .service = 1}, /* in time */
		{.arrival = 1000, .polled = 2000, .service = 2},     /* in the stages */
		{.arrival = 1000, .polled = 2000, .gated = 3000, .service = 2},
		{.arrival = 1000, .polled = 2000, .service = TG_NO_SERVICE},
	};
	uint16_t pass[5], late[5];

	begin();
	ck_assert_uint_eq(tg_gate_check(limits, &one, items, 5, 310000, pass, late), 4);
	ck_assert_uint_eq(one_late[1 * TG_GATE_PLACES + TG_GATE_RING], 1);
	ck_assert_uint_eq(one_late[2 * TG_GATE_PLACES + TG_GATE_STAGES], 1);
	ck_assert_uint_eq(one_late[2 * TG_GATE_PLACES + TG_GATE_DRIVER], 1);
	ck_assert_uint_eq(one.late, 3);
	ck_assert_uint_eq(one.late_dropped, 1);
	ck_assert_str_eq(tg_gate_place_name(TG_GATE_WIRE), "wire");
	ck_assert_str_eq(tg_gate_place_name(TG_GATE_PLACES), "?");
}
END_TEST

/* Copies */

static struct tg_copies *copies(void)
{
	static struct tg_copies c;

	memset(&c, 0, sizeof(c));
	tg_copies_init(&c, ghz());
	return &c;
}

static struct tg_pkt segment(uint16_t port, uint32_t seq, uint16_t payload)
{
	struct tg_pkt p;

	memset(&p, 0, sizeof(p));
	p.key.protocol = IPPROTO_TCP;
	p.key.client_port = port;
	p.seq = seq;
	p.payload_len = payload;
	p.tcp_flags = TG_TCP_ACK;
	return p;
}

/* One packet comes by: does it have a first copy, and how old is that? */
static uint64_t age_of(const struct tg_copies *c, const struct tg_pkt *p, uint64_t now)
{
	static struct tg_burst b;
	static struct tg_hist h;

	memset(&h, 0, sizeof(h));
	b.n = 1;
	b.pkt[0] = *p;
	b.arrival[0] = now;
	b.verdict[0] = TG_FORWARD;
	tg_copies_look(c, ghz(), &b, &h);
	ck_assert_uint_le(h.count, 1);
	return h.count > 0 ? h.sum_ns : 0;
}

#define S UINT64_C(1000000000)

START_TEST(first_copy_is_found)
{
	struct tg_copies *c = copies();
	struct tg_pkt p = segment(1, 7000, 100), other = segment(1, 7100, 100), ack;

	ck_assert_uint_eq(age_of(c, &p, S), 0);
	tg_copies_dropped(c, &p, S);
	ck_assert_uint_eq(age_of(c, &other, 2 * S), 0);
	ck_assert_uint_eq(age_of(c, &p, S + 200000000), 200000000);
	/* late again: the first one counts, not the second */
	tg_copies_dropped(c, &p, S + 200000000);
	ck_assert_uint_eq(age_of(c, &p, S + 600000000), 600000000);
	/* cut anew it still begins at the same byte; another flow is another one */
	p.payload_len = 50;
	ck_assert_uint_eq(age_of(c, &p, 2 * S), S);
	p = segment(2, 7000, 100);
	ck_assert_uint_eq(age_of(c, &p, 2 * S), 0);
	/* forgotten after a minute, and then new */
	p = segment(1, 7000, 100);
	ck_assert_uint_eq(age_of(c, &p, S + 61 * S), 0);
	tg_copies_dropped(c, &p, 70 * S);
	ck_assert_uint_eq(age_of(c, &p, 71 * S), S);
	/* an acknowledgement is followed by data of the same number, and is never sent again itself */
	ack = segment(3, 1, 0);
	tg_copies_dropped(c, &ack, 70 * S);
	other = segment(3, 1, 10);
	ck_assert_uint_eq(age_of(c, &other, 71 * S), 0);
	ack.tcp_flags = TG_TCP_SYN;
	tg_copies_dropped(c, &ack, 70 * S);
	ck_assert_uint_eq(age_of(c, &ack, 71 * S), S);
	p.key.protocol = IPPROTO_UDP;
	tg_copies_dropped(c, &p, 70 * S);
	ck_assert_uint_eq(age_of(c, &p, 71 * S), 0);
}
END_TEST

/* Far more drops than places: what is still remembered is right, and nothing is made up. */
START_TEST(copies_are_bounded)
{
	struct tg_copies *c = copies();
	unsigned int found = 0;

	for (uint32_t i = 0; i < 20 * TG_COPIES; i++) {
		struct tg_pkt p = segment((uint16_t)i, i * 1460, 1460);

		tg_copies_dropped(c, &p, S + i);
	}
	for (uint32_t i = 0; i < 20 * TG_COPIES; i++) {
		struct tg_pkt p = segment((uint16_t)i, i * 1460, 1460);
		uint64_t age = age_of(c, &p, 2 * S);

		ck_assert(age == 0 || age == S - i);
		found += age != 0;
		p = segment((uint16_t)i, i * 1460 + 1, 1460);
		ck_assert_uint_eq(age_of(c, &p, 2 * S), 0);
	}
	ck_assert_uint_le(found, TG_COPIES);
	ck_assert_uint_gt(found, TG_COPIES / 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gate_burst");

	UNIT_CASE(s, "burst", strictest_of_all, a_burst_is_as_its_packets,
		  late_by_service_and_place);
	UNIT_CASE(s, "copies", first_copy_is_found, copies_are_bounded);
	return s;
}

UNIT_MAIN(suite)
