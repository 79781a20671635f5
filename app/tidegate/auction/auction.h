/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policy bid on the wire: what lib/bid decides, done with packets.
 *
 *	client's SYN      -> a copy to every server that is asked (tg_auction_syn)
 *	server's SYN-ACK  -> held until the auction closes; the winner's goes on to the client with a TTL of
 *			     its own again, the others go no further, and their servers are reset
 *	other packets from the service's address, where all answers pass the gateway -> to the client
 *
 * A server is known by its link address: it must be on the port's own link. Packets from servers are
 * found behind the service stage (tg_auction_mark): their header is turned round, so that key, owner and
 * service are the connection's, and TG_PKT_RETURN says so. The flow's entry is made when the winner is
 * known. Everything that an auction sends leaves in a burst of its own, in the same turn, by the gate.
 *
 * Inline only. Thread-safety: one worker's; control makes it, and others read its counters (relaxed).
 * Errors: a packet that cannot go on is a counted drop, by its reason.
 */
#ifndef TG_AUCTION_H
#define TG_AUCTION_H

#include "tg_bid.h"
#include "worker.h"

struct tg_auction_stats {
	uint64_t with_data; /* SYNs with data: placed by two choices */
	uint64_t uncopied;  /* copies that no buffer was left for */
	uint64_t resets;    /* RSTs of ours to servers that lost */
	uint64_t to_client; /* packets of servers sent on to clients */
	uint64_t swallowed; /* SYN-ACKs and RSTs of servers that clients must not see */
	uint64_t gone;      /* RSTs of ours to clients whose server is gone */
};

struct tg_auctions;

/* For a worker; control calls it before it publishes the first snapshot that has a service with bids. 0, also
 * where there is one already; -ENOMEM. */
int tg_auctions_create(struct tg_worker *w, uint64_t seed);
void tg_auctions_free(struct tg_worker *w);

/* A server's id stands for another one: what is known of it ends. */
void tg_auctions_forget_server(struct tg_worker *w, uint16_t server);

/* Behind the service stage: which packets come from servers. handed: from another worker, which has seen
 * that they came by a port for servers. */
void tg_auction_mark(struct tg_worker *w, struct tg_burst *b, bool handed);

/* In front of the flow stage: takes all that is marked. */
void tg_auction_answers(struct tg_worker *w, struct tg_burst *b);

/* A packet on its way that may be a SYN; f: its flow's entry or NULL. True: it is taken care of. */
bool tg_auction_syn(struct tg_worker *w, struct tg_burst *b, unsigned int i, struct tg_flow *f);

/* A flow that began elsewhere, before a restart perhaps: where its client is. */
void tg_auction_meet(struct tg_worker *w, const struct tg_burst *b, unsigned int i);

/* The server of a connection is gone: the client is told (a RST), the packet dropped. False: the service
 * takes no bids, or it is no connection. */
bool tg_auction_gone(struct tg_worker *w, struct tg_burst *b, unsigned int i);

/* Sends what the stages above made. */
void tg_auction_flush(struct tg_worker *w);

/* The worker stops: auctions that are open end, nobody wins, and whom they asked is reset. */
void tg_auctions_discard(struct tg_worker *w);

/* Every turn: closes the auctions that are due. True: some window is open, so that it should not be long to
 * the next turn. */
bool tg_auction_turn(struct tg_worker *w, uint64_t now);

/* What the worker counted; NULL: it has no auctions. */
const struct tg_bid_server *tg_auction_server(const struct tg_worker *w, uint16_t id);
const struct tg_bid_service *tg_auction_service(const struct tg_worker *w, uint16_t id);
const struct tg_auction_stats *tg_auction_stats(const struct tg_worker *w);

#endif
