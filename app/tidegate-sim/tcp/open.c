/* SPDX-License-Identifier: BSD-3-Clause */
/* How an end begins and ends: SYN, FIN, RST. */
#include "end.h"

void tg_tcp_syn(struct tg_end *e, uint64_t now)
{
	uint8_t flags = TG_TCP_SYN | (e->at_server ? TG_TCP_ACK : 0);

	tg_wire_send(e->connection, tg_tcp_packet(e, 0, 0, flags, now));
	tg_tcp_arm(e, now);
}

static void begin(struct tg_end *e, enum tg_end_state state, uint64_t now)
{
	e->state = state;
	e->nxt = e->max = 1;
	e->rtt_position = 1;
	e->rtt_sent = now;
	tg_tcp_syn(e, now);
}

void tg_tcp_connect(struct tg_end *e, uint64_t now)
{
	begin(e, TG_END_SYN_SENT, now);
}

static void heard_syn(struct tg_end *e, const struct tg_sim_packet *p)
{
	e->irs = p->seq;
	e->rcv_nxt = e->acked = 1;
	e->ts_recent = p->tsval;
	if (!e->quic)
		e->window = p->window; /* never scaled, RFC 7323 2.2 */
}

void tg_tcp_accept(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now)
{
	struct tg_end *e = tg_end_new(c, true, p->server);

	e->next = c->server_ends;
	c->server_ends = e;
	heard_syn(e, p);
	begin(e, TG_END_SYN_RECEIVED, now);
	if (e->quic)
		tg_tcp_write(e, tg_wire_handshake(c->traffic, true) - 1, now);
}

void tg_tcp_syn_answered(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	if (!(p->tcp_flags & TG_TCP_ACK) || p->ack != e->isn + 1)
		return;
	if (p->tcp_flags & TG_TCP_RST) {
		tg_connection_broken(e->connection, now);
		return;
	}
	if (!(p->tcp_flags & TG_TCP_SYN))
		return;
	heard_syn(e, p);
	e->server = p->server;
	e->state = TG_END_OPEN;
	e->una = 1;
	if (e->rtt_position != 0)
		tg_tcp_rtt(e, now - e->rtt_sent);
	e->rtt_position = 0;
	e->retries = 0;
	e->rto_at = 0;
	if (e->quic)
		return; /* the server's other packets of this flight are about to come */
	tg_tcp_ack(e, now);
	tg_tcp_write_asked(e, now);
}

void tg_tcp_die(struct tg_end *e)
{
	e->state = TG_END_DEAD;
	e->rto_at = e->ack_at = 0;
}

void tg_tcp_reset(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	int32_t ahead = (int32_t)(p->seq - (e->irs + (uint32_t)e->rcv_nxt));

	if (e->state == TG_END_DONE)
		return;
	if (ahead == 0 || e->quic) {
		if (e->at_server)
			tg_end_remove(e, now);
		else
			tg_connection_broken(e->connection, now);
	} else if (ahead > 0 && (uint32_t)ahead < e->receive_window) {
		tg_tcp_ack(e, now); /* RFC 5961 3.2: the peer proves itself */
	}
}

void tg_tcp_refuse(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now)
{
	struct tg_sim_packet *r;

	if (p->tcp_flags & TG_TCP_RST)
		return;
	r = tg_sim_packet_new(c->sim, c);
	r->sent = now;
	r->to_server = !p->to_server;
	r->server = p->server;
	r->tcp_flags = TG_TCP_RST;
	if (p->tcp_flags & TG_TCP_ACK) {
		r->seq = p->ack;
	} else {
		r->tcp_flags |= TG_TCP_ACK;
		r->ack = p->seq + tg_wire_data(p) + !!(p->tcp_flags & TG_TCP_SYN) +
			 !!(p->tcp_flags & TG_TCP_FIN);
	}
	tg_wire_dress(r, false, 0);
	tg_wire_send(c, r);
}

void tg_tcp_abort(struct tg_end *e, uint64_t now)
{
	struct tg_connection *c = e->connection;

	if (e->state == TG_END_SYN_RECEIVED || e->state == TG_END_OPEN)
		tg_wire_send(c, tg_tcp_packet(e, e->nxt, 0, TG_TCP_RST | TG_TCP_ACK, now));
	if (e->at_server)
		tg_end_remove(e, now);
	else
		tg_tcp_die(e);
}

void tg_tcp_finish(struct tg_end *e, uint64_t now)
{
	bool heard = e->rcv_nxt > e->fin_at;

	if (e->at_server && heard && !e->fin && e->jobs == NULL) {
		e->fin = true;
		tg_tcp_push(e, now);
	}
	if (!heard || !e->fin || e->una <= e->written)
		return;
	if (e->at_server) {
		tg_end_remove(e, now);
		return;
	}
	e->state = TG_END_DONE;
	e->rto_at = 0;
}
