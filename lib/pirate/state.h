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

/* ack */

enum tg_ack_state {
	TG_ACK_IDLE = 0, /* no request known */
	TG_ACK_REQ,      /* request sent, no answer seen */
	TG_ACK_RESP,     /* the client has acknowledged some of the answer */
};

struct tg_ack_near {
	uint64_t t_req;         /* ticks: arrival of the request's last new payload */
	uint64_t waited : 48;   /* ticks from t_req to the last advance so far (RESP) */
	uint64_t state : 2;     /* enum tg_ack_state */
	uint64_t seq_known : 1; /* seq_end is valid */
	uint64_t ack_known : 1; /* ack is valid */
	uint64_t handshake : 1; /* one SYN departed, its ACK has not come yet */
	uint64_t setup : 1;     /* SYN seen, first exchange not closed yet */
	uint32_t seq_end;       /* behind the last payload byte forwarded */
	uint32_t ack;           /* highest acknowledgement number */
};
_Static_assert(sizeof(struct tg_ack_near) <= TG_PIRATE_NEAR, "near area");

/* Touched at SYN, handshake ACK, request and sample; a pure ACK leaves this line alone. The echo
 * estimator's per-connection offsets find room behind it. */
struct tg_ack_far {
	uint64_t departure;     /* ticks: of the request's last new payload */
	uint64_t syn_departure; /* ticks */
	uint64_t path;          /* ticks: handshake gap, when path_known */
	uint32_t isn;           /* of the SYN, when isn_known */
	bool isn_known;
	bool path_known;
};
_Static_assert(sizeof(struct tg_ack_far) <= TG_PIRATE_FAR, "far area");

bool tg_ack_arrive(const struct tg_pirate_config *c, struct tg_ack_near *n, struct tg_ack_far *f,
		   const struct tg_pkt *p, uint64_t arrival, struct tg_sample *out);
void tg_ack_depart(const struct tg_pirate_config *c, struct tg_ack_near *n, struct tg_ack_far *f,
		   const struct tg_pkt *p, uint64_t arrival, uint64_t departure);
bool tg_ack_finish(struct tg_ack_near *n, const struct tg_ack_far *f, struct tg_sample *out);

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
bool tg_gap_finish(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   struct tg_sample *out);

#endif
