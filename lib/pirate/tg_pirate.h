/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Response latency from client->server packets alone.
 *
 * L, `latency`: what the client waits, from the last new payload of a request to the end of its
 * answer. S, `server`: what the server takes, L less the request's time in here and the path, the
 * connection's handshake gap (SYN's departure to its ACK's arrival), at least 0. Unknown
 * (TG_SAMPLE_UNKNOWN) for gap, when no handshake was seen, when its SYN departed twice, and for an
 * exchange in less than half of that gap, which then was not the path.
 *
 *   gap  arrival times only: Pirate's dynamic histogram of gaps; an epoch ends at a number of
 *        causal gaps and yields L = sum of the kept gaps / number of causal gaps
 *        (proportional mode sum). The paper's weights are not public: a reconstruction.
 *   ack  clear TCP header: the answer ends at the last advance of the acknowledgement number
 *        before the next new payload; when only that payload's packet advances it, there.
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
	TG_ESTIMATOR_AUTO = 0, /* ack where the TCP header is clear, else gap */
	TG_ESTIMATOR_GAP,
	TG_ESTIMATOR_ACK,
	TG_ESTIMATOR_OFF,
	TG_ESTIMATOR_COUNT
};

enum tg_gap_rule {
	TG_GAP_MODE_SUM = 0, /* proportional mode sum, the published estimate */
	TG_GAP_TOP_MODE,     /* the causal mode alone */
};

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
	uint8_t estimator;
	uint8_t gap_rule;
	uint8_t gap_shift; /* gaps below 2^gap_shift ticks (32..64 ns) are one batch */
};

#define TG_SAMPLE_UNKNOWN UINT64_MAX

struct tg_sample {
	uint64_t latency; /* ticks, L */
	uint64_t server;  /* ticks, S, or TG_SAMPLE_UNKNOWN */
	uint32_t count;   /* exchanges it stands for: 1, or the causal gaps of a gap epoch */
	uint8_t kind;     /* TG_ESTIMATOR_GAP or TG_ESTIMATOR_ACK */
	bool setup;       /* first exchange of a connection whose SYN was seen */
};

/* Private areas of a flow entry (tg_flow.near, tg_flow.far): */
#define TG_PIRATE_NEAR 24
#define TG_PIRATE_FAR  64

struct tg_pirate_config tg_pirate_compile(const struct tg_pirate_params *params,
					  const struct tg_clock *clock);

/* The estimator a new flow gets: TG_ESTIMATOR_GAP, _ACK or _OFF. */
uint8_t tg_pirate_choose(const struct tg_pirate_config *c, const struct tg_pkt *p);

/*
 * A packet of the flow arrived at `arrival`. Returns true and fills *out when it closed an
 * exchange (ack) or an epoch (gap). Time that goes back, retransmissions, keep-alive and
 * zero-window probes, duplicate ACKs, RST and padding close nothing.
 */
bool tg_pirate_arrive(const struct tg_pirate_config *c, uint8_t estimator, void *near, void *far,
		      const struct tg_pkt *p, uint64_t arrival, struct tg_sample *out);

/* The same packet was accepted by the driver at `departure`. */
void tg_pirate_depart(const struct tg_pirate_config *c, uint8_t estimator, void *near, void *far,
		      const struct tg_pkt *p, uint64_t arrival, uint64_t departure);

/* The flow ends (FIN, RST, idle) or the capture does: a pending exchange whose answer was seen,
 * or a gap epoch with three causal gaps, is closed. As tg_pirate_arrive. */
bool tg_pirate_finish(const struct tg_pirate_config *c, uint8_t estimator, void *near, void *far,
		      struct tg_sample *out);

/* Certainly open (request sent, no answer seen), and since when; for gap flows false. */
bool tg_pirate_open(uint8_t estimator, const void *near, const void *far, uint64_t *since);

#endif
