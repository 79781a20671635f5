/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ack and echo, the part that runs a packet, in line: what an arrival and a departure change as long as no
 * exchange closes. What happens once an exchange or a connection is in ack.c, which says what the states mean.
 *
 * Thread-safety: the flow's lcore.
 */
#ifndef TG_PIRATE_ACK_H
#define TG_PIRATE_ACK_H

#include "ack_number.h"
#include "echo.h"

#define LOSSES_MOST 32
#define ONE_SEGMENT 536 /* RFC 9293 section 3.7.1: the least maximum; more may have come as two */

/* Each caller has its own: what is a constant there, and the registers. */
#define TG_ALWAYS static inline __attribute__((always_inline))

/* Once an exchange, or a connection. */
void tg_ack_first(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		  struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		  uint64_t arrival, bool echo);
void tg_ack_emit(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		 struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out, bool echo);
void tg_ack_syn_departs(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			uint64_t arrival, uint64_t departure);
void tg_ack_sent_again(struct tg_pirate_server *s, struct tg_ack_near *n, uint32_t end);

/* The first answer seen. Time that went back, or stood still for longer than an exchange takes,
 * tells nothing about this one. */
static inline void answer_begins(const struct tg_pirate_config *c, struct tg_ack_near *n, bool pure,
				 uint64_t arrival)
{
	uint64_t waited = arrival - n->t_req;

	if (waited > c->longest) {
		n->state = TG_ACK_IDLE;
		return;
	}
	set_waited(n, waited);
	n->prompt = pure;
	n->state = TG_ACK_RESP;
}

/*
 * More of the answer. Only a packet that does nothing but acknowledge says when that came: on the
 * next request (or the client's FIN) an acknowledgement has waited for the client.
 */
static inline void answer_goes_on(const struct tg_pirate_config *c, struct tg_ack_near *n,
				  bool pure, uint64_t arrival)
{
	uint64_t waited = arrival - n->t_req;

	if (pure && waited <= c->longest && waited > tg_ack_waited(n))
		set_waited(n, waited);
}

/* What this advance echoes, and when it came. at: where the line has that. */
TG_ALWAYS void note_echo(const struct tg_pirate_config *c, struct tg_ack_near *n,
			 struct tg_ack_far *f, const struct tg_pkt *p, bool pure, uint64_t at,
			 uint64_t arrival)
{
	uint64_t end = arrival - n->t_req;

	if (!(p->flags & TG_PKT_TS) || end > c->longest / 2) {
		f->stamped = false;
		return;
	}
	f->v_end = p->tsecr;
	f->end = (uint32_t)(end >> c->gap_shift);
	f->from = at != 0 ? units_of(c, at - n->t_req) : 0; /* no line: told when there is one */
	f->stamped = true;
	f->pure = pure;
	f->spans = p->ack - n->ack > ONE_SEGMENT;
}

/* Four answers more may have been sent again: of what is lost most leaves no trace here. */
static inline void is_lost(struct tg_pirate_server *s, struct tg_ack_near *n)
{
	n->lost = 1;
	if (s != NULL && s->losses < LOSSES_MOST)
		s->losses += 4;
}

/*
 * A packet that only acknowledges is numbered behind what its client has sent: behind more than came here,
 * then the next request was lost on its way to us, and with it the acknowledgement that it carried. What
 * this one echoes is the answer sent again. (One ahead is a FIN.)
 */
static inline bool shows_loss(const struct tg_ack_near *n, const struct tg_pkt *p)
{
	return n->seq_known && p->seq - n->seq_end - 2 < WINDOW_MAX;
}

/*
 * More of the answer, to what the client wrote in several pieces: requests of their own, or one in parts?
 * What the server wrote at another time is another answer, as far as anyone can tell. S is then the first one's,
 * the only one that is known to have waited for nobody of its own connection.
 */
static inline bool is_another(const struct tg_ack_near *n, const struct tg_ack_far *f,
			      const struct tg_pkt *p, bool echo)
{
	return n->asked > 1 && echo && f->stamped && p->tsecr != f->v_end;
}

