/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong, on the wire: servers that die, a gateway that restarts, answers that come too late, more SYNs than
 * auctions may be, SYNs and resets that somebody made up. A test for each, by its name. */
#include "rig_checks.h"

static struct tg_worker *worker(void)
{
	return rig.gateway.worker[0];
}

/* The configuration again, with a server in this state or at this many hops. */
static void reload(unsigned int server, enum tg_server_state state, unsigned int hops)
{
	struct tg_config *c = rig_config(3, STANDARD, "");
	char err[256];

	c->services[0].servers[server].state = state;
	c->services[0].servers[server].hop_offset = hops;
	ck_assert_int_eq(tg_control_load(&rig.gateway, c, err, sizeof(err)), 0);
	rig_turn(10 * US);
}

/* Server 1 gives way to another one. Its id is free from then on, and given away by the next configuration. */
static void replace_server(const char *name, uint8_t host)
{
	struct tg_config *c = rig_config(3, STANDARD, "");
	struct tg_config_server *s = &c->services[0].servers[1];
	char err[256];

	snprintf(s->name, sizeof(s->name), "%s", name);
	s->address.b[15] = host;
	s->mac[5] = host;
	ck_assert_int_eq(tg_control_load(&rig.gateway, c, err, sizeof(err)), 0);
	rig_turn(10 * US);
}

/* It goes away and comes back: what was known of it is not true any more. */
static void down_and_up(unsigned int server)
{
	reload(server, TG_SERVER_DOWN, TG_BID_HOPS_LEARN);
	reload(server, TG_SERVER_UP, TG_BID_HOPS_LEARN);
}

static void forget_frames(void)
{
	struct rig_frame f;

	while (rig_read(BACK, &f) || rig_read(FRONT, &f))
		;
}

START_TEST(syn_with_data_is_never_broadcast)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	for (uint16_t port = 8000; port < 8010; port++) {
		rig_client(port, ISN, 0, SYN, 100); /* TCP Fast Open, RFC 7413 */
		rig_turn(10 * US);
		ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 1);
	}
	ck_assert_uint_eq(tg_auction_stats(worker())->with_data, 10);
	ck_assert_uint_eq(counts()->auctions, 0);
}
END_TEST

START_TEST(missing_bidders_are_skipped_and_probed)
{
	unsigned int by[3];
	uint16_t port = 9000;

	rig_start(3, 1, STANDARD, ""); /* missed 2, probe_s 1 */
	for (; port < 9002; port++) {
		auction(port, 150, 160, 0);
		rig_turn(300 * US);
		client_got(0, port);
		forget_frames();
	}
	rig_client(port, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 2);
	ck_assert_uint_eq(by[2], 0);
	rig_turn(1100 * MS);
	forget_frames();
	auction(9100, 150, 160, 130); /* asked again, once; it answers, and is one of them */
	client_got(2, 9100);
	forget_frames();
	auction(9101, 150, 160, 130);
	client_got(2, 9101);
}
END_TEST

START_TEST(servers_without_agent_win_only_alone)
{
	rig_start(3, 1, STANDARD, "");
	auction(9000, 64, 250, 64);
	client_got(1, 9000);
	forget_frames();
	auction(9001, 64, 255, 255); /* who refuses never wins */
	client_got(0, 9001);
	ck_assert_uint_eq(tg_auction_server(worker(), 0)->plain, 2);
}
END_TEST

START_TEST(hop_offsets_are_learnt_or_configured)
{
	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 151, 170);
	client_got(0, 9000);
	forget_frames();
	rig_server(0, 9000, ISN + 1, 61,
		   ACK); /* unmarked: server 0 is three hops away, what it bid was 153 */
	rig_turn(20 * MS);
	forget_frames();
	auction(9001, 150, 151, 170);
	client_got(1, 9001);
	forget_frames();
	rig_turn(20 * MS);
	reload(1, TG_SERVER_UP, 5); /* and server 1 five, as configured */
	auction(9002, 150, 151, 170);
	client_got(0, 9002);
}
END_TEST

