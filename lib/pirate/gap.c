/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gap: latency from arrival times alone. A client that waits for an answer leaves a gap; the
 * distribution of a flow's gaps has one mode for each reason to wait, and the longest is taken for
 * the causal one (Pirate). The proportional mode sum is then
 *
 *	L = g_c + sum over shorter modes (n_i / n_c) g_i = observed time / number of causal gaps
 *
 * The paper's weights are not public: this is a reconstruction. Ours too: the resolution of the
 * histogram, when an epoch ends, and that a bucket tracks the arithmetic mean of its gaps.
 *
 * Gaps are told apart in the logarithm. A gap is taken when the packet that ends it arrives, unless
 * the packet that begins it is still on its way through the gateway: then when that has departed.
 */
#include <stdlib.h>

#include "log2.h"
#include "state.h"

#define BUCKET_JOIN   775  /* log2(1.3): a gap joins a bucket this near */
#define MODE_JOIN     1389 /* log2(1.6): neighbouring buckets this near are one mode */
#define ONE           16   /* a gap, in the counts' sixteenths */
#define COUNT_MAX     (UINT16_MAX - ONE)
#define MODE_LEAST    3   /* gaps; a mode with fewer leaves both sums */
#define MODE_SHARE    200 /* .. or with less than one in so many of all gaps */
#define EPOCH_CAUSAL  3   /* causal gaps that close an epoch (published) .. */
#define EPOCH_GAPS    64  /* .. once there are so many gaps: fewer do not settle the modes */
#define EPOCH_WAIT    192 /* gaps that an epoch waits for a causal one, to end with it */
#define EPOCH_LONGEST (MODE_LEAST * MODE_SHARE) /* .. and then the causal mode has lost its share */
#define MEAN_OF       64                        /* a bucket's mean follows the last so many gaps */

/* 65536/n: the weight of a mean's newest sample. */
#define W(n)  (65536 / (n))
#define W8(n) W(n), W(n + 1), W(n + 2), W(n + 3), W(n + 4), W(n + 5), W(n + 6), W(n + 7)
static const uint16_t weight[MEAN_OF + 1] = {
	W(2),   W(2),   W(2),  W(3),  W(4),  W(5),  W(6),  W(7),  W8(8), W8(16), W8(24), W8(32),
	W8(40), W8(48), W(56), W(57), W(58), W(59), W(60), W(61), W(62), W(63),  W(64),
};

/* What a histogram says. */
struct modes {
	uint64_t latency;   /* ticks */
	uint32_t causal;    /* sixteenths: gaps of the causal mode */
	uint16_t low, high; /* log2: its first and last bucket */
	bool rarer;         /* there are longer gaps, too few so far to be a mode that counts */
};

/*
 * How far a bucket's centre moves so that it stays the log of the *arithmetic* mean m of its gaps
 * (their mean logarithm would read low: 0.5 % at CV 0.1). The mean grows by w (g/m - 1), w = 1/n; with
 * x = ln(g/m), |x| <= 0.26, that is w x + (w - w^2) x^2 / 2 in ln m, to the second order: the third is
 * odd and cancels. Rounded by dither, 0..65535, so that many small moves add up to what they should.
 */
static inline int32_t centre_move(int32_t apart, unsigned int n, uint32_t dither)
{
	int32_t w = weight[n];
	int32_t bow = apart * apart * 1420 >> 19; /* ln 2 / 2 / 2048 of it, in 16ths */
	int32_t less = w * (65536 - w) >> 16;

	return (apart * w + (bow * less >> 4) + (int32_t)dither) >> 16;
}

static inline void join(struct tg_gap_far *f, unsigned int i, uint16_t log, uint32_t dither)
{
	unsigned int n;

	if (f->count[i] < COUNT_MAX)
		f->count[i] += ONE;
	n = f->count[i] / ONE; /* 0 and 1: an old gap, faded; weight[] takes it for one */
	if (n > MEAN_OF)
		n = MEAN_OF;
	f->centre[i] = (uint16_t)(f->centre[i] + centre_move(log - f->centre[i], n, dither));
}

static void remove_bucket(struct tg_gap_near *n, struct tg_gap_far *f, unsigned int i)
{
	n->used--;
	for (; i < n->used; i++) {
		f->centre[i] = f->centre[i + 1];
		f->count[i] = f->count[i + 1];
	}
	f->centre[i] = UINT16_MAX;
	f->count[i] = 0;
}

