/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ack: a request's answer has ended at the last advance of the acknowledgement number before the
 * next request. echo: the same machine, which also notes the timestamps that the client echoes; its
 * variant is a compile-time constant.
 *
 *	IDLE -- new payload departs --> REQ -- acknowledgement advances --> RESP
 *	RESP -- new payload arrives --> a sample, IDLE; when it departs, REQ again
 *
 * Sequence numbers are compared modulo 2^32 (RFC 9293 section 3.4); a step beyond the largest window
 * (2^30, RFC 7323 section 2.3) is not believed: the flow is taken up afresh from there.
 */
#include "echo.h"

#define WINDOW_MAX  (1u << 30)
#define ONE_SEGMENT 536 /* RFC 9293 section 3.7.1: the least maximum; more may have come as two */

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
	uint64_t gap = arrival - f->anchor;

	n->handshake = 0;
	f->path_known = gap <= c->longest / 4; /* no: idle, or time went back */
	f->path = f->path_known ? (uint32_t)(gap >> c->gap_shift) : 0;
}

static inline void set_waited(struct tg_ack_near *n, uint64_t waited)
{
	n->waited_low = (uint32_t)waited;
	n->waited_high = (uint16_t)(waited >> 32);
}

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
static inline void note_echo(const struct tg_pirate_config *c, struct tg_ack_near *n,
			     struct tg_ack_far *f, const struct tg_pkt *p, bool pure, uint64_t at,
			     uint64_t arrival)
{
	uint64_t end = arrival - n->t_req;

	f->stamped = false;
	if (!(p->flags & TG_PKT_TS) || end > c->longest / 2)
		return;
	f->v_end = p->tsecr;
	f->end = (uint32_t)(end >> c->gap_shift);
	f->from = units_of(c, at - n->t_req);
	f->stamped = true;
	f->pure = pure;
	f->spans = p->ack - n->ack > ONE_SEGMENT;
}

/* The acknowledgement number is ahead. at: where the line has what it echoes; 0: no line. */
static inline void advances(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			    struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			    uint64_t at, uint64_t arrival, bool echo)
{
	bool pure = p->payload_len == 0 && !(p->tcp_flags & TG_TCP_FIN);

	if (n->state == TG_ACK_REQ) {
		if (echo && at != 0 && echo_predates(c, s, n, f, at)) {
			n->batch = 1; /* it answers an older request, which was still open */
			return;
		}
		answer_begins(c, n, pure, arrival);
	} else if (n->state == TG_ACK_RESP && p->ack - n->ack != 1) {
		/* by one: the server's FIN far more often than an answer's last byte; it may come
		 * much later */
		answer_goes_on(c, n, pure, arrival);
	} else {
		return;
	}
	if (echo && n->state == TG_ACK_RESP)
		note_echo(c, n, f, p, pure, at, arrival);
}

static inline void acknowledge(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			       struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			       uint64_t at, uint64_t arrival, bool echo)
{
	switch (step_of(n->ack, p->ack)) {
	case STEP_NONE:
		return;
	case STEP_WILD:
		n->state = TG_ACK_IDLE;
		n->batch = 0;
		break;
	case STEP_AHEAD:
		advances(c, s, n, f, p, at, arrival, echo);
		break;
	}
	n->ack = p->ack;
}

/*
 * S: what the path and the time in the gateway leave of L; 0 when a jittering path leaves nothing. An
 * exchange in less than half the handshake's gap shows that this gap was not the path (a SYN-ACK
 * lost, a SYN that waited for a place in the server's queue).
 */
static uint64_t server_time(const struct tg_pirate_config *c, const struct tg_ack_far *f,
			    uint64_t latency)
{
	uint64_t own = ticks_of(c, (int32_t)f->own), path = ticks_of(c, (int32_t)f->path);
	uint64_t served = latency > own ? latency - own : 0;

	if (!f->path_known || served < path / 2)
		return TG_SAMPLE_UNKNOWN;
	return served > path ? served - path : 0;
}

/* The exchange as acknowledgements alone show it. */
static void ack_sample(const struct tg_pirate_config *c, const struct tg_ack_near *n,
		       struct tg_sample *out)
{
	uint64_t waited = tg_ack_waited(n);

	out->latency = out->hi = waited;
	out->lo = n->prompt && waited > c->delayed ? waited - c->delayed : 0;
	out->kind = TG_ESTIMATOR_ACK;
	out->confidence = n->prompt ? TG_CONFIDENCE_FAIR : TG_CONFIDENCE_LOW;
	out->bound = false;
}

