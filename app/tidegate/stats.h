/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one worker counts. Cumulative; control takes differences.
 *
 * Thread-safety: one writer, the worker; readers on other threads load single words (relaxed).
 */
#ifndef TG_STATS_H
#define TG_STATS_H

#include <stdint.h>

#include "tg_burst.h"
#include "tg_gate.h"
#include "tg_hist.h"
#include "tg_pirate.h"

/*
 * Ages of requests that are certainly at the server, as the sweep over the flow table finds them
 * (each about once a second): 0: below 1 ms; k: below 2^k ms; the last: all above.
 */
#define TG_AGE_BINS 16

struct tg_ages {
	uint32_t round; /* of the sweep that counted them; 0: none */
	uint32_t n[TG_AGE_BINS];
};

/* One server as seen by one worker. */
struct tg_server_stats {
	uint64_t flows;   /* flows placed on it */
	uint64_t packets; /* accepted by the driver */
	uint64_t bytes;
	uint64_t exchanges[TG_ESTIMATOR_COUNT]; /* by the estimator that found them */
	uint64_t setup;         /* first exchanges of TLS connections: not in the histograms */
	uint64_t unsure;        /* exchanges known only by an upper bound: not in them either */
	struct tg_hist latency; /* L */
	struct tg_hist server;  /* S */
	struct tg_pirate_server pirate;
	/* what choosing a server needs */
	uint64_t picked; /* flows that the policy would have placed here, of those whose server was seen */
	uint64_t requests;  /* exchanges that opened */
	uint64_t seen;      /* those whose answer, or end, has shown */
	uint64_t pieces;    /* pieces that clients wrote, beside the first one of an exchange: .. */
	uint64_t joined;    /* .. of those, requests in flight together with another */
	uint64_t carried;   /* of seen: in tunnels */
	uint64_t seen_ns;   /* sum over them: request's departure to when it showed */
	uint64_t crowd_256; /* sum over them: requests there a worker of the server, times 256, as
			       control told it then, at least 256 */
	uint32_t waiting;   /* requests there now; of hidden headers: not seen answered */
	uint32_t fresh;     /* new connections that have asked nothing yet */
	struct tg_ages age[2]; /* of the round that is running and the one before, by round & 1 */
} __attribute__((aligned(64)));

struct tg_worker_stats {
	uint64_t received, received_bytes;
	uint64_t forwarded, forwarded_bytes;
	uint64_t replied;  /* answers of our own: ARP, ND, ping, ICMP errors */
	uint64_t made;     /* packets of our own that forwarded and dropped count too: auctions' */
	uint64_t taken_in; /* received for control: answers to health checks */
	uint64_t handed_over;  /* to the owning worker, by ring */
	uint64_t stateless;    /* forwarded by consistent hash, without a flow entry */
	uint64_t repicked;     /* flows whose server went away */
	uint64_t compared;     /* new flows whose server was seen: nothing is sent */
	uint64_t elsewhere;    /* of those: the policy would have picked another server */
	uint64_t icmp_errors;  /* sent on to the server of the flow that they quote */
	uint64_t too_big_sent; /* ICMP errors of our own, to clients */
	uint64_t mss_lowered;  /* SYNs whose segment size was */
	uint64_t fragments;    /* later ones, sent where their first one went */
	uint64_t to_kernel;    /* for no service: by ring to the kernel's twin of the port */
	uint64_t control_lost; /* control's and the kernel's frames that no driver took in time */
	uint64_t refused;      /* packets that the driver did not take at the first try */
	uint64_t turns, busy_turns; /* of the loop; busy: received something */
	uint64_t dropped[TG_DROP_REASON_COUNT];
	struct tg_gate_stats gate;
} __attribute__((aligned(64)));

/* A level that goes up and down. Its writer alone calls this. */
static inline void tg_stat_set32(uint32_t *p, uint32_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELAXED);
}

/* The same for a counter. */
static inline void tg_stat_add(uint64_t *p, uint64_t n)
{
	__atomic_store_n(p, *p + n, __ATOMIC_RELAXED);
}

static inline uint64_t tg_stat_read(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#endif
