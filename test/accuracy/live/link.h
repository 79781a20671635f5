/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One direction of the relay: what a path does to frames, and the frames on their way. The kernel's netem, in user
 * space: a frame is lost with some chance; else it takes `delay` plus an exponential jitter and keeps its place behind the
 * frames before it, unless it is one of the share that overtakes: that one is `early` sooner and waits for nobody.
 *
 * Times in ns of one clock, which the caller reads. Deterministic: the same seed and the same frames give the same fate.
 * Single threaded.
 */
#ifndef TG_ACCURACY_LINK_H
#define TG_ACCURACY_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_NAME_MAX 16

struct link_frame {
	uint64_t due, number; /* number: order of arrival, which breaks ties */
	size_t len;
	uint8_t data[];
};

struct link {
	char from[LINK_NAME_MAX], to[LINK_NAME_MAX];
	uint64_t delay_ns, jitter_ns, early_ns; /* jitter: mean */
	double loss, reorder;                   /* shares, 0 to 1 */
	unsigned short seed[3];
	uint64_t last_due;                              /* of those that keep their place */
	uint64_t seen, lost, overtook, refused, sum_ns; /* sum: of the time on the way */
	struct link_frame **heap;
	size_t waiting, room;
};

/*
 * FROM,TO[,KEY=NUMBER]…; keys: delay_us, jitter_us, early_us, loss, reorder (the last two in per cent). 0, or -EINVAL
 * with the word that is wrong in *why.
 */
int link_parse(struct link *link, const char *text, const char **why);

void link_seed(struct link *link, uint32_t seed);

/* When a frame that comes now is due; false: it is lost. */
bool link_fate(struct link *link, uint64_t now, uint64_t *due);

/* Takes a copy in, or loses it; 0, or -ENOMEM. */
int link_put(struct link *link, uint64_t now, const void *data, size_t len);

/* When the next frame is due; UINT64_MAX: none. */
uint64_t link_due(const struct link *link);

/* The next frame that is due by now, which the caller frees; or NULL. */
struct link_frame *link_take(struct link *link, uint64_t now);

#endif
