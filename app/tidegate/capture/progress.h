/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One line on a terminal that says how far a long piece of work is. Nothing is written where the
 * stream is no terminal, in the first second, or more than five times a second.
 *
 * Thread-safety: one thread. Reads the clock and writes: not for a packet path.
 */
#ifndef TG_PROGRESS_H
#define TG_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_progress {
	FILE *to; /**< NULL: silent */
	const char *what;
	uint64_t next_ns; /**< earliest time of the next line */
	uint32_t calls;
	bool shown;
};

/** Begins. `what` is shown before the percentage and must live as long. */
void tg_progress_begin(struct tg_progress *progress, FILE *to, const char *what);

/** `done` of `total` units are done. Cheap enough to call for each frame. */
void tg_progress_step(struct tg_progress *progress, uint64_t done, uint64_t total);

/** Takes the line away. */
void tg_progress_end(struct tg_progress *progress);

#endif
