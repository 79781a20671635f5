/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one pass from the frame to its service against the stages that it stands for: whatever the frame, a packet
 * that it lets through has the header, service and verdict that they give it.
 */
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "entrance.h"
#include "health/health.h"
#include "ingress.h"
#include "tg_parse.h"
#include "tg_service.h"
#include "unit.h"

#define FRAME 128
#define PORT  443

static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 2};
static const uint8_t vip[4] = {192, 0, 2, 10};

static struct rig {
	struct tg_worker *w;
	struct tg_port port;
	struct tg_snapshot snapshot;
	struct tg_burst burst, other;
	struct rte_mbuf mbuf[TG_BURST_MAX];
	uint8_t bytes[TG_BURST_MAX][FRAME];
} r;

static uint32_t draw(uint32_t n)
{
	static uint64_t state = 7;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % n);
}

static void start(void)
{
	struct tg_service_rule rule = {.protocol = IPPROTO_TCP,
				       .port = rte_cpu_to_be_16(PORT),
				       .service = 3};
	uint32_t address;

	memset(&r, 0, sizeof(r));
	memcpy(&address, vip, sizeof(address));
	rule.address = tg_addr_from_v4(address);
	r.w = aligned_alloc(64, sizeof(*r.w));
	ck_assert_ptr_nonnull(r.w);
	memset(r.w, 0, sizeof(*r.w));
	memcpy(r.port.mac, mac, sizeof(mac));
	ck_assert_int_eq(tg_service_table_create(&rule, 1, -1, &r.snapshot.services, NULL), 0);
	r.w->ports = &r.port;
	r.w->snapshot = &r.snapshot;
}

static void stop(void)
{
	tg_service_table_free(r.snapshot.services);
	free(r.w);
}

/* A frame of a client's connection; the IP header's checksum is still to be made. */
static uint16_t usual(uint8_t *f, unsigned int payload, bool timestamps)
{
	static const uint8_t link[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 8, 0};
	static const uint8_t ip[] = {0x45, 0, 0,  0,  0,   0,   0x40, 0, 64, 6,
				     0,    0, 10, 11, 200, 100, 192,  0, 2,  10};
	static const uint8_t options[] = {1, 1, 8, 10};
	unsigned int header = timestamps ? 32 : 20, total = 20 + header + payload;

	memset(f, 0, FRAME);
	memcpy(f, link, 14);
	memcpy(f + 14, ip, 20);
	f[16] = (uint8_t)(total >> 8);
	f[17] = (uint8_t)total;
	f[29] = (uint8_t)draw(256); /* client */
	f[34] = 0xc0;
	f[36] = PORT >> 8;
	f[37] = PORT & 255;
	for (unsigned int i = 38; i < 46; i++)
		f[i] = (uint8_t)draw(256);
	f[46] = (uint8_t)(header / 4 << 4);
	f[47] = 0x10;
	if (timestamps)
		memcpy(f + 54, options, 4);
	for (unsigned int i = 14 + 20 + header; i < FRAME; i++)
		f[i] = (uint8_t)draw(256);
	return (uint16_t)(14 + total < 60 ? 60 : 14 + total);
}

static void checksum(uint8_t *f)
{
	struct rte_ipv4_hdr *ip = (void *)(f + 14);

	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

static void fill(unsigned int i, uint16_t len)
{
	r.mbuf[i] = (struct rte_mbuf){.buf_addr = r.bytes[i],
				      .buf_len = FRAME,
				      .data_len = len,
				      .pkt_len = len,
				      .nb_segs = 1};
	r.burst.mbuf[i] = &r.mbuf[i];
	r.burst.wire_len[i] = len;
	r.burst.verdict[i] = TG_FORWARD;
	r.burst.reason[i] = TG_DROP_NONE;
}

/* Some bytes of it are another's, or it is cut; most often with a checksum that is right all the same. */
static void spoil(uint8_t *f, uint16_t *len)
{
	for (unsigned int k = draw(4); k > 0; k--) {
		unsigned int at = draw(70);

		f[at] = draw(2) ? (uint8_t)draw(256) : f[at] ^ (uint8_t)(1u << draw(8));
	}
	if (draw(4) != 0 && f[14] == 0x45)
		checksum(f);
	if (draw(16) == 0)
		*len = (uint16_t)(14 + draw(*len - 13u));
}

static void draw_burst(bool spoilt)
{
	r.burst.n = (uint16_t)(1 + draw(TG_BURST_MAX));
	for (unsigned int i = 0; i < r.burst.n; i++) {
		uint16_t len = usual(r.bytes[i], draw(40), draw(4) != 0);

		checksum(r.bytes[i]);
		if (spoilt && draw(3) == 0)
			spoil(r.bytes[i], &len);
		fill(i, len);
	}
}

static void stages(struct tg_burst *b)
{
	tg_parse_burst(b);
	tg_entrance(r.w, b);
	tg_service_match(r.snapshot.services, b);
}

static void same(const struct tg_burst *a, const struct tg_burst *b)
{
	for (unsigned int i = 0; i < a->n; i++) {
		ck_assert_uint_eq(a->verdict[i], b->verdict[i]);
		ck_assert_uint_eq(a->reason[i], b->reason[i]);
		if (a->verdict[i] == TG_FORWARD)
			ck_assert_mem_eq(&a->pkt[i], &b->pkt[i], sizeof(a->pkt[i]));
	}
}

START_TEST(as_the_stages)
{
	unsigned int ahead = 0, not = 0, through = 0;

	for (unsigned int x = 0; x < 20000; x++) {
		draw_burst(true);
		r.other = r.burst;
		stages(&r.other);
		if (tg_ingress_burst(r.w, &r.burst)) {
			through++;
		} else {
			for (unsigned int i = 0; i < r.burst.n; i++)
				*(r.burst.verdict[i] == TG_AHEAD ? &ahead : &not ) += 1;
			stages(&r.burst);
			tg_ingress_join(&r.burst);
		}
		same(&r.burst, &r.other);
	}
	ck_assert_uint_gt(through, 1000);
	ck_assert_uint_gt(ahead, 100000);
	ck_assert_uint_gt(not, 30000);
}
END_TEST

START_TEST(usual_goes_through)
{
	for (unsigned int x = 0; x < 1000; x++) {
		draw_burst(false);
		ck_assert(tg_ingress_burst(r.w, &r.burst));
		for (unsigned int i = 0; i < r.burst.n; i++)
			ck_assert_uint_eq(r.burst.pkt[i].key.service, 3);
	}
}
END_TEST

/* Where servers are asked how they do, their answers are somebody else's to take. */
START_TEST(answers_to_checks_are_left)
{
	const void *probing = &r;

	r.snapshot.probing = (void *)(uintptr_t)probing;
	draw_burst(false);
	ck_assert(tg_ingress_burst(r.w, &r.burst));
	r.burst.n = 1;
	r.bytes[0][36] = TG_HEALTH_PORT_FIRST >> 8;
	r.bytes[0][37] = TG_HEALTH_PORT_FIRST & 255;
	ck_assert(!tg_ingress_burst(r.w, &r.burst));
	ck_assert_uint_eq(r.burst.verdict[0], TG_FORWARD);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ingress");
	TCase *tc = tcase_create("burst");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, start, stop);
	tcase_add_test(tc, as_the_stages);
	tcase_add_test(tc, usual_goes_through);
	tcase_add_test(tc, answers_to_checks_are_left);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN_EAL(suite)
