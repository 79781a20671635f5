/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to auction*.c. Thread-safety: one worker's. */
#ifndef TG_AUCTION_PRIVATE_H
#define TG_AUCTION_PRIVATE_H

#include "auction/auction.h"

#define PEER_SETS 4096
#define PEER_WAYS 4

/* Where a client is: what its last SYN said. */
struct tg_peer {
	struct tg_addr client;
	uint64_t mac; /* link address word; 0: empty */
	uint16_t port;
};

struct tg_auctions {
	struct tg_bid_table *table;
	struct tg_bid_server *server;   /* by id */
	struct tg_bid_service *service; /* by id */
	struct tg_peer *peer;
	struct rte_mempool *pool; /* of the last packet: for RSTs */
	uint64_t stateless_until; /* the flow table was full: no auctions */
	uint64_t stateless;       /* ticks: for so long */
	uint32_t peer_turn;
	uint64_t peer_seed;
	bool answers; /* the burst has some, or had */
	struct tg_burst out;
	struct tg_auction_stats stats;
};

/* auction/send.c: into the burst of its own. */

/* To a server as to any: encapsulated and addressed. */
void tg_auction_to_server(struct tg_worker *w, struct rte_mbuf *m, const struct tg_pkt *p,
			  uint64_t hash, uint16_t server, uint64_t arrival);
/* To the client of p. ttl: what the packet gets, 0: one less than it has where the service's packets lose
 * one. by: where the client's SYN came from, or NULL. */
void tg_auction_to_client(struct tg_worker *w, struct rte_mbuf *m, const struct tg_pkt *p,
			  uint8_t ttl, const struct tg_peer *by, uint64_t arrival);
void tg_auction_drop(struct tg_worker *w, struct rte_mbuf *m, enum tg_reason why);

/* What a RST is made from. */
struct tg_reset {
	const uint8_t *link; /* a link header of such a packet: its tags and its type are taken */
	uint8_t link_len;
	bool v6;
	const struct tg_addr *src, *dst;
	uint16_t src_port, dst_port; /* network order */
	uint32_t seq;
};
/* NULL when there is no buffer. p: its header as the stages want it, but for the key. */
struct rte_mbuf *tg_auction_reset(struct tg_worker *w, const struct tg_reset *r, struct tg_pkt *p);
/* As from the client of key, to a server that lost: SEQ is the client's ISN + 1. */
void tg_auction_reset_server(struct tg_worker *w, const struct tg_pkt *syn, uint64_t hash,
			     const uint8_t *link, uint8_t link_len, uint32_t seq, uint16_t server,
			     uint64_t now);

/* Did the frame come from this server? */
bool tg_auction_is_from(const struct tg_worker *w, const struct rte_mbuf *m, uint16_t server);
/* Is the client reached by the client side's router, wherever its packets came from? */
bool tg_auction_behind_router(const struct tg_worker *w, const struct tg_addr *client);

/* auction/peer.c */
void tg_peer_learn(struct tg_auctions *x, const struct tg_addr *client, const uint8_t mac[6],
		   uint16_t port);
const struct tg_peer *tg_peer_find(const struct tg_auctions *x, const struct tg_addr *client);

static inline const struct tg_bid_config *tg_auction_config(const struct tg_worker *w,
							    uint16_t service)
{
	return service < w->snapshot->n_services ? w->snapshot->bid[service] : NULL;
}

#endif
