/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to lib/bid: the table's memory, lists and heap. Thread-safety: as the table, one worker. */
#ifndef TG_BID_PRIVATE_H
#define TG_BID_PRIVATE_H

#include "tg_bid.h"

#define TG_BID_BUCKETS (2 * TG_BID_TABLE)

struct tg_auction_list {
	uint32_t first, last; /* index + 1, 0: empty */
};

struct tg_bid_table {
	struct tg_bid_server *servers;
	struct tg_bid_service *services;
	uint64_t random;                     /* xorshift64*, never 0 */
	struct tg_auction_list free, closed; /* the longest there first */
	uint32_t undecided, inside;  /* in the heap; those of them that are inside their window */
	uint16_t heap[TG_BID_TABLE]; /* OPEN and WAITING: who is due first at the top */
	uint32_t bucket[TG_BID_BUCKETS];
	struct tg_auction auction[TG_BID_TABLE];
};

/* Takes a to a state: OPEN and WAITING ones stand by their deadline, in at most log2(TG_BID_TABLE) steps. */
void tg_auction_move(struct tg_bid_table *t, struct tg_auction *a, enum tg_auction_state to);
/* A zeroed record under this key, still FREE; NULL: all are open. */
struct tg_auction *tg_auction_new(struct tg_bid_table *t, const struct tg_key *key, uint64_t hash);

static inline uint32_t tg_bid_random(struct tg_bid_table *t, uint32_t n)
{
	uint64_t x = t->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->random = x;
	return (uint32_t)(((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * n >> 32);
}

#endif