START_TEST(late_syn_acks_and_resets_never_reach_the_client)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 0, 0);
	rig_turn(300 * US);
	client_got(0, 9000);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	for (uint8_t i = 1; i < 3; i++) {
		rig_server(i, 9000, ISN + 1, 128, SYN_ACK);
		rig_turn(10 * US);
		nothing_from(FRONT);
		ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by),
				  1); /* again: the first one may be lost */
		ck_assert_uint_eq(by[i], 1);
		rig_server(i, 9000, ISN + 1, 64, RST_ACK);
		rig_server(i, 9000, 0, 64, RST);
		rig_turn(10 * US);
		nothing_from(FRONT);
		nothing_from(BACK);
		ck_assert_uint_eq(tg_auction_server(worker(), i)->late, 1);
	}
}
END_TEST

START_TEST(winner_dies_before_the_clients_ack)
{
	struct rig_frame f;
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	forget_frames();
	reload(1, TG_SERVER_DOWN, TG_BID_HOPS_LEARN);
	rig_client(9000, ISN + 1, 7002, ACK, 0);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f));
	ck_assert(f.flags == RST && f.seq == 7002 && f.ttl == 64 && f.checksums);
	nothing_from(BACK); /* a loser that got it would reset the client's next connection */
	rig_client(9000, ISN + 5000, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN + 5000, by), 2);
	ck_assert_uint_eq(by[1], 0);
}
END_TEST

START_TEST(server_killed_in_mid_auction)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	/* its program: the kernel refuses for it */
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	sent_to(3, SYN, ISN, by);
	rig_server(1, 9000, ISN + 1, 64, RST_ACK);
	rig_server(0, 9000, ISN + 1, 150, SYN_ACK);
	rig_server(2, 9000, ISN + 1, 160, SYN_ACK);
	rig_turn(10 * US);
	client_got(0, 9000);
	forget_frames();
	/* its host, when it had bid best already: who has bid second serves */
	rig_client(9001, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	sent_to(3, SYN, ISN, by);
	rig_server(1, 9001, ISN + 1, 128, SYN_ACK);
	rig_server(2, 9001, ISN + 1, 160, SYN_ACK);
	rig_turn(10 * US);
	reload(1, TG_SERVER_DOWN, TG_BID_HOPS_LEARN);
	rig_turn(300 * US);
	client_got(2, 9001);
	forget_frames();
	nothing_is_lost();
}
END_TEST

START_TEST(server_killed_in_mid_connection)
{
	struct rig_frame f;

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	forget_frames();
	rig_client(9000, ISN + 1, 7002, ACK, 10);
	rig_turn(10 * US);
	ck_assert(rig_read(BACK, &f) && f.dst_mac[5] == 1);
	/* a loser's reset means another connection, the server's own is the client's to know */
	rig_server(0, 9000, ISN + 11, 64, RST);
	rig_turn(10 * US);
	nothing_from(FRONT);
	rig_server(1, 9000, ISN + 11, 64, RST);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f));
	ck_assert(f.flags == RST && f.seq == 7001);
	nothing_from(FRONT);
}
END_TEST

/* What goes to the one server that has the connection of port 9000. */
static void only_to(uint8_t server, uint8_t flags, uint32_t seq)
{
	struct rig_frame f;

	ck_assert(rig_read(BACK, &f));
	ck_assert_uint_eq(f.dst_mac[5], server);
	ck_assert_uint_eq(f.flags, flags);
	ck_assert_uint_eq(f.seq, seq);
	nothing_from(BACK);
}

/* A connection on server 1, whose client has sent so much. */
static void connection(unsigned int sent)
{
	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	forget_frames();
	rig_client(9000, ISN + 1, 7002, ACK, sent);
	rig_turn(10 * US);
	only_to(1, ACK, ISN + 1);
}

/* Whatever the others would answer, the client's next data is the old server's. */
static void lives_on(uint32_t isn, uint32_t seq)
{
	for (uint8_t i = 0; i < 3; i += 2)
		rig_server(i, 9000, isn + 1, 128, SYN_ACK);
	rig_turn(400 * US);
	nothing_from(FRONT);
	forget_frames();
	rig_client(9000, seq, 7002, ACK, 10);
	rig_turn(10 * US);
	only_to(1, ACK, seq);
	ck_assert_uint_eq(counts()->auctions, 1);
	nothing_is_lost();
}

START_TEST(a_guessed_syn_moves_no_connection)
{
	connection(10);
	for (unsigned int i = 0; i < 3; i++) {
		rig_client(9000, ISN + 77777 + i, 0, SYN, 0);
		rig_turn(10 * US);
		only_to(1, SYN, ISN + 77777 + i);
	}
	rig_server(1, 9000, ISN + 11, 64,
		   ACK); /* RFC 5961: the client is asked whether it means that */
	rig_turn(10 * US);
	{
		struct rig_frame f;

		ck_assert(rig_read(FRONT, &f));
		ck_assert(f.flags == ACK && f.ack == ISN + 11);
	}
	lives_on(ISN + 77779, ISN + 11);
}
END_TEST

