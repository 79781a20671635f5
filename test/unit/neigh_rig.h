/* SPDX-License-Identifier: BSD-3-Clause */
/* A next hop in the table of neigh_frames.h, and what is to come of the packet. One thread. */
#ifndef TG_UNIT_NEIGH_RIG_H
#define TG_UNIT_NEIGH_RIG_H

#include "neigh_frames.h"

static void tear_down(void)
{
	tg_neigh_local_free(local);
	tg_neigh_table_free(table);
}

static const uint64_t *next_hop(uint16_t port, const char *a, const char *source,
				const uint8_t *fixed)
{
	struct tg_addr address = addr(a), from = addr(source);
	const uint64_t *word;

	ck_assert_int_eq(tg_neigh_add(table, port, &address, &from, fixed, &word), 0);
	tg_neigh_commit(table);
	return word;
}

static void replied(uint16_t port)
{
	ck_assert_uint_eq(burst.verdict[0], TG_REPLY);
	ck_assert_uint_eq(burst.reason[0], TG_DROP_NONE);
	ck_assert_uint_eq(burst.out_port[0], port);
}

static void dropped(enum tg_reason why)
{
	ck_assert_uint_eq(burst.verdict[0], TG_DROP);
	ck_assert_str_eq(tg_reason_name(burst.reason[0]), tg_reason_name(why));
}

#endif
