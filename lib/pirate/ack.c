/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ack: a request's answer has ended at the last advance of the acknowledgement number before the
 * next request.
 *
 *	IDLE -- new payload departs --> REQ -- acknowledgement advances --> RESP
 *	RESP -- new payload arrives --> a sample, IDLE; when it departs, REQ again
 *
 * Sequence numbers are compared modulo 2^32 (RFC 9293 section 3.4); a step beyond the largest window
 * (2^30, RFC 7323 section 2.3) is not believed: the flow is taken up afresh from there.
 */
#include "state.h"

#define WINDOW_MAX (1u << 30)

enum step { STEP_NONE, STEP_AHEAD, STEP_WILD };

static inline enum step step_of(uint32_t from, uint32_t to)
{
	uint32_t d = to - from;

	if (d - 1 < WINDOW_MAX)
		return STEP_AHEAD;
	return 0 - d <= WINDOW_MAX ? STEP_NONE : STEP_WILD;
}

/* Keep-alive (RFC 9293 section 3.8.4) and zero-window probes repeat the byte before seq_end. */
static inline bool is_probe(const struct tg_ack_near *n, const struct tg_pkt *p)
{
	return n->seq_known && p->payload_len <= 1 && p->seq + 1 == n->seq_end;
}

static inline bool is_new_payload(const struct tg_ack_near *n, const struct tg_pkt *p)
{
	return p->payload_len > 0 && n->seq_known &&
	       step_of(n->seq_end, p->seq + p->payload_len) == STEP_AHEAD;
}

/* The path of this client, there and back: from the SYN's departure to the arrival of its ACK. A
 * SYN that was sent twice leaves open which one was answered. */
static void learn_path(const struct tg_pirate_config *c, struct tg_ack_near *n,
		       struct tg_ack_far *f, uint64_t arrival)
{
	n->handshake = 0;
	f->path = arrival - f->syn_departure;
	f->path_known = f->path <= c->longest; /* no: idle, or time went back */
}

/* The first answer seen. Time that went back, or stood still for longer than an exchange takes,
 * tells nothing about this one. */
static inline void answer_begins(const struct tg_pirate_config *c, struct tg_ack_near *n,
				 uint64_t arrival)
{
	uint64_t waited = arrival - n->t_req;

	if (waited > c->longest) {
		n->state = TG_ACK_IDLE;
		return;
	}
	n->waited = waited;
	n->state = TG_ACK_RESP;
}

/*
 * More of the answer. Only a packet that does nothing but acknowledge says when that came: on the
 * next request (or the client's FIN) an acknowledgement has waited for the client. And an advance
 * by one is the server's FIN far more often than an answer's last byte; it may come much later.
 */
static inline void answer_goes_on(const struct tg_pirate_config *c, struct tg_ack_near *n,
				  const struct tg_pkt *p, uint32_t advance, uint64_t arrival)
{
	uint64_t waited = arrival - n->t_req;

	if (p->payload_len > 0 || (p->tcp_flags & TG_TCP_FIN) || advance == 1)
		return;
	if (waited <= c->longest && waited > n->waited)
		n->waited = waited;
}

static inline void acknowledge(const struct tg_pirate_config *c, struct tg_ack_near *n,
			       const struct tg_pkt *p, uint64_t arrival)
{
	uint32_t advance = p->ack - n->ack;

	switch (step_of(n->ack, p->ack)) {
	case STEP_NONE:
		return;
	case STEP_WILD:
		n->state = TG_ACK_IDLE;
		break;
	case STEP_AHEAD:
		if (n->state == TG_ACK_REQ)
			answer_begins(c, n, arrival);
		else if (n->state == TG_ACK_RESP)
			answer_goes_on(c, n, p, advance, arrival);
		break;
	}
	n->ack = p->ack;
}

/*
 * S: what the path and the time in the gateway leave of L; 0 when a jittering path leaves nothing. An
 * exchange in less than half the handshake's gap shows that this gap was not the path (a SYN-ACK
 * lost, a SYN that waited for a place in the server's queue).
 */
