/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a connection: TCP as Linux has it, at either side. QUIC runs on the same engine in
 * another dress (wire.c): its handshake is the first bytes of each stream, its PTO the
 * retransmission timer, and its answers leave in order of completion. Lost bytes hold up later
 * ones of the same direction, which real QUIC spares other streams.
 *
 * Positions are 64-bit and never wrap; sequence numbers on the wire are position + a random start.
 * The congestion control is Reno with NewReno's partial acknowledgements (RFC 5681, 6582), limited
 * transmit (RFC 3042), Eifel detection of spurious retransmissions (RFC 3522), and no SACK.
 *
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_END_H
#define TG_END_H

#include "sim.h"

#define TG_RANGES 32

enum tg_end_state {
	TG_END_SYN_SENT,
	TG_END_SYN_RECEIVED,
	TG_END_OPEN,
	TG_END_DONE, /* both directions closed in order; still acknowledges */
	TG_END_DEAD, /* reset or given up: whatever comes is answered by RST */
};

/* Data that arrived ahead of a hole: sorted, apart from each other. */
struct tg_ranges {
	uint32_t n;
	struct {
		uint64_t from, to;
	} r[TG_RANGES];
};

/* A request at a server: a copy, since the client may give up before the station does. */
struct tg_job {
	struct tg_request request;
	struct tg_job *next; /* of its end, in order of arrival */
	struct tg_end *end;  /* NULL: nobody waits for the answer (or it is a datagram's) */
	uint32_t written;    /* writes done */
	bool ready;
};

struct tg_end {
	struct tg_end *next; /* the connection's next server end */
	struct tg_connection *connection;
	uint16_t server;
	uint8_t state; /* enum tg_end_state */
	bool at_server, timestamps, quic;

	/* one event serves both deadlines, and is moved only to be earlier; 0: none */
	struct tg_event timer;
	uint64_t timer_at, rto_at, ack_at;

	/* this end's clock: TSval = offset + (now * ticks_per_ns + phase) */
	double ticks_per_ns, phase;
	uint32_t ts_offset, ts_recent;

	/* sending: una <= nxt <= max <= written + fin */
	uint32_t isn, mss, initial; /* window at the start, bytes */
	uint64_t una, nxt, max, written;
	bool fin, recovering, first_retransmission;
	uint8_t peer_scale, own_scale;
	uint8_t retries;
	uint32_t window, cwnd, ssthresh, grown, inflate;
	uint32_t dupacks, dup_threshold;
	uint64_t recover;
	uint32_t retransmit_ts, prior_cwnd, prior_ssthresh;
	uint64_t rtt_position, rtt_sent; /* the segment being timed; 0: none */
	uint64_t srtt, rttvar, rto, rto_min;
	uint64_t last_sent;

	/* receiving: ranges lie above rcv_nxt */
	uint32_t irs, receive_window;
	uint64_t rcv_nxt, acked, fin_at;
	struct tg_ranges *ranges;
	/* acknowledging, in the terms of Linux's icsk_ack */
	bool pingpong, ack_now, ack_scheduled;
	uint8_t pushed;
	uint16_t quick, quick_max, eliciting;
	uint32_t rcv_mss;
	uint64_t delay, last_received;

	struct tg_job *jobs, *last_job, *writing;
};

/* wire.c: how the traffic looks. */
uint32_t tg_wire_mss(enum tg_traffic t, const struct tg_tcp_params *p);
/* Payload size and first byte; handshake: what it carries is part of QUIC's. */
void tg_wire_dress(struct tg_sim_packet *p, bool handshake, uint32_t data);
/* Bytes of stream data in a packet. */
uint32_t tg_wire_data(const struct tg_sim_packet *p);
/* Where a stream's handshake ends and its requests or answers start. */
uint64_t tg_wire_handshake(enum tg_traffic t, bool by_server);
void tg_wire_send(struct tg_connection *c, struct tg_sim_packet *p);

/* end.c: made and unmade. */
struct tg_end *tg_end_new(struct tg_connection *c, bool at_server, uint16_t server);
void tg_end_free(struct tg_end *e);
/* A server end goes, with what the station does for it. The connection stays. */
void tg_end_remove(struct tg_end *e, uint64_t now);
uint32_t tg_end_tsval(const struct tg_end *e, uint64_t now);
void tg_end_schedule(struct tg_end *e);
static inline bool tg_end_busy(const struct tg_end *e)
{
	return e->rto_at != 0 || e->ack_at != 0;
}

