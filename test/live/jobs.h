/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The test server's queue: requests in service, ordered by when they are due (a heap), and behind them those that wait
 * for a worker, first come first served. Single threaded; all times in ns of CLOCK_MONOTONIC.
 */
#ifndef TG_LIVE_JOBS_H
#define TG_LIVE_JOBS_H

#include "delay.h"
#include "samples.h"

struct job {
	uint64_t arrived, began, due;
	struct job *next; /* while it waits */
	void *owner;      /* the asker's; jobs do not look into it */
};

struct jobs {
	struct delay delay;
	size_t workers; /* requests served at the same time; 0: no limit */
	struct job **heap;
	size_t serving, room;
	struct job *first, *last;
	size_t waiting, open_max;
	struct samples service; /* from a worker's start to the answer */
	struct samples sojourn; /* from the request to the answer */
	FILE *log;              /* a line an answer: its time and its sojourn; NULL: none */
};

/* Takes a request in; the caller owns the memory of the job and keeps it until jobs_take() hands it back. */
void jobs_submit(struct jobs *jobs, struct job *job, uint64_t now);

/* When the next one is due; UINT64_MAX: none. */
uint64_t jobs_due(const struct jobs *jobs);

/* The next one that is due by now, or NULL; its worker turns to the next that waits. */
struct job *jobs_take(struct jobs *jobs, uint64_t now);

#endif
