/* SPDX-License-Identifier: BSD-3-Clause */
/* A segment arrives at an end that knows its peer (RFC 9293 3.10.7.4). */
#include "end.h"

/* The server's end becomes open by the first acknowledgement of its SYN. False: by something else. */
static bool opens(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	uint32_t ahead = p->ack - e->isn;

	if (ahead == 0 || ahead > e->max) {
		tg_tcp_refuse(e->connection, p, now);
		return false;
	}
	e->state = TG_END_OPEN;
	return true;
}

/* RFC 7323 4.3: of the segments that the next acknowledgement is for, the first one's is echoed. */
static void note_timestamp(struct tg_end *e, const struct tg_sim_packet *p)
{
	int32_t ahead = (int32_t)(p->seq - (e->irs + (uint32_t)e->acked));

	if (ahead <= 0 && (int32_t)(p->tsval - e->ts_recent) >= 0)
		e->ts_recent = p->tsval;
}

bool tg_tcp_connected(const struct tg_end *e)
{
	return e->state == TG_END_OPEN &&
	       e->written >= tg_wire_handshake(e->connection->traffic, false);
}

void tg_tcp_write_asked(struct tg_end *e, uint64_t now)
{
	for (const struct tg_request *r = e->connection->first; r != NULL; r = r->next)
		tg_tcp_write(e, r->bytes, now);
}

/* QUIC: the server's handshake is complete, so is the client's with this. */
static void shake_hands(struct tg_end *e, uint64_t now)
{
	struct tg_connection *c = e->connection;

	if (e->state != TG_END_OPEN || tg_tcp_connected(e) ||
	    e->rcv_nxt < tg_wire_handshake(c->traffic, true))
		return;
	tg_tcp_write(e, tg_wire_handshake(c->traffic, false) - 1, now);
	tg_tcp_write_asked(e, now);
}

static void answers(struct tg_end *e, uint64_t now)
{
	struct tg_connection *c = e->connection;
	struct tg_request *r = c->first;

	while (r != NULL && !c->closed) {
		struct tg_request *next = r->next;

		if (r->answer_end <= e->rcv_nxt)
			tg_connection_answered(c, r, now);
		else if (!e->quic)
			return; /* TCP: in order */
		r = next;
	}
}

static void repeated_syn(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	if (e->state == TG_END_SYN_RECEIVED && !(p->tcp_flags & TG_TCP_ACK))
		tg_tcp_syn(e, now);
	else
		tg_tcp_ack(e, now);
}

void tg_tcp_input(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	uint64_t before = e->rcv_nxt;

	if (p->tcp_flags & TG_TCP_SYN) {
		repeated_syn(e, p, now);
		return;
	}
	if (!(p->tcp_flags & TG_TCP_ACK) || (e->state == TG_END_SYN_RECEIVED && !opens(e, p, now)))
		return;
	if (e->timestamps)
		note_timestamp(e, p);
	tg_tcp_acked(e, p, now);
	tg_tcp_receive(e, p, now);
	tg_tcp_push(e, now);
	if (e->rcv_nxt > before) {
		if (e->at_server) {
			if (!e->ack_now && e->rcv_nxt > e->fin_at && e->jobs == NULL) {
				tg_tcp_finish(e, now);
				return;
			}
		} else if (e->quic) {
			shake_hands(e, now);
		}
	}
	if (e->ack_now)
		tg_tcp_ack(e, now);
	if (e->rcv_nxt > before) {
		if (!e->at_server)
			answers(e, now);
		else if (!tg_answer_arrived(e, now))
			return;
	}
	tg_tcp_finish(e, now);
}
