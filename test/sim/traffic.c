/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic of every kind: QUIC, datagrams, tunnels; and all streams under loss. */
#include <check.h>

#include "ends_client.h"

START_TEST(quic)
{
	unsigned int i = 0;
	struct tg_connection *c;

	begin();
	ends.params[0].workers = 4;
	c = connect_as(TG_TRAFFIC_QUIC);
	for (; i < 4; i++)
		ask(c, 100, 5000, 8000 - 2000 * i);
	ends_run(1 * S);
	ck_assert_uint_eq(n_answered, 4);
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(answered[i], 3 - i); /* order of completion */
	ck_assert_uint_eq(ends.log[0].p.payload, 1200);
	ck_assert_uint_eq(ends.log[0].p.first_byte & 0xf0, 0xc0);
	for (i = 0; i < ends.n; i++) {
		const struct seen *s = &ends.log[i];

		ck_assert_uint_le(s->p.payload, 1350);
		ck_assert(!s->p.timestamps);
		if (s->at >= 1 * MS)
			ck_assert_uint_eq(s->p.first_byte & 0xc0, 0x40);
		else if (s->at < 200 * US)
			ck_assert_uint_eq(s->p.first_byte & 0x80, 0x80);
		if (s->data == 0 && s->at >= 1 * MS)
			ck_assert(s->p.payload >= 30 && s->p.payload <= 45);
	}
	ck_assert_uint_eq(group.counts.retransmitted, 0);
	tg_connection_close(c, false, 1 * S);
	ends_run(25 * S);
	over(0);
}
END_TEST

/* An odd last packet is acknowledged after 25 ms. */
START_TEST(quic_ack_delay)
{
	struct tg_connection *c;
	unsigned int n;

	begin();
	c = connect_as(TG_TRAFFIC_QUIC);
	ends_run(10 * MS);
	n = ends.n;
	ask(c, 100, 1000, 1000);
	ends_run(50 * MS);
	expect(n, 10 * MS, true, ACK | PSH, 100);
	expect(n + 1, 11100 * US, false, ACK | PSH, 1000);
	expect(n + 2, 36200 * US, true, ACK, 0);
	ck_assert_uint_eq(ends.n, n + 3);
	ask(c, 100, 3 * 1319, 1000);
	ends_run(54 * MS);
	expect(n + 3, 50 * MS, true, ACK | PSH, 100);
	expect(n + 7, 51200 * US, true, ACK, 0); /* of the second packet */
	tg_connection_close(c, true, 54 * MS);
	ends_run(25 * S);
	over(0);
}
END_TEST

START_TEST(datagram)
{
	struct tg_connection *c;

	begin();
	ends.params[0].workers = 4;
	c = connect_as(TG_TRAFFIC_DATAGRAM);
	ask(c, 60, 100, 2000);
	ask(c, 60, 3000, 1000);
	ends_run(100 * MS);
	ck_assert_uint_eq(n_answered, 2);
	ck_assert_uint_eq(answered[0], 1);
	ck_assert_uint_eq(ends.n, 2 + 1 + 3);
	ck_assert_uint_eq(ends.log[0].p.payload, 60);
	ck_assert_uint_eq(ends.log[2].p.payload, 1000);
	ck_assert_uint_eq(ends.log[5].p.payload, 100);
	ends.station[0].state = TG_STATION_REFUSES;
	ask(c, 60, 100, 2000);
	ends_run(200 * MS);
	ck_assert_uint_eq(n_broken, 1);
	over(0);
}
END_TEST

/* Into a tunnel the handshake goes first; what is inside is a TCP exchange in wrapping. */
START_TEST(tunnel)
{
	struct tg_connection *carrier, *c, *d;

	begin();
	carrier = tg_tunnel_open(&group, 0, 5000);
	group.tunnel = &carrier;
	c = connect_as(TG_TRAFFIC_TUNNEL);
	d = connect_as(TG_TRAFFIC_TUNNEL);
	ask(c, 300, 900, 1000);
	ask(d, 300, 900, 1000);
	ends_run(100 * MS);
	ck_assert_uint_eq(n_answered, 2);
	ck_assert_uint_eq(c->id, d->id);
	ck_assert_uint_eq(ends.log[0].p.payload, 148);
	ck_assert_uint_eq(ends.log[0].p.first_byte, 1);
	ck_assert_uint_eq(ends.log[1].p.payload, 92);
	ck_assert_uint_eq(ends.log[2].at, 200 * US);
	ck_assert_uint_eq(ends.log[2].p.payload, 60 + 32); /* SYN with its options */
	ck_assert_uint_eq(ends.log[2].p.first_byte, 4);
	for (unsigned int i = 6; i < ends.n; i++)
		ck_assert_uint_eq(ends.log[i].p.payload, ends.log[i].data + 52 + 32);
	/* a server without the keys keeps silent; after a while the client makes new ones */
	ends.route = 1;
	ask(c, 300, 900, 1000);
	ends_run(10 * S);
	ck_assert_uint_eq(n_broken, 0);
	ends_run(60 * S);
	ck_assert_uint_eq(n_broken, 1); /* the RST of a TCP that does not know c */
	tg_connection_close(d, true, 60 * S);
	ends_run(120 * S);
	ck_assert_uint_eq(group.connections.live, 1);
	tg_connection_unref(carrier);
	over(0);
}
END_TEST

/* Whatever is lost or overtaken, every request is answered once, in full, and memory goes back. */
static void any_loss(enum tg_traffic traffic, uint64_t seed)
{
	struct tg_connection *c;
	uint64_t t = 0;

	begin();
	tg_random_init(&ends.random, seed, 0, "loss", 0);
	ends.loss = 0.01 * (double)(1 + seed % 10);
	ends.jitter = seed % 3 == 0 ? 300e3 : 0;
	params.tcp.receive_window = params.server_tcp.receive_window = seed % 2 ? 1 << 20 : 20000;
	c = connect_as(traffic);
	for (unsigned int i = 0; i < 40; i++) {
		ask(c, (uint32_t)tg_random_below(&ends.random, 5000) + 1,
		    (uint32_t)tg_random_below(&ends.random, 60000) + 1, 500);
		last_asked()->writes = 1 + i % 3;
		last_asked()->write_gap_ns = i % 2 * MS;
		if (i % 4 == 3)
			ends_run(t += 100 * MS);
	}
	for (; n_answered < 40 && n_broken == 0 && t < 2000 * S; t += S)
		ends_run(t);
	ck_assert_uint_eq(n_broken, 0);
	ck_assert_uint_eq(n_answered, 40);
	for (unsigned int i = 0; i < 40; i++)
		ck_assert(traffic == TG_TRAFFIC_QUIC || answered[i] == i);
	ck_assert_uint_eq(ends.station[0].arrivals, 40);
	ck_assert_uint_eq(c->client_end->rcv_nxt, c->server_ends->written);
	ck_assert_uint_eq(c->server_ends->rcv_nxt, c->client_end->written);
	tg_connection_close(c, false, t);
	ends_run(t + 5000 * S);
	over(0);
}

START_TEST(loss)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		any_loss(_i == 0 ? TG_TRAFFIC_TCP : TG_TRAFFIC_QUIC, seed);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("traffic");
	TCase *t = tcase_create("ends");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, quic);
	tcase_add_test(t, quic_ack_delay);
	tcase_add_test(t, datagram);
	tcase_add_test(t, tunnel);
	tcase_add_loop_test(t, loss, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