/* The acknowledgement number is ahead. at: where the line has what it echoes; 0: no line. */
TG_ALWAYS void advances(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			uint64_t at, uint64_t arrival, bool echo)
{
	bool pure = p->payload_len == 0 && !(p->tcp_flags & TG_TCP_FIN);

	if (pure && shows_loss(n, p))
		is_lost(s, n);
	if (n->state == TG_ACK_REQ) {
		if (echo && at != 0 && echo_predates(c, s, n, f, at)) {
			n->batch = 1; /* it answers an older request, which was still open */
			echo_doubts(f, units_of(c, arrival - at));
			return;
		}
		answer_begins(c, n, pure, arrival);
		if (!echo)
			f->late.first = (uint32_t)((arrival - n->t_req) >> c->gap_shift);
	} else if (n->state == TG_ACK_RESP && p->ack - n->ack != 1) {
		/* by one: the server's FIN far more often than an answer's last byte; it may come
		 * much later */
		answer_goes_on(c, n, pure, arrival);
		if (is_another(n, f, p, echo))
			n->several = 1;
	} else {
		return;
	}
	if (n->state != TG_ACK_RESP || n->several)
		return;
	if (echo)
		note_echo(c, n, f, p, pure, at, arrival);
	else
		f->late.advance += p->ack - n->ack;
}

TG_ALWAYS void acknowledge(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			   uint64_t at, uint64_t arrival, bool echo)
{
	switch (step_of(n->ack, p->ack)) {
	case STEP_NONE:
		return;
	case STEP_WILD:
		n->state = TG_ACK_IDLE;
		n->batch = n->several = 0;
		break;
	case STEP_AHEAD:
		advances(c, s, n, f, p, at, arrival, echo);
		break;
	}
	n->ack = p->ack;
}

static inline __attribute__((always_inline)) bool ack_arrives(
	const struct tg_pirate_config *c, struct tg_pirate_server *s, struct tg_ack_near *n,
	struct tg_ack_far *f, const struct tg_pkt *p, uint64_t arrival, struct tg_sample *out,
	bool echo)
{
	uint64_t at = 0;

	if ((p->tcp_flags & (TG_TCP_SYN | TG_TCP_RST | TG_TCP_ACK)) != TG_TCP_ACK || is_probe(n, p))
		return false;
	if (!n->ack_known) {
		tg_ack_first(c, s, n, f, p, arrival, echo);
		return false;
	}
	if (echo && (p->flags & TG_PKT_TS) && f->period != 0) {
		at = echo_line(c, s, f, p->tsecr, arrival);
		echo_passes(c, f, at, arrival);
	}
	acknowledge(c, s, n, f, p, at, arrival, echo);
	if (n->state != TG_ACK_RESP || !is_new_payload(n, p))
		return false;
	tg_ack_emit(c, s, n, f, out, echo);
	return true;
}

/* What the client pushes is the end of something that it wrote. */
static inline void count_write(struct tg_ack_near *n, const struct tg_pkt *p)
{
	n->asked += (p->tcp_flags & TG_TCP_PSH) != 0 && n->asked != UINT8_MAX;
}

/* A packet of the request, perhaps not its first. One that the driver took late does not make the
 * request older than a later one did. */
static inline void open_exchange(const struct tg_pirate_config *c, struct tg_ack_near *n,
				 struct tg_ack_far *f, uint64_t arrival, uint64_t departure)
{
	if (n->state == TG_ACK_REQ && n->t_req - arrival <= c->longest)
		arrival = n->t_req;
	else
		n->lost = 0;
	n->t_req = arrival;
	n->state = TG_ACK_REQ;
	departure -= arrival;
	f->own = departure <= c->longest / 4 ? (uint32_t)(departure >> c->gap_shift) : 0;
}

TG_ALWAYS void ack_departs(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			   uint64_t arrival, uint64_t departure)
{
	const uint8_t kind = p->tcp_flags & (TG_TCP_SYN | TG_TCP_RST | TG_TCP_ACK);
	uint32_t end = p->seq + p->payload_len;
	enum step step;

	if (kind == TG_TCP_SYN)
		tg_ack_syn_departs(c, s, n, f, p, arrival, departure);
	if (kind != TG_TCP_ACK)
		return;
	if (n->handshake) /* it arrived before the SYN departed: the gap cannot be told */
		n->handshake = 0;
	if (p->payload_len == 0 && n->seq_known)
		return;
	step = n->seq_known ? step_of(n->seq_end, end) : STEP_AHEAD;
	if (step == STEP_NONE) {
		if (p->payload_len > 0 && !is_probe(n, p))
			tg_ack_sent_again(s, n, end);
		return;
	}
	n->seq_end = end;
	n->seq_known = 1;
	if (p->payload_len == 0)
		return;
	count_write(n, p);
	if (step == STEP_WILD) {
		n->state = TG_ACK_IDLE;
	} else if (n->ack_known && step_of(p->ack, n->ack) != STEP_NONE) {
		/* An acknowledgement overtook it in here, so whose answer that was cannot be told: an
		 * older request's mostly, and this one is in flight with what follows. */
		n->state = TG_ACK_IDLE;
		n->batch = 1;
	} else {
		open_exchange(c, n, f, arrival, departure);
	}
}

#endif