/* tcp_open.c: SYN, FIN, RST. */
void tg_tcp_connect(struct tg_end *e, uint64_t now);
void tg_tcp_accept(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now);
void tg_tcp_syn(struct tg_end *e, uint64_t now);
/* The client's end got a packet in SYN_SENT. */
void tg_tcp_syn_answered(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now);
/* A RST arrived. A server end may be gone afterwards. */
void tg_tcp_reset(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now);
/* Answers a packet that no end awaits (RFC 9293 3.10.7.1). */
void tg_tcp_refuse(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now);
/* Resets the peer and dies: a server end is gone afterwards. */
void tg_tcp_abort(struct tg_end *e, uint64_t now);
/* It hears no more and sends no more. */
void tg_tcp_die(struct tg_end *e);
/* The server closes after the client; who is closed both ways goes: a server end may be gone. */
void tg_tcp_finish(struct tg_end *e, uint64_t now);

/* tcp_input.c: anything for an end that has seen the peer's SYN. It may be gone afterwards. */
void tg_tcp_input(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now);
/* The client's end may send requests; and what was asked before that is written. */
bool tg_tcp_connected(const struct tg_end *e);
void tg_tcp_write_asked(struct tg_end *e, uint64_t now);

/* tcp_send.c */
void tg_tcp_push(struct tg_end *e, uint64_t now);
void tg_tcp_write(struct tg_end *e, uint64_t bytes, uint64_t now);
void tg_tcp_ack(struct tg_end *e, uint64_t now);
void tg_tcp_retransmit(struct tg_end *e, uint64_t now);
struct tg_sim_packet *tg_tcp_packet(struct tg_end *e, uint64_t position, uint32_t data,
				    uint8_t flags, uint64_t now);
void tg_tcp_arm(struct tg_end *e, uint64_t now);

/* tcp_acked.c: what a received acknowledgement does to the sender. */
void tg_tcp_acked(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now);
void tg_tcp_rtt(struct tg_end *e, uint64_t sample);

/* tcp_receive.c: data in; sets ack_now, or ack_at for later. */
void tg_tcp_receive(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now);

/* tcp_timer.c */
void tg_tcp_timer(struct tg_event *event, uint64_t now);

/* answer.c: a server end's requests. False: the end is gone. */
bool tg_answer_arrived(struct tg_end *e, uint64_t now);
void tg_answer_forget(struct tg_end *e, uint64_t now);
struct tg_job *tg_job_submit(struct tg_connection *c, struct tg_end *e, const struct tg_request *r,
			     uint16_t server, uint64_t now);
void tg_job_free(struct tg_job *j);
/* The client's own record of the request a job is for; NULL: it has given up. */
struct tg_request *tg_job_origin(const struct tg_job *j);

/* connection.c */
void tg_connection_broken(struct tg_connection *c, uint64_t now);
void tg_connection_answered(struct tg_connection *c, struct tg_request *r, uint64_t now);

/* datagram.c */
void tg_datagram_ask(struct tg_connection *c, struct tg_request *r, uint64_t now);
void tg_datagram_at_server(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now);
void tg_datagram_at_client(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now);
void tg_datagram_answer(struct tg_job *j, uint64_t now);

/* tunnel.c */
struct tg_connection *tg_tunnel_open(struct tg_group *g, uint32_t client_index, uint16_t port);
/* Connects once the tunnel's handshake is over. */
void tg_tunnel_connect(struct tg_connection *c, uint64_t now);
/* The server has the keys that the client uses. */
bool tg_tunnel_knows(const struct tg_connection *carrier, uint16_t server);
void tg_tunnel_at_server(struct tg_connection *carrier, const struct tg_sim_packet *p,
			 uint64_t now);
void tg_tunnel_at_client(struct tg_connection *carrier, const struct tg_sim_packet *p,
			 uint64_t now);
/* A packet inside was not acknowledged in time: is the peer still there? */
void tg_tunnel_doubt(struct tg_connection *carrier, uint64_t now);

#endif