/* Reset with SEQ = ISN + 1 it would end: that is what its server waits for, while nothing was sent. */
START_TEST(a_late_copy_of_its_syn_moves_no_connection)
{
	connection(0);
	for (unsigned int i = 0; i < 3; i++) {
		rig_client(9000, ISN, 0, SYN, 0);
		rig_turn(10 * US);
		only_to(1, SYN, ISN);
	}
	lives_on(ISN, ISN + 1);
}
END_TEST

START_TEST(a_guessed_reset_and_syns_move_no_connection)
{
	static const unsigned int payload[] = {0, 1, 0}; /* TCP Fast Open's among them */

	connection(10);
	rig_client(9000, 5, 0, RST, 0);
	rig_turn(10 * US);
	only_to(1, RST, 5);
	for (unsigned int i = 0; i < 3; i++) {
		rig_client(9000, ISN + 9999 + i, 0, SYN, payload[i]);
		rig_turn(10 * US);
		only_to(1, SYN, ISN + 9999 + i);
	}
	lives_on(ISN + 10001, ISN + 11);
	/* in one burst too */
	rig_client(9000, 5, 0, RST, 0);
	rig_client(9000, ISN + 5000, 0, SYN, 1);
	rig_client(9000, ISN + 5000, 0, SYN, 0);
	rig_turn(10 * US);
	for (unsigned int i = 0; i < 3; i++) {
		struct rig_frame f;

		ck_assert(rig_read(BACK, &f));
		ck_assert_uint_eq(f.dst_mac[5], 1);
	}
	nothing_from(BACK);
	lives_on(ISN + 5000, ISN + 21);
}
END_TEST

/* A client that has really begun anew: its server's ACK draws its RST, and the SYN after that begins the next one. */
START_TEST(a_client_that_forgot_begins_anew)
{
	struct rig_frame f;

	connection(10);
	rig_client(9000, ISN + 9999, 0, SYN, 0);
	rig_turn(10 * US);
	only_to(1, SYN, ISN + 9999);
	rig_server(1, 9000, ISN + 11, 64, ACK);
	rig_client(9000, ISN + 11, 0, RST, 0);
	rig_turn(10 * US);
	only_to(1, RST, ISN + 11);
	forget_frames();
	rig_client(9000, ISN + 9999, 0, SYN, 0);
	rig_turn(10 * US);
	only_to(1, SYN, ISN + 9999);
	rig_server(1, 9000, ISN + 10000, 200, SYN_ACK);
	rig_turn(10 * US);
	ck_assert(rig_read(FRONT, &f));
	ck_assert(f.flags == SYN_ACK && f.ack == ISN + 10000 && f.ttl == 64 && f.checksums);
	/* a server that takes no new ones does not get the next either */
	rig_client(9000, ISN + 10000, 7002, FIN_ACK, 0);
	rig_turn(10 * US);
	forget_frames();
	reload(1, TG_SERVER_DRAIN, TG_BID_HOPS_LEARN);
	rig_client(9000, ISN + 20000, 0, SYN, 0);
	rig_turn(10 * US);
	{
		unsigned int by[3];

		ck_assert_uint_eq(sent_to(3, SYN, ISN + 20000, by), 2);
		ck_assert_uint_eq(by[1], 0);
	}
}
END_TEST

/* The best bid is an older server's, whose id another one has by now: who has bid second serves, whom the id means now
 * is not given a connection that it never accepted. */
START_TEST(server_replaced_in_mid_auction)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	rig_client(9000, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
	rig_server(1, 9000, ISN + 1, 128, SYN_ACK);
	rig_server(2, 9000, ISN + 1, 160, SYN_ACK);
	rig_turn(10 * US);
	nothing_from(FRONT);
	replace_server("other", 21);
	replace_server("third", 22);
	ck_assert_str_eq(worker()->snapshot->server[1]->name, "third");
	rig_turn(400 * US);
	client_got(2, 9000);
	forget_frames();
	rig_client(9000, ISN + 1, 7003, ACK, 10);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, ACK, ISN + 1, by), 1);
	ck_assert_uint_eq(by[2], 1);
	nothing_is_lost();
}
END_TEST

