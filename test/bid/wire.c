/* SPDX-License-Identifier: BSD-3-Clause */
/* Auctions on the wire: the whole gateway on rings, packet by packet, on a clock that the test moves. */
#include "rig_checks.h"
#include "start/eal.h"
#include "tg_encap.h"

START_TEST(a_connection)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	ck_assert(by[0] == 1 && by[1] == 0 && by[2] == 1);
	/* its ACK and its data go to the winner only */
	for (unsigned int i = 0; i < 5; i++)
		rig_client(9000, ISN + 1 + i * 10, 7002, ACK, i * 10);
	rig_turn(100 * US);
	for (unsigned int i = 0; i < 5; i++) {
		struct rig_frame f;

		ck_assert(rig_read(BACK, &f));
		ck_assert_uint_eq(f.dst_mac[5], 1);
		ck_assert_uint_eq(f.flags, ACK);
	}
	nothing_from(BACK);
	ck_assert_uint_eq(counts()->all_in, 1);
	ck_assert_uint_eq(tg_auction_server(rig.gateway.worker[0], 1)->won, 1);
}
END_TEST

START_TEST(the_window_ends)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 200, 0, 190);
	nothing_from(FRONT);
	rig_turn(200 * US);
	nothing_from(FRONT);
	rig_turn(80 * US); /* 300 us after the SYN */
	client_got(2, 9000);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2); /* who said nothing is reset as well */
	ck_assert(by[0] == 1 && by[1] == 1);
	/* the late one: swallowed, reset again */
	rig_server(1, 9000, ISN + 1, 128, SYN_ACK);
	rig_turn(10 * US);
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 1);
	ck_assert_uint_eq(by[1], 1);
	ck_assert_uint_eq(tg_auction_server(rig.gateway.worker[0], 1)->late, 1);
	/* a RST of a loser, a RST of the winner */
	rig_server(0, 9000, ISN + 1, 64, RST_ACK);
	rig_turn(10 * US);
	nothing_from(FRONT);
	rig_server(2, 9000, ISN + 1, 64, RST_ACK);
	rig_turn(10 * US);
	{
		struct rig_frame f;

		ck_assert(rig_read(FRONT, &f));
		ck_assert_uint_eq(f.flags, RST_ACK);
	}
	nothing_from(BACK);
}
END_TEST

START_TEST(late_answers_of_all)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 0, 0, 0);
	rig_turn(1 * MS);
	nothing_from(FRONT);
	rig_server(1, 9000, ISN + 1, 254, SYN_ACK);
	rig_turn(10 * US);
	client_got(1, 9000);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	ck_assert_uint_eq(counts()->after_window, 1);
}
END_TEST

START_TEST(syn_again_during_and_after)
{
	unsigned int by[3];
	struct rig_frame f;

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 0, 0);
	rig_client(9000, ISN, 0, SYN, 0); /* in the window: dropped */
	rig_turn(10 * US);
	nothing_from(BACK);
	rig_turn(300 * US);
	client_got(0, 9000);
	sent_to(3, RST, ISN + 1, by);
	rig_client(9000, ISN, 0, SYN, 0); /* decided: the winner's */
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 1);
	ck_assert_uint_eq(by[0], 1);
	rig_server(0, 9000, ISN + 1, 170, SYN_ACK); /* which answers again */
	rig_turn(10 * US);
	client_got(0, 9000);
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 1);
	/* it did not answer that one: dead. The next SYN is for the others */
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	while (rig_read(BACK, &f)) {
		ck_assert(f.flags == (f.dst_mac[5] == 0 ? RST : SYN));
		by[f.dst_mac[5]]++;
	}
	ck_assert(by[1] == 1 && by[2] == 1);
	rig_server(1, 9000, ISN + 1, 150, SYN_ACK);
	rig_server(2, 9000, ISN + 1, 151, SYN_ACK);
	rig_turn(10 * US);
	client_got(1, 9000);
	rig_client(9000, ISN + 1, 7002, ACK, 5);
	rig_turn(10 * US);
	ck_assert(rig_read(BACK, &f) && f.flags == RST); /* to the other loser */
	ck_assert(rig_read(BACK, &f) && f.flags == ACK);
	ck_assert_uint_eq(f.dst_mac[5], 1);
}
END_TEST

START_TEST(lost_syn_is_sent_again)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 0, 0, 0);
	rig_turn(1000 * MS);
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
	rig_turn(2000 * MS); /* nobody at all: forgotten, who was asked is reset */
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 3);
	ck_assert_uint_eq(counts()->nobody, 1);
	ck_assert_uint_eq(counts()->open, 0);
}
END_TEST

