/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of first fragments: order, time, room. The whole path: test/vdev/run.sh fragments. */
#include "fragments.h"

#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "tg_parse.h"
#include "unit.h"

#define HZ 1000000000

static struct tg_worker *w;
static struct rte_mempool *pool;

static void set_up(void)
{
	static const uint8_t secret[TG_FLOW_SECRET_SIZE] = {7};
	const struct tg_flow_params table = {.slots = 1024,
					     .tcp_idle_s = 300,
					     .udp_idle_s = 30,
					     .closed_s = 5};
	const struct tg_worker_env env = {
		.mode = TG_MODE_OFFLINE,
		.clock = tg_clock_init(HZ),
		.flow_table = &table,
		.flow_secret = secret,
		.seed = 1,
	};

	pool = rte_mempool_lookup("fragments"); /* the test before has left it */
	if (pool == NULL)
		pool = rte_pktmbuf_pool_create("fragments", 256, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					       -1);
	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(tg_worker_create(&env, 0, 1, -1, &w), 0);
}

static void tear_down(void)
{
	tg_worker_free(w);
}

/* A fragment of UDP from 10.0.0.1 to 192.0.2.10: the offset in units of eight bytes. */
static void put(struct tg_burst *b, uint16_t id, uint16_t offset, bool more, uint16_t port,
		uint64_t now)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t f[60] = {0};
	uint16_t word = rte_cpu_to_be_16((uint16_t)(offset | (more ? 0x2000 : 0)));

	memcpy(f + 12, "\x08\x00\x45\x00\x00\x2e", 6);
	id = rte_cpu_to_be_16(id);
	memcpy(f + 18, &id, 2);
	memcpy(f + 20, &word, 2);
	memcpy(f + 22, "\x40\x11\0\0\x0a\0\0\x01\xc0\0\x02\x0a", 12);
	port = rte_cpu_to_be_16(port);
	memcpy(f + 34, &port, 2);
	memcpy(f + 36, "\0\x35\x05\0", 4);
	ck_assert_ptr_nonnull(m);
	memcpy(rte_pktmbuf_mtod(m, void *), f, sizeof(f));
	m->data_len = sizeof(f);
	m->pkt_len = sizeof(f);
	b->mbuf[b->n] = m;
	b->wire_len[b->n] = 60;
	b->arrival[b->n] = now;
	b->verdict[b->n] = TG_FORWARD;
	b->n++;
}

static void run(struct tg_burst *b)
{
	tg_parse_burst(b);
	ck_assert(b->fragments);
	tg_fragments_burst(w, b);
	for (unsigned int i = 0; i < b->n; i++)
		rte_pktmbuf_free(b->mbuf[i]);
}

static uint16_t port_of(const struct tg_burst *b, unsigned int i)
{
	bool known = (b->pkt[i].key.flags & TG_KEY_FRAGMENT) == 0;

	ck_assert(known || b->pkt[i].key.client_port == 0);
	return known ? rte_be_to_cpu_16(b->pkt[i].key.client_port) : 0;
}

START_TEST(later_ones_have_the_ports_of_the_first)
{
	struct tg_burst b = {0};

	put(&b, 1, 5, false, 0, 100); /* before its first one */
	put(&b, 1, 0, true, 4000, 101);
	put(&b, 1, 5, true, 0, 102);
	put(&b, 2, 0, true, 4001, 103); /* mixed with another */
	put(&b, 1, 10, false, 0, 104);
	put(&b, 2, 5, false, 0, 105);
	put(&b, 3, 5, false, 0, 106);   /* whose first one is lost */
	put(&b, 1, 0, true, 4002, 107); /* the identification again */
	put(&b, 1, 5, false, 0, 108);
	run(&b);
	for (unsigned int i = 0; i < b.n; i++) {
		static const uint16_t want[] = {0, 4000, 4000, 4001, 4000, 4001, 0, 4002, 4002};

		ck_assert_uint_eq(port_of(&b, i), want[i]);
		ck_assert_uint_eq(b.pkt[i].key.service_port,
				  want[i] != 0 ? rte_cpu_to_be_16(53) : 0);
	}
}
END_TEST

START_TEST(forgotten_in_time)
{
	const uint64_t life = (uint64_t)TG_FRAGMENT_LIFE_S * HZ;
	struct tg_burst b = {0};

	put(&b, 1, 0, true, 4000, 1000);
	put(&b, 1, 5, true, 0, 1000 + life);
	put(&b, 1, 10, false, 0, 1002 + life);
	run(&b);
	ck_assert_uint_eq(port_of(&b, 1), 4000);
	ck_assert_uint_eq(port_of(&b, 2), 0);
}
END_TEST

/* First fragments without end: memory is bounded, the newest are known. */
START_TEST(bounded)
{
	unsigned int known = 0, n = 4 * TG_FRAGMENT_BUCKETS * TG_FRAGMENT_WAYS;

	for (unsigned int i = 0; i < n; i++) {
		struct tg_burst b = {0};

		put(&b, (uint16_t)i, 0, true, (uint16_t)(i % 60000 + 1), 1000 + i);
		run(&b);
	}
	for (unsigned int i = n - 1024; i < n; i++) {
		struct tg_burst b = {0};

		put(&b, (uint16_t)i, 5, false, 0, 1000 + n);
		run(&b);
		known += port_of(&b, 0) == i % 60000 + 1;
	}
	/* a quarter of the table's room, at random into buckets of four: nearly all */
	ck_assert_uint_ge(known, 1000);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fragments");
	TCase *c = tcase_create("memory");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_add_test(c, later_ones_have_the_ports_of_the_first);
	tcase_add_test(c, forgotten_in_time);
	tcase_add_test(c, bounded);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN_EAL(suite)
