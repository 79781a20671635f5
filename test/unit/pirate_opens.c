/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets would open an exchange: what admission asks a token for. */
#include "pirate_rig.h"
#include "unit.h"

#define REQUEST 200
#define SMALL   52
#define FULL    1500

/* It must change nothing. */
static bool opens(const struct rig *r, const struct tg_pkt *p, uint64_t t)
{
	struct rig before = *r;
	bool yes = tg_pirate_opens(&r->c, r->estimator, r->near.words, r->far, p, t);

	ck_assert_mem_eq(&before.near, &r->near, sizeof(before.near));
	ck_assert_mem_eq(before.far, r->far, sizeof(before.far));
	return yes;
}

static bool opens_tcp(const struct rig *r, uint8_t flags, uint32_t seq, uint16_t len, uint32_t ack)
{
	struct tg_pkt p = segment(flags, seq, len, ack);

	return opens(r, &p, 9 * S);
}

/* ------------------------------------------------------------------ clear headers */

/* A connection whose handshake is over: 1000 was the client's first number, the server's was 500. */
static void connected(struct rig *r, uint8_t estimator)
{
	start(r, estimator);
	ck_assert(!opens_tcp(r, TG_TCP_SYN, 1000, 0, 0));
	tcp(r, 1 * MS, TG_TCP_SYN, 1000, 0, 0);
	ck_assert(!opens_tcp(r, ACK, 1001, 0, 501));
	tcp(r, 2 * MS, ACK, 1001, 0, 501);
}

static const uint8_t clear[] = {TG_ESTIMATOR_ACK, TG_ESTIMATOR_ECHO};

START_TEST(new_payload_opens_and_agrees_with_what_departs)
{
	struct rig r;
	uint64_t since;

	connected(&r, clear[_i]);
	ck_assert(opens_tcp(&r, PSH, 1001, 100, 501));
	ck_assert(!is_open(&r, &since));
	tcp(&r, 10 * MS, PSH, 1001, 100, 501);
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 10 * MS);
}
END_TEST

/* What it waited here before it went: not the server's. */
START_TEST(how_long_a_request_was_held)
{
	const uint64_t waits[] = {0, 7 * MS, 480 * MS};
	struct rig r;
	uint64_t since, held;

	for (unsigned int i = 0; i < 3; i++) {
		struct tg_pkt p = segment(PSH, 1001, 100, 501);

		connected(&r, clear[_i]);
		depart(&r, &p, 10 * MS, 10 * MS + waits[i]);
		ck_assert(is_open(&r, &since));
		ck_assert_uint_eq(since, 10 * MS);
		held = tg_pirate_held(&r.c, r.estimator, r.far);
		ck_assert_uint_le(held, waits[i]);
		ck_assert_uint_ge(held + 1000, waits[i]);
	}
	ck_assert_uint_eq(tg_pirate_held(&r.c, TG_ESTIMATOR_GAP, r.far), 0);
}
END_TEST

START_TEST(sent_again_opens_nothing)
{
	struct rig r;

	connected(&r, clear[_i]);
	tcp(&r, 10 * MS, PSH, 1001, 100, 501);
	ck_assert(!opens_tcp(&r, PSH, 1001, 100, 501));
	ck_assert(!opens_tcp(&r, PSH, 1001, 40, 501));  /* a part of it */
	ck_assert(!opens_tcp(&r, ACK, 1100, 1, 501));   /* a keep-alive probe */
	ck_assert(!opens_tcp(&r, PSH, 1001, 100, 700)); /* with a newer acknowledgement */
	/* nor when the answer was seen */
	tcp(&r, 20 * MS, ACK, 1101, 0, 700);
	ck_assert(!opens_tcp(&r, PSH, 1001, 100, 700));
}
END_TEST

/* What was dropped here has not departed. */
START_TEST(sent_again_after_it_was_dropped_opens)
{
	struct rig r;
	struct tg_pkt p = segment(PSH, 1001, 100, 501);

	connected(&r, clear[_i]);
	arrive(&r, &p, 10 * MS);
	ck_assert(opens_tcp(&r, PSH, 1001, 100, 501));
}
END_TEST