START_TEST(new_isn_is_a_new_auction)
{
	unsigned int by[3] = {0}, rst[3] = {0};
	struct rig_frame f;

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 0, 0);
	rig_client(9000, ISN + 500, 0, SYN, 0);
	rig_turn(10 * US);
	while (rig_read(BACK, &f)) {
		ck_assert_uint_eq(f.seq, f.flags == RST ? ISN + 1 : ISN + 500);
		(f.flags == RST ? rst : by)[f.dst_mac[5]]++;
	}
	for (unsigned int i = 0; i < 3; i++)
		ck_assert(by[i] == 1 && rst[i] == 1);
	rig_server(1, 9000, ISN + 1, 128, SYN_ACK); /* to the old one */
	rig_turn(10 * US);
	nothing_from(FRONT);
	ck_assert_uint_eq(counts()->renewed, 1);
	ck_assert_uint_eq(counts()->auctions, 2);
}
END_TEST

START_TEST(ports_used_again)
{
	unsigned int by[3];
	struct rig_frame f;

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	sent_to(3, RST, ISN + 1, by);
	rig_client(9000, ISN + 1, 7002, FIN_ACK, 0);
	rig_turn(10 * US);
	ck_assert(rig_read(BACK, &f));
	/* at once: the server of the old one has it, whose answer passes */
	rig_client(9000, ISN + 500, 0, SYN, 0);
	rig_turn(MS);
	ck_assert_uint_eq(sent_to(3, SYN, ISN + 500, by), 1);
	ck_assert_uint_eq(by[1], 1);
	rig_server(1, 9000, ISN + 501, 200, SYN_ACK);
	rig_client(9000, ISN + 501, 7002, FIN_ACK, 0);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f) && f.seq == 7001 && f.ttl == 64);
	nothing_from(FRONT);
	while (rig_read(BACK, &f))
		ck_assert_uint_eq(f.dst_mac[5], 1);
	/* when its entry is gone, after closed_s: an auction */
	rig_turn(6000 * MS);
	for (unsigned int i = 0; i < 100000; i++)
		rig_turn(10 * US);
	rig_client(9000, ISN + 9000, 0, SYN, 0);
	rig_turn(MS);
	ck_assert_uint_eq(sent_to(3, SYN, ISN + 9000, by), 3);
	rig_server(0, 9000, ISN + 9001, 128, SYN_ACK);
	rig_server(1, 9000, ISN + 9001, 129, SYN_ACK);
	rig_server(2, 9000, ISN + 9001, 129, SYN_ACK);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f) && f.seq == 7000);
	rig_client(9000, ISN + 9001, 7001, ACK, 1);
	sent_to(3, RST, ISN + 9001, by);
	rig_turn(10 * US);
	ck_assert(rig_read(BACK, &f));
	ck_assert_uint_eq(f.dst_mac[5], 0);
}
END_TEST

START_TEST(fallbacks)
{
	unsigned int by[3];
	struct rig_frame f;

	rig_start(3, 1, "\"auctions\":2", "");
	for (uint16_t i = 0; i < 3; i++)
		rig_client((uint16_t)(9000 + i), ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 7); /* two auctions and a single one */
	ck_assert_uint_eq(counts()->over_auctions, 1);
	/* the answer to that one goes through, whatever its TTL; nobody else's does */
	for (uint8_t i = 0; i < 3; i++)
		rig_server(i, 9002, ISN + 1, 180, SYN_ACK);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f));
	ck_assert_uint_eq(f.ttl, 64);
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
}
END_TEST

START_TEST(rate)
{
	unsigned int by[3];

	rig_start(3, 1, "\"syn_rate\":1", "");
	for (unsigned int i = 0; i < 20; i++)
		rig_client((uint16_t)(9000 + i), ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by),
			  3 * counts()->auctions + 20 - counts()->auctions);
	ck_assert_uint_gt(counts()->over_rate, 10);
}
END_TEST

START_TEST(refusals)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	sent_to(3, SYN, ISN, by);
	rig_server(0, 9000, ISN + 1, 255, SYN_ACK);
	rig_server(1, 9000, ISN + 1, 64, RST_ACK); /* nobody listens */
	rig_server(2, 9000, ISN + 1, 254, SYN_ACK);
	rig_turn(10 * US);
	client_got(2, 9000);
	sent_to(3, RST, ISN + 1, by);
	auction(9001, 255, 255, 255);
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 3);
	ck_assert_uint_eq(counts()->refused, 1);
}
END_TEST

