/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flow counts for at its server, over its life and whatever comes in between: nothing is counted twice, or for
 * ever. The whole gateway on rings. */
#include "../bid/rig_checks.h"

#include "snapshot.h"
#include "state.h"

#define SERVERS 3

static void begin(const char *more)
{
	rig.policy = "round-robin";
	rig_start(SERVERS, 1, "", more);
}

/* The same servers; the one of this number, if any, drains. */
static void reload(unsigned int drains)
{
	struct tg_config *c = rig_config(SERVERS, "", "");
	char err[256];

	if (drains < SERVERS)
		c->services[0].servers[drains].state = TG_SERVER_DRAIN;
	ck_assert_int_eq(tg_control_load(&rig.gateway, c, err, sizeof(err)), 0);
	rig_turn(10 * US);
}

static struct tg_server_stats *stats(unsigned int server)
{
	return tg_snapshot_stats(rig.gateway.snapshot, (uint16_t)server, 0);
}

static unsigned int fresh(void)
{
	return stats(0)->fresh + stats(1)->fresh + stats(2)->fresh;
}

static unsigned int waiting(void)
{
	return stats(0)->waiting + stats(1)->waiting + stats(2)->waiting;
}

static unsigned int own(void)
{
	const uint32_t *n = rig.gateway.worker[0]->own;

	return n[0] + n[1] + n[2];
}

/* How many frames went to servers; the last one's is *server. */
static unsigned int sent(unsigned int *server)
{
	struct rig_frame f;
	unsigned int n = 0;

	for (; rig_read(BACK, &f); n++)
		if (server != NULL)
			*server = f.dst_mac[5];
	return n;
}

static void client(uint16_t port, uint32_t seq, uint8_t flags, unsigned int payload)
{
	rig_client(port, seq, flags == SYN ? 0 : 7002, flags, payload);
}

static void seconds(unsigned int n)
{
	for (unsigned int i = 0; i < n * 500; i++)
		rig_turn(2 * MS);
}

/* A connection that has asked nothing yet. */
static void connect_from(uint16_t port)
{
	client(port, ISN, SYN, 0);
	client(port, ISN + 1, ACK, 0);
	rig_turn(10 * US);
}

static struct tg_flow *only_flow(void)
{
	uint64_t cursor = 0;
	struct tg_flow *f = tg_flow_next(rig.gateway.worker[0]->flows, &cursor);

	ck_assert_ptr_nonnull(f);
	return f;
}

/* Its server drains, and in one burst it asks, is reset, and begins anew elsewhere: the request was of an entry that is
 * gone when it departs. */
START_TEST(an_entry_that_is_gone_when_its_packet_departs)
{
	unsigned int at = SERVERS;

	begin("");
	client(9000, ISN, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent(&at), 1);
	client(9000, ISN + 1, ACK, 0);
	rig_turn(10 * US);
	reload(at);
	client(9000, ISN + 1, ACK, 100);
	client(9000, ISN + 101, RST, 0);
	client(9000, ISN + 90000, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent(NULL), 4);
	ck_assert_uint_eq(waiting(), 0);
	ck_assert_uint_eq(fresh(), 1);
	ck_assert_uint_eq(own(), 1);
	client(9000, ISN + 90001, RST, 0);
	rig_turn(10 * US);
	reload(SERVERS);
	ck_assert_uint_eq(waiting() + fresh() + own(), 0);
}
END_TEST

/* A SYN-ACK is no client's: who is sent SYNs in the service's name answers so. */
START_TEST(reflected_answers_make_no_flows)
{
	begin("");
	for (uint16_t i = 0; i < 300; i++) {
		client((uint16_t)(10000 + i), ISN, SYN_ACK, 0);
		if (i % 30 == 29)
			rig_turn(10 * US);
	}
	ck_assert_uint_eq(sent(NULL), 0);
	ck_assert_uint_eq(tg_flow_table_stats(rig.gateway.worker[0]->flows)->inserted, 0);
	ck_assert_uint_eq(rig.gateway.worker[0]->stats.dropped[TG_DROP_TCP_STRAY], 300);
	ck_assert_uint_eq(fresh() + own(), 0);
}
END_TEST

