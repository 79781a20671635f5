/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a flow's samples say, once an epoch: which mode is the answer, how long it takes, and how far
 * that can be believed. Divides freely; bounded by ten buckets.
 */
#include <string.h>

#include "bucket.h"
#include "gap_modes.h"
#include "log2.h"

#define LEAST_SAMPLES 12   /* kept, for a number at all */
#define BURST         8192 /* log2(16): G so far below A may be a burst's spacing .. */
#define BURST_A_MS    20   /* .. and is, if A is too short for a delayed acknowledgement */
#define TIGHT         1229 /* 0.6 octave: more is no single thing that takes its time */
#define NARROW        1024 /* 0.5 octave */
#define SHARE_A       35   /* percent of its kind that a good A holds, .. */
#define SHARE_G       60   /* .. a G, .. */
#define SHARE_FAR     75   /* .. a fair G far above the handshake, .. */
#define SHARE_ALONE   90   /* .. or without one: it may be a burst's spacing */
#define BURSTS        4  /* one sample in so many that is too soon for an answer: a G may be none */
#define ALIKE         4  /* samples of a kind that tell how long it takes */
#define TIMER_MS      38 /* the least timer of delayed acknowledgements, Linux's, with some room */
#define TIMERS        16 /* one in so many of a flow's samples is that late: its client pauses */
#define TIMER_COUNTS  8  /* in an answer of less than so many timers one is an error that counts */
#define BUCKET_HALF   269   /* log2(1.1): samples of a bucket are this near its centre, mostly */
#define TURNS         3     /* so many exchanges without acknowledgement to one with */
#define SURE_PART     3     /* one sample in so many of a server's is in a sure epoch, .. */
#define GAPS_LEAST    256   /* .. once so many came; */
#define GAPS_MOST     16384 /* then they are halved */
#define VOICES        32    /* epochs of one flow that count in that */
#define FLOOR_US      20    /* without a handshake nothing faster is an answer; */
#define FLOOR_PART    4096  /* log2(4): with one, nothing so much faster than that */

/* Both kinds, and what the handshake says. */
struct evidence {
	struct tg_gap_view view[TG_ENVELOPE_KINDS];
	struct tg_gap_kept kept[TG_ENVELOPE_KINDS];
	bool found[TG_ENVELOPE_KINDS];
	bool ambiguous;
	bool whole;     /* what is kept is one wide thing, no mode */
	uint16_t floor; /* log2: of the handshake's gap; 0: unknown */
	uint16_t least; /* log2: no answer is faster */
	uint32_t all;   /* sixteenths: samples of both kinds, without what was set aside */
};

/* The timers of delayed acknowledgements: 40 ms (Linux), 200 ms (Windows, BSD). */
static bool looks_delayed(const struct tg_pirate_config *c, uint64_t ticks)
{
	uint64_t ms = c->clock.hz / 1000;

	return (ticks >= 38 * ms && ticks <= 52 * ms) || (ticks >= 195 * ms && ticks <= 220 * ms);
}

/* Packets in bursts, none of which is known to acknowledge only: requests, or a large answer's acknowledgements? */
static bool is_stream(const struct evidence *e, unsigned int kind)
{
	return kind == TG_ENVELOPE_G && e->view[kind].aside * BURSTS > e->view[kind].all;
}

/* The fastest of a kind, about: what a bucket holds lies around its centre. */
static uint64_t fastest(const struct tg_pirate_config *c, const struct tg_gap_view *v)
{
	return tg_log2_ticks((uint16_t)(v->centre[v->from] - BUCKET_HALF), c->gap_shift);
}

/*
 * A client that pauses acknowledges when its timer ends: acknowledgements that are so much later than the fastest
 * answer tell what answers take, less the timer. What is a third above that has timers in it, or pauses that were
 * too short for one.
 */
