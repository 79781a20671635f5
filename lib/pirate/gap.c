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
#include <string.h>

#include "histogram.h"

#define MODE_JOIN     1389 /* log2(1.6): neighbouring buckets this near are one mode */
#define MODE_LEAST    3    /* gaps; a mode with fewer leaves both sums */
#define MODE_SHARE    200  /* .. or with less than one in so many of all gaps */
#define EPOCH_CAUSAL  3    /* causal gaps that close an epoch (published) .. */
#define EPOCH_GAPS    64   /* .. once there are so many gaps: fewer do not settle the modes */
#define EPOCH_WAIT    192  /* gaps that an epoch waits for a causal one, to end with it */
#define EPOCH_LONGEST (MODE_LEAST * MODE_SHARE) /* .. and then the causal mode has lost its share */

/* What a histogram says. */
struct modes {
	uint64_t latency;   /* ticks */
	uint32_t causal;    /* sixteenths: gaps of the causal mode */
	uint16_t low, high; /* log2: its first and last bucket */
	bool rarer;         /* there are longer gaps, too few so far to be a mode that counts */
};

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
			m->rarer = false;
		} else if (count >= ONE) {
			m->rarer = true;
		}
		count = 0;
		time = 0;
		first = i + 1;
	}
	if (m->causal == 0)
		return false;
	m->latency = sum / m->causal;
	return true;
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
			remove_bucket(&n->used, f, i);
	n->cut = 0;
}

/*
 * Causal gaps that the epoch closes with; 0: not yet. Longer gaps, too few to be a mode that counts,
 * hold it open until they are, or have been given up for rare: a burst of a hundred has one causal
 * gap in a hundred. Not when this is the last chance (published: three causal gaps are enough).
 */
static uint32_t ripe(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		     bool last, struct modes *m)
{
	bool old = n->since >= EPOCH_LONGEST;

	n->due = n->since + EPOCH_GAPS;
	while (find_modes(c, n, f, m)) {
		uint32_t fresh = new_causal(n, m);

		if (fresh >= EPOCH_CAUSAL)
			return last || old || !m->rarer ? fresh : 0;
		if (!old)
			return 0;
		forget(n, f, m);
	}
	return 0;
}

/* log: the gap that came last; last: the flow ends. */
static bool close_epoch(const struct tg_pirate_config *c, struct tg_gap_near *n,
			struct tg_gap_far *f, uint16_t log, bool last, struct tg_sample *out)
{
	struct modes m;
	uint32_t fresh = ripe(c, n, f, last, &m);
	uint16_t cut;

	if (fresh == 0)
		return false;
	cut = (uint16_t)(m.low > BUCKET_JOIN ? m.low - BUCKET_JOIN : 1);
	if (n->cut == 0 && log < cut && !last) { /* known only now: the first causal gap ends it */
		n->cut = cut;
		n->carried = 0;
		n->due = n->since;
		return false;
	}
	memset(out, 0, sizeof(*out));
	out->latency = m.latency;
	out->hi = m.latency;
	out->server = TG_SAMPLE_UNKNOWN;
	out->count = fresh;
	out->kind = TG_ESTIMATOR_GAP;
	n->cut = cut;
	n->carried = (uint16_t)(m.causal / 2);
	/* half its weight stays: it follows changes, and small epochs help each other */
	fade(&n->used, f);
	n->since = 0;
	n->due = EPOCH_GAPS;
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
	return close_epoch(c, n, f, log, false, out);
}

static void start(struct tg_gap_near *n, struct tg_gap_far *f, uint64_t arrival)
{
	clear_buckets(&n->used, f);
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

/* After a gap that was no shorter than the last epoch's causal ones. */
bool tg_gap_opens(const struct tg_pirate_config *c, const struct tg_gap_near *n, uint64_t arrival)
{
	uint64_t gap = arrival - n->last;

	if (!n->started || gap > c->longest)
		return true;
	return gap >> c->gap_shift != 0 && tg_log2_of(gap, c->gap_shift) >= n->cut;
}

bool tg_gap_finish(const struct tg_pirate_config *c, struct tg_gap_near *n, struct tg_gap_far *f,
		   struct tg_sample *out)
{
	return n->started && close_epoch(c, n, f, 0, true, out);
}
