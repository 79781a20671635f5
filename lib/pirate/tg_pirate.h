/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Response latency from client->server packets alone.
 *
 * L, `latency`: what the client waits, from the last new payload of a request to the end of its
 * answer. S, `server`: what the server takes. By the server's own timestamps, in which path and clock
 * offset cancel, where the handshake showed them; else L less the request's time in here and the path,
 * the connection's handshake gap (SYN's departure to its ACK's arrival), at least 0. Unknown
 * (TG_SAMPLE_UNKNOWN) when no handshake was seen (of gap: TCP's or QUIC's, and never by the published
 * rules), when its SYN departed twice, and for an exchange in less than half of that gap, which then was
 * not the path.
 *
 *   gap  arrival times only: Pirate's dynamic histogram of gaps; an epoch ends at a number of
 *        causal gaps and yields L = sum of the kept gaps / number of causal gaps
 *        (proportional mode sum). The paper's weights are not public: a reconstruction.
 *   ack  clear TCP header: the answer ends at the last advance of the acknowledgement number
 *        before the next new payload; when only that payload's packet advances it, there.
 *   echo ack, and TCP timestamps (RFC 7323): the answer ends when the server sent what the client
 *        acknowledges, as the timestamp that the client echoes tells, so that think time and
 *        delayed acknowledgements drop out. Where an exchange's timestamps tell nothing it is a
 *        sample of kind ack.
 *
 * Every sample carries the interval [lo, hi] in which L lies if the estimator's assumptions hold, and a
 * confidence. Requests that were sent before the answer to the first of them (pipelining, HTTP/2)
 * are one sample, `batch`: from the newest of them to the end of the last answer.
 *
 * A packet is seen twice: tg_pirate_arrive before it is forwarded (may close an exchange),
 * tg_pirate_depart after the driver accepted it (may open one). What was dropped on the way
 * therefore opens nothing, and its retransmission counts as new. Several packets of a flow may
 * arrive before the first of them departs (a burst): an exchange or handshake that lies wholly
 * between is then not seen, rather than measured wrongly.
 *
 * State lives in the flow entry's private areas; it is zeroed when the entry is inserted.
 *
 * Thread-safety: the flow's lcore. Time in ticks (tg_clock.h).
 * Source: Pirate, "Measuring Response Latencies Under Asymmetric Routing", arXiv 2505.14358.
 */
#ifndef TG_PIRATE_H
#define TG_PIRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_clock.h"
#include "tg_packet.h"

enum tg_estimator {
	TG_ESTIMATOR_AUTO =
		0, /* echo where TCP shows timestamps, ack where it shows none, else gap */
	TG_ESTIMATOR_GAP,
	TG_ESTIMATOR_ACK,
	TG_ESTIMATOR_OFF,
	TG_ESTIMATOR_ECHO,
	TG_ESTIMATOR_COUNT
};

enum tg_gap_rule {
	TG_GAP_ENVELOPE = 0, /* shared structure of the flow's gaps, proof against pauses. Default */
	TG_GAP_MODE_SUM,     /* proportional mode sum, the published estimate */
	TG_GAP_TOP_MODE,     /* the causal mode alone */
};

/* What measures a flow that carries others' (a tunnel), as tg_pirate_choose says it: how many wait in it is not
 * to be seen. */
#define TG_PIRATE_CARRIER (TG_ESTIMATOR_COUNT + 1)

#define TG_PIRATE_LONGEST_S 60 /* an exchange takes no longer than this */

/* What the operator sets, per service. */
struct tg_pirate_params {
	enum tg_estimator estimator;
	enum tg_gap_rule gap_rule;
};

/* The same, compiled for one clock. */
struct tg_pirate_config {
	struct tg_clock clock;
	uint64_t longest; /* ticks: an exchange or gap above this is idle time */
	int32_t rto;      /* 2^gap_shift ticks: no server sends an answer again sooner, */
	int32_t rto_over; /* nor later by more than this, and what its path and it take */
	int32_t prompt;   /* 2^gap_shift ticks: a pure ACK this soon after data was not delayed */
	uint64_t delayed; /* ticks: and none is delayed by more */
	int32_t timer[2]; /* 2^gap_shift ticks: by so much they are, Linux; Windows and BSD */
	uint64_t window;  /* ticks: after which echo allows for drift */
	struct {
		uint64_t ticks; /* 2^-16 of a tick: a unit of timestamps */
		uint64_t over;  /* 2^47 / ticks of a unit */
		uint32_t most;  /* units of timestamps in 20 minutes */
		int32_t gaps;   /* 2^gap_shift ticks: the same unit */
	} period[4];
	uint8_t estimator;
	uint8_t gap_rule;
	uint8_t gap_shift; /* gaps below 2^gap_shift ticks (32..64 ns) are one batch */
};

#define TG_SAMPLE_UNKNOWN UINT64_MAX

struct tg_sample {
	uint64_t latency; /* ticks, L: within [lo, hi] */
	uint64_t lo, hi;  /* ticks: L's interval */
	uint64_t server;  /* ticks, S, or TG_SAMPLE_UNKNOWN */
	uint64_t grain;   /* ticks: where timestamps alone tell L, what they count in; else 0 */
	uint32_t count;   /* exchanges it stands for: 1, or the causal gaps of a gap epoch */
	uint8_t pieces; /* of an exchange, what the client wrote one by one: parts of a request, or
			     * requests of their own, as they are if it is a batch */
	uint8_t kind;   /* TG_ESTIMATOR_GAP, TG_ESTIMATOR_ACK or TG_ESTIMATOR_ECHO */
	uint8_t confidence; /* TG_CONFIDENCE_* */
	bool unsure; /* no figure to publish: a pause may be in it, or few of the server's are sure */
	bool batch; /* several requests were in flight: not one request's latency */
	bool bound; /* the answer may have ended later: L is a lower bound */
	bool setup; /* first exchange of a connection whose SYN was seen */
};