START_TEST(no_payload_opens_nothing)
{
	struct rig r;

	connected(&r, clear[_i]);
	tcp(&r, 10 * MS, PSH, 1001, 100, 501);
	ck_assert(!opens_tcp(&r, ACK, 1101, 0, 501));
	ck_assert(!opens_tcp(&r, ACK, 1101, 0, 700));
	tcp(&r, 20 * MS, ACK, 1101, 0, 700);
	ck_assert(!opens_tcp(&r, ACK, 1101, 0, 900));
	ck_assert(!opens_tcp(&r, ACK | TG_TCP_FIN, 1101, 0, 700));
	ck_assert(!opens_tcp(&r, TG_TCP_RST, 1101, 0, 0));
	ck_assert(!opens_tcp(&r, TG_TCP_RST | ACK, 1101, 20, 700)); /* RFC 9293: a reason in it */
}
END_TEST

START_TEST(more_of_a_request_opens_nothing)
{
	struct rig r;

	connected(&r, clear[_i]);
	tcp(&r, 10 * MS, ACK, 1001, 1460, 501);
	ck_assert(!opens_tcp(&r, PSH, 2461, 300, 501));
	tcp(&r, 10 * MS + 1, PSH, 2461, 300, 501);
	ck_assert(!opens_tcp(&r, PSH, 2761, 300,
			     501)); /* another one before the answer: they are one */
}
END_TEST

START_TEST(new_payload_after_an_answer_opens)
{
	struct rig r;

	connected(&r, clear[_i]);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t seq = 1001 + 100 * i, ack = 501 + 1000 * i;
		uint64_t t = (10 + 10 * i) * MS;

		/* the answer before is acknowledged by itself, or with the next request */
		if (i % 2 && i > 0)
			tcp(&r, t - 2 * MS, ACK, seq, 0, ack);
		ck_assert(opens_tcp(&r, PSH, seq, 100, ack));
		tcp(&r, t, PSH, seq, 100, ack);
		ck_assert(!opens_tcp(&r, PSH, seq, 100, ack));
	}
}
END_TEST

/* Numbers pass 2^32. */
START_TEST(numbers_wrap)
{
	struct rig r;

	start(&r, clear[_i]);
	tcp(&r, 1 * MS, TG_TCP_SYN, UINT32_MAX - 50, 0, 0);
	tcp(&r, 2 * MS, ACK, UINT32_MAX - 49, 0, UINT32_MAX);
	tcp(&r, 10 * MS, PSH, UINT32_MAX - 49, 100, UINT32_MAX);
	ck_assert(!opens_tcp(&r, PSH, UINT32_MAX - 49, 100, UINT32_MAX));
	ck_assert(opens_tcp(&r, PSH, 50, 100, 800));
}
END_TEST

START_TEST(found_in_the_middle_of_a_connection)
{
	struct rig r;

	start(&r, clear[_i]);
	ck_assert(!opens_tcp(&r, ACK, 5000, 0, 700));
	ck_assert(opens_tcp(&r, PSH, 5000, 100, 700));
}
END_TEST

START_TEST(nothing_is_known_of_a_flow_that_is_not_measured)
{
	struct rig r;

	start(&r, TG_ESTIMATOR_OFF);
	ck_assert(!opens_tcp(&r, PSH, 1, 100, 1));
}
END_TEST

/* ------------------------------------------------------------------ hidden headers */

static struct tg_pkt datagram(uint16_t size)
{
	struct tg_pkt p = {.ip_len = size, .payload_len = (uint16_t)(size - 28)};

	p.key.protocol = IPPROTO_UDP;
	return p;
}

static bool opens_at(const struct rig *r, uint64_t t, uint16_t size)
{
	struct tg_pkt p = datagram(size);

	return opens(r, &p, t);
}

static void sends(struct rig *r, uint64_t t, uint16_t size)
{
	struct tg_pkt p = datagram(size);

	pass(r, &p, t);
}