START_TEST(foreign_answers)
{
	struct rig_frame strange = {.src_mac = {2, 0, 0, 0, 9, 9},
				    .src = VIP,
				    .dst = CLIENT,
				    .src_port = 80,
				    .dst_port = 9000,
				    .ack = ISN + 1,
				    .ttl = 128,
				    .flags = SYN_ACK};
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 0, 0, 0);
	rig_in(BACK, 0, strange); /* no server of ours */
	strange.src_mac[4] = 1, strange.src_mac[5] = 1;
	strange.ack = ISN;
	rig_in(BACK, 0, strange); /* to another SYN */
	rig_turn(10 * US);
	nothing_from(FRONT);
	rig_in(FRONT, 0, strange); /* from the clients' side: nobody may pose as the service */
	strange.src_port = 81;
	rig_in(BACK, 0, strange); /* another port of the same address */
	rig_turn(10 * US);
	nothing_from(FRONT);
	ck_assert_uint_eq(counts()->open, 1);
	rig_turn(300 * US); /* none of them was a bid */
	nothing_from(FRONT);
	/* without an auction, and not the one that the consistent hash names: reset */
	strange.src_port = 80;
	strange.dst_port = 9999;
	strange.ack = ISN + 1;
	for (uint8_t i = 0; i < 3; i++) {
		strange.src_mac[5] = i;
		rig_in(BACK, 0, strange);
	}
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
}
END_TEST

START_TEST(all_traffic)
{
	struct rig_frame f;
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	sent_to(3, RST, ISN + 1, by);
	rig_server(1, 9000, ISN + 1, 61, ACK);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f));
	ck_assert_uint_eq(f.ttl, 60); /* as a router does */
	ck_assert(f.checksums);
	ck_assert_uint_eq(tg_auction_server(rig.gateway.worker[0], 1)->hops, 3);
}
END_TEST

START_TEST(server_goes_down)
{
	char err[256];
	struct rig_frame f;
	unsigned int by[3];
	struct tg_config *c;

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	sent_to(3, RST, ISN + 1, by);
	auction(9001, 150, 0, 0); /* open */
	c = rig_config(3, STANDARD, "");
	c->services[0].servers[0].state = TG_SERVER_DOWN;
	c->services[0].servers[1].state = TG_SERVER_DOWN;
	ck_assert_int_eq(tg_control_load(&rig.gateway, c, err, sizeof(err)), 0);
	rig_client(9000, ISN + 1, 7002, ACK, 10); /* its server is gone: the client is told */
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f));
	ck_assert_uint_eq(f.flags, RST);
	ck_assert_uint_eq(f.seq, 7002);
	ck_assert_uint_eq(f.src, VIP);
	ck_assert_uint_eq(f.dst, CLIENT);
	ck_assert_uint_eq(f.ttl, 64);
	ck_assert(f.checksums);
	ck_assert_uint_eq(tg_auction_stats(rig.gateway.worker[0])->gone, 1);
	nothing_from(BACK);
	rig_turn(300 * US); /* the one that was open: who answered may not serve any more */
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 3);
	rig_client(9000, ISN + 77, 0, SYN, 0); /* and the ports may be used again */
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN + 77, by), 1);
	ck_assert_uint_eq(by[2], 1);
}
END_TEST

START_TEST(held_answers_meet_the_gate)
{
	const struct tg_gate_stats *gate;

	rig_start(3, 1, "\"window_us\":900",
		  ",\"sojourn_max_us\":1000,\"gate\":\"drop\",\"gate_margin_us\":0");
	gate = &rig.gateway.worker[0]->stats.gate;
	auction(9000, 150, 0, 0);
	rig_turn(5 * MS); /* the worker is late: what waited longer than T allows does not leave */
	nothing_from(FRONT);
	ck_assert_uint_eq(gate->late_dropped, 1);
	ck_assert_uint_le(gate->max_sojourn_ns, 1000000);
	/* the client asks again, the winner answers again: in time */
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	rig_server(0, 9000, ISN + 1, 150, SYN_ACK);
	rig_turn(10 * US);
	client_got(0, 9000);
	ck_assert_uint_le(gate->max_sojourn_ns, 1000000);
}
END_TEST