static bool holds_timers(const struct tg_pirate_config *c, const struct evidence *e, uint64_t mean)
{
	const struct tg_gap_view *a = &e->view[TG_ENVELOPE_A], *g = &e->view[TG_ENVELOPE_G];
	uint64_t timer = c->clock.hz / 1000 * TIMER_MS, late, time = 0;
	uint32_t count = 0;

	if (a->all == 0 || mean >= timer * TIMER_COUNTS)
		return false;
	late = fastest(c, a) + timer;
	if (g->all != 0 && fastest(c, g) + timer < late)
		late = fastest(c, g) + timer;
	for (unsigned int i = a->from; i < a->used; i++) {
		uint64_t ticks = tg_log2_ticks(a->centre[i], c->gap_shift);

		if (ticks < late)
			continue;
		count += a->count[i];
		time += a->count[i] * ticks;
	}
	return count != 0 && count * TIMERS >= e->all && mean * 3 > (time / count - timer) * 4;
}

static uint8_t confidence_of(const struct tg_pirate_config *c, const struct evidence *e,
			     const struct tg_envelope_estimate *o)
{
	const struct tg_gap_kept *k = &e->kept[o->kind];
	bool far = e->floor == 0 || k->centre > e->floor + TG_GAP_FAR;

	if (holds_timers(c, e, o->mean))
		return TG_CONFIDENCE_LOW;
	if (e->whole)
		return TG_CONFIDENCE_FAIR;
	if (e->ambiguous || k->centre < e->least || o->samples < LEAST_SAMPLES ||
	    is_stream(e, o->kind) || !tg_gap_stands_apart(&e->view[o->kind], k))
		return TG_CONFIDENCE_LOW;
	if (o->kind == TG_ENVELOPE_A) {
		if (far && looks_delayed(c, o->median))
			return TG_CONFIDENCE_LOW;
		return o->share >= SHARE_A && k->spread <= TIGHT ? TG_CONFIDENCE_GOOD
								 : TG_CONFIDENCE_LOW;
	}
	if (k->spread > TIGHT || o->share < SHARE_G)
		return TG_CONFIDENCE_LOW;
	/* Answers, or a pause in every exchange? Only one narrow mode speaks for itself. */
	if (far)
		return o->share >= (e->floor != 0 ? SHARE_FAR : SHARE_ALONE) && k->spread <= NARROW
			       ? TG_CONFIDENCE_FAIR
			       : TG_CONFIDENCE_LOW;
	return TG_CONFIDENCE_GOOD;
}

/* The lower of the two; of a burst's spacing and an answer, the answer. */
static unsigned int choose(const struct tg_pirate_config *c, struct evidence *e)
{
	uint32_t a = e->kept[TG_ENVELOPE_A].centre, g = e->kept[TG_ENVELOPE_G].centre;

	if (!e->found[TG_ENVELOPE_G])
		return TG_ENVELOPE_A;
	if (!e->found[TG_ENVELOPE_A])
		return TG_ENVELOPE_G;
	e->ambiguous = g + BURST < a;
	if (e->ambiguous &&
	    tg_log2_ticks((uint16_t)a, c->gap_shift) < c->clock.hz / 1000 * BURST_A_MS)
		return TG_ENVELOPE_A;
	return a <= g ? TG_ENVELOPE_A : TG_ENVELOPE_G;
}

static uint16_t log_of(const struct tg_pirate_config *c, uint64_t ticks)
{
	return ticks >> c->gap_shift == 0 ? 0 : tg_log2_of(ticks, c->gap_shift);
}

/* The flow's own handshake says how far its client is; its server's best one guards against a slow one,
 * and stands in where none was seen. */
static void set_floor(const struct tg_pirate_config *c, struct evidence *e, uint16_t own,
		      uint64_t server)
{
	uint16_t best = log_of(c, server);

	e->floor = own != 0 ? own : best;
	if (best == 0 || (own != 0 && own < best))
		best = own;
	if (best == 0)
		e->least = log_of(c, c->clock.hz / 1000 * FLOOR_US / 1000);
	else
		e->least = (uint16_t)(best > FLOOR_PART ? best - FLOOR_PART : 0);
}