/* Four packets 20 us apart, then 10 ms to the next four. */
START_TEST(gap_flow_opens_after_a_causal_gap)
{
	struct rig r;
	uint64_t t = 10 * S;

	start_at(&r, TG_ESTIMATOR_GAP, TG_GAP_MODE_SUM, 1000000000);
	ck_assert(opens_at(&r, t, REQUEST)); /* its first packet */
	rnd_state = 5;
	for (int i = 0; i < 1000 && r.samples == 0; i++) {
		for (int k = 0; k < 4; k++)
			sends(&r, t += 20 * US, REQUEST);
		t += (uint64_t)about(10e6, 0.02);
	}
	ck_assert_uint_gt(r.samples, 0);
	sends(&r, t, REQUEST);
	ck_assert(!opens_at(&r, t, REQUEST));
	ck_assert(!opens_at(&r, t + 20 * US, REQUEST));
	ck_assert(!opens_at(&r, t + 1 * MS, REQUEST));
	ck_assert(opens_at(&r, t + 10 * MS, REQUEST));
	ck_assert(opens_at(&r, t + 1 * S, REQUEST));
	ck_assert(opens_at(&r, t + 100 * S, REQUEST));
}
END_TEST

static void envelope(struct rig *r)
{
	struct tg_pkt p = datagram(REQUEST);

	start_at(r, TG_ESTIMATOR_AUTO, TG_GAP_ENVELOPE, 1000000000);
	r->estimator = tg_pirate_choose(&r->c, &p);
	ck_assert(opens_at(r, 10 * S, REQUEST));
}

/* The handshake took 20 ms: no answer is sooner. */
START_TEST(envelope_flow_opens_after_what_may_be_an_answer)
{
	struct rig r;
	uint64_t t = 10 * S;

	envelope(&r);
	sends(&r, t, 1200);
	sends(&r, t += 20 * MS, 300);
	sends(&r, t, REQUEST);
	ck_assert(!opens_at(&r, t, REQUEST));
	ck_assert(!opens_at(&r, t + 10 * MS, REQUEST));
	ck_assert(opens_at(&r, t + 25 * MS, REQUEST));
	ck_assert(opens_at(&r, t + 100 * S, REQUEST));
}
END_TEST

START_TEST(envelope_flow_knows_acknowledgements_by_their_size)
{
	struct rig r;
	uint64_t t = 10 * S;

	envelope(&r);
	sends(&r, t, 1200);
	for (int i = 0; i < 200; i++)
		sends(&r, t += 20 * MS, i % 2 ? SMALL : REQUEST);
	ck_assert(!opens_at(&r, t + 40 * MS, SMALL));
	ck_assert(opens_at(&r, t + 40 * MS, REQUEST));
}
END_TEST

static bool hidden_open(const struct rig *r, uint64_t *since)
{
	return tg_pirate_open(r->estimator, r->near.words, r->far, since);
}

START_TEST(tunnels_are_known)
{
	struct tg_pirate_params params = {.estimator = TG_ESTIMATOR_AUTO};
	struct tg_clock clock = tg_clock_init(1000000000);
	struct tg_pirate_config c = tg_pirate_compile(&params, &clock);
	struct tg_pkt p = datagram(REQUEST);

	p.key.protocol = IPPROTO_UDP;
	ck_assert_uint_ne(tg_pirate_choose(&c, &p), TG_PIRATE_CARRIER);
	ck_assert(tg_pirate_guesses(tg_pirate_choose(&c, &p)));
	p.flags |= TG_PKT_TUNNEL;
	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_PIRATE_CARRIER);
	ck_assert(tg_pirate_guesses(TG_PIRATE_CARRIER));
	p.flags = 0;
	p.key.protocol = IPPROTO_ESP;
	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_PIRATE_CARRIER);
	params.gap_rule = TG_GAP_MODE_SUM; /* by the published rule nothing is ever open */
	c = tg_pirate_compile(&params, &clock);
	ck_assert_uint_eq(tg_pirate_choose(&c, &p), TG_ESTIMATOR_GAP);
}
END_TEST