static void emit(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		 struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out, bool echo)
{
	out->server = TG_SAMPLE_UNKNOWN;
	if (!echo || !tg_echo_sample(c, s, n, f, out))
		ack_sample(c, n, out);
	if (out->server == TG_SAMPLE_UNKNOWN)
		out->server = server_time(c, f, out->latency);
	out->count = 1;
	out->batch = n->batch;
	out->setup = n->setup;
	n->setup = 0;
	n->batch = 0;
	n->state = TG_ACK_IDLE;
}

/* The first acknowledgement of a flow. */
static void first_ack(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		      struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		      uint64_t arrival, bool echo)
{
	n->ack = p->ack;
	n->ack_known = 1;
	if (!n->handshake)
		return;
	learn_path(c, n, f, arrival);
	if (echo && f->path_known && (p->flags & TG_PKT_TS))
		tg_echo_handshake(c, s, f, p, arrival);
}

static inline bool arrives(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			   uint64_t arrival, struct tg_sample *out, bool echo)
{
	uint64_t at = 0;

	if ((p->tcp_flags & (TG_TCP_SYN | TG_TCP_RST | TG_TCP_ACK)) != TG_TCP_ACK || is_probe(n, p))
		return false;
	if (!n->ack_known) {
		first_ack(c, s, n, f, p, arrival, echo);
		return false;
	}
	if (echo && (p->flags & TG_PKT_TS) && f->period != 0) {
		at = echo_line(c, s, f, p->tsecr, arrival);
		echo_passes(c, f, at, arrival);
	}
	acknowledge(c, s, n, f, p, at, arrival, echo);
	if (n->state != TG_ACK_RESP || !is_new_payload(n, p))
		return false;
	emit(c, s, n, f, out, echo);
	return true;
}

bool tg_ack_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		   uint64_t arrival, struct tg_sample *out)
{
	return arrives(c, s, n, f, p, arrival, out, false);
}

bool tg_echo_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		    uint64_t arrival, struct tg_sample *out)
{
	return arrives(c, s, n, f, p, arrival, out, true);
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
	departure -= arrival;
	f->own = departure <= c->longest / 4 ? (uint32_t)(departure >> c->gap_shift) : 0;
}

/* A SYN starts the flow, also where the entry knows an older connection of the same ports. */
static void syn_departs(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			uint64_t arrival, uint64_t departure)
{
	if (f->isn_known && f->isn == p->seq) {
		n->handshake = 0; /* sent again */
		if (s != NULL)
			s->syns_repeated++;
		return;
	}
	*n = (struct tg_ack_near){
		.seq_end = p->seq + 1 + p->payload_len,
		.seq_known = 1,
		.handshake = 1,
		.setup = 1,
	};
	*f = (struct tg_ack_far){.isn = p->seq, .isn_known = 1, .anchor = departure};
	if (p->payload_len > 0) /* RFC 7413 */
		open_exchange(c, n, f, arrival, departure);
}

void tg_ack_depart(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		   uint64_t arrival, uint64_t departure)
{
	const uint8_t kind = p->tcp_flags & (TG_TCP_SYN | TG_TCP_RST | TG_TCP_ACK);
	uint32_t end = p->seq + p->payload_len;
	enum step step;

	if (kind == TG_TCP_SYN)
		syn_departs(c, s, n, f, p, arrival, departure);
	if (kind != TG_TCP_ACK)
		return;
	if (n->handshake) /* it arrived before the SYN departed: the gap cannot be told */
		n->handshake = 0;
	if (p->payload_len == 0 && n->seq_known)
		return;
	step = n->seq_known ? step_of(n->seq_end, end) : STEP_AHEAD;
	if (step == STEP_NONE) {
		if (s != NULL && p->payload_len > 0 && !is_probe(n, p))
			s->repeated++;
		return;
	}
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

static bool finish(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		   struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out, bool echo)
{
	if (n->state != TG_ACK_RESP)
		return false;
	emit(c, s, n, f, out, echo);
	return true;
}

bool tg_ack_finish(const struct tg_pirate_config *c, struct tg_ack_near *n, struct tg_ack_far *f,
		   struct tg_sample *out)
{
	return finish(c, NULL, n, f, out, false);
}

bool tg_echo_finish(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out)
{
	return finish(c, s, n, f, out, true);
}
