/* SPDX-License-Identifier: BSD-3-Clause */
/* The ack estimator: what opens and closes an exchange, and what does not. */
#include "pirate_rig.h"
#include "unit.h"

/* ------------------------------------------------------------------ ack: what is an exchange */

/* A connection at time 0: SYN leaves at once, its ACK comes 100 us later. Client data starts at
 * seq 1001, server data at 5001. */
static void connect_tcp(struct rig *r)
{
	start(r, TG_ESTIMATOR_ACK);
	ck_assert(!tcp(r, 0, TG_TCP_SYN, 1000, 0, 0));
	ck_assert(!tcp(r, 100 * US, ACK, 1001, 0, 5001));
}

START_TEST(pure_ack_ends_the_answer)
{
	struct rig r;
	uint64_t since = 0;

	connect_tcp(&r);
	ck_assert(!is_open(&r, &since));
	ck_assert(!tcp(&r, 1 * MS, PSH, 1001, 50, 5001));
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 1 * MS);
	ck_assert(!tcp(&r, 6 * MS, ACK, 1051, 0, 5201));
	ck_assert(!is_open(&r, &since));
	ck_assert(tcp(&r, 20 * MS, PSH, 1051, 50, 5201));
	ck_assert_uint_eq(r.last.latency, 5 * MS); /* not the 14 ms the client thought */
	ck_assert_uint_eq(r.last.server, 5 * MS - 100 * US);
	ck_assert_uint_eq(r.last.count, 1);
	ck_assert_uint_eq(r.last.kind, TG_ESTIMATOR_ACK);
	ck_assert(r.last.setup);
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 20 * MS);
	/* the second exchange is no set-up */
	ck_assert(!tcp(&r, 23 * MS, ACK, 1101, 0, 5301));
	ck_assert(tcp(&r, 30 * MS, PSH, 1101, 50, 5301));
	ck_assert_uint_eq(r.last.latency, 3 * MS);
	ck_assert(!r.last.setup);
}
END_TEST

START_TEST(last_advance_ends_the_answer)
{
	struct rig r;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 50, 5001);
	for (uint32_t i = 1; i <= 20; i++)
		ck_assert(!tcp(&r, (1 + i) * MS, ACK, 1051, 0, 5001 + i * 2800));
	ck_assert(tcp(&r, 400 * MS, PSH, 1051, 50, 5001 + 20 * 2800));
	ck_assert_uint_eq(r.last.latency, 20 * MS);
}
END_TEST

START_TEST(burst_has_the_first_answers_s)
{
	struct rig r;

	connect_tcp(&r);
	for (uint32_t i = 0; i < 4; i++)
		tcp(&r, 1 * MS, PSH, 1001 + 50 * i, 50, 5001);
	for (uint32_t i = 1; i <= 4; i++)
		ck_assert(!tcp(&r, (1 + 3 * i) * MS, ACK, 1201, 0, 5001 + i * 200));
	ck_assert(tcp(&r, 30 * MS, PSH, 1201, 50, 5801));
	ck_assert_uint_eq(r.last.latency, 12 * MS);
	ck_assert_uint_eq(r.last.server >> r.c.gap_shift, (3 * MS - 100 * US) >> r.c.gap_shift);
	ck_assert_uint_eq(r.last.pieces, 4);
}
END_TEST

START_TEST(request_of_many_segments_starts_at_its_last)
{
	struct rig r;
	uint64_t since;

	connect_tcp(&r);
	for (uint32_t i = 0; i < 5; i++)
		ck_assert(!tcp(&r, (1 + i) * MS, ACK, 1001 + i * 1448, 1448, 5001));
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 5 * MS);
	tcp(&r, 12 * MS, ACK, 1001 + 5 * 1448, 0, 5101);
	ck_assert(tcp(&r, 13 * MS, PSH, 1001 + 5 * 1448, 10, 5101));
	ck_assert_uint_eq(r.last.latency, 7 * MS);
}
END_TEST

START_TEST(request_that_acknowledges_ends_the_answer_itself)
{
	struct rig r;

	/* closed loop without a pure ACK: all there is is request to request */
	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	for (uint32_t i = 1; i <= 10; i++) {
		ck_assert(tcp(&r, (1 + 2 * i) * MS, PSH, 1001 + 10 * i, 10, 5001 + 7 * i));
		ck_assert_uint_eq(r.last.latency, 2 * MS);
		ck_assert_uint_eq(r.last.setup, i == 1);
	}
}
END_TEST