/*
 * How far a sample can be trusted. LOW: it may be wrong by any amount (the end is where the client
 * spoke next, after any pause; an epoch whose causal gaps may be pauses). FAIR: right but for what
 * the estimator cannot see (a delayed acknowledgement, a lower bound, a batch). GOOD: the interval holds.
 */
#define TG_CONFIDENCE_LOW  0
#define TG_CONFIDENCE_FAIR 1
#define TG_CONFIDENCE_GOOD 2

/*
 * What the flows of one server taught one worker: all zero at first. One worker writes, and only through
 * the calls below; others may read single words (relaxed). A flow moves it by a bounded weight.
 */
struct tg_pirate_server {
	uint64_t floor;         /* ticks: least handshake gap; 0: none seen */
	uint64_t repeated;      /* requests, or parts of them, that clients sent again */
	uint64_t syns_repeated; /* SYNs sent again: the server, or its answer, did not arrive */
	uint64_t no_period;     /* exchanges with timestamps of no clear period: fell back to ack */
	uint64_t shook;         /* ticks: departure of the SYN that ... */
	uint32_t shook_v;       /* ... was answered with this timestamp, for ... */
	uint32_t shook_by;      /* ... a client whose address hashes to this; 0: none */
	int32_t drift;   /* of the server's timestamps: what a period takes more, 2^-32: the ... */
	int32_t rate[3]; /* ... median of three clients' ... */
	uint32_t rate_by[3];
	uint32_t usual; /* 2^gap_shift ticks: mean of S, newer ones count more; 0: none yet */
	/* Jitter, 2^gap_shift ticks: how much longer than its fastest a trip is, and of what path. */
	int32_t excess; /* mean of handshakes */
	uint32_t trips; /* mean of their paths */
	int32_t late;   /* mean of answers that seem to be acknowledged at once */
	uint32_t later; /* mean of their paths */
	uint32_t share; /* the lesser excess, 2^-16 of its path */
	uint32_t reach; /* that of handshakes, 2^-16 of theirs */
	uint16_t place; /* where in its interval an answer ends, 2^-15; 0: not learnt */
	uint8_t period; /* 1: 1 us, 2: 1 ms, 3: 4 ms, 4: 10 ms a unit of timestamps; 0: not learnt */
	uint8_t rate_at;
	uint8_t votes[4];  /* connections for each period, halved together */
	uint8_t cookie[4]; /* low bits of the newest handshakes' timestamps, + 1 */
	uint8_t cookie_at;
	uint8_t trips_n; /* clients in it, up to 64 */
	uint8_t late_n;  /* answers in late, up to 64 */
	/* samples by gaps: of epochs that were sure of themselves, and of all; halved together */
	uint16_t gaps_sure, gaps_all;
	uint8_t losses; /* answers that may still be taken for ones that were sent again */
};

/* Private areas of a flow entry (tg_flow.near, tg_flow.far): */
#define TG_PIRATE_NEAR 24
#define TG_PIRATE_FAR  64

struct tg_pirate_config tg_pirate_compile(const struct tg_pirate_params *params,
					  const struct tg_clock *clock);

/* The estimator a new flow gets from its first packet: TG_ESTIMATOR_OFF, or a value for the calls
 * below, which says by which rule as well: a reload may change the rule, a flow keeps its own. */
uint8_t tg_pirate_choose(const struct tg_pirate_config *c, const struct tg_pkt *p);

/*
 * A packet of the flow arrived at `arrival`. server: of the flow's server, or NULL: then each flow
 * stands alone. Returns true and fills *out when it closed an
 * exchange (ack) or an epoch (gap). Time that goes back, retransmissions, keep-alive and
 * zero-window probes, duplicate ACKs, RST and padding close nothing.
 */
bool tg_pirate_arrive(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		      uint8_t estimator, void *near, void *far, const struct tg_pkt *p,
		      uint64_t arrival, struct tg_sample *out);

/* The same packet was accepted by the driver at `departure`. */
void tg_pirate_depart(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		      uint8_t estimator, void *near, void *far, const struct tg_pkt *p,
		      uint64_t arrival, uint64_t departure);

/* The flow ends (FIN, RST, idle) or the capture does: a pending exchange whose answer was seen,
 * or a gap epoch with three causal gaps, is closed. As tg_pirate_arrive. */
bool tg_pirate_finish(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		      uint8_t estimator, void *near, void *far, struct tg_sample *out);

/*
 * Would this packet open an exchange if it departed: the first of a request? Changes nothing. For gap flows
 * a guess: after a gap as long as an answer, or a handshake, takes.
 */
bool tg_pirate_opens(const struct tg_pirate_config *c, uint8_t estimator, const void *near,
		     const void *far, const struct tg_pkt *p, uint64_t arrival);

/*
 * Open (request sent, no answer seen), and since when. Certain for ack and echo. A gap flow's is answered
 * by the client's next word, as far as anyone can tell (tg_pirate_guesses): a client that has asked
 * several times, and never under the published rules.
 */
bool tg_pirate_open(uint8_t estimator, const void *near, const void *far, uint64_t *since);
/* Is what is open a guess, since the headers are hidden? */
bool tg_pirate_guesses(uint8_t estimator);
/* How long, in ticks, the packet was held here before that one went to the server. */
uint64_t tg_pirate_held(const struct tg_pirate_config *c, uint8_t estimator, const void *far);

#endif
