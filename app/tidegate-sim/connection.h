/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection or datagram conversation between a simulated client and whichever server the
 * gateways' bytes lead to. The client end exists from the start; a server end is made when the
 * first packet of the conversation arrives at a server (TCP: a SYN). A packet that arrives at a
 * server without an end of its connection is answered by a RST, as a kernel would.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_CONNECTION_H
#define TG_CONNECTION_H

#include "packet.h"
#include "station.h"

/* How one end's TCP behaves, in Linux's terms. */
struct tg_tcp_params {
	uint16_t mss;            /* 536..9000 */
	uint16_t initial_window; /* segments, 10 */
	uint32_t receive_window; /* bytes */
	bool timestamps;
	double tick_us;        /* of TSval: 1, 1000, 4000, 10000 */
	double drift_ppm;      /* of the end's clock against true time, drawn in -drift..+drift */
	bool offset;           /* TSval starts at a random value per connection */
	double delayed_ack_ms; /* 40; 0: every segment is acknowledged at once */
	uint16_t quick_acks;   /* segments acknowledged at once at the start, 16 */
	double rto_min_ms;     /* 200 */
	double syn_rto_ms;     /* 1000 */
};

enum tg_traffic {
	TG_TRAFFIC_TCP,
	TG_TRAFFIC_DATAGRAM, /* one datagram asks, one or several answer: DNS, memcached */
	TG_TRAFFIC_QUIC, /* UDP, headers hidden: handshake, ACK packets every second one or 25 ms */
	TG_TRAFFIC_TUNNEL, /* several TCP connections inside one UDP flow (WireGuard) */
};

struct tg_client; /* who wanted it: client.h */
struct tg_group;
struct tg_end;

/*
 * One 5-tuple, but for a tunnel: there each connection inside has one of its own, and all share the
 * carrier's 5-tuple and id.
 *
 * Positions in the byte stream of a direction count from 0, the SYN; data starts at 1. A request's
 * `end` is set when it is asked, its `answer_end` when the server starts to write the answer.
 */
struct tg_connection {
	struct tg_sim *sim;
	struct tg_client *client; /* NULL: nobody wants it any more */
	struct tg_group *owner;
	enum tg_traffic traffic;
	uint32_t refs;
	uint32_t client_index; /* address within its group's prefix */
	uint16_t group;        /* of the scenario */
	uint16_t client_port;
	uint16_t service;                /* index of the scenario's services: VIP, protocol, port */
	uint16_t slot;                   /* the client's: which of its connections */
	uint64_t id;                     /* of the 5-tuple */
	bool closed;                     /* by the client, or broken */
	struct tg_request *first, *last; /* asked and not yet answered, in order */
	struct tg_request *sending;      /* the first whose last byte has never been sent */
	struct tg_request *arriving;     /* the first whose last byte no server end has */
	uint64_t asked_end;              /* end of the last request asked */
	struct tg_end *client_end, *server_ends; /* end.h */
	struct tg_connection *carrier;           /* tunnel: the flow this one is inside of */
	struct tg_connection *waiting;           /* tunnel: the next that waits for its handshake */
	struct tg_connection *same_hash;         /* ports in use */
};

/* A packet from a gateway arrived at server `server`; or from a server at the client. Frees the packet. */
void tg_connection_at_server(struct tg_connection *c, struct tg_sim_packet *p, uint64_t now);
void tg_connection_at_client(struct tg_connection *c, struct tg_sim_packet *p, uint64_t now);

/* Has the server a socket for it? Yes for what is no TCP: that has no second chance. */
bool tg_connection_known(const struct tg_connection *c, uint16_t server);

/* References: packets in flight, the client, requests at a station. Without any it is freed as soon
 * as neither end has anything left to send again. */
void tg_connection_ref(struct tg_connection *c);
void tg_connection_unref(struct tg_connection *c);

/* Opens. TCP, QUIC: the first packet leaves at once. The caller owns a reference, which
 * tg_connection_close takes, or tg_client_broken. */
struct tg_connection *tg_connection_open(struct tg_client *client, enum tg_traffic traffic,
					 uint32_t client_index, uint16_t client_port,
					 uint16_t service);
/* Asks: the request's bytes are written; several may be under way (pipelining). Bytes and answer
 * bytes are at least 1. */
void tg_connection_ask(struct tg_connection *c, struct tg_request *r, uint64_t now);
/* Orderly end by the client (FIN exchange), or at once (RST). Requests not answered are forgotten:
 * the caller frees them. The client hears no more of this connection. */
void tg_connection_close(struct tg_connection *c, bool reset, uint64_t now);

/* Called by connection.c on the client. The whole answer is there. The request is the client's to free. */
void tg_client_answered(struct tg_client *client, struct tg_connection *c, struct tg_request *r,
			uint64_t now);
/* Reset by the server, or given up: the requests from c->first on have failed, and are the
 * client's to free. It hears no more of this connection. */
void tg_client_broken(struct tg_client *client, struct tg_connection *c, uint64_t now);

/* Station -> server end: `done` of every station. */
void tg_connection_request_done(struct tg_request *r, bool answer, uint64_t now);

#endif
