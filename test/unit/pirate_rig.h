/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of lib/pirate share: one flow under one estimator, and random numbers.
 */
#ifndef PIRATE_RIG_H
#define PIRATE_RIG_H

#include <netinet/in.h>
#include <string.h>

#include <check.h>

#include "state.h"

#define ACK TG_TCP_ACK
#define PSH (TG_TCP_ACK | TG_TCP_PSH)

#define US UINT64_C(1000) /* at 1 GHz */
#define MS (1000 * US)
#define S  (1000 * MS)

/* One flow under one estimator. */
struct rig {
	struct tg_pirate_config c;
	struct tg_pirate_server *server; /* NULL: the flow stands alone */
	uint8_t estimator;
	union {
		uint64_t words[TG_PIRATE_NEAR / 8];
		struct tg_gap_near gap;
	} near;
	uint64_t far[TG_PIRATE_FAR / 8];
	struct tg_sample last;
	uint64_t samples, exchanges, sum; /* sum: ticks, weighted */
};

static inline void start_at(struct rig *r, uint8_t estimator, enum tg_gap_rule rule, uint64_t hz)
{
	struct tg_pirate_params params = {.estimator = estimator, .gap_rule = rule};
	struct tg_clock clock = tg_clock_init(hz);

	memset(r, 0, sizeof(*r));
	r->c = tg_pirate_compile(&params, &clock);
	r->estimator = estimator;
}

static inline void start(struct rig *r, uint8_t estimator)
{
	start_at(r, estimator, TG_GAP_MODE_SUM, 1000000000);
}

/* Memory for a sample that holds what another one left there: all of it must be written. */
static inline struct tg_sample used_memory(void)
{
	struct tg_sample s;

	memset(&s, 1, sizeof(s));
	return s;
}

static inline bool count(struct rig *r, bool sampled, const struct tg_sample *s)
{
	if (sampled) {
		ck_assert(s->kind != TG_ESTIMATOR_ECHO || !s->unsure);
		r->last = *s;
		r->samples++;
		r->exchanges += r->last.count;
		r->sum += r->last.latency * r->last.count;
	}
	return sampled;
}

static inline bool arrive(struct rig *r, const struct tg_pkt *p, uint64_t t)
{
	struct tg_sample s = used_memory();
	bool sampled = tg_pirate_arrive(&r->c, r->server, r->estimator, r->near.words, r->far, p, t,
					&s);

	return count(r, sampled, &s);
}

static inline void depart(struct rig *r, const struct tg_pkt *p, uint64_t arrival,
			  uint64_t departure)
{
	tg_pirate_depart(&r->c, r->server, r->estimator, r->near.words, r->far, p, arrival,
			 departure);
}

static inline bool finish(struct rig *r)
{
	struct tg_sample s = used_memory();
	bool sampled = tg_pirate_finish(&r->c, r->server, r->estimator, r->near.words, r->far, &s);

	return count(r, sampled, &s);
}

static inline bool pass(struct rig *r, const struct tg_pkt *p, uint64_t t)
{
	bool sampled = arrive(r, p, t);

	depart(r, p, t, t);
	return sampled;
}

static inline struct tg_pkt segment(uint8_t flags, uint32_t seq, uint16_t len, uint32_t ack)
{
	struct tg_pkt p = {.tcp_flags = flags, .seq = seq, .payload_len = len, .ack = ack};

	p.key.protocol = IPPROTO_TCP;
	return p;
}

/* A segment passes; true when it closed an exchange. */
static inline bool tcp(struct rig *r, uint64_t t, uint8_t flags, uint32_t seq, uint16_t len,
		       uint32_t ack)
{
	struct tg_pkt p = segment(flags, seq, len, ack);

	return pass(r, &p, t);
}

static inline bool is_open(const struct rig *r, uint64_t *since)
{
	return tg_pirate_open(r->estimator, r->near.words, r->far, since);
}

/* Own generator (xorshift64*), so that a seed gives the same test everywhere. */
static uint64_t rnd_state __attribute__((unused));

static inline uint64_t rnd(void)
{
	rnd_state ^= rnd_state >> 12;
	rnd_state ^= rnd_state << 25;
	rnd_state ^= rnd_state >> 27;
	return rnd_state * UINT64_C(2685821657736338717);
}

static inline double uniform(void)
{
	return (double)(rnd() >> 11) * 0x1p-53;
}

/* mean with coefficient of variation cv: sum of 12 uniforms, so within 6 cv of the mean. */
static inline double about(double mean, double cv)
{
	double u = -6;

	for (int i = 0; i < 12; i++)
		u += uniform();
	return mean * (1 + cv * u);
}

#endif
