/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the estimators keep in a flow entry, and how pirate.c calls them. All zero is a flow of which
 * nothing was seen yet.
 *
 * Thread-safety: the flow's lcore.
 */
#ifndef TG_PIRATE_STATE_H
#define TG_PIRATE_STATE_H

#include "tg_pirate.h"

/* ack and echo: one machine; echo also keeps what the timestamps tell */

enum tg_ack_state {
	TG_ACK_IDLE = 0, /* no request known */
	TG_ACK_REQ,      /* request sent, no answer seen */
	TG_ACK_RESP,     /* the client has acknowledged some of the answer */
};

/* Whole bytes where a packet writes what it then reads: a processor does not forward a part. */
struct tg_ack_near {
	uint64_t t_req;        /* ticks: arrival of the request's last new payload */
	uint32_t seq_end;      /* behind the last payload byte forwarded */
	uint32_t ack;          /* highest acknowledgement number */
	uint32_t waited_low;   /* ticks from t_req to the last advance so far (RESP): .. */
	uint8_t waited_high;   /* .. tg_ack_waited; a minute at 18 GHz */
	uint8_t asked;         /* what the client wrote since the last exchange, up to 255 */
	uint8_t state;         /* enum tg_ack_state */
	uint8_t seq_known : 1; /* seq_end is valid */
	uint8_t ack_known : 1; /* ack is valid */
	uint8_t handshake : 1; /* one SYN departed, its ACK has not come yet */
	uint8_t setup : 1;     /* SYN seen, first exchange not closed yet */
	uint8_t prompt : 1;    /* waited ends at a packet that only acknowledges */
	uint8_t batch : 1;     /* requests were in flight together */
	uint8_t lost : 1; /* something was lost on the way: when the server answered is not known */
	uint8_t several : 1; /* several answers: v_end, from and end are the first one's */
};
_Static_assert(sizeof(struct tg_ack_near) <= TG_PIRATE_NEAR, "near area");

/* What an ack flow's client lets pass before it speaks. */
struct tg_ack_late {
	uint32_t advance; /* bytes of the answer that were acknowledged */
	uint32_t first;   /* 2^gap_shift ticks: from t_req to the first advance */
	uint16_t usual;   /* log2: wait for answers that the next request acknowledged */
	uint8_t seen;     /* .. such answers, up to 255 */
	bool speaks;      /* the client was seen to acknowledge by itself */
	bool mute;        /* .. and not to, when it paused for longer than it may */
};

#define TG_BEHIND 13

/*
 * Durations are in units of 2^gap_shift ticks (32..64 ns), so that a minute fits in 32 bits.
 *
 * The line: a server's timestamp v was nominally written at anchor + (v - v_anchor) periods, as seen
 * from here. d, q_lo and q_hi are distances from it.
 */