START_TEST(the_gateway_stops)
{
	unsigned int before, by[3];

	rig_start(3, 1, STANDARD, "");
	before = rte_mempool_avail_count(rig.pool);
	auction(9000, 150, 0, 0); /* open, an answer held */
	auction(9001, 150, 160, 170);
	client_got(0, 9001);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	tg_gateway_stop(&rig.gateway);
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 3); /* nobody is left half open */
	ck_assert_uint_eq(counts()->open, 0);
	ck_assert_uint_eq(rte_mempool_avail_count(rig.pool), before);
	nothing_is_lost();
}
END_TEST

/* A frame around a SYN-ACK: IP in IP, or UDP to GUE's port, to an own address of the gateway. */
static void in_tunnel(uint8_t protocol)
{
	struct rig_frame f = {.src_mac = {2, 0, 0, 0, 1, 0},
			      .src = 0x0a00000au,
			      .dst = 0x0a000002u,
			      .src_port = TG_GUE_PORT,
			      .dst_port = TG_GUE_PORT,
			      .payload = 40,
			      .ttl = 64};
	struct rte_mbuf *m = NULL;
	struct rte_ipv4_hdr *ip;

	memcpy(f.dst_mac, rig.gateway.ports[BACK].mac, 6);
	m = rig_write(&f);
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
	ip->next_proto_id = protocol;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	if (protocol == IPPROTO_UDP) {
		uint16_t *udp = (void *)(ip + 1);

		udp[2] = htons(60);
		udp[3] = 0;
	}
	rte_ring_enqueue(rig.rx[BACK][0], m);
}

START_TEST(answers_by_a_tunnel)
{
	const uint8_t protocols[] = {IPPROTO_IPIP, IPPROTO_IPV6, IPPROTO_GRE, IPPROTO_UDP};

	rig_start(3, 1, STANDARD, "");
	if (rig.v6) /* the outer header is what counts, IPv4 will do */
		return;
	for (unsigned int i = 0; i < sizeof(protocols); i++)
		in_tunnel(protocols[i]);
	rig_turn(10 * US);
	ck_assert_uint_eq(rig.gateway.worker[0]->stats.dropped[TG_DROP_TUNNEL], sizeof(protocols));
	nothing_is_lost();
}
END_TEST

START_TEST(the_first_answer_wins)
{
	unsigned int by[3];

	rig_start(3, 1, "\"window_us\":0", "");
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
	rig_server(2, 9000, ISN + 1, 64, SYN_ACK); /* delayed by its load, no mark */
	rig_turn(10 * US);
	client_got(2, 9000);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	rig_server(0, 9000, ISN + 1, 64, SYN_ACK);
	rig_turn(10 * US);
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 1);
	/* an answer that comes second is no miss: everyone is asked again */
	for (uint16_t port = 9001; port < 9010; port++) {
		rig_client(port, ISN, 0, SYN, 0);
		rig_turn(10 * US);
		ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
		for (uint8_t i = 0; i < 3; i++)
			rig_server(i, port, ISN + 1, 64, SYN_ACK), rig_turn(10 * US);
		client_got(0, port);
		ck_assert_uint_ge(sent_to(3, RST, ISN + 1, by), 2);
	}
}
END_TEST

/* Servers that delay their answers say at once that they refuse: that is no first answer. */
START_TEST(a_refusal_is_no_first_answer)
{
	unsigned int by[3];

	rig_start(3, 1, "\"window_us\":0,\"missed\":2", "");
	for (uint16_t port = 9000; port < 9010; port++) {
		rig_client(port, ISN, 0, SYN, 0);
		rig_turn(10 * US);
		ck_assert_uint_eq(sent_to(3, SYN, ISN, by),
				  3); /* who refuses is there, and asked again */
		rig_server(0, port, ISN + 1, 255, SYN_ACK);
		rig_server(2, port, ISN + 1, 64, RST_ACK);
		rig_turn(10 * US);
		nothing_from(FRONT);
		rig_turn(2 * MS);
		rig_server(1, port, ISN + 1, 254, SYN_ACK);
		rig_turn(10 * US);
		client_got(1, port);
		ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	}
	ck_assert_uint_eq(tg_auction_server(rig.gateway.worker[0], 0)->refused, 10);
}
END_TEST

/* Within the age of a bid the wins since it count: of 100 connections in 3 ms the one of load 2 has two more than the
 * one of load 4, the one of load 100 none. Then the bid is believed afresh. */
