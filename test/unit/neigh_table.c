/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of next hops: what a configuration asks for, takes back and lets go. 1 tick = 1 ns. */
#include <errno.h>

#include "tg_encap.h"
#include "tg_neigh.h"
#include "unit.h"

static const uint8_t peer_mac[6] = {2, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
static const uint8_t other_mac[6] = {2, 0, 0, 0, 0, 0x99};
static struct tg_neigh_table *table;

static void set_up(void)
{
	const struct tg_clock clock = tg_clock_init(1000000000);

	ck_assert_int_eq(tg_neigh_table_create(&clock, -1, &table), 0);
}

static void tear_down(void)
{
	tg_neigh_table_free(table);
}

static struct tg_addr addr(const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return a;
}

static unsigned int entries(void)
{
	struct tg_neigh_info info;
	unsigned int n = 0;

	while (tg_neigh_get(table, n, 0, &info))
		n++;
	return n;
}

START_TEST(refused_changes_nothing)
{
	const uint64_t *was, *word;
	struct tg_addr a = addr("fe80::1"), b = addr("fe80::9"), from = addr("fe80::2");
	struct tg_neigh_info info;

	ck_assert_int_eq(tg_neigh_add(table, 0, &a, &from, other_mac, &was), 0);
	tg_neigh_commit(table);
	/* asked for and taken back, either way */
	ck_assert_int_eq(tg_neigh_add(table, 0, &a, &from, peer_mac, &word), 0);
	ck_assert_uint_eq(*was & (2 * TG_MAC_VALID - 1), tg_mac_word(other_mac));
	ck_assert_int_eq(tg_neigh_add(table, 0, &a, &from, NULL, &word), 0);
	ck_assert(tg_neigh_get(table, 0, 1000, &info) && info.fixed);
	ck_assert_int_eq(tg_neigh_add(table, 0, &b, &from, peer_mac, &word), 0);
	ck_assert_uint_eq(*word, 0);
	tg_neigh_mark(table);
	ck_assert_int_eq(tg_neigh_add(table, 0, &a, &from, other_mac, &word), 0);
	tg_neigh_forget(table);
	tg_neigh_commit(table);
	ck_assert_uint_eq(entries(), 1);
	ck_assert_uint_eq(*was & (2 * TG_MAC_VALID - 1), tg_mac_word(other_mac));
}
END_TEST

static int add_number(unsigned int i, const uint64_t **word)
{
	struct tg_addr a = {
		{0xfd, [12] = (uint8_t)(i >> 16), [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}};
	struct tg_addr from = addr("fd::ffff");

	return tg_neigh_add(table, 0, &a, &from, NULL, word);
}

START_TEST(table_is_bounded)
{
	static const uint64_t *words[TG_NEIGH_MAX];
	const uint64_t *word;

	for (unsigned int i = 0; i < TG_NEIGH_MAX; i++)
		ck_assert_int_eq(add_number(i, &words[i]), 0);
	ck_assert_int_eq(add_number(TG_NEIGH_MAX, &word), -ENOSPC);
	tg_neigh_mark(table);
	for (unsigned int i = 0; i < TG_NEIGH_MAX; i += 2) {
		ck_assert_int_eq(add_number(i, &word), 0);
		ck_assert_ptr_eq(word, words[i]);
	}
	tg_neigh_purge(table);
	ck_assert_uint_eq(entries(), TG_NEIGH_MAX / 2);
	/* what is gone has its place for one purge more: a worker may still be looking at it */
	ck_assert_int_eq(add_number(TG_NEIGH_MAX, &word), -ENOSPC);
	tg_neigh_forget(table); /* is no purge */
	ck_assert_int_eq(add_number(TG_NEIGH_MAX, &word), -ENOSPC);
	tg_neigh_purge(table);
	ck_assert_uint_eq(entries(), TG_NEIGH_MAX / 2);
	for (unsigned int i = 0; i < TG_NEIGH_MAX / 2; i++)
		ck_assert_int_eq(add_number(TG_NEIGH_MAX + i, &word), 0);
	for (unsigned int i = 0; i < TG_NEIGH_MAX; i += 2) {
		ck_assert_int_eq(add_number(i, &word), 0);
		ck_assert_ptr_eq(word, words[i]);
	}
	ck_assert_int_eq(add_number(1, &word), -ENOSPC);
}
END_TEST

static void count(void *ctx, uint16_t port, const uint8_t *frame, uint16_t len)
{
	(void)port, (void)frame, (void)len;
	(*(unsigned int *)ctx)++;
}

/* Ten frames at most. */
static unsigned int tick(uint64_t now)
{
	static const struct tg_neigh_port port;
	unsigned int sent = 0;

	ck_assert_uint_eq(tg_neigh_tick(table, &port, now, 10, count, &sent), sent);
	return sent;
}

/* No more than asked for at once, and everyone comes round. */
START_TEST(asks_in_turn)
{
	const uint64_t *word;

	for (unsigned int i = 0; i < 25; i++)
		ck_assert_int_eq(add_number(i, &word), 0);
	ck_assert_uint_eq(tick(1000000000), 10);
	ck_assert_uint_eq(tick(1000000000), 10);
	ck_assert_uint_eq(tick(1000000000), 5);
	ck_assert_uint_eq(tick(1000000000), 0);
	ck_assert_uint_eq(tick(2000000000), 10);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("neigh_table");
	TCase *tc = tcase_create("table");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, refused_changes_nothing);
	tcase_add_test(tc, table_is_bounded);
	tcase_add_test(tc, asks_in_turn);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN_EAL(suite)