/* Both kinds' samples, and their modes. false: there is none. */
static bool look(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
		 const struct tg_envelope_far *f, uint64_t floor, struct evidence *e)
{
	memset(e, 0, sizeof(*e));
	set_floor(c, e, f->floor, floor);
	for (unsigned int kind = 0; kind < TG_ENVELOPE_KINDS; kind++) {
		tg_gap_look(n, f, kind, &e->view[kind]);
		tg_gap_cut_below(&e->view[kind], e->least);
		e->all += e->view[kind].all;
	}
	for (unsigned int kind = 0; kind < TG_ENVELOPE_KINDS; kind++)
		e->found[kind] = tg_gap_find_kept(&e->view[kind], e->all, e->floor, &e->kept[kind]);
	return e->found[TG_ENVELOPE_A] || e->found[TG_ENVELOPE_G];
}

/* What the kept ones of a kind say. */
static void tell(const struct tg_pirate_config *c, const struct evidence *e, unsigned int kind,
		 struct tg_envelope_estimate *out)
{
	const struct tg_gap_view *v = &e->view[kind];
	const struct tg_gap_kept *k = &e->kept[kind];

	out->kind = (uint8_t)kind;
	out->samples = (uint16_t)(k->count / ONE);
	out->share = (uint8_t)(k->count * 100 / v->all);
	out->spread = k->spread;
	out->floor = e->floor == 0 ? 0 : tg_log2_ticks(e->floor, c->gap_shift);
	out->median = tg_log2_ticks(tg_gap_median(v, k), c->gap_shift);
	out->least = tg_log2_ticks(v->centre[k->first], c->gap_shift);
	out->mean = tg_gap_mean(v, k, c->gap_shift);
	out->before = tg_gap_before(v, k, c->gap_shift);
	out->batch = v->aside > v->all;
	out->confidence = confidence_of(c, e, out);
}

/* The mean of all samples of a kind, ticks. */
static uint64_t mean_of(const struct tg_pirate_config *c, const struct tg_gap_view *v)
{
	struct tg_gap_kept all = {.first = v->from, .last = v->used - 1, .count = v->all};

	return v->all < ALIKE * ONE ? 0 : tg_gap_mean(v, &all, c->gap_shift);
}

/* Do answers and gaps take about as long? Else clients pause, and acknowledge before they do. */
static bool kinds_agree(const struct tg_pirate_config *c, const struct evidence *e)
{
	uint64_t a = mean_of(c, &e->view[TG_ENVELOPE_A]), g = mean_of(c, &e->view[TG_ENVELOPE_G]);

	return a == 0 || g == 0 || (a < 2 * g && g < 2 * a);
}

/*
 * Who takes turns acknowledges by itself only where it pauses, a timer's delay after the answer. What comes
 * sooner came without a pause: G alone, when it is most of the exchanges.
 */
static bool pauses_acknowledge(const struct tg_pirate_config *c, const struct evidence *e)
{
	uint64_t a = mean_of(c, &e->view[TG_ENVELOPE_A]), g = mean_of(c, &e->view[TG_ENVELOPE_G]);

	return a >= 2 * g && g != 0 &&
	       e->view[TG_ENVELOPE_A].all * TURNS <= e->view[TG_ENVELOPE_G].all;
}

/* A mode is not to be believed: is all of it one thing? The kind that more of it is stands for both. */
static void tell_whole(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
		       const struct tg_envelope_far *f, struct evidence *e,
		       struct tg_envelope_estimate *out)
{
	unsigned int kind = e->view[TG_ENVELOPE_A].all > e->view[TG_ENVELOPE_G].all ? TG_ENVELOPE_A
										    : TG_ENVELOPE_G;
	struct tg_gap_view *v = &e->view[kind];