struct tg_ack_far {
	uint64_t anchor; /* ticks; the SYN's departure until its ACK came */
	uint32_t isn;    /* of the SYN, when isn_known */
	uint32_t path;   /* handshake gap, or less when exchanges show that; if path_known */
	uint32_t own;    /* the request's stay in here */
	uint8_t isn_known : 1;
	uint8_t path_known : 1;
	uint8_t raised : 1; /* of echo flows: d was given up once, and what came since does not bear it out */
	uint8_t before;  /* .. answers in a row that seem to predate their request */
	uint16_t behind; /* .. and how late the promptest of them came, 2^TG_BEHIND units */
	union {
		struct tg_ack_late late;      /* of ack flows */
		struct {                      /* of echo flows */
			uint8_t possible : 4; /* periods that no exchange has ruled out */
			uint8_t period : 3;   /* 1..4, as in tg_pirate_server; 0: not known */
			uint8_t anchored : 1; /* the line's fields are valid */
			uint8_t fresh : 1;    /* the anchor is an exchange or handshake, not moved
					        * on yet */
			uint8_t again : 1;    /* anchored a second time: the first ruled out every
					        * period */
			uint8_t hopeless : 1; /* no period fits: ack for good */
			uint8_t q_known : 1;
			uint8_t voted : 1;
			uint8_t stamped : 1; /* v_end, from and end are this answer's */
			uint8_t pure : 1;    /* end is at a packet that only acknowledges */
			uint8_t spans : 1;   /* the advance at end may span more than one segment */
			uint16_t place;      /* where in its interval an answer ends, 2^-15 */
			uint32_t v_anchor;   /* the timestamp at anchor */
			uint32_t span;  /* v_anchor was written between anchor - span and anchor */
			uint32_t v_end; /* timestamp echoed at the last advance, and .. */
			uint32_t end;   /* .. when that came, from t_req */
			int32_t from;   /* from t_req to the line's v_end */
			int32_t d;      /* least (arrival - line): clock offset and the fastest trip
					    * to us */
			int32_t q_lo;   /* clock offset less the trip to the server: at least */
			int32_t q_hi;   /* .. and at most, when q_known */
			uint8_t d_near; /* echoes within a period of d, up to 127 */
			uint8_t q_near; /* requests within a period of q_lo, up to 127 */
			uint8_t echoes; /* exchanges that timestamps told, up to 255 */
			uint8_t placed; /* exchanges in it, up to 255 */
		};
	};
};
_Static_assert(sizeof(struct tg_ack_far) <= TG_PIRATE_FAR, "far area");

static inline uint64_t tg_ack_waited(const struct tg_ack_near *n)
{
	return (uint64_t)n->waited_high << 32 | n->waited_low;
}

static inline void set_waited(struct tg_ack_near *n, uint64_t waited)
{
	n->waited_low = (uint32_t)waited;
	n->waited_high = (uint8_t)(waited >> 32);
}

bool tg_ack_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		   uint64_t arrival, struct tg_sample *out);
bool tg_echo_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		    uint64_t arrival, struct tg_sample *out);
void tg_ack_depart(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		   struct tg_ack_near *n, struct tg_ack_far *f, const struct tg_pkt *p,
		   uint64_t arrival, uint64_t departure);
bool tg_ack_opens(const struct tg_ack_near *n, const struct tg_pkt *p);
bool tg_ack_finish(const struct tg_pirate_config *c, struct tg_ack_near *n, struct tg_ack_far *f,
		   struct tg_sample *out);
bool tg_echo_finish(const struct tg_pirate_config *c, struct tg_pirate_server *s,
		    struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out);

/* gap */

#define TG_GAP_BUCKETS 10

struct tg_gap_near {
	uint64_t last;    /* ticks: arrival of the newest packet forwarded */
	uint16_t since;   /* gaps since the last epoch */
	uint16_t due;     /* .. and how many of them before the epoch is looked at (again) */
	uint16_t cut;     /* log2: the last epoch's causal gaps were not shorter; 0: no epoch yet */
	uint16_t carried; /* sixteenths: causal gaps that the last epoch left in the histogram */
	uint8_t used;     /* buckets */
	bool started;     /* last is valid */
	bool open;        /* the newest packet was forwarded, and its gap is not in the histogram */
};
_Static_assert(sizeof(struct tg_gap_near) <= TG_PIRATE_NEAR, "near area");

/* The histogram, by rising gap. Unused buckets are UINT16_MAX wide once the flow has started. */
struct tg_gap_far {
	uint16_t centre[TG_GAP_BUCKETS]; /* log2 (log2.h) of the mean of its gaps */
	uint16_t count[TG_GAP_BUCKETS];  /* sixteenths, so that halving loses nothing that counts */
};
_Static_assert(sizeof(struct tg_gap_far) <= TG_PIRATE_FAR, "far area");

bool tg_gap_arrive(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   uint64_t arrival, struct tg_sample *out);
void tg_gap_depart(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   uint64_t arrival);
bool tg_gap_opens(const struct tg_pirate_config *c, const struct tg_gap_near *n, uint64_t arrival);
bool tg_gap_finish(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   struct tg_sample *out);

#endif