/* A client that has asked a few times waits for its answer until it speaks again. */
START_TEST(envelope_flow_is_open_until_the_client_speaks_again)
{
	struct tg_pkt p = datagram(REQUEST);
	struct rig r;
	uint64_t t = 10 * S, since;
	int asked = 0;

	envelope(&r);
	ck_assert(tg_pirate_guesses(r.estimator) && !tg_pirate_guesses(TG_ESTIMATOR_ACK));
	sends(&r, t, 1228);
	sends(&r, t += 20 * MS, 300);
	do {
		sends(&r, t += 25 * MS, REQUEST);
		asked++;
	} while (!hidden_open(&r, &since) && asked < 40);
	ck_assert(asked >= 4 && asked < 40); /* one request, and three that followed one */
	ck_assert_uint_eq(since, t);
	arrive(&r, &p, t); /* the same batch: nobody has heard anything */
	ck_assert(hidden_open(&r, &since));
	arrive(&r, &p, t - 1 * MS); /* overtaken */
	ck_assert(hidden_open(&r, &since));
	arrive(&r, &p, t += 25 * MS); /* dropped here, yet the client spoke */
	ck_assert(!hidden_open(&r, &since));
	sends(&r, t, REQUEST);
	ck_assert(hidden_open(&r, &since));
	ck_assert_uint_eq(since, t);
}
END_TEST

START_TEST(envelope_flow_is_answered_by_an_acknowledgement)
{
	struct rig r;
	uint64_t t = 10 * S, since;

	envelope(&r);
	sends(&r, t, 1228);
	for (int i = 0; i < 200; i++) {
		sends(&r, t += 10 * MS, i % 2 ? SMALL : REQUEST);
		if (i > 100)
			ck_assert_int_eq(hidden_open(&r, &since), i % 2 == 0);
	}
	/* more of a request answers nothing */
	sends(&r, t += 10 * MS, FULL);
	sends(&r, t += 10 * US, FULL);
	ck_assert(hidden_open(&r, &since));
	sends(&r, t += 10 * US, REQUEST);
	ck_assert(hidden_open(&r, &since));
	sends(&r, t += 10 * MS, SMALL);
	ck_assert(!hidden_open(&r, &since));
}
END_TEST

/* Where the handshake tells nothing of what an answer takes, at least the parts of one request are one. */
START_TEST(envelope_flow_takes_what_follows_a_full_packet_for_its_rest)
{
	struct rig r;
	uint64_t t = 10 * S;

	envelope(&r);
	sends(&r, t, FULL);
	sends(&r, t += 2 * S, 300);
	sends(&r, t += 1 * S, FULL);
	ck_assert(!opens_at(&r, t + 500 * US, REQUEST));
	ck_assert(opens_at(&r, t + 2 * MS, REQUEST));
	sends(&r, t += 2 * MS, REQUEST);
	ck_assert(opens_at(&r, t + 500 * US, REQUEST)); /* that was the last part */
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate_opens");
	TCase *tc = tcase_create("clear headers");

	tcase_add_loop_test(tc, new_payload_opens_and_agrees_with_what_departs, 0, 2);
	tcase_add_loop_test(tc, how_long_a_request_was_held, 0, 2);
	tcase_add_loop_test(tc, sent_again_opens_nothing, 0, 2);
	tcase_add_loop_test(tc, sent_again_after_it_was_dropped_opens, 0, 2);
	tcase_add_loop_test(tc, no_payload_opens_nothing, 0, 2);
	tcase_add_loop_test(tc, more_of_a_request_opens_nothing, 0, 2);
	tcase_add_loop_test(tc, new_payload_after_an_answer_opens, 0, 2);
	tcase_add_loop_test(tc, numbers_wrap, 0, 2);
	tcase_add_loop_test(tc, found_in_the_middle_of_a_connection, 0, 2);
	suite_add_tcase(s, tc);
	UNIT_CASE(s, "not measured", nothing_is_known_of_a_flow_that_is_not_measured);
	UNIT_CASE(s, "hidden headers", gap_flow_opens_after_a_causal_gap,
		  envelope_flow_opens_after_what_may_be_an_answer,
		  envelope_flow_knows_acknowledgements_by_their_size, tunnels_are_known,
		  envelope_flow_is_open_until_the_client_speaks_again,
		  envelope_flow_is_answered_by_an_acknowledgement,
		  envelope_flow_takes_what_follows_a_full_packet_for_its_rest);
	return s;
}

UNIT_MAIN(suite)
