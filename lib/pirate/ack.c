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
#include "ack.h"

#include "ack_late.h"

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

/* Several pieces were written, requests of their own perhaps: what the first answer took. */
static uint64_t of_one(const struct tg_pirate_config *c, const struct tg_ack_near *n,
		       const struct tg_ack_far *f, uint64_t latency, bool echo)
{
	uint64_t first = (uint64_t)f->late.first << c->gap_shift;

	return !echo && n->asked > 1 && first < latency ? first : latency;
}

void tg_ack_emit(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		 struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out, bool echo)
{
	memset(out, 0, sizeof(*out));
	out->server = TG_SAMPLE_UNKNOWN;
	if (!echo || !tg_echo_sample(c, s, n, f, out))
		ack_sample(c, s, n, f, out, echo);
	if (n->lost)
		out->server = TG_SAMPLE_UNKNOWN;
	else if (out->kind == TG_ESTIMATOR_ACK)
		out->server = server_time(c, f, of_one(c, n, f, out->latency, echo));
	if (s != NULL && out->server != TG_SAMPLE_UNKNOWN && !out->unsure)
		judge_server(c, s, f, out);
	out->count = 1;
	out->batch = n->batch || n->several;
	out->pieces = n->asked;
	n->asked = 0;
	out->setup = n->setup;
	n->setup = 0;
	n->batch = n->several = 0;
	n->state = TG_ACK_IDLE;
}

/* The first acknowledgement of a flow. */
void tg_ack_first(const struct tg_pirate_config *c, struct tg_pirate_server *s,
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

bool tg_ack_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		   uint64_t arrival, struct tg_sample *out)
{
	return ack_arrives(c, s, n, f, p, arrival, out, false);
}

bool tg_echo_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		    uint64_t arrival, struct tg_sample *out)
{
	return ack_arrives(c, s, n, f, p, arrival, out, true);
}

/* A SYN starts the flow, also where the entry knows an older connection of the same ports. */
void tg_ack_syn_departs(const struct tg_pirate_config *c, struct tg_pirate_server *s,
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
void tg_ack_sent_again(struct tg_pirate_server *s, struct tg_ack_near *n, uint32_t end)
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
	ack_departs(c, s, n, f, p, arrival, departure);
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
	tg_ack_emit(c, s, n, f, out, echo);
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