static uint64_t server_time(const struct tg_ack_near *n, const struct tg_ack_far *f)
{
	uint64_t own = f->departure - n->t_req;
	uint64_t served = n->waited > own ? n->waited - own : 0;

	if (!f->path_known || served < f->path / 2)
		return TG_SAMPLE_UNKNOWN;
	return served > f->path ? served - f->path : 0;
}

static void emit(struct tg_ack_near *n, const struct tg_ack_far *f, struct tg_sample *out)
{
	out->latency = n->waited;
	out->server = server_time(n, f);
	out->count = 1;
	out->kind = TG_ESTIMATOR_ACK;
	out->setup = n->setup;
	n->setup = 0;
	n->state = TG_ACK_IDLE;
}

bool tg_ack_arrive(const struct tg_pirate_config *c, struct tg_ack_near *n, struct tg_ack_far *f,
		   const struct tg_pkt *p, uint64_t arrival, struct tg_sample *out)
{
	if ((p->tcp_flags & (TG_TCP_SYN | TG_TCP_RST | TG_TCP_ACK)) != TG_TCP_ACK || is_probe(n, p))
		return false;
	if (!n->ack_known) {
		n->ack = p->ack;
		n->ack_known = 1;
		if (n->handshake)
			learn_path(c, n, f, arrival);
		return false;
	}
	acknowledge(c, n, p, arrival);
	if (n->state != TG_ACK_RESP || !is_new_payload(n, p))
		return false;
	emit(n, f, out);
	return true;
}

/* A packet of the request, perhaps not its first. One that the driver took late does not make the
 * request older than a later one did. */
static void open_exchange(const struct tg_pirate_config *c, struct tg_ack_near *n,
			  struct tg_ack_far *f, uint64_t arrival, uint64_t departure)
{
	if (n->state == TG_ACK_REQ && n->t_req - arrival <= c->longest)
		arrival = n->t_req;
	n->t_req = arrival;
	n->state = TG_ACK_REQ;
	f->departure = departure - arrival <= c->longest ? departure : arrival;
}

/* A SYN starts the flow, also where the entry knows an older connection of the same ports. */
static void syn_departs(const struct tg_pirate_config *c, struct tg_ack_near *n,
			struct tg_ack_far *f, const struct tg_pkt *p, uint64_t arrival,
			uint64_t departure)
{
	if (f->isn_known && f->isn == p->seq) {
		n->handshake = 0; /* sent again */
		return;
	}
	*n = (struct tg_ack_near){
		.seq_end = p->seq + 1 + p->payload_len,
		.seq_known = 1,
		.handshake = 1,
		.setup = 1,
	};
	*f = (struct tg_ack_far){.isn = p->seq, .isn_known = true, .syn_departure = departure};
	if (p->payload_len > 0) /* RFC 7413 */
		open_exchange(c, n, f, arrival, departure);
}

void tg_ack_depart(const struct tg_pirate_config *c, struct tg_ack_near *n, struct tg_ack_far *f,
		   const struct tg_pkt *p, uint64_t arrival, uint64_t departure)
{
	const uint8_t kind = p->tcp_flags & (TG_TCP_SYN | TG_TCP_RST | TG_TCP_ACK);
	uint32_t end = p->seq + p->payload_len;
	enum step step;

	if (kind == TG_TCP_SYN)
		syn_departs(c, n, f, p, arrival, departure);
	if (kind != TG_TCP_ACK)
		return;
	if (n->handshake) /* it arrived before the SYN departed: the gap cannot be told */
		n->handshake = 0;
	if (p->payload_len == 0 && n->seq_known)
		return;
	step = n->seq_known ? step_of(n->seq_end, end) : STEP_AHEAD;
	if (step == STEP_NONE)
		return;
	n->seq_end = end;
	n->seq_known = 1;
	if (p->payload_len == 0)
		return;
	/* An acknowledgement overtook it in here, so whose answer that was cannot be told. */
	if (step == STEP_WILD || (n->ack_known && step_of(p->ack, n->ack) != STEP_NONE))
		n->state = TG_ACK_IDLE;
	else
		open_exchange(c, n, f, arrival, departure);
}

bool tg_ack_finish(struct tg_ack_near *n, const struct tg_ack_far *f, struct tg_sample *out)
{
	if (n->state != TG_ACK_RESP)
		return false;
	emit(n, f, out);
	return true;
}
