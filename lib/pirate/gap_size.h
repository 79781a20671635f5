/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which packets of a flow are acknowledgements, by their size: the smallest size that comes again and
 * again. The three smallest sizes are counted. A part of gap_envelope.c, in line because it runs a
 * packet; no division.
 */
#ifndef TG_GAP_SIZE_H
#define TG_GAP_SIZE_H

#include "gap_envelope.h"

#define PACKETS_MOST 240 /* counted by size; then halved */
#define SIZE_LEAST   3   /* packets, and one in so many, .. */
#define SIZE_SHARE   24  /* .. before a size is an acknowledgement's */
#define REQUESTS     4   /* larger packets, and one in so many, .. */
#define REQUEST_PART 128 /* .. or one in five, before they are requests */

static inline void halve_sizes(struct tg_envelope_far *f)
{
	unsigned int to = 0;

	f->packets /= 2;
	for (unsigned int i = 0; i < TG_ENVELOPE_SIZES; i++) {
		if (f->seen[i] / 2 == 0)
			continue;
		f->size[to] = f->size[i];
		f->seen[to++] = f->seen[i] / 2;
	}
	for (; to < TG_ENVELOPE_SIZES; to++)
		f->size[to] = f->seen[to] = 0;
}

static inline void count_size(struct tg_envelope_far *f, uint16_t size)
{
	unsigned int at = 0;

	if (f->packets >= PACKETS_MOST)
		halve_sizes(f);
	f->packets++;
	while (at < TG_ENVELOPE_SIZES && f->seen[at] != 0 && f->size[at] < size)
		at++;
	if (at == TG_ENVELOPE_SIZES)
		return;
	if (f->seen[at] == 0 || f->size[at] != size) {
		for (unsigned int i = TG_ENVELOPE_SIZES - 1; i > at; i--) {
			f->size[i] = f->size[i - 1];
			f->seen[i] = f->seen[i - 1];
		}
		f->size[at] = size;
		f->seen[at] = 0;
	}
	f->seen[at]++;
}

/*
 * The size up to which packets are acknowledgements; 0: they cannot be told. They vary by `spread`
 * bytes. A client that does nothing but acknowledge, and one whose requests are small and alike, show no
 * request by size.
 */
static inline uint16_t find_limit(const struct tg_envelope_far *f, unsigned int spread)
{
	unsigned int limit = 0, small = 0, large;

	for (unsigned int i = 0; i < TG_ENVELOPE_SIZES && limit == 0; i++) {
		unsigned int seen = f->seen[i];

		if (i + 1 < TG_ENVELOPE_SIZES && f->size[i + 1] <= f->size[i] + spread)
			seen += f->seen[i + 1];
		if (seen >= SIZE_LEAST && seen * SIZE_SHARE >= f->packets)
			limit = f->size[i] + spread;
	}
	for (unsigned int i = 1; i < TG_ENVELOPE_SIZES && spread > 0; i++)
		if (f->size[i] == limit) /* what it reaches, and the step above */
			limit += spread;
	for (unsigned int i = 0; i < TG_ENVELOPE_SIZES; i++)
		small += f->size[i] <= limit ? f->seen[i] : 0;
	large = f->packets - small;
	if (small * 5u <= f->packets * 4u ||
	    (large >= REQUESTS && large * REQUEST_PART >= f->packets))
		return (uint16_t)(limit < UINT16_MAX ? limit : UINT16_MAX);
	return 0;
}

#endif