/* Bucket i + 1 into bucket i, at their common mean. Divides; off the steady path. */
static void merge(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		  unsigned int i)
{
	uint32_t count = (uint32_t)f->count[i] + f->count[i + 1];
	uint64_t time = f->count[i] * tg_log2_ticks(f->centre[i], c->gap_shift) +
			f->count[i + 1] * tg_log2_ticks(f->centre[i + 1], c->gap_shift);

	f->centre[i] = tg_log2_of(time / count, c->gap_shift);
	f->count[i] = (uint16_t)(count < COUNT_MAX ? count : COUNT_MAX);
	remove_bucket(n, f, i + 1);
}

static void merge_nearest(const struct tg_pirate_config *c, struct tg_gap_near *n,
			  struct tg_gap_far *f)
{
	unsigned int best = 0, least = UINT32_MAX;

	for (unsigned int i = 0; i + 1 < n->used; i++) {
		unsigned int apart = (unsigned int)(f->centre[i + 1] - f->centre[i]);

		if (apart < least) {
			least = apart;
			best = i;
		}
	}
	merge(c, n, f, best);
}

static void open_bucket(const struct tg_pirate_config *c, struct tg_gap_near *n,
			struct tg_gap_far *f, uint16_t log)
{
	unsigned int at = 0;

	if (n->used == TG_GAP_BUCKETS)
		merge_nearest(c, n, f);
	while (at < n->used && f->centre[at] < log)
		at++;
	for (unsigned int i = n->used; i > at; i--) {
		f->centre[i] = f->centre[i - 1];
		f->count[i] = f->count[i - 1];
	}
	f->centre[at] = log;
	f->count[at] = ONE;
	n->used++;
}

/* Spreads what the centres' rounding depends on: consecutive arrivals give unrelated values. */
static inline uint32_t dither_of(uint64_t arrival)
{
	return (uint32_t)arrival * 2654435761u >> 16;
}

/* A gap of log, ended by a packet at arrival, goes into the histogram. */
static inline void record(const struct tg_pirate_config *c, struct tg_gap_near *n,
			  struct tg_gap_far *f, uint16_t log, uint64_t arrival)
{
	unsigned int near = 0;

	/* The neighbours are lower and lower + 1; at the ends one of them is a bucket further off. Which
	 * one is nearer is a coin's toss: no branch hangs on it. */
	for (unsigned int i = 1; i + 1 < TG_GAP_BUCKETS; i++)
		near += f->centre[i] < log;
	near += 2 * log > f->centre[near] + f->centre[near + 1];
	if (abs(log - f->centre[near]) <= BUCKET_JOIN)
		join(f, near, log, dither_of(arrival));
	else
		open_bucket(c, n, f, log);
	if (n->since < UINT16_MAX)
		n->since++;
}

/* The gap that ends at arrival. false for none: still the same batch, or idle, or time went back. */
static inline bool gap_until(const struct tg_pirate_config *c, const struct tg_gap_near *n,
			     uint64_t arrival, uint16_t *log)
{
	uint64_t gap = arrival - n->last;

	if (gap >> c->gap_shift == 0 || gap > c->longest)
		return false;
	*log = tg_log2_of(gap, c->gap_shift);
	return true;
}

/* false: no mode has enough gaps. */
static bool find_modes(const struct tg_pirate_config *c, const struct tg_gap_near *n,
		       const struct tg_gap_far *f, struct modes *m)
{
	uint32_t all = 0, least = MODE_LEAST * ONE, count = 0;
	uint64_t time = 0, sum = 0;
	unsigned int first = 0;

	m->causal = 0;
	m->rarer = false;
	for (unsigned int i = 0; i < n->used; i++)
		all += f->count[i];
	if (all / MODE_SHARE > least)
		least = all / MODE_SHARE;
	for (unsigned int i = 0; i < n->used; i++) {
		count += f->count[i];
		time += f->count[i] * tg_log2_ticks(f->centre[i], c->gap_shift);
		if (i + 1 < n->used && f->centre[i + 1] - f->centre[i] <= MODE_JOIN)
			continue;
		if (count >= least) {
			sum = c->gap_rule == TG_GAP_TOP_MODE ? time : sum + time;
			m->causal = count;
			m->low = f->centre[first];
			m->high = f->centre[i];
		}
		m->rarer = count < least && count >= ONE;
		count = 0;
		time = 0;
		first = i + 1;
	}
	if (m->causal == 0)
		return false;
	m->latency = sum / m->causal;
	return true;
}