START_TEST(bids_age_by_wins)
{
	unsigned int won[3] = {0}, by[3];
	struct rig_frame f;

	rig_start(3, 1, STANDARD, "");
	for (uint16_t port = 1; port <= 100; port++) {
		auction(port, 130, 132, 228);
		ck_assert(rig_read(FRONT, &f));
		won[f.seq - 7000]++;
		sent_to(3, RST, ISN + 1, by);
	}
	ck_assert_uint_eq(won[2], 0);
	ck_assert_uint_ge(won[0], won[1] + 1);
	ck_assert_uint_le(won[0], won[1] + 3);
	rig_turn(20 * MS);
	auction(200, 130, 132, 228);
	client_got(0, 200);
}
END_TEST

START_TEST(full_flow_table)
{
	struct rig_frame f;
	unsigned int by[3], stateless = 0;

	rig_start(3, 1, "\"window_us\":300,\"syn_rate\":10000000", "");
	for (uint16_t port = 1; port <= 1500; port++) { /* of 1024 slots */
		rig_client(port, ISN, 0, SYN, 0);
		rig_turn(10 * US);
		sent_to(3, SYN, ISN, by);
		for (uint8_t i = 0; i < 3; i++)
			rig_server(i, port, ISN + 1, 150, SYN_ACK);
		rig_turn(10 * US);
		stateless += !rig_read(FRONT, &f);
		sent_to(3, RST, ISN + 1, by);
	}
	/* one could not be placed; after it the consistent hash serves, and its server's answers pass */
	ck_assert_uint_le(stateless, 2);
	ck_assert_uint_gt(rig.gateway.worker[0]->stats.stateless, 100);
}
END_TEST

START_TEST(no_buffer_leaks)
{
	unsigned int before, by[3];
	struct rig_frame f;

	rig_start(3, 1, STANDARD, "");
	before = rte_mempool_avail_count(rig.pool);
	for (uint16_t port = 1; port <= 300; port++) {
		auction(port, 150, port % 3 != 0 ? 140 : 0, port % 5 != 0 ? 160 : 255);
		rig_turn(400 * US);
		while (rig_read(FRONT, &f))
			;
		sent_to(3, RST, ISN + 1, by);
	}
	ck_assert_uint_eq(rte_mempool_avail_count(rig.pool), before);
	nothing_is_lost();
}
END_TEST

START_TEST(two_workers)
{
	unsigned int by[3], got = 0;
	struct rig_frame f;

	rig_start(3, 2, STANDARD, "");
	for (uint16_t port = 1; port <= 64;
	     port++) { /* by either queue: they cross to their owner */
		rig_client(port, ISN, 0, SYN, 0);
		rig_turn(10 * US);
		ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
		for (uint8_t i = 0; i < 3; i++)
			rig_in(BACK, port & 1,
			       (struct rig_frame){.src_mac = {2, 0, 0, 0, 1, i},
						  .src = VIP,
						  .dst = CLIENT,
						  .src_port = 80,
						  .dst_port = port,
						  .seq = 7000u + i,
						  .ack = ISN + 1,
						  .ttl = (uint8_t)(130 + i),
						  .flags = SYN_ACK});
		rig_turn(10 * US);
		client_got(0, port);
		ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
		rig_turn(20 * MS);
	}
	for (unsigned int w = 0; w < 2; w++) {
		ck_assert_uint_gt(tg_auction_service(rig.gateway.worker[w], 0)->auctions, 10);
		got += (unsigned int)tg_auction_service(rig.gateway.worker[w], 0)->all_in;
	}
	ck_assert_uint_eq(got, 64);
	ck_assert(!rig_read(BACK, &f));
}
END_TEST

static Suite *suite(void)
{
	const TTest *const course[] = {a_connection,           the_window_ends,
				       late_answers_of_all,    syn_again_during_and_after,
				       lost_syn_is_sent_again, new_isn_is_a_new_auction,
				       ports_used_again,       NULL};
	const TTest *const bounds[] = {fallbacks,
				       rate,
				       refusals,
				       foreign_answers,
				       all_traffic,
				       server_goes_down,
				       held_answers_meet_the_gate,
				       full_flow_table,
				       no_buffer_leaks,
				       the_gateway_stops,
				       answers_by_a_tunnel,
				       the_first_answer_wins,
				       a_refusal_is_no_first_answer,
				       bids_age_by_wins,
				       two_workers,
				       NULL};
	Suite *s = suite_create(rig.v6 ? "bid on the wire, IPv6" : "bid on the wire");

	add(s, "course", course);
	add(s, "bounds", bounds);
	return s;
}

RIG_MAIN("bid-wire")