START_TEST(request_that_acknowledges_adds_no_thinking)
{
	struct rig r;

	/* the tail of an answer is acknowledged by the next request, 300 ms later; same with a FIN */
	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	tcp(&r, 4 * MS, ACK, 1011, 0, 5001 + 2896);
	ck_assert(tcp(&r, 304 * MS, PSH, 1011, 10, 5001 + 3000));
	ck_assert_uint_eq(r.last.latency, 3 * MS);
	tcp(&r, 306 * MS, ACK, 1021, 0, 5001 + 5896);
	ck_assert(!tcp(&r, 900 * MS, ACK | TG_TCP_FIN, 1021, 0, 5001 + 6000));
	ck_assert(finish(&r));
	ck_assert_uint_eq(r.last.latency, 2 * MS);
}
END_TEST

START_TEST(fin_ends_an_answer_that_nothing_acknowledged)
{
	struct rig r;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	ck_assert(!tcp(&r, 4 * MS, ACK | TG_TCP_FIN, 1011, 0, 5101));
	ck_assert(finish(&r));
	ck_assert_uint_eq(r.last.latency, 3 * MS);
	ck_assert(!finish(&r)); /* once */
}
END_TEST

START_TEST(fin_of_the_server_is_no_answer)
{
	struct rig r;

	/* answered in 2 ms; the server closes after 5 s without another request */
	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	tcp(&r, 3 * MS, ACK, 1011, 0, 5101);
	tcp(&r, 5 * S, ACK, 1011, 0, 5102);
	ck_assert(finish(&r));
	ck_assert_uint_eq(r.last.latency, 2 * MS);
}
END_TEST

START_TEST(fin_with_payload_is_a_request)
{
	struct rig r;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	tcp(&r, 3 * MS, ACK, 1011, 0, 5101);
	ck_assert(tcp(&r, 4 * MS, PSH | TG_TCP_FIN, 1011, 10, 5101));
	tcp(&r, 9 * MS, ACK, 1022, 0, 5201);
	ck_assert(finish(&r));
	ck_assert_uint_eq(r.last.latency, 5 * MS);
}
END_TEST

/* Each of these between request and answer, and again between answer and next request. */
START_TEST(what_opens_and_closes_nothing)
{
	const struct {
		const char *what;
		uint8_t flags;
		uint32_t seq, len, ack; /* ack: beyond 5001 before the answer, 5101 after */
	} none[] = {
		{"duplicate ACK", ACK, 1061, 0, 0},
		{"old ACK", ACK, 1061, 0, (uint32_t)-300},
		{"retransmission", PSH, 1011, 50, 0},
		{"part of it again", PSH, 1031, 20, 0},
		{"keep-alive, one byte", ACK, 1060, 1, 0},
		{"keep-alive, no byte", ACK, 1060, 0, 0},
		{"keep-alive that acknowledges", ACK, 1060, 0, 50},
		{"zero-window probe", ACK, 1060, 1, 0},
		{"RST", TG_TCP_RST, 1061, 0, (uint32_t)-5001},
		{"RST with ACK", TG_TCP_RST | ACK, 1061, 0, 100},
		{"RST with payload", TG_TCP_RST | ACK, 1061, 20, 100},
		{"SYN again", TG_TCP_SYN, 1000, 0, (uint32_t)-5001},
		{"SYN ACK", TG_TCP_SYN | ACK, 1061, 20, 50},
		{"NULL scan", 0, 1061, 20, 50},
		{"XMAS scan", TG_TCP_FIN | TG_TCP_PSH | TG_TCP_URG, 1061, 20, 50},
		{"FIN", TG_TCP_FIN | ACK, 1061, 0, 0},
	};

	for (unsigned int i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct rig r;
		uint64_t since = 0;

		connect_tcp(&r);
		tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
		tcp(&r, 2 * MS, PSH, 1011, 50, 5001);
		ck_assert(!tcp(&r, 3 * MS, none[i].flags, none[i].seq, (uint16_t)none[i].len,
			       5001 + none[i].ack));
		ck_assert_msg(is_open(&r, &since) && since == 2 * MS, "%s", none[i].what);
		tcp(&r, 9 * MS, ACK, 1061, 0, 5101);
		ck_assert_msg(!tcp(&r, 20 * MS, none[i].flags, none[i].seq, (uint16_t)none[i].len,
				   5101 + none[i].ack),
			      "%s", none[i].what);
		ck_assert_msg(tcp(&r, 30 * MS, PSH, 1061, 10, 5101), "%s", none[i].what);
		ck_assert_msg(r.last.latency == 7 * MS, "%s: %lu", none[i].what, r.last.latency);
		ck_assert_uint_eq(r.samples, 1);
	}
}
END_TEST

