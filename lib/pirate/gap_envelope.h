/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The envelope rule: latency of a flow whose headers are hidden (QUIC, WireGuard, ESP), from the
 * arrival and the size of its packets, proof against clients that pause. doc/pirate.md says why it
 * is as it is, and what no such rule can know.
 *
 * Small packets that come again and again are acknowledgements, the others are parts of requests.
 * Two kinds of sample, each with buckets of its own in one histogram:
 *   A  request -> the last of the acknowledgements that follow it without a pause
 *   G  request -> next request, where no acknowledgement came between
 * An epoch's estimate is the lowest mode that carries weight, of A or of G. The flow's first gap from
 * one size to another is its handshake, and bounds what can be an answer from below.
 *
 * Units: ticks, and logarithms of ticks (log2.h). Sizes in bytes, IP header included.
 * Thread-safety: the flow's lcore. No call divides, locks or allocates but tg_envelope_estimate, which
 * runs once an epoch and whose work is bounded by ten buckets.
 * Source: ours; the histogram is Pirate's (arXiv 2505.14358).
 */
#ifndef TG_GAP_ENVELOPE_H
#define TG_GAP_ENVELOPE_H

#include "state.h"

#define TG_ENVELOPE_SIZES       3
#define TG_ENVELOPE_FIRST_EPOCH 64       /* samples */
#define TG_ENVELOPE_ASKS        (3 * 16) /* sixteenths: samples before a request is known to be one */
#define TG_ENVELOPE_EPOCH       128      /* .. of later ones: they rest on what came before, too */

enum tg_envelope_kind { TG_ENVELOPE_A = 0, TG_ENVELOPE_G, TG_ENVELOPE_KINDS };

enum tg_envelope_state {
	TG_ENVELOPE_NEW = 0, /* the handshake is not over */
	TG_ENVELOPE_IDLE,    /* no request open */
	TG_ENVELOPE_PART,    /* a request's full-size packet: more of it follows */
	TG_ENVELOPE_REQUEST, /* a request, nothing after it */
	TG_ENVELOPE_FIRST,   /* .. one acknowledgement */
	TG_ENVELOPE_LATER,   /* .. several */
	TG_ENVELOPE_ENDED,   /* .. and then one after a pause */
};

struct tg_envelope_near {
	uint64_t request;   /* ticks: arrival of the request's newest packet */
	uint32_t waited;    /* 2^gap_shift ticks: from there to the answer's last acknowledgement */
	uint16_t limit;     /* a packet up to this size is an acknowledgement; 0: none is */
	uint16_t largest;   /* size of the largest packet */
	uint16_t since;     /* samples since the last epoch */
	uint8_t state;      /* enum tg_envelope_state */
	uint8_t handshake;  /* packets seen while it was not over */
	uint8_t learn;      /* packets until sizes are counted again */
	uint8_t used;       /* buckets */
	uint8_t due;        /* samples that end the epoch */
	uint8_t shakes : 1; /* its first packet begins a handshake: TCP's, QUIC's */
	uint8_t answered : 1; /* the client spoke after the request, or acknowledged */
};
_Static_assert(sizeof(struct tg_envelope_near) <= TG_PIRATE_NEAR, "near area");

#define TG_ENVELOPE_KIND_G 0x8000

struct tg_envelope_far {
	/* centres: the log2 of the mean in 2^-10 octaves, with TG_ENVELOPE_KIND_G for G */
	struct tg_gap_far gaps;
	uint16_t size[TG_ENVELOPE_SIZES]; /* the smallest seen, rising; 0: free */
	uint8_t seen[TG_ENVELOPE_SIZES];  /* packets of that size, halved together with .. */
	uint8_t packets;                  /* .. all packets counted */
	uint16_t total;                   /* samples, halved with the counts */
	uint32_t step;                    /* 2^gap_shift ticks: between the answer's last two
					   * acknowledgements */
	uint8_t epochs;                   /* that its server heard of, up to 32 */
	uint16_t floor;                   /* log2 of the handshake's gap; 0: not seen */
};
_Static_assert(sizeof(struct tg_envelope_far) <= TG_PIRATE_FAR, "far area");

/* What a flow's gaps say. */
struct tg_envelope_estimate {
	uint64_t mean, median; /* ticks */
	uint64_t least;        /* ticks: the fastest of the kept, about */
	uint64_t floor;        /* ticks: least that an answer takes; 0 unknown */
	uint64_t before;       /* ticks: of requests of the same burst, before the last one */
	uint32_t samples;      /* of the kept */
	uint16_t all;          /* samples of both kinds */
	uint16_t spread;       /* log2: standard deviation of the kept */
	uint8_t share;         /* percent of the kind's samples that were kept */
	uint8_t kind;          /* enum tg_envelope_kind */
	uint8_t confidence;    /* TG_CONFIDENCE_* */
	bool batch;            /* most requests are sent in bursts */
};

/* A packet was forwarded. Packets that come in the wrong order are not looked at. */
void tg_envelope_depart(const struct tg_pirate_config *c, struct tg_envelope_near *n,
			struct tg_envelope_far *f, const struct tg_pkt *p, uint64_t arrival);

/* Would a packet of that size open an exchange? As tg_pirate_opens. */
bool tg_envelope_opens(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
		       const struct tg_envelope_far *f, uint16_t size, uint64_t arrival);

/* floor: ticks, least handshake gap of the server's flows, 0 for unknown. false: too few samples. */
bool tg_envelope_estimate(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
			  const struct tg_envelope_far *f, uint64_t floor,
			  struct tg_envelope_estimate *out);

/*
 * The epoch ends, or the flow does: the estimate as a sample with L in [handshake's gap, L], and a new
 * epoch. false: fewer than twelve samples tell the answer. A sample of TG_CONFIDENCE_LOW may be the answer with a
 * pause after it: an upper bound, no figure to publish. Nor is any where less than a third of the server's samples are in
 * epochs that are sure.
 */
bool tg_envelope_close(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		       struct tg_envelope_near *n, struct tg_envelope_far *f,
		       struct tg_sample *out);

/*
 * A packet arrives: the client has heard an answer, as far as gaps tell. Not by more of a request, nor
 * within a batch.
 */
static inline void tg_envelope_hears(const struct tg_pirate_config *c, struct tg_envelope_near *n,
				     uint16_t size, uint64_t arrival)
{
	bool asks = n->state == TG_ENVELOPE_REQUEST ||
		    (n->state == TG_ENVELOPE_PART && size <= n->limit);

	if (asks && arrival > n->request && (arrival - n->request) >> c->gap_shift != 0)
		n->answered = 1;
}

/*
 * Is a request without answer, and since when? Only of a client that has asked before: what comes once, or
 * now and then, may want none.
 */
static inline bool tg_envelope_open(const struct tg_envelope_near *n,
				    const struct tg_envelope_far *f, uint64_t *since)
{
	*since = n->request;
	return !n->answered && f->total >= TG_ENVELOPE_ASKS &&
	       (n->state == TG_ENVELOPE_REQUEST || n->state == TG_ENVELOPE_PART);
}

/* As tg_pirate_arrive. In line: nearly always there is nothing to do. */
static inline bool tg_envelope_arrive(const struct tg_pirate_config *c,
				      struct tg_pirate_server *server, struct tg_envelope_near *n,
				      struct tg_envelope_far *f, struct tg_sample *out)
{
	return n->since >= n->due && tg_envelope_close(c, server, n, f, out);
}

#endif
