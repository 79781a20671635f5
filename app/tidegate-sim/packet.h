/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet of the simulated network. Its fields are what its sender put on the wire; frame.c turns
 * a client's packet into header bytes when it enters a gateway. What leaves the gateway is read
 * from those bytes again: the gateway's decision counts, and nothing else.
 *
 * Thread-safety: one simulation, one thread. Packets come from a free list and go back to it, so
 * their memory is what was in flight at the worst moment.
 */
#ifndef TG_SIM_PACKET_H
#define TG_SIM_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "tg_burst.h"  /* TG_ALTERNATIVES */
#include "tg_packet.h" /* TG_TCP_* */

struct tg_connection;
struct tg_link;
struct tg_sim; /* one run: sim.h */

struct tg_sim_packet {
	struct tg_event event; /* its arrival at the next place */
	struct tg_sim_packet *next;
	struct tg_connection *connection; /* holds a reference */
	void *place;                      /* whoever it arrives at next; of the link's caller */
	uint64_t sent;                    /* by the first sender */
	/* the link's that carries it, between tg_link_send and the arrival (as are event and next) */
	struct tg_link *link;
	void (*arrives)(struct tg_event *e, uint64_t now);
	uint64_t leaves; /* the queue of the link */
	uint32_t seq, ack;
	uint32_t tsval, tsecr; /* where `timestamps` */
	uint16_t payload;      /* bytes after the TCP or UDP header */
	uint16_t window;
	uint8_t tcp_flags;
	uint8_t first_byte; /* of a datagram's payload, as a QUIC header shows it */
	uint8_t third_byte; /* the second and the fourth are 0 */
	bool timestamps;
	bool to_server;  /* client -> server: by way of a gateway */
	uint16_t server; /* index in the scenario: sender of an answer, or where a gateway sent it */
	uint8_t n_next; /* servers whose turn it is if that one does not know the connection (gue) */
	uint16_t next_server[TG_ALTERNATIVES];
};

/* Zeroed, with a reference taken of the connection; counted in s->packets and s->in_flight. Ends the
 * process with a sentence without memory. */
struct tg_sim_packet *tg_sim_packet_new(struct tg_sim *s, struct tg_connection *c);
/* Gives the reference back. Not for a packet that a link carries. */
void tg_sim_packet_free(struct tg_sim *s, struct tg_sim_packet *p);
/* The end of a run: all packets go, those in flight too, without a look at their connections or
 * events. */
void tg_sim_packets_free(struct tg_sim *s);

#endif
