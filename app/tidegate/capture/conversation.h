/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Who talks to whom in a capture, and which of the two is the server.
 *
 * Certain: who was sent a SYN, or sent a SYN-ACK. Else the side with the better known port; else
 * the side that is a server in another conversation; else the first sender is the client.
 *
 * Bounded: TG_CONVERSATIONS_MAX conversations; packets of further ones are counted as lost.
 *
 * Thread-safety: one thread. Allocates: not for a packet path.
 */
#ifndef TG_CONVERSATION_H
#define TG_CONVERSATION_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_packet.h"

#define TG_CONVERSATIONS_MAX (1u << 20)
#define TG_ENDPOINTS_MAX     TG_CONVERSATIONS_MAX /* one conversation may need one */

/** By what the server was told from the client, weakest first. */
enum tg_found {
	TG_FOUND_NOT = 0,
	TG_FOUND_SENDER,  /**< the first packet went to it */
	TG_FOUND_SERVICE, /**< it serves others */
	TG_FOUND_PORT,    /**< its port is well known */
	TG_FOUND_SYN,     /**< it was sent a SYN, or sent a SYN-ACK */
};

/** "syn", "port", "service", "first sender". */
const char *tg_found_name(enum tg_found found);

/** One side, as the capture shows it. Compared as bytes. */
struct tg_endpoint {
	struct tg_addr address;
	uint16_t port; /**< network order; 0 for a protocol without ports */
	uint8_t protocol;
	uint8_t zero;
};

/** A server's endpoint with what was seen of it. */
struct tg_served {
	uint64_t packets; /**< from clients */
	uint64_t conversations;
	enum tg_found found; /**< the strongest sign */
};

struct tg_conversations;

struct tg_conversations *tg_conversations_create(void);
void tg_conversations_free(struct tg_conversations *all);

/**
 * Note a packet. Returns false if it belongs to no conversation that could be a service's: ICMP,
 * neighbour discovery, a multicast, broadcast or unspecified destination, a fragment without
 * ports, port 0.
 *
 * @param ports the two port numbers on the wire for a first fragment, which the parsed header
 *              leaves out; NULL otherwise
 */
bool tg_conversations_add(struct tg_conversations *all, const struct tg_pkt *p,
			  const uint16_t ports[2]);

/** Decide every conversation, once all packets were added. */
void tg_conversations_decide(struct tg_conversations *all);

/** After deciding: was this packet sent by the server's side? */
bool tg_conversations_from_server(const struct tg_conversations *all, const struct tg_pkt *p);

/** After deciding: number of server endpoints, and one of them. */
uint32_t tg_conversations_served(const struct tg_conversations *all);
const struct tg_served *tg_conversations_server(const struct tg_conversations *all, uint32_t i,
						const struct tg_endpoint **endpoint);

/** Conversations so far. */
uint32_t tg_conversations_count(const struct tg_conversations *all);

/** Packets whose conversation, and conversations whose server, did not fit. */
uint64_t tg_conversations_lost(const struct tg_conversations *all);

#endif