START_TEST(numbers_wrap)
{
	struct rig r;
	uint32_t seq = UINT32_MAX - 25, ack = UINT32_MAX - 250;

	start(&r, TG_ESTIMATOR_ACK);
	tcp(&r, 0, TG_TCP_SYN, seq++, 0, 0);
	tcp(&r, 50 * US, ACK, seq, 0, ack);
	for (uint32_t i = 0; i < 10; i++) {
		ck_assert_uint_eq(tcp(&r, (i * 10 + 1) * MS, PSH, seq, 10, ack), i > 0);
		seq += 10;
		ack += 100;
		ck_assert(!tcp(&r, (i * 10 + 3) * MS, ACK, seq, 0, ack));
		if (i > 0)
			ck_assert_uint_eq(r.last.latency, 2 * MS);
		/* the last request once more */
		ck_assert(!tcp(&r, (i * 10 + 4) * MS, PSH, seq - 10, 10, ack));
	}
	ck_assert_uint_eq(r.samples, 9);
}
END_TEST

START_TEST(segments_in_wrong_order)
{
	struct rig r;
	uint64_t since = 0;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1011, 10, 5001);
	tcp(&r, 2 * MS, ACK, 1001, 10, 5001); /* fills the hole: nothing new */
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 1 * MS);
	tcp(&r, 5 * MS, ACK, 1021, 0, 5201);
	tcp(&r, 6 * MS, ACK, 1021, 0, 5101); /* overtaken on the way */
	ck_assert(tcp(&r, 8 * MS, PSH, 1021, 10, 5201));
	ck_assert_uint_eq(r.last.latency, 4 * MS);
}
END_TEST

START_TEST(starts_in_mid_flow)
{
	struct rig r;

	start(&r, TG_ESTIMATOR_ACK);
	ck_assert(!tcp(&r, 1 * MS, PSH, 777000, 10, 4000000000u));
	ck_assert(!tcp(&r, 3 * MS, ACK, 777010, 0, 4000000100u));
	ck_assert(tcp(&r, 9 * MS, PSH, 777010, 10, 4000000100u));
	ck_assert_uint_eq(r.last.latency, 2 * MS);
	ck_assert(r.last.server == TG_SAMPLE_UNKNOWN && !r.last.setup);
	/* or with an ACK; the retransmission after it is known for what it is */
	start(&r, TG_ESTIMATOR_ACK);
	tcp(&r, 1 * MS, ACK, 777010, 0, 1);
	tcp(&r, 2 * MS, PSH, 777000, 10, 1);
	ck_assert(!is_open(&r, &(uint64_t){0}));
}
END_TEST

START_TEST(wild_numbers_are_taken_up_afresh)
{
	struct rig r;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	tcp(&r, 2 * MS, ACK, 1011, 0, 5101);
	tcp(&r, 3 * MS, ACK, 1011, 0, 5001 + (1u << 31)); /* no window is so large */
	ck_assert(!tcp(&r, 9 * MS, PSH, 1011, 10, 5001 + (1u << 31)));
	tcp(&r, 10 * MS, ACK, 1021, 0, 5101 + (1u << 31));
	ck_assert(tcp(&r, 20 * MS, PSH, 1021, 10, 5101 + (1u << 31)));
	ck_assert_uint_eq(r.last.latency, 1 * MS);
	/* the same in seq: not an answer's end, but the flow goes on from there */
	tcp(&r, 21 * MS, ACK, 1031, 0, 5201 + (1u << 31));
	ck_assert(!tcp(&r, 30 * MS, PSH, 1031 + (1u << 31), 10, 5201 + (1u << 31)));
	ck_assert(!tcp(&r, 40 * MS, PSH, 1041 + (1u << 31), 10, 5201 + (1u << 31)));
	tcp(&r, 43 * MS, ACK, 1051 + (1u << 31), 0, 5301 + (1u << 31));
	ck_assert(tcp(&r, 50 * MS, PSH, 1051 + (1u << 31), 10, 5301 + (1u << 31)));
	ck_assert_uint_eq(r.last.latency, 3 * MS);
}
END_TEST