/* The histogram keeps half its weight: it follows changes, and small epochs help each other. */
static void fade(struct tg_gap_near *n, struct tg_gap_far *f)
{
	for (unsigned int i = n->used; i-- > 0;) {
		f->count[i] /= 2;
		if (f->count[i] < ONE / 4)
			remove_bucket(n, f, i);
	}
	n->since = 0;
	n->due = EPOCH_GAPS;
}

/* Causal gaps that came since the last epoch. What that one left is known for its causal mode only:
 * if the mode moved away, the gaps since then are the bound. */
static uint32_t new_causal(const struct tg_gap_near *n, const struct modes *m)
{
	bool same = n->cut <= m->high && m->low <= n->cut + BUCKET_JOIN + MODE_JOIN;
	uint32_t left = n->cut != 0 && same ? n->carried : 0;
	uint32_t fresh = m->causal > left ? (m->causal - left + ONE / 2) / ONE : 0;

	return fresh < n->since ? fresh : n->since;
}

/* The causal mode is a memory: the flow got faster. */
static void forget(struct tg_gap_near *n, struct tg_gap_far *f, const struct modes *m)
{
	for (unsigned int i = n->used; i-- > 0;)
		if (f->centre[i] >= m->low)
			remove_bucket(n, f, i);
	n->cut = 0;
}

static bool close_epoch(const struct tg_pirate_config *c, struct tg_gap_near *n,
			struct tg_gap_far *f, struct tg_sample *out)
{
	struct modes m;
	uint32_t fresh;

	while ((fresh = find_modes(c, n, f, &m) ? new_causal(n, &m) : 0) < EPOCH_CAUSAL ||
	       (m.rarer && n->since < EPOCH_LONGEST)) {
		n->due = n->since + EPOCH_GAPS;
		if (n->since < EPOCH_LONGEST || m.causal == 0)
			return false;
		forget(n, f, &m);
	}
	out->latency = m.latency;
	out->server = TG_SAMPLE_UNKNOWN;
	out->count = fresh;
	out->kind = TG_ESTIMATOR_GAP;
	out->setup = false;
	n->cut = (uint16_t)(m.low > BUCKET_JOIN ? m.low - BUCKET_JOIN : 1);
	n->carried = (uint16_t)(m.causal / 2);
	fade(n, f);
	return m.latency <= c->longest;
}

bool tg_gap_arrive(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   uint64_t arrival, struct tg_sample *out)
{
	uint16_t log;

	if (!n->open || !gap_until(c, n, arrival, &log))
		return false;
	n->open = false;
	record(c, n, f, log, arrival);
	/* An epoch ends with a causal gap, so that none holds a part of a burst: the estimate of a
	 * sum over a count is then unbiased (Wald). */
	if (n->since < n->due || (log < n->cut && n->since < n->due + EPOCH_WAIT))
		return false;
	return close_epoch(c, n, f, out);
}

static void start(struct tg_gap_near *n, struct tg_gap_far *f, uint64_t arrival)
{
	for (unsigned int i = 0; i < TG_GAP_BUCKETS; i++)
		f->centre[i] = UINT16_MAX;
	n->last = arrival;
	n->due = EPOCH_GAPS;
	n->started = true;
	n->open = true;
}

void tg_gap_depart(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   uint64_t arrival)
{
	uint64_t gap = arrival - n->last;
	uint16_t log;

	if (!n->started) {
		start(n, f, arrival);
		return;
	}
	if (n->open && gap_until(c, n, arrival, &log))
		record(c, n, f, log, arrival);
	n->open = true;
	/* Not for a batch still going on, nor for a packet that the driver took after a later one. */
	if (gap >> c->gap_shift != 0 && n->last - arrival > c->longest)
		n->last = arrival;
}

bool tg_gap_finish(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   struct tg_sample *out)
{
	return n->started && close_epoch(c, n, f, out);
}
