/* SPDX-License-Identifier: BSD-3-Clause */
#include "choice/vouch.h"

#include <stdbool.h>

#include "tg_queueing.h"

#define FADE_NS  10e9 /* gap flows tell once in a hundred exchanges */
#define MOST_OFF .1   /* the count may be off by this share and is still one */
#define SURE     .4 /* where gaps are sure of less than two exchanges in five they are mostly wrong */
#define TOLD     .25 /* they tell late, and a short flow's nothing */
#define IS_SEEN  .5  /* less: flows of a kind that does not show when it waits */

static void fade(double *sum, double kept, uint64_t more)
{
	*sum = *sum * kept + (double)more;
}

void tg_vouch_take(struct tg_vouch *v, const struct tg_vouch_more *more, double dt_ns)
{
	double kept = tg_fade(dt_ns, FADE_NS);

	fade(&v->seen, kept, more->seen);
	fade(&v->measured, kept, more->measured);
	fade(&v->unsure, kept, more->unsure);
	fade(&v->pieces, kept, more->pieces);
	fade(&v->joined, kept, more->joined);
	fade(&v->carried, kept, more->carried);
}

static bool may_be_pauses(const struct tg_vouch *v)
{
	double told = v->measured + v->unsure;

	return v->measured < SURE * told || told < TOLD * v->seen;
}

enum tg_requests_kind tg_vouch_kind(const struct tg_vouch *v)
{
	bool together = v->pieces > MOST_OFF * v->measured, pauses = may_be_pauses(v);

	if (v->carried > MOST_OFF * v->seen || v->seen < IS_SEEN * v->measured ||
	    (together && pauses))
		return TG_REQUESTS_UNKNOWN;
	if (together)
		return TG_REQUESTS_AT_LEAST;
	return pauses ? TG_REQUESTS_AT_MOST : TG_REQUESTS_COUNTED;
}

const char *tg_requests_kind_name(enum tg_requests_kind kind)
{
	static const char *const name[] = {
		[TG_REQUESTS_UNKNOWN] = "unknown",
		[TG_REQUESTS_COUNTED] = "counted",
		[TG_REQUESTS_AT_LEAST] = "at-least",
		[TG_REQUESTS_AT_MOST] = "at-most",
	};

	return name[kind];
}

double tg_vouch_each(const struct tg_vouch *v)
{
	return v->measured > 1e-9 ? 1 + v->joined / v->measured : 1;
}