/* ------------------------------------------------------------------ ack: arrive and depart */

START_TEST(dropped_request_opens_nothing)
{
	struct rig r;
	struct tg_pkt p = segment(PSH, 1011, 10, 5101);
	uint64_t since;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	tcp(&r, 3 * MS, ACK, 1011, 0, 5101);
	ck_assert(arrive(&r, &p, 10 * MS)); /* closes, and is dropped */
	ck_assert_uint_eq(r.last.latency, 2 * MS);
	ck_assert(!is_open(&r, &since));
	ck_assert(!pass(&r, &p, 210 * MS)); /* its retransmission is the request */
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 210 * MS);
	tcp(&r, 214 * MS, ACK, 1021, 0, 5201);
	ck_assert(tcp(&r, 220 * MS, PSH, 1021, 10, 5201));
	ck_assert_uint_eq(r.last.latency, 4 * MS);
}
END_TEST

START_TEST(late_departure_is_no_newer_request)
{
	struct rig r;
	struct tg_pkt first = segment(PSH, 1001, 10, 5001), second = segment(PSH, 1011, 10, 5001);
	uint64_t since = 0;

	connect_tcp(&r);
	ck_assert(!arrive(&r, &first, 1 * MS) && !arrive(&r, &second, 2 * MS));
	depart(&r, &second, 2 * MS, 3 * MS);
	depart(&r, &first, 1 * MS, 4 * MS);
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 2 * MS);
	/* time in here is the client's wait, and not the server's */
	tcp(&r, 9 * MS, ACK, 1021, 0, 5101);
	ck_assert(tcp(&r, 10 * MS, PSH, 1021, 10, 5101));
	ck_assert_uint_eq(r.last.latency, 7 * MS);
	ck_assert_uint_eq(r.last.server, 7 * MS - 1 * MS - 100 * US);
}
END_TEST

START_TEST(late_departure_of_an_older_segment)
{
	struct rig r;
	struct tg_pkt high = segment(PSH, 1011, 10, 5001), low = segment(ACK, 1001, 10, 5001);
	uint64_t since = 0;

	/* they came in wrong order, and the first one left last: new payload, but not newer */
	connect_tcp(&r);
	ck_assert(!arrive(&r, &high, 1 * MS) && !arrive(&r, &low, 2 * MS));
	depart(&r, &low, 2 * MS, 2 * MS);
	depart(&r, &high, 1 * MS, 5 * MS);
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 2 * MS);
}
END_TEST

START_TEST(acknowledgement_that_overtakes_the_request)
{
	struct rig r;
	struct tg_pkt p = segment(PSH, 1001, 10, 5001), a = segment(ACK, 1011, 0, 5101);

	/* whose answer it is cannot be told: no sample rather than a wrong one */
	connect_tcp(&r);
	ck_assert(!arrive(&r, &p, 1 * MS) && !arrive(&r, &a, 3 * MS));
	depart(&r, &p, 1 * MS, 4 * MS);
	depart(&r, &a, 3 * MS, 4 * MS);
	tcp(&r, 5 * MS, ACK, 1011, 0, 5101 + 1448);
	ck_assert(!tcp(&r, 50 * MS, PSH, 1011, 10, 6549));
	tcp(&r, 52 * MS, ACK, 1021, 0, 6649);
	ck_assert(tcp(&r, 90 * MS, PSH, 1021, 10, 6649));
	ck_assert_uint_eq(r.last.latency, 2 * MS);
}
END_TEST

START_TEST(request_in_one_burst)
{
	struct rig r;
	struct tg_pkt a = segment(ACK, 1011, 1448, 5101), b = segment(PSH, 2459, 100, 5101);

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	ck_assert(arrive(&r, &a, 5 * MS));
	ck_assert(!arrive(&r, &b, 5 * MS));
	depart(&r, &a, 5 * MS, 5 * MS);
	depart(&r, &b, 5 * MS, 5 * MS);
	tcp(&r, 8 * MS, ACK, 2559, 0, 5201);
	ck_assert(finish(&r));
	ck_assert_uint_eq(r.last.latency, 3 * MS);
}
END_TEST

/* ------------------------------------------------------------------ ack: S, time */

