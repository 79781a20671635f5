/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of nftables that mark.h speaks of, as netlink messages (libnftnl builds them), and the batch they go in.
 *
 *	table inet TABLE { flags owner
 *		map bids { type inet_service : TTL; flags timeout; timeout 1s }
 *		chain synack { type filter hook output priority mangle
 *			tcp flags & (syn | ack | rst) == syn | ack  ip ttl set tcp sport map @bids
 *			tcp flags & (syn | ack | rst) == syn | ack  ip6 hoplimit set tcp sport map @bids } }
 *
 * nft itself has no word for a map of such values. A port that is not in the map ends the rule: nothing is written.
 * Where SYN-ACKs wait, the chain has a rule more for each port:
 *
 *	meta l4proto tcp  tcp flags & (syn | ack | rst) == syn | ack  tcp sport PORT  xt target NFQUEUE
 *
 * It is xtables' target, by nft_compat, because kernels without nft_queue have that. Nobody at the queue: they pass.
 *
 * Thread-safety: a batch belongs to its caller. Errors: -ENOMEM, NULL.
 */
#ifndef TG_BIDDER_RULES_H
#define TG_BIDDER_RULES_H

#include <stddef.h>
#include <stdint.h>

struct nlmsghdr;
struct nftnl_set;

#define BATCH_ROOM 16384 /* a table takes about 1.5 KiB, 16 entries as much, 16 rules 6 KiB */

struct tg_batch {
	_Alignas(8) char text[BATCH_ROOM];
	char *at;
	uint32_t seq;
};

void tg_batch_begin(struct tg_batch *b, uint32_t seq);
/* The header of the next message; tg_batch_next goes behind it when its payload is there. */
struct nlmsghdr *tg_batch_put(struct tg_batch *b, uint16_t type, uint16_t flags);
void tg_batch_next(struct tg_batch *b);
void tg_batch_end(struct tg_batch *b);
size_t tg_batch_len(const struct tg_batch *b);

int tg_rules_add(struct tg_batch *b, const char *table);
/* Behind that: SYN-ACKs from these ports (network order) wait in the kernel's queue of this number. */
int tg_rules_add_queue(struct tg_batch *b, const char *table, const uint16_t *ports, unsigned int n,
		       uint16_t queue);
/* The map, as entries are added to it or deleted: table and name. */
struct nftnl_set *tg_rules_map(const char *table);

#endif
