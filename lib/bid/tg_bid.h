/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Auctions: a new connection's SYN goes to every live server, each answers with its load (tg_bid_wire.h),
 * the smallest bid wins. Here are the rules and the table of open auctions; packets are opaque pointers,
 * which app/tidegate/auction/auction.c copies, sends and frees.
 *
 * An auction is OPEN from the SYN to the decision, then CLOSED: it is remembered, so that the same SYN sent
 * again is known for what it is, until its place is needed. It closes when all who were asked have
 * answered, or at the end of the window (which begins at the SYN's arrival). Nobody answered by then: the
 * first answer wins. Nobody at all in TG_BID_GIVE_UP_MS: it is forgotten; the client asks again. window 0:
 * the first answer wins at once (servers answer later the more load they have).
 *
 * The winner: least bid + wins since, ties at random. Wins since: a bid ages with every connection won, each
 * counts one step, until the server bids otherwise or TG_BID_FRESH_MS pass. Nobody bids: of two of those
 * that answered, at random, the one with fewer open flows. The TG_BID_HELD best answers are kept, so that
 * an answer that was beaten when it came can still win when the better one has won elsewhere meanwhile.
 *
 * Who is asked: candidates of the configuration that are not skipped. A server that missed `missed`
 * decisions in a row, or answered without a bid as often, is skipped for probe_s, then asked again once.
 *
 * Thread-safety: a table, and the states beside it, belong to one worker; counters are single words,
 * others read them relaxed. A tg_bid_config is immutable. Times are ticks and arguments.
 * Source: TCP connection control for tightly coupled web clusters (servers' bidding by TTL); two choices:
 * M. Mitzenmacher, IEEE TPDS 12(10), 2001. See doc/bid.md.
 */
#ifndef TG_BID_H
#define TG_BID_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_bid_wire.h"
#include "tg_clock.h"
#include "tg_packet.h"

#define TG_BID_SERVERS_MAX 64
#define TG_BID_TABLE       4096 /* auctions a worker can remember */
#define TG_BID_HELD        4
#define TG_BID_NOBODY      UINT8_MAX
#define TG_BID_GIVE_UP_MS  3000
#define TG_BID_FRESH_MS    10
#define TG_BID_LINK_MAX    22 /* a link header with two tags */
#define TG_BID_HOPS_LEARN  UINT8_MAX

/* What the operator sets, per service. */
struct tg_bid_params {
	uint32_t window_us; /* 0..100000; 0: the first answer wins */
	uint32_t syn_rate;  /* auctions a second, over all workers, 1..10^7 */
	uint32_t auctions;  /* open at once a worker, 1..TG_BID_TABLE */
	uint32_t missed;    /* 1..1000 */
	uint32_t probe_s;   /* 1..3600 */
};

/* The same in ticks, with the service's candidates. */
struct tg_bid_config {
	uint64_t window, give_up, fresh, probe;
	uint64_t token; /* between two auctions of one worker */
	uint64_t depth; /* a burst's worth of tokens: 10 ms, at least 8 auctions */
	uint32_t auctions, missed;
	unsigned int n;
	uint16_t server[TG_BID_SERVERS_MAX]; /* ids */
};

/* What one worker knows of one server. All zero at first. */
struct tg_bid_server {
	uint64_t skipped_until; /* 0: not skipped */
	uint64_t wins_from;
	uint32_t wins;   /* since the bid that is believed */
	uint32_t misses; /* decisions in a row without an answer of it, or without a bid */
	uint8_t hops;    /* learnt from what it sent unmarked */
	uint8_t steps;   /* its last bid */
	/* counted */
	uint64_t asked, won, missed, plain, refused, late, resets;
};

/* What one worker knows of one service. All zero at first. */
struct tg_bid_service {
	uint64_t tokens_at; /* when the bucket was empty last, shifted by what was taken */
	uint32_t open;
	/* counted */
	uint64_t auctions, decided, all_in, at_window, after_window, nobody;
	uint64_t repeated, renewed, refused;
	uint64_t over_rate, over_auctions, nobody_to_ask; /* SYNs placed by two choices instead */
};

enum tg_auction_state {
	TG_AUCTION_FREE = 0,
	TG_AUCTION_OPEN,
	TG_AUCTION_WAITING, /* open beyond its window: the first answer wins */
	TG_AUCTION_CLOSED,
};

struct tg_bid_offer {
	void *packet;
	uint64_t at; /* its arrival */
	uint8_t slot, steps;
	bool plain;
};

struct tg_auction {
	struct tg_pkt syn; /* key, and seq, the client's ISN */
	uint64_t hash;
	uint64_t opened, deadline;
	uint64_t answered;          /* by slot */
	uint32_t next, prev, chain; /* in its list, in its bucket; index + 1, 0: the end */
	uint16_t place;             /* in the heap, while it is open */
	uint16_t port;              /* where the client is */
	uint8_t state, n, n_held;   /* n: servers asked */
	uint8_t plain, repeats;     /* answers without a bid; SYNs since it was decided */
	uint8_t refused;
	uint8_t winner; /* slot, when closed; TG_BID_NOBODY */
	uint8_t link_len, link[TG_BID_LINK_MAX];
	struct tg_bid_offer held[TG_BID_HELD];
	uint16_t server[TG_BID_SERVERS_MAX]; /* by slot: ids */
	/* by slot: whom the id meant when it was asked; the caller's */
	uint16_t generation[TG_BID_SERVERS_MAX];
};

struct tg_bid_table;

/* hops: of each candidate; n <= TG_BID_SERVERS_MAX. workers share syn_rate. */
struct tg_bid_config tg_bid_compile(const struct tg_bid_params *p, const struct tg_clock *clock,
				    unsigned int workers);

/* -ENOMEM. servers and services are arrays by id, the worker's. */
int tg_bid_table_create(struct tg_bid_server *servers, struct tg_bid_service *services,
			uint64_t seed, int socket, struct tg_bid_table **out);
void tg_bid_table_free(struct tg_bid_table *t);

/* The auction of these ports, open or closed; NULL. */
struct tg_auction *tg_bid_find(struct tg_bid_table *t, const struct tg_key *key, uint64_t hash);

/*
 * Opens one for a SYN: who is asked stands in server[0..n). NULL, counted: above the rate, too many, or
 * nobody to ask. except: a server id that is left out, or TG_NO_SERVER. A closed auction of the same key
 * must have been forgotten before.
 */
struct tg_auction *tg_bid_open(struct tg_bid_table *t, const struct tg_bid_config *c,
			       const struct tg_pkt *syn, uint64_t hash, uint16_t except,
			       uint64_t now);

/*
 * An answer of the server in slot, with this TTL; hops: what is known of its way. Keeps the packet or
 * returns one that is let go: this one or a worse one that was held. NULL packets are not kept (a RST: the
 * server refuses).
 */
void *tg_bid_answer(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a,
		    uint8_t slot, uint8_t ttl, uint8_t hops, void *packet, uint64_t at);

/* Is it time to close? */
bool tg_bid_ripe(const struct tg_bid_config *c, const struct tg_auction *a, uint64_t now);

/*
 * Decides. open_flows: by server id, or NULL. The winning packet and its arrival, the others in
 * let_go[0..*n_let_go). Returns false: nobody wins (all refuse, or no answer), the auction is forgotten by
 * the caller when it has reset whom it asked.
 */
bool tg_bid_close(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a,
		  const uint32_t *open_flows, uint64_t now, struct tg_bid_offer *won,
		  void *let_go[TG_BID_HELD], unsigned int *n_let_go);

void tg_bid_forget(struct tg_bid_table *t, struct tg_auction *a);

/* The open auction that is due first, if it is by now: its window ends, or its time (NULL: none). One whose
 * window ended without an answer goes on until tg_bid_given_up. */
struct tg_auction *tg_bid_due(struct tg_bid_table *t, uint64_t now);
/* Is an auction inside its window? */
bool tg_bid_is_open(const struct tg_bid_table *t);
bool tg_bid_given_up(const struct tg_bid_config *c, const struct tg_auction *a, uint64_t now);
/* It stays open beyond its window: due again when it is given up. */
void tg_bid_wait_on(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a);

/* The server answered when all was decided. Where the first answer wins it is alive all the same. */
void tg_bid_late(struct tg_bid_table *t, const struct tg_bid_config *c, uint16_t server);

/* A packet of the server that bids nothing came with this TTL: learns its hops. */
void tg_bid_learn_hops(struct tg_bid_server *s, uint8_t ttl);

/* A bid as it counts now: its steps and the wins since. */
uint32_t tg_bid_score(const struct tg_bid_server *s, uint64_t fresh, uint8_t steps, uint64_t now);

#endif