	if (e->kept[out->kind].spread <= NARROW || is_stream(e, out->kind))
		return;
	if (kinds_agree(c, e)) {
		tg_gap_look(n, f, TG_ENVELOPE_KINDS, v);
		tg_gap_cut_below(v, e->least);
	} else if (!pauses_acknowledge(c, e)) {
		return;
	}
	if (!tg_gap_find_whole(v, e->floor, c->gap_shift, &e->kept[kind]))
		return;
	e->whole = true;
	tell(c, e, kind, out);
}

bool tg_envelope_estimate(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
			  const struct tg_envelope_far *f, uint64_t floor,
			  struct tg_envelope_estimate *out)
{
	struct evidence e;

	memset(out, 0, sizeof(*out));
	if (!look(c, n, f, floor, &e))
		return false;
	for (unsigned int kind = 0; kind < TG_ENVELOPE_KINDS; kind++)
		out->all = (uint16_t)(out->all + (e.view[kind].all + e.view[kind].aside) / ONE);
	tell(c, &e, choose(c, &e), out);
	if (out->confidence == TG_CONFIDENCE_LOW)
		tell_whole(c, n, f, &e, out);
	return true;
}

/* Of the epoch's samples those that are exchanges, at least one. */
static uint32_t exchanges(const struct tg_envelope_estimate *e, unsigned int since)
{
	uint32_t n = since * (uint32_t)e->samples / e->all;

	return n != 0 ? n : 1;
}

/* S: L without the path, which a handshake tells, of protocols that begin by one; or less where answers
 * come sooner. Much less shows that this was not the path. */
static uint64_t server_time(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
			    const struct tg_envelope_far *f, const struct tg_envelope_estimate *e)
{
	uint64_t path = f->floor == 0 ? 0 : tg_log2_ticks(f->floor, c->gap_shift);

	if (!n->shakes || path == 0 || e->least < path / 2)
		return TG_SAMPLE_UNKNOWN;
	path = path < e->least ? path : e->least;
	return e->mean > path ? e->mean - path : 0;
}

/*
 * Where few of a server's epochs are sure of themselves, these are so by chance: none is published. One flow
 * has a bounded voice.
 */
static bool stands(struct tg_pirate_server *s, struct tg_envelope_far *f, unsigned int since,
		   uint8_t confidence)
{
	if (s == NULL)
		return true;
	if (f->epochs < VOICES) {
		f->epochs++;
		if (s->gaps_all >= GAPS_MOST) {
			s->gaps_all /= 2;
			s->gaps_sure /= 2;
		}
		s->gaps_all = (uint16_t)(s->gaps_all + since);
		if (confidence != TG_CONFIDENCE_LOW)
			s->gaps_sure = (uint16_t)(s->gaps_sure + since);
	}
	return s->gaps_all < GAPS_LEAST || s->gaps_sure * SURE_PART >= s->gaps_all;
}

/* What is not sure is at most this: the answer, and a pause after it. */
bool tg_envelope_close(const struct tg_pirate_config *c, struct tg_pirate_server *server,
		       struct tg_envelope_near *n, struct tg_envelope_far *f, struct tg_sample *out)
{
	unsigned int since = n->since;
	struct tg_envelope_estimate e;

	n->since = 0;
	n->due = TG_ENVELOPE_EPOCH;
	if (since == 0 || !tg_envelope_estimate(c, n, f, server != NULL ? server->floor : 0, &e) ||
	    e.samples < LEAST_SAMPLES)
		return false;
	memset(out, 0, sizeof(*out));
	out->latency = e.mean;
	out->lo = e.floor < e.mean ? e.floor : e.mean;
	out->hi = e.mean + e.before;
	out->batch = e.batch;
	out->server = server_time(c, n, f, &e);
	out->count = exchanges(&e, since);
	out->kind = TG_ESTIMATOR_GAP;
	out->confidence = e.confidence;
	out->unsure = !stands(server, f, since, e.confidence) || e.confidence == TG_CONFIDENCE_LOW;
	if (out->unsure)
		n->due = TG_ENVELOPE_FIRST_EPOCH; /* more may tell soon */
	return true;
}
