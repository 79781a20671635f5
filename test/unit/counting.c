/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which counters an exchange goes to: TLS's handshake is kept apart from what the application asks, and what no
 * estimator is sure of from both.
 */
#include "counting.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static struct tg_server_stats st;
static struct tg_server_stats *stats[1] = {&st};
static struct tg_snapshot snapshot;
static struct tg_worker *worker;
static struct tg_flow flow;

static void set_up(void)
{
	memset(&st, 0, sizeof(st));
	memset(&flow, 0, sizeof(flow));
	snapshot = (struct tg_snapshot){.n_workers = 1, .n_servers = 1, .stats = stats};
	worker = calloc(1, sizeof(*worker));
	ck_assert_ptr_nonnull(worker);
	worker->snapshot = &snapshot;
	worker->clock = tg_clock_init(1000000000);
}

static void tear_down(void)
{
	free(worker);
}

/* An exchange of pieces, answered in 20 ms, of which the server took 5; first: of a connection whose SYN was seen. */
static void exchange(bool first, uint8_t pieces)
{
	struct tg_sample s = {.latency = 20 * MS,
			      .server = 5 * MS,
			      .count = 1,
			      .pieces = pieces,
			      .kind = TG_ESTIMATOR_ECHO,
			      .setup = first};

	tg_count_sample(worker, &flow, &s);
}

static void counted(uint64_t setup, uint64_t exchanges, uint64_t pieces)
{
	ck_assert_uint_eq(st.setup, setup);
	ck_assert_uint_eq(st.latency.count, exchanges);
	ck_assert_uint_eq(st.server.count, exchanges);
	ck_assert_uint_eq(st.exchanges[TG_ESTIMATOR_ECHO], exchanges);
	ck_assert_uint_eq(st.pieces, pieces);
}

START_TEST(in_clear_the_first_is_the_applications)
{
	set_up();
	exchange(true, 1);
	counted(0, 1, 0);
	exchange(false, 3);
	counted(0, 2, 2);
	tear_down();
}
END_TEST

/* The handshake's end and a request are two pieces of one: RFC 8446 section 2. */
START_TEST(tls_keeps_its_handshake_apart)
{
	set_up();
	flow.tls = 1;
	exchange(true, 1);
	counted(1, 0, 0);
	exchange(false, 2);
	counted(1, 1, 0);
	exchange(false, 2);
	counted(1, 2, 1);
	tear_down();
}
END_TEST

/* Of a connection that was there before the gateway nothing is a handshake. */
START_TEST(tls_in_the_middle)
{
	set_up();
	flow.tls = 1;
	exchange(false, 1);
	counted(0, 1, 0);
	tear_down();
}
END_TEST

START_TEST(unsure_is_in_no_figure)
{
	struct tg_sample s = {.latency = MS,
			      .server = MS,
			      .count = 7,
			      .kind = TG_ESTIMATOR_GAP,
			      .setup = true,
			      .unsure = true};

	set_up();
	flow.tls = 1;
	tg_count_sample(worker, &flow, &s);
	ck_assert_uint_eq(st.unsure, 7);
	ck_assert_uint_eq(st.exchanges[TG_ESTIMATOR_GAP], 0);
	counted(0, 0, 0);
	tear_down();
}
END_TEST

/* L of an exchange whose S is unknown stands. */
START_TEST(latency_without_s)
{
	struct tg_sample s = {.latency = 20 * MS,
			      .server = TG_SAMPLE_UNKNOWN,
			      .count = 1,
			      .kind = TG_ESTIMATOR_ACK};

	set_up();
	tg_count_sample(worker, &flow, &s);
	ck_assert_uint_eq(st.latency.count, 1);
	ck_assert_uint_eq(st.latency.sum_ns, 20 * MS);
	ck_assert_uint_eq(st.server.count, 0);
	tear_down();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("counting");

	UNIT_CASE(s, "samples", in_clear_the_first_is_the_applications,
		  tls_keeps_its_handshake_apart, tls_in_the_middle, unsure_is_in_no_figure,
		  latency_without_s);
	return s;
}
UNIT_MAIN(suite)
