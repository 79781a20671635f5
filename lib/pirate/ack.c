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
#include "ack_late.h"
#include "echo.h"

#define LOSSES_MOST 32
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

/* The acknowledgement number is ahead. at: where the line has what it echoes; 0: no line. */
static inline void advances(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			    struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
			    uint64_t at, uint64_t arrival, bool echo)
{
	bool pure = p->payload_len == 0 && !(p->tcp_flags & TG_TCP_FIN);

	if (pure && shows_loss(n, p))
		is_lost(s, n);
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
	if (n->state != TG_ACK_RESP)
		return;
	if (echo)
		note_echo(c, n, f, p, pure, at, arrival);
	else
		f->late.advance += p->ack - n->ack;
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
static void ack_sample(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
		       const struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out,
		       bool echo)
{
	uint64_t waited = tg_ack_waited(n);

	out->latency = out->hi = waited;
	out->lo = n->prompt && waited > c->delayed ? waited - c->delayed : 0;
	out->kind = TG_ESTIMATOR_ACK;
	out->confidence = n->prompt ? TG_CONFIDENCE_FAIR : TG_CONFIDENCE_LOW;
	out->bound = false;
	if (!echo)
		tg_ack_judge(c, s, n, f, out);
}

/*
 * An answer that was lost and sent again looks like one of a server that took so long: by its last
 * timestamp it left after the server's timer, 200 ms and the path. Where this server's clients are seen to lose
 * packets, as many exchanges that fit the timer, and are unlike its others, have no S: more than four
 * a loss seen are the server's own.
 */
static bool may_be_resent(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			  const struct tg_ack_far *f, int32_t served)
{
	int64_t over = (int64_t)served - c->rto;

	if (s->losses == 0 || s->usual == 0 || over < 0 || (uint32_t)served / 8 < s->usual ||
	    over > (int64_t)c->rto_over + 2 * (int64_t)f->path + 8 * (int64_t)s->usual)
		return false;
	s->losses--;
	return true;
}

/* S, if it is the server's own time; and what is usual for this server. One flow, one voice of 32, which
 * says at most four times what was usual. */
static void judge_server(const struct tg_pirate_config *c, struct tg_pirate_server *s,
			 const struct tg_ack_far *f, struct tg_sample *out)
{
	int32_t served = units_of(c, out->server), usual = (int32_t)s->usual;

	if (may_be_resent(c, s, f, served)) {
		out->server = TG_SAMPLE_UNKNOWN;
		return;
	}
	if (usual > 0)
		usual += (least(served, 4 * usual) - usual) / 32;
	else
		usual = served;
	s->usual = (uint32_t)most(usual, 1);
}

static void emit(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		 struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out, bool echo)
{
	memset(out, 0, sizeof(*out));
	out->server = TG_SAMPLE_UNKNOWN;
	if (!echo || !tg_echo_sample(c, s, n, f, out))
		ack_sample(c, s, n, f, out, echo);
	if (n->lost)
		out->server = TG_SAMPLE_UNKNOWN;
	else if (out->kind == TG_ESTIMATOR_ACK)
		out->server = server_time(c, f, out->latency);
	if (s != NULL && out->server != TG_SAMPLE_UNKNOWN && !out->unsure)
		judge_server(c, s, f, out);
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
	else
		n->lost = 0;
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

/* Of a request that nothing was acknowledged of, the end again: it or its answer was lost. What does not
 * reach to the end may have been overtaken. */
static void sent_again(struct tg_pirate_server *s, struct tg_ack_near *n, uint32_t end)
{
	if (s != NULL)
		s->repeated++;
	if (n->state == TG_ACK_REQ && end == n->seq_end)
		is_lost(s, n);
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
		if (p->payload_len > 0 && !is_probe(n, p))
			sent_again(s, n, end);
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

/* As open_exchange would be called when it departs; a part of a request that is open already is none. */
bool tg_ack_opens(const struct tg_ack_near *n, const struct tg_pkt *p)
{
	if (p->payload_len == 0 || (p->tcp_flags & TG_TCP_RST))
		return false;
	if (n->seq_known && step_of(n->seq_end, p->seq + p->payload_len) == STEP_NONE)
		return false;
	return n->state != TG_ACK_REQ || (n->ack_known && step_of(n->ack, p->ack) == STEP_AHEAD);
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