/* A server that was away answers an older SYN once more. The client's packets do not go there now. */
START_TEST(answer_of_a_server_that_was_away)
{
	unsigned int by[3];

	rig_start(3, 1, STANDARD, "");
	auction(9000, 150, 130, 140);
	client_got(1, 9000);
	forget_frames();
	down_and_up(1);
	rig_server(1, 9000, ISN + 1, 130, SYN_ACK);
	rig_turn(10 * US);
	nothing_from(FRONT);
	ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 1);
	ck_assert_uint_eq(by[1], 1);
}
END_TEST

/* A flow that two choices placed has no auction to be remembered by: only its entry says whose it is. */
START_TEST(flow_of_a_server_that_was_away_begins_again)
{
	unsigned int by[3];
	uint16_t port = 1;

	rig_start(3, 1, "\"window_us\":300,\"syn_rate\":1", "");
	do {
		ck_assert_uint_lt(port, 50);
		forget_frames();
		rig_client(++port, ISN, 0, SYN, 0);
		rig_turn(10 * US);
	} while (sent_to(3, SYN, ISN, by) == 3);
	rig_turn(2000 * MS); /* enough for an auction */
	rig_client(port, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 1); /* it stands: to its server */
	down_and_up(by[0] ? 0 : by[1] ? 1 : 2);
	rig_client(port, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
}
END_TEST

/* What is known of a server goes with it: its successor is asked at once. */
START_TEST(server_that_comes_back_is_asked_at_once)
{
	unsigned int by[3];
	uint16_t port = 9000;

	rig_start(3, 1, STANDARD, ""); /* missed 2 */
	for (; port < 9002; port++) {
		auction(port, 150, 160, 0);
		rig_turn(300 * US);
		forget_frames();
	}
	rig_client(port, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 2);
	down_and_up(2);
	forget_frames();
	rig_client(++port, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
}
END_TEST

/* Without what it knew: each connection goes to one server, always the same; if that is not its own, the reset that
 * draws reaches the client. So it goes on or ends, and never hangs. */
START_TEST(gateway_restarts_in_mid_connection)
{
	unsigned int right = 0;

	rig_start(3, 1, STANDARD, "");
	for (uint16_t port = 9000; port < 9030; port++) {
		auction(port, 150, 130, 140);
		client_got(1, port);
		forget_frames();
		rig_turn(20 * MS);
	}
	rig_end();
	rig_start(3, 1, STANDARD, "");
	for (uint16_t port = 9000; port < 9030; port++) {
		uint8_t server = 0;

		for (unsigned int again = 0; again < 2; again++) {
			struct rig_frame f;

			rig_client(port, ISN + 1, 7002, ACK, 10);
			rig_turn(10 * US);
			ck_assert(rig_read(BACK, &f));
			ck_assert(f.flags == ACK && f.ttl == 63);
			ck_assert(again == 0 || f.dst_mac[5] == server);
			server = f.dst_mac[5];
			nothing_from(BACK);
			nothing_from(FRONT);
		}
		right += server == 1;
		if (server == 1)
			continue;
		rig_server(server, port, 0, 64, RST);
		rig_turn(10 * US);
		{
			struct rig_frame f;

			ck_assert(rig_read(FRONT, &f));
			ck_assert(f.flags == RST && f.dst_port == port);
		}
	}
	ck_assert_uint_gt(right, 2);
	ck_assert_uint_lt(right, 20);
}
END_TEST

START_TEST(above_the_rate_two_choices_place)
{
	unsigned int by[3], single = 0;
	struct rig_frame f;

	rig_start(3, 1, "\"syn_rate\":1", "");
	for (uint16_t port = 1; port <= 300; port++) {
		rig_client(port, ISN, 0, SYN, 0);
		rig_turn(10 * US);
		if (sent_to(3, SYN, ISN, by) != 1)
			continue;
		single++;
		for (uint8_t i = 0; i < 3; i++) /* nobody else's answer passes, whatever it bids */
			rig_server(i, port, ISN + 1, (uint8_t)(by[i] ? 200 : 128), SYN_ACK);
		rig_turn(10 * US);
		ck_assert(rig_read(FRONT, &f));
		ck_assert(f.ttl == 64 && by[f.seq - 7000] == 1);
		nothing_from(FRONT);
		ck_assert_uint_eq(sent_to(3, RST, ISN + 1, by), 2);
	}
	ck_assert_uint_gt(single, 280);
	ck_assert_uint_eq(counts()->over_rate, single);
	/* of two, the one with fewer flows: far more even than by hash, whose spread would be 8 */
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_uint_ge(worker()->own[i], 97);
		ck_assert_uint_le(worker()->own[i], 103);
	}
}
END_TEST

START_TEST(no_auction_opens_above_the_services_limit)
{
	unsigned int by[3], n;

	rig_start(3, 1, "\"syn_rate\":10000000", ",\"limits\":{\"new_per_s\":1000}");
	for (uint16_t port = 1; port <= 500; port++) { /* 50000 a second */
		rig_client(port, ISN, 0, SYN, 0);
		rig_turn(20 * US);
		n = sent_to(3, SYN, ISN, by);
		ck_assert(n == 1 || n == 3);
	}
	ck_assert_uint_ge(counts()->auctions, 10);
	ck_assert_uint_le(counts()->auctions, 120);
	ck_assert_uint_eq(counts()->over_rate, 0);
	/* what was placed by hash, without an entry, is answered all the same */
	ck_assert_uint_eq(worker()->stats.stateless, 500 - counts()->auctions);
}
END_TEST

/* Least connections counts those that are open: a connection whose client has closed it is no load, though its entry
 * stays for seconds; one that goes on after its FIN is. */
START_TEST(a_connection_that_ended_is_no_load)
{
	unsigned int by[3];

	rig.policy = "least-connections";
	rig_start(3, 1, STANDARD, "");
	for (uint16_t port = 1; port <= 300; port++) {
		rig_client(port, ISN, 0, SYN, 0);
		rig_client(port, ISN + 1, 7002, FIN_ACK, 0);
		rig_turn(10 * US);
		forget_frames();
	}
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_uint_eq(worker()->own[i], 0);
	rig_client(7, ISN + 2, 7002, ACK, 10); /* payload after its FIN */
	rig_client(8, ISN + 900, 0, SYN, 0);   /* its ports again */
	rig_client(9, ISN + 2, 7002, ACK, 0);  /* nothing but an acknowledgement */
	rig_client(9, ISN + 1, 7002, FIN_ACK, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(worker()->own[0] + worker()->own[1] + worker()->own[2], 2);
	rig_client(8, ISN + 901, 7002, FIN_ACK, 0);
	rig_client(7, ISN + 12, 7002, RST, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(worker()->own[0] + worker()->own[1] + worker()->own[2], 0);
	rig_turn(10000 * MS);
	for (unsigned int i = 0; i < 100000; i++) /* the entries' end changes nothing */
		rig_turn(10 * US);
	forget_frames();
	rig_client(400, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 1);
	ck_assert_uint_eq(worker()->own[0] + worker()->own[1] + worker()->own[2], 1);
	rig.policy = NULL;
}
END_TEST

static Suite *suite(void)
{
	const TTest *const servers[] = {missing_bidders_are_skipped_and_probed,
					servers_without_agent_win_only_alone,
					hop_offsets_are_learnt_or_configured,
					late_syn_acks_and_resets_never_reach_the_client,
					winner_dies_before_the_clients_ack,
					server_killed_in_mid_auction,
					server_killed_in_mid_connection,
					server_replaced_in_mid_auction,
					answer_of_a_server_that_was_away,
					flow_of_a_server_that_was_away_begins_again,
					server_that_comes_back_is_asked_at_once,
					NULL};
	const TTest *const gateway[] = {gateway_restarts_in_mid_connection,
					syn_with_data_is_never_broadcast,
					above_the_rate_two_choices_place,
					no_auction_opens_above_the_services_limit,
					a_connection_that_ended_is_no_load,
					NULL};
	const TTest *const forged[] = {a_guessed_syn_moves_no_connection,
				       a_late_copy_of_its_syn_moves_no_connection,
				       a_guessed_reset_and_syns_move_no_connection,
				       a_client_that_forgot_begins_anew, NULL};
	Suite *s = suite_create(rig.v6 ? "bid, mishaps, IPv6" : "bid, mishaps");

	add(s, "servers", servers);
	add(s, "gateway", gateway);
	add(s, "SYNs for a connection that lives", forged);
	return s;
}

RIG_MAIN("bid-mishaps")