static void exchange(struct rig *r, uint64_t t, uint64_t wait)
{
	tcp(r, t, PSH, 1001, 10, 5001);
	tcp(r, t + wait, ACK, 1011, 0, 5101);
	ck_assert(tcp(r, t + wait + MS, PSH, 1011, 10, 5101));
	ck_assert_uint_eq(r->last.latency, wait);
}

START_TEST(server_time_is_what_the_path_leaves)
{
	struct rig r;
	struct tg_pkt syn = segment(TG_TCP_SYN, 1000, 0, 0);

	connect_tcp(&r);
	exchange(&r, 10 * MS, 60 * US); /* shorter than the path: 0, not below */
	ck_assert_uint_eq(r.last.server, 0);
	connect_tcp(&r);
	exchange(&r, 10 * MS, 49 * US); /* much shorter: that was not the path */
	ck_assert(r.last.server == TG_SAMPLE_UNKNOWN);

	/* a SYN that waited in here and one that was dropped: the path counts from departure */
	start(&r, TG_ESTIMATOR_ACK);
	ck_assert(!arrive(&r, &syn, 0));
	ck_assert(!arrive(&r, &syn, 1 * S));
	depart(&r, &syn, 1 * S, 1 * S + 3 * MS);
	tcp(&r, 1 * S + 5 * MS, ACK, 1001, 0, 5001);
	exchange(&r, 2 * S, 10 * MS);
	ck_assert_uint_eq(r.last.server, 8 * MS);
}
END_TEST

START_TEST(path_is_unknown_when_it_cannot_be_told)
{
	struct rig r;
	struct tg_pkt syn = segment(TG_TCP_SYN, 1000, 0, 0), ack = segment(ACK, 1001, 0, 5001);

	/* two SYNs went out: which one was answered? */
	start(&r, TG_ESTIMATOR_ACK);
	pass(&r, &syn, 0);
	pass(&r, &syn, 2 * MS);
	pass(&r, &ack, 2 * MS + 100 * US);
	exchange(&r, 2 * S, 5 * MS);
	ck_assert(r.last.server == TG_SAMPLE_UNKNOWN && r.last.setup);
	/* SYN and ACK in one poll: the ACK came before the SYN went */
	start(&r, TG_ESTIMATOR_ACK);
	arrive(&r, &syn, 0);
	arrive(&r, &ack, 10 * US);
	depart(&r, &syn, 0, 20 * US);
	depart(&r, &ack, 10 * US, 20 * US);
	tcp(&r, 500 * US, ACK, 1001, 0, 5001);
	exchange(&r, 1 * MS, 5 * MS);
	ck_assert(r.last.server == TG_SAMPLE_UNKNOWN);
}
END_TEST

START_TEST(syn_with_data_is_a_request)
{
	struct rig r;
	uint64_t since = 1;

	/* TCP fast open: the handshake's ACK answers the SYN, not its data */
	start(&r, TG_ESTIMATOR_ACK);
	tcp(&r, 1 * MS, TG_TCP_SYN, 1000, 10, 0);
	ck_assert(is_open(&r, &since));
	ck_assert_uint_eq(since, 1 * MS);
	tcp(&r, 2 * MS, ACK, 1011, 0, 5001);
	ck_assert(is_open(&r, &since));
	tcp(&r, 6 * MS, ACK, 1011, 0, 5101);
	ck_assert(tcp(&r, 9 * MS, PSH, 1011, 10, 5101));
	ck_assert_uint_eq(r.last.latency, 5 * MS);
	ck_assert_uint_eq(r.last.server, 4 * MS);
}
END_TEST

START_TEST(ports_used_again)
{
	struct rig r;

	connect_tcp(&r);
	tcp(&r, 1 * MS, PSH, 1001, 10, 5001);
	tcp(&r, 2 * S, TG_TCP_SYN, 900, 0, 0); /* below the old numbers */
	tcp(&r, 2 * S + 200 * US, ACK, 901, 0, 70);
	tcp(&r, 3 * S, PSH, 901, 10, 70);
	tcp(&r, 3 * S + MS, ACK, 911, 0, 170);
	ck_assert(tcp(&r, 4 * S, PSH, 911, 10, 170));
	ck_assert_uint_eq(r.last.latency, MS);
	ck_assert_uint_eq(r.last.server, 800 * US);
	ck_assert(r.last.setup);
}
END_TEST