/* Monitors and port scans connect and go. */
START_TEST(connections_that_end_without_asking_are_no_requests)
{
	begin("");
	for (uint16_t i = 0; i < 60; i++) {
		connect_from((uint16_t)(10000 + i));
		ck_assert_uint_eq(fresh(), 1);
		client((uint16_t)(10000 + i), ISN + 1, i % 2 == 0 ? FIN_ACK : RST_ACK, 0);
		rig_turn(10 * US);
		ck_assert_uint_eq(fresh(), 0);
		ck_assert_uint_eq(own(), 0);
	}
	sent(NULL);
	seconds(20); /* the entries age */
	ck_assert_uint_eq(fresh() + own() + waiting(), 0);
}
END_TEST

/* Clients that connect in advance are expected to ask for a second, and are their server's for as long as they stay. */
START_TEST(a_connection_in_advance_is_expected_to_ask_for_a_second)
{
	begin("");
	connect_from(9000);
	ck_assert_uint_eq(fresh(), 1);
	seconds(5);
	ck_assert_uint_eq(fresh(), 0);
	ck_assert_uint_eq(own(), 1);
	client(9000, ISN + 1, ACK, 100);
	rig_turn(10 * US);
	ck_assert_uint_eq(waiting(), 1);
	ck_assert_uint_eq(fresh(), 0);
	sent(NULL);
}
END_TEST

/* Whoever guesses four numbers can send a RST, which the server does not take; the flow goes on and is measured. */
START_TEST(a_flow_that_goes_on_after_a_guessed_reset_is_measured)
{
	begin("");
	client(9000, ISN, SYN, 0);
	client(9000, ISN + 1, ACK, 100);
	rig_turn(10 * US);
	client(9000, 5, RST, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(only_flow()->estimator, TG_ESTIMATOR_OFF);
	client(9000, ISN + 101, ACK, 100);
	rig_turn(10 * US);
	ck_assert_uint_ne(only_flow()->estimator, TG_ESTIMATOR_OFF);
	ck_assert_uint_eq(own(), 1);
	ck_assert_uint_eq(waiting(), 1);
	sent(NULL);
}
END_TEST

/* A SYN of another connection by the same ports, and in the same burst an acknowledgement, whose departure would tell nothing
 * of the flow as it found it. Of the new one it tells that the gap from SYN to ACK cannot be known. */
START_TEST(what_a_syn_changes_for_those_behind_it)
{
	const struct tg_ack_near *near;

	rig.timestamps = true;
	begin("");
	client(9000, ISN, SYN, 0);
	rig_turn(10 * US);
	client(9000, ISN + 1, ACK, 0);
	rig_turn(10 * US);
	near = (const void *)only_flow()->near;
	ck_assert_uint_eq(only_flow()->estimator, TG_ESTIMATOR_ECHO);
	ck_assert(near->seq_known && !near->handshake);
	client(9000, ISN + 90000, SYN, 0);
	client(9000, ISN + 90001, ACK, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(near->seq_end, ISN + 90001);
	ck_assert(!near->handshake);
	sent(NULL);
	rig.timestamps = false;
}
END_TEST

static Suite *suite(void)
{
	const TTest *const tests[] = {
		an_entry_that_is_gone_when_its_packet_departs,
		reflected_answers_make_no_flows,
		connections_that_end_without_asking_are_no_requests,
		a_connection_in_advance_is_expected_to_ask_for_a_second,
		a_flow_that_goes_on_after_a_guessed_reset_is_measured,
		what_a_syn_changes_for_those_behind_it,
		NULL,
	};
	Suite *s = suite_create("levels");

	add(s, "levels", tests);
	return s;
}

RIG_MAIN("levels")
