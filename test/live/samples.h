/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times kept one by one, so that the live tests' truth has no histogram error in it. All in ns.
 */
#ifndef TG_LIVE_SAMPLES_H
#define TG_LIVE_SAMPLES_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct samples {
	uint64_t *ns;
	size_t count;
	size_t room;
};

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A number of the command line; ends the program with a sentence if it is none or out of range. */
static inline uint64_t number_argument(const char *what, const char *text, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value > most) {
		fprintf(stderr, "%s: '%s' is not a number from 0 to %" PRIu64 "\n", what, text,
			most);
		exit(2);
	}
	return value;
}

static inline void samples_add(struct samples *s, uint64_t ns)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		uint64_t *grown = realloc(s->ns, room * sizeof(*grown));

		if (!grown) {
			perror("no memory for another sample");
			exit(1);
		}
		s->ns = grown;
		s->room = room;
	}
	s->ns[s->count++] = ns;
}

static inline int samples_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank; the samples must be sorted. */
static inline uint64_t samples_rank(const struct samples *s, unsigned int percent)
{
	size_t rank = (s->count * percent + 99) / 100;

	return s->count ? s->ns[rank ? rank - 1 : 0] : 0;
}

/* One JSON object; sorts the samples. */
static inline void samples_print(FILE *out, struct samples *s)
{
	double sum = 0;

	if (s->count)
		qsort(s->ns, s->count, sizeof(*s->ns), samples_order);
	for (size_t i = 0; i < s->count; i++)
		sum += (double)s->ns[i];
	fprintf(out,
		"{\"count\":%zu,\"mean\":%.0f,\"p50\":%" PRIu64 ",\"p95\":%" PRIu64
		",\"p99\":%" PRIu64 "}",
		s->count, s->count ? sum / (double)s->count : 0, samples_rank(s, 50),
		samples_rank(s, 95), samples_rank(s, 99));
}

#endif
