/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modes of one kind of sample, of a flow under the envelope rule. A part of gap_estimate.c; runs
 * once an epoch, bounded by ten buckets.
 *
 * Thread-safety: pure.
 */
#ifndef TG_GAP_MODES_H
#define TG_GAP_MODES_H

#include "gap_envelope.h"

#define TG_GAP_FAR 6803 /* log2(10): so far above the handshake an answer may be a pause */

/* One kind's samples. */
struct tg_gap_view {
	uint16_t centre[TG_GAP_BUCKETS]; /* log2 */
	uint16_t count[TG_GAP_BUCKETS];  /* sixteenths */
	unsigned int from, used;         /* from..used-1 are valid: what is below was set aside */
	uint32_t all;                    /* sixteenths, without .. */
	uint32_t aside;                  /* .. what was set aside */
};

/* Buckets first..last of a view: a mode, and what is kept above it. */
struct tg_gap_kept {
	unsigned int first, last;
	uint32_t mode;   /* sixteenths: in the mode itself */
	uint32_t count;  /* .. and with what was kept above it */
	uint16_t centre; /* log2: of the mode */
	uint16_t spread; /* log2: standard deviation of the kept */
};

/* The flow's samples of a kind (enum tg_envelope_kind), or of both (TG_ENVELOPE_KINDS). */
void tg_gap_look(const struct tg_envelope_near *n, const struct tg_envelope_far *f,
		 unsigned int kind, struct tg_gap_view *v);

/* What is below `least` (log2) is set aside, unless too little remains. */
void tg_gap_cut_below(struct tg_gap_view *v, uint16_t least);

/*
 * The lowest mode that carries weight: one sample in ten of `all` (sixteenths) too; and what lies
 * above it by no more than a few times. floor: log2 of the handshake's gap, 0 for unknown. Below it the
 * mode must not be lighter than one above: no answer is faster than the path, but a handshake may
 * take time of its own. false: no mode.
 */
bool tg_gap_find_kept(const struct tg_gap_view *v, uint32_t all, uint16_t floor,
		      struct tg_gap_kept *k);

/*
 * Is what was kept apart from the rest? A mode that goes over into samples that were not kept is a slice of
 * something wider, of which its mean says nothing.
 */
bool tg_gap_stands_apart(const struct tg_gap_view *v, const struct tg_gap_kept *k);

/*
 * All samples as one thing that varies widely (exponential service, say), but for pauses: what is above eight
 * times the mean of the kept is left out. floor: log2 of the handshake's gap. false: they are too few, too
 * varied or too many left out for that, some are sooner than the handshake took (then several ask at
 * once), or it all is so much slower than the handshake that pauses are likelier.
 */
bool tg_gap_find_whole(const struct tg_gap_view *v, uint16_t floor, unsigned int shift,
		       struct tg_gap_kept *k);

/* log2: within the bucket that holds it, as if its samples lay evenly in the logarithm. */
uint16_t tg_gap_median(const struct tg_gap_view *v, const struct tg_gap_kept *k);

/* ticks */
uint64_t tg_gap_mean(const struct tg_gap_view *v, const struct tg_gap_kept *k, unsigned int shift);

/* ticks: time of what was set aside, for each of the kept. In a burst of requests the answer to the
 * first of them has come so much later than the last one's wait tells. */
uint64_t tg_gap_before(const struct tg_gap_view *v, const struct tg_gap_kept *k,
		       unsigned int shift);

#endif