START_TEST(time_jumps)
{
	const uint64_t years = 8 * 365 * UINT64_C(86400) * S;
	struct rig r;

	/* a minute is the longest exchange */
	connect_tcp(&r);
	tcp(&r, 1 * S, PSH, 1001, 10, 5001);
	tcp(&r, 61 * S, ACK, 1011, 0, 5101);
	tcp(&r, 61 * S + MS, ACK, 1011, 0, 5301); /* the rest: too late */
	ck_assert(tcp(&r, 62 * S, PSH, 1011, 10, 5301));
	ck_assert_uint_eq(r.last.latency, 60 * S);
	tcp(&r, 122 * S + 1, ACK, 1021, 0, 5401);
	ck_assert(!tcp(&r, 123 * S, PSH, 1021, 10, 5401));
	/* years later */
	ck_assert(!tcp(&r, years, PSH, 1031, 10, 5501));
	tcp(&r, years + MS, ACK, 1041, 0, 5601);
	/* and back again: the end seen stays, the new request is measured */
	ck_assert(tcp(&r, 200 * S, PSH, 1041, 10, 5601));
	ck_assert_uint_eq(r.last.latency, MS);
	ck_assert(!tcp(&r, 199 * S, ACK, 1051, 0, 5701)); /* before it was asked */
	ck_assert(!tcp(&r, 201 * S, PSH, 1051, 10, 5701));
	tcp(&r, 202 * S, ACK, 1061, 0, 5801);
	ck_assert(finish(&r));
	ck_assert_uint_eq(r.last.latency, S);
	ck_assert_uint_eq(r.samples, 3);
}
END_TEST

/* ------------------------------------------------------------------ ack: a client that speaks late */

/* A conversation: requests of 10 bytes, answers of `bytes`. */
struct talk {
	struct rig r;
	uint64_t t;
	uint32_t seq, ack;
};

static void begin_talk(struct talk *k)
{
	*k = (struct talk){.t = 200 * US, .seq = 1001, .ack = 5001};
	connect_tcp(&k->r);
	tcp(&k->r, k->t, PSH, k->seq, 10, k->ack);
}

/* The answer comes `wait` ms after the request; the client acknowledges it `late` ms after that (< 0: not by itself) and
 * asks again `pause` ms after the answer. The exchange's sample. */
static const struct tg_sample *turn(struct talk *k, double wait, double late, double pause,
				    uint32_t bytes)
{
	uint64_t answered = k->t + (uint64_t)(wait * MS);

	k->seq += 10;
	k->ack += bytes;
	if (late >= 0)
		tcp(&k->r, answered + (uint64_t)(late * MS), ACK, k->seq, 0, k->ack);
	k->t = answered + (uint64_t)(pause * MS);
	ck_assert(tcp(&k->r, k->t, PSH, k->seq, 10, k->ack));
	return &k->r.last;
}

static void usual_turns(struct talk *k, int n)
{
	for (int i = 0; i < n; i++)
		turn(k, 4 + i % 3, -1, 0, 200);
}

static double ms(uint64_t ticks)
{
	return (double)ticks / MS;
}

START_TEST(timer_is_not_the_answers_time)
{
	for (int windows = 0; windows < 2; windows++) {
		double timer = windows ? 200 : 40;
		const struct tg_sample *s;
		struct talk k;

		begin_talk(&k);
		ck_assert_double_eq_tol(ms(turn(&k, 5, timer, 300, 200)->latency), 5 + timer, 1e-3);
		usual_turns(&k, 8);
		s = turn(&k, 7, timer, 300, 200);
		ck_assert_double_eq_tol(ms(s->latency), 7, 1e-3);
		ck_assert_double_eq_tol(ms(s->hi), 7 + timer, 1e-3);
		ck_assert_uint_eq(s->confidence, TG_CONFIDENCE_FAIR);
		/* at once */
		ck_assert_double_eq_tol(ms(turn(&k, 7, 0, 300, 200)->latency), 7, 1e-3);
		/* of two segments the second is acknowledged at once: the server took that long */
		ck_assert_double_eq_tol(ms(turn(&k, 7 + timer, 0, 300, 2000)->latency), 7 + timer,
					1e-3);
		/* what would be unusual without the timer, too */
		ck_assert_double_eq_tol(ms(turn(&k, 90 + timer, 0, 300, 200)->latency), 90 + timer,
					1e-3);
	}
}
END_TEST

