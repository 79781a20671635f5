/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <time.h>
#include <unistd.h>

#define FIRST_NS   1000000000u
#define BETWEEN_NS 200000000u
/* the clock is looked at once in so many calls; a power of two */
#define CALLS 1024u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void tg_progress_begin(struct tg_progress *progress, FILE *to, const char *what)
{
	*progress = (struct tg_progress){.what = what};
	if (to != NULL && isatty(fileno(to)))
		progress->to = to;
	progress->next_ns = now_ns() + FIRST_NS;
}

void tg_progress_step(struct tg_progress *progress, uint64_t done, uint64_t total)
{
	uint64_t now;

	if (progress->to == NULL || ++progress->calls % CALLS != 0)
		return;
	now = now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + BETWEEN_NS;
	progress->shown = true;
	fprintf(progress->to, "\r%s: %3u %%", progress->what,
		total == 0 ? 100 : (unsigned int)((double)done * 100 / (double)total));
	fflush(progress->to);
}

void tg_progress_end(struct tg_progress *progress)
{
	if (progress->shown)
		fprintf(progress->to, "\r\033[K");
	progress->shown = false;
}
