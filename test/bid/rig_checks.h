/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of auctions on the wire share: who got what, and a main that runs a suite by IPv4 and by IPv6.
 * Thread-safety: as the rig. */
#ifndef TG_BID_RIG_CHECKS_H
#define TG_BID_RIG_CHECKS_H

#include "rig.h"
#include "start/eal.h"
#include "unit.h"

#define ISN      1000u
#define SYN      2
#define SYN_ACK  18
#define ACK      16
#define RST      4
#define RST_ACK  20
#define FIN_ACK  17
#define STANDARD "\"window_us\":300,\"missed\":2,\"probe_s\":1"

static inline void teardown(void)
{
	rig_end();
}

static inline const struct tg_bid_service *counts(void)
{
	return tg_auction_service(rig.gateway.worker[0], 0);
}

/* Takes what the back port sent: by server how many with these flags; the rest is a fault. */
static inline unsigned int sent_to(unsigned int servers, uint8_t flags, uint32_t seq,
				   unsigned int *by)
{
	struct rig_frame f;
	unsigned int n = 0;

	memset(by, 0, servers * sizeof(*by));
	while (rig_read(BACK, &f)) {
		ck_assert_uint_eq(f.flags, flags);
		ck_assert_uint_eq(f.seq, seq);
		ck_assert(f.checksums);
		ck_assert_uint_eq(f.src, CLIENT);
		ck_assert_uint_eq(f.dst, VIP);
		ck_assert_uint_eq(f.ttl, 63);
		ck_assert_uint_lt(f.dst_mac[5], servers);
		by[f.dst_mac[5]]++;
		n++;
	}
	return n;
}

static inline void nothing_from(unsigned int port)
{
	struct rig_frame f;

	ck_assert(!rig_read(port, &f));
}

/* The client got the SYN-ACK of this server, and nothing else. */
static inline void client_got(uint8_t server, uint16_t port)
{
	static const uint8_t client_mac[6] = {2, 0, 0, 0, 0, 5};
	struct rig_frame f;

	ck_assert(rig_read(FRONT, &f));
	ck_assert_uint_eq(f.flags, SYN_ACK);
	ck_assert_uint_eq(f.seq, 7000u + server);
	ck_assert_uint_eq(f.ack, ISN + 1);
	ck_assert_uint_eq(f.ttl, 64);
	ck_assert(f.checksums);
	ck_assert_uint_eq(f.dst_port, port);
	ck_assert_mem_eq(f.dst_mac, client_mac, 6);
	ck_assert_mem_eq(f.src_mac, rig.gateway.ports[FRONT].mac, 6);
	nothing_from(FRONT);
}

/* SYN of `port` to all, answers with these TTLs (0: none) in one turn. */
static inline void auction(uint16_t port, uint8_t a, uint8_t b, uint8_t c)
{
	const uint8_t ttl[3] = {a, b, c};
	unsigned int by[3];

	rig_client(port, ISN, 0, SYN, 0);
	rig_turn(10 * US);
	ck_assert_uint_eq(sent_to(3, SYN, ISN, by), 3);
	for (uint8_t i = 0; i < 3; i++)
		if (ttl[i] != 0)
			rig_server(i, port, ISN + 1, ttl[i], SYN_ACK);
	rig_turn(20 * US);
}

/* received + made = forwarded + dropped + replied + taken in, when nothing waits any more. */
static inline void nothing_is_lost(void)
{
	const struct tg_worker_stats *s = &rig.gateway.worker[0]->stats;
	uint64_t dropped = 0;

	for (unsigned int r = 0; r < TG_DROP_REASON_COUNT; r++)
		dropped += s->dropped[r];
	ck_assert_uint_eq(s->received + s->made, s->forwarded + dropped + s->replied + s->taken_in);
}

static inline void add(Suite *s, const char *name, const TTest *const *tests)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	for (; *tests != NULL; tests++)
		tcase_add_test(tc, *tests);
	suite_add_tcase(s, tc);
}

/* Each test has a gateway of its own; one process, whose memory holds one. */
static inline int rig_main(const char *name, Suite *(*suite)(void))
{
	char err[256];
	int r;

	setenv("CK_FORK", "no", 0);
	if (tg_eal_start_private(name, 256, err, sizeof(err)) != 0) {
		fprintf(stderr, "%s\n", err);
		return EXIT_FAILURE;
	}
	r = unit_run(suite());
	rig.v6 = true;
	r |= unit_run(suite());
	tg_eal_end();
	return r;
}

#define RIG_MAIN(name)                        \
	int main(void)                        \
	{                                     \
		return rig_main(name, suite); \
	}

#endif
