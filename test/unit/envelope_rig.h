/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One flow under the envelope rule, and what its tests ask of it.
 */
#ifndef ENVELOPE_RIG_H
#define ENVELOPE_RIG_H

#include <math.h>
#include <netinet/in.h>
#include <string.h>

#include "gap_envelope.h"
#include "log2.h"
#include "pirate_rig.h"
#include "unit.h"

#define REQUEST 200
#define SMALL   52

/* One flow under the envelope rule, at 1 GHz. */
struct flow {
	struct tg_pirate_config c;
	struct tg_envelope_near near;
	struct tg_envelope_far far;
	struct tg_pirate_server *server; /* NULL: the flow stands alone */
	struct tg_sample last;
	struct tg_envelope_estimate e;
	double sum; /* ms, weighted: of good samples */
	uint64_t samples, good, count;
	uint8_t protocol;
};

static inline void take(struct flow *f, bool sampled)
{
	if (!sampled)
		return;
	f->samples++;
	f->count += f->last.count;
	if (f->last.confidence == TG_CONFIDENCE_GOOD) {
		f->good += f->last.count;
		f->sum += (double)f->last.latency / MS * f->last.count;
	}
}

static inline void put_at(struct flow *f, uint64_t t, uint16_t size)
{
	struct tg_pkt p = {.ip_len = size};

	p.key.protocol = f->protocol;
	take(f, tg_envelope_arrive(&f->c, f->server, &f->near, &f->far, &f->last));
	tg_envelope_depart(&f->c, &f->near, &f->far, &p, t);
}

/* ms, on a clock that starts at ten seconds */
static inline void put(struct flow *f, double ms, uint16_t size)
{
	put_at(f, 10 * S + (uint64_t)(ms * MS + 0.5), size);
}

static inline void begin(struct flow *f)
{
	struct tg_pirate_params params = {TG_ESTIMATOR_GAP, TG_GAP_ENVELOPE};
	struct tg_clock clock = tg_clock_init(1000000000);

	memset(f, 0, sizeof(*f));
	f->c = tg_pirate_compile(&params, &clock);
	f->protocol = IPPROTO_TCP;
}

/* .. with a handshake of 1 ms, and acknowledgements known by their size. Time is 100 ms then. */
static inline void begin_known(struct flow *f)
{
	begin(f);
	put(f, 0, 60);
	put(f, 1, SMALL);
	put(f, 2, SMALL);
	put(f, 3, SMALL);
	put(f, 4, REQUEST);
	ck_assert_uint_eq(f->near.limit, SMALL);
}

static inline bool estimate(struct flow *f)
{
	return tg_envelope_estimate(&f->c, &f->near, &f->far, 0, &f->e);
}

static inline double ms_of(uint64_t ticks)
{
	return (double)ticks / MS;
}

static inline void check_near(double have, double want, double part)
{
	ck_assert_msg(fabs(have / want - 1) <= part, "%g, not %g", have, want);
}

/* ms: of the one bucket of that kind; 0: there is none. */
static inline double bucket(const struct flow *f, unsigned int kind)
{
	double ms = 0;

	for (unsigned int i = 0; i < f->near.used; i++) {
		uint16_t centre = f->far.gaps.centre[i];

		if ((centre >= TG_ENVELOPE_KIND_G) != (kind == TG_ENVELOPE_G))
			continue;
		ck_assert(ms == 0);
		ms = ms_of(tg_log2_ticks((uint16_t)(centre << 1), f->c.gap_shift));
	}
	return ms;
}

#endif
