/* SPDX-License-Identifier: BSD-3-Clause */
/* What an end sends: segments as the windows allow, acknowledgements, retransmissions. */
#include "client_group.h"
#include "end.h"

#define RTO_MAX UINT64_C(120000000000)

static uint16_t advertised(const struct tg_end *e, uint8_t flags)
{
	uint32_t w = e->receive_window;

	if (flags & TG_TCP_SYN) /* never scaled, RFC 7323 2.2 */
		return w > UINT16_MAX ? UINT16_MAX : (uint16_t)w;
	return (uint16_t)(w >> e->own_scale);
}

/* Part of QUIC's handshake: sent before both sides have all of it. */
static bool in_handshake(const struct tg_end *e, uint64_t position, uint32_t data)
{
	enum tg_traffic t = e->connection->traffic;

	if (!e->quic)
		return false;
	if (data > 0)
		return position < tg_wire_handshake(t, e->at_server);
	return e->rcv_nxt < tg_wire_handshake(t, !e->at_server) ||
	       e->una < tg_wire_handshake(t, e->at_server);
}

struct tg_sim_packet *tg_tcp_packet(struct tg_end *e, uint64_t position, uint32_t data,
				    uint8_t flags, uint64_t now)
{
	struct tg_connection *c = e->connection;
	struct tg_sim_packet *p = tg_sim_packet_new(c->sim, c);

	p->sent = now;
	p->to_server = !e->at_server;
	p->server = e->server;
	p->tcp_flags = flags;
	p->seq = e->isn + (uint32_t)position;
	if (flags & TG_TCP_ACK)
		p->ack = e->irs + (uint32_t)e->rcv_nxt;
	p->window = advertised(e, flags);
	p->timestamps = e->timestamps;
	if (e->timestamps) {
		p->tsval = tg_end_tsval(e, now);
		p->tsecr = (flags & TG_TCP_ACK) ? e->ts_recent : 0;
	}
	tg_wire_dress(p, in_handshake(e, position, data), data);
	return p;
}

/* What every packet with an acknowledgement settles (Linux tcp_event_ack_sent). */
static void ack_sent(struct tg_end *e)
{
	if (e->ack_scheduled && e->quick > 0)
		e->quick--;
	e->ack_scheduled = e->ack_now = false;
	e->ack_at = 0;
	e->pushed = 0;
	e->eliciting = 0;
	e->acked = e->rcv_nxt;
}

void tg_tcp_ack(struct tg_end *e, uint64_t now)
{
	struct tg_sim_packet *p = tg_tcp_packet(e, e->nxt, 0, TG_TCP_ACK, now);

	ack_sent(e);
	tg_wire_send(e->connection, p);
}

void tg_tcp_arm(struct tg_end *e, uint64_t now)
{
	uint64_t in = e->rto << (e->retries < 10 ? e->retries : 10);

	e->rto_at = now + (in < RTO_MAX ? in : RTO_MAX);
	tg_end_schedule(e);
}

/* Requests whose last byte leaves for the first time. True: there is one, so a write ends. */
static bool requests_sent(struct tg_connection *c, uint64_t end, uint64_t now)
{
	bool any = false;

	while (c->sending != NULL && c->sending->end <= end) {
		c->sending->sent = now;
		c->sending = c->sending->next;
		any = true;
	}
	return any;
}

static void send_segment(struct tg_end *e, uint64_t position, uint32_t data, bool fin, uint64_t now)
{
	uint64_t end = position + data + fin;
	uint8_t flags = TG_TCP_ACK | (fin ? TG_TCP_FIN : 0);
	bool fresh = end > e->max;

	if (fresh && !e->at_server && requests_sent(e->connection, end, now))
		flags |= TG_TCP_PSH;
	if (data > 0 && (position + data == e->written || (!fresh && data < e->mss)))
		flags |= TG_TCP_PSH;
	if (fresh) {
		e->max = end;
		if (e->rtt_position == 0) {
			e->rtt_position = end;
			e->rtt_sent = now;
		}
	} else {
		e->connection->owner->counts.retransmitted++;
		e->rtt_position = 0; /* Karn */
	}
	/* data in answer to data: this end takes turns (Linux tcp_event_data_sent) */
	if (data > 0 && e->last_received != 0 && now - e->last_received < e->delay)
		e->pingpong = true;
	e->last_sent = now;
	if (e->rto_at == 0)
		tg_tcp_arm(e, now);
	struct tg_sim_packet *p = tg_tcp_packet(e, position, data, flags, now);

	ack_sent(e);
	tg_wire_send(e->connection, p);
}

/* Bytes of the segment at a position: full ones, but QUIC's handshake has packets of its own, and
 * the client's requests are written without delay (TCP_NODELAY), one by one. */
static uint32_t segment(const struct tg_end *e, uint64_t position)
{
	uint64_t left = e->written - position;
	uint64_t handshake = tg_wire_handshake(e->connection->traffic, e->at_server);

	if (position < handshake && left > handshake - position)
		left = handshake - position;
	return left < e->mss ? (uint32_t)left : e->mss;
}

void tg_tcp_push(struct tg_end *e, uint64_t now)
{
	uint64_t window = (uint64_t)e->cwnd + e->inflate;

	if (e->state != TG_END_OPEN && !(e->quic && e->state == TG_END_SYN_RECEIVED))
		return;
	if (window > e->window)
		window = e->window;
	while (e->nxt < e->written + e->fin) {
		uint32_t data = segment(e, e->nxt);
		uint64_t flight = e->nxt - e->una;
		bool fin = e->fin && e->nxt + data == e->written;

		if (flight > 0 && flight + data > window)
			return;
		send_segment(e, e->nxt, data, fin, now);
		e->nxt += data + fin;
	}
}

/* After a pause the window has lost its meaning (RFC 2861, Linux tcp_slow_start_after_idle). */
static void restart(struct tg_end *e, uint64_t idle)
{
	if (idle <= e->rto || e->cwnd <= e->initial)
		return;
	if (e->ssthresh < e->cwnd / 4 * 3)
		e->ssthresh = e->cwnd / 4 * 3;
	while (idle > e->rto && e->cwnd > e->initial) {
		idle -= e->rto;
		e->cwnd /= 2;
	}
	if (e->cwnd < e->initial)
		e->cwnd = e->initial;
}

void tg_tcp_write(struct tg_end *e, uint64_t bytes, uint64_t now)
{
	if (e->nxt == e->una && e->last_sent != 0)
		restart(e, now - e->last_sent);
	e->written += bytes;
	tg_tcp_push(e, now);
}

void tg_tcp_retransmit(struct tg_end *e, uint64_t now)
{
	uint32_t data = segment(e, e->una);
	uint64_t outstanding = e->max - e->una;
	bool fin;

	if (data > outstanding)
		data = (uint32_t)outstanding;
	fin = e->fin && e->una + data == e->written && data < outstanding;
	if (data > 0 || fin)
		send_segment(e, e->una, data, fin, now);
}
