/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Capture time as the pipeline needs it: never going back, never 0.
 *
 * Captures are merged from several interfaces or files, so their time goes back now and then. A
 * step back of up to TG_TIMELINE_SLACK_NS is disorder between interfaces: the frame counts as
 * simultaneous with the one before it. A longer one is another recording put behind the first: time
 * goes on from where it was, and differences inside the second recording stay what they are.
 *
 * Units: nanoseconds. Thread-safety: the owner's. No errors.
 */
#ifndef TG_TIMELINE_H
#define TG_TIMELINE_H

#include <stdint.h>

#define TG_TIMELINE_SLACK_NS UINT64_C(1000000000)

struct tg_timeline {
	uint64_t last;       /**< what was given out last; 0: nothing yet */
	uint64_t shift;      /**< modulo 2^64, what is added to the capture's time */
	uint64_t disordered; /**< frames up to the slack before their forerunner */
	uint64_t restarts;   /**< steps back beyond the slack */
};

/** The time to use for a frame that the capture puts at `ns`. */
static inline uint64_t tg_timeline(struct tg_timeline *line, uint64_t ns)
{
	uint64_t now = ns + line->shift;

	if (!line->last && now < TG_TIMELINE_SLACK_NS) { /* a clock that starts at 0 */
		line->shift = TG_TIMELINE_SLACK_NS;
		now += line->shift;
	}
	if (now < line->last && line->last - now <= TG_TIMELINE_SLACK_NS) {
		line->disordered++;
		return line->last;
	}
	if (now < line->last) {
		line->restarts++;
		line->shift += line->last - now;
		return line->last;
	}
	line->last = now;
	return now;
}

#endif
