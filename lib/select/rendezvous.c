/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rendezvous or highest-random-weight hashing (D. Thaler, C. Ravishankar, IEEE/ACM ToN 6(1), 1998):
 * every server draws a number from the flow's hash and its own; the best has the flow. When a
 * server goes, only its flows move; when its weight grows, flows only move to it. Weights by the
 * logarithmic method (J. Resch, "New Hashing Algorithms for Data Storage", SDC 2015): least
 * -log(u) / weight, which is an exponential variable of that rate. All in integers, so every
 * gateway gets the same. It looks at every server: for many of them take Maglev.
 */
#include "group.h"

#define FRACTION 26 /* bits after the point of a logarithm */

/*
 * -log2((x + 1) / 2^32) with FRACTION bits. Between powers of two
 * log2(1 + f) = f + f (1 - f) (A - B f - C f (1 - f)), exact in value and slope at both ends (so
 * that small results, which decide among many servers, have no relative error) and at f = 1/2;
 * off by less than 0.0005.
 */
static uint64_t minus_log2(uint32_t x)
{
	const int64_t a = 29708761, b = 11008710, c = 5589835; /* of 2^FRACTION */
	uint64_t y = (uint64_t)x + 1;
	unsigned int exponent = 63 - (unsigned int)__builtin_clzll(y);
	int64_t one = INT64_C(1) << FRACTION;
	int64_t f = (int64_t)((y << (32 - exponent)) - (UINT64_C(1) << 32)) >> (32 - FRACTION);
	int64_t hump = (f * (one - f)) >> FRACTION;
	int64_t bend = a - ((b * f + c * hump) >> FRACTION);

	return ((uint64_t)(32 - exponent) << FRACTION) -
	       (uint64_t)(f + ((hump * bend) >> FRACTION));
}

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	uint16_t best = g->server[0].id;
	uint64_t least = UINT64_MAX, least_weight = 1;

	(void)l;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct tg_select_server *s = &g->server[i];
		uint64_t drawn = minus_log2((uint32_t)(tg_select_mix(hash ^ s->name_hash) >> 32));
		uint64_t weight = tg_select_weight(v, s);

		/* drawn / weight < least / its weight; 32 bits by 24 */
		if (least == UINT64_MAX || drawn * least_weight < least * weight) {
			best = s->id;
			least = drawn;
			least_weight = weight;
		}
	}
	return best;
}

const struct tg_policy_ops tg_policy_rendezvous = {.name = "rendezvous", .pick = pick};