START_TEST(slow_servers_answer_has_no_timer)
{
	struct talk k;

	begin_talk(&k);
	for (int i = 0; i < 20; i++)
		ck_assert_double_eq_tol(ms(turn(&k, 45, i % 2 ? 0 : -1, 0, 200)->latency), 45,
					1e-3);
}
END_TEST

START_TEST(pause_is_no_answer)
{
	struct talk k;

	begin_talk(&k);
	usual_turns(&k, 8);
	ck_assert(!k.r.last.unsure);
	ck_assert(turn(&k, 5, -1, 180, 200)->unsure);
	ck_assert(!turn(&k, 5, -1, 0, 200)->unsure);
	/* no timer allows that much; but this client was never seen to acknowledge by itself */
	ck_assert(turn(&k, 5, -1, 9000, 200)->unsure);
	turn(&k, 5, 0, 10, 200);
	ck_assert(turn(&k, 5, -1, 180, 200)->unsure);
	/* it was: the server took nine seconds */
	ck_assert(!turn(&k, 9000, -1, 0, 200)->unsure);
	ck_assert_double_eq_tol(ms(k.r.last.latency), 9000, 1e-3);
}
END_TEST

/* Who pauses for seconds without a word never speaks alone: a pause may be in every answer that its next request
 * acknowledges. Not in one that takes hardly longer than the handshake, 100 us. */
START_TEST(who_never_acknowledges_may_always_have_paused)
{
	const double takes[] = {40, 4};

	for (int far = 1; far >= 0; far--) {
		double wait = takes[!far];
		struct talk k;

		begin_talk(&k);
		for (int i = 0; i < 8; i++)
			ck_assert(!turn(&k, wait, -1, 0, 200)->unsure);
		ck_assert(turn(&k, wait, -1, 20000, 200)->unsure);
		turn(&k, wait, -1, 0, 200); /* what is usual has risen by that */
		for (int i = 0; i < 40; i++)
			turn(&k, wait, -1, 0, 200);
		ck_assert(turn(&k, wait, -1, 0, 200)->unsure == far);
		ck_assert(turn(&k, 2 * wait, -1, 0, 200)->unsure == far);
		/* it speaks */
		turn(&k, wait, 0, 10, 200);
		turn(&k, wait, -1, 0, 200);
		ck_assert(!turn(&k, wait, -1, 0, 200)->unsure);
	}
	/* half a second may be a timer's */
	{
		struct talk k;

		begin_talk(&k);
		for (int i = 0; i < 8; i++)
			turn(&k, 20, -1, 0, 200);
		ck_assert(turn(&k, 20, -1, 480, 200)->unsure);
		ck_assert(!turn(&k, 20, -1, 0, 200)->unsure);
	}
}
END_TEST

START_TEST(slower_server_becomes_usual)
{
	struct talk k;
	int unsure = 0;

	begin_talk(&k);
	usual_turns(&k, 40);
	for (int i = 0; i < 40; i++)
		unsure += turn(&k, 150, -1, 0, 200)->unsure;
	ck_assert_int_le(unsure, 8);
	ck_assert(!k.r.last.unsure);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate_ack");

	UNIT_CASE(s, "ack", pure_ack_ends_the_answer, last_advance_ends_the_answer,
		  burst_has_the_first_answers_s, request_of_many_segments_starts_at_its_last,
		  request_that_acknowledges_ends_the_answer_itself,
		  request_that_acknowledges_adds_no_thinking,
		  fin_ends_an_answer_that_nothing_acknowledged, fin_of_the_server_is_no_answer,
		  fin_with_payload_is_a_request, what_opens_and_closes_nothing, numbers_wrap,
		  segments_in_wrong_order, starts_in_mid_flow, wild_numbers_are_taken_up_afresh);
	UNIT_CASE(s, "ack-depart", dropped_request_opens_nothing,
		  late_departure_of_an_older_segment, late_departure_is_no_newer_request,
		  acknowledgement_that_overtakes_the_request, request_in_one_burst);
	UNIT_CASE(s, "ack-time", server_time_is_what_the_path_leaves,
		  path_is_unknown_when_it_cannot_be_told, syn_with_data_is_a_request,
		  ports_used_again, time_jumps);
	UNIT_CASE(s, "ack-late", timer_is_not_the_answers_time, slow_servers_answer_has_no_timer,
		  pause_is_no_answer, who_never_acknowledges_may_always_have_paused,
		  slower_server_becomes_usual);
	return s;
}

UNIT_MAIN(suite)
