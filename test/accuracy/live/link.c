/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US_MAX 60e6 /* a minute */

static int number(const char *text, double most, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0 && *out <= most ? 0 : -EINVAL;
}

static int set(struct link *l, char *word)
{
	char *value = strchr(word, '=');
	double n;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (!strcmp(word, "loss") || !strcmp(word, "reorder")) {
		if (number(value, 100, &n))
			return -EINVAL;
		*(*word == 'l' ? &l->loss : &l->reorder) = n / 100;
		return 0;
	}
	if (number(value, US_MAX, &n))
		return -EINVAL;
	if (!strcmp(word, "delay_us"))
		l->delay_ns = (uint64_t)(n * 1000);
	else if (!strcmp(word, "jitter_us"))
		l->jitter_ns = (uint64_t)(n * 1000);
	else if (!strcmp(word, "early_us"))
		l->early_ns = (uint64_t)(n * 1000);
	else
		return -EINVAL;
	return 0;
}

int link_parse(struct link *l, const char *text, const char **why)
{
	static char copy[256], shown[256];
	char *rest = copy, *word;
	int count = 0;

	memset(l, 0, sizeof(*l));
	*why = text;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	while ((word = strsep(&rest, ","))) {
		strcpy(shown, word);
		*why = shown;
		if (count < 2) {
			if (!*word || strlen(word) >= LINK_NAME_MAX)
				return -EINVAL;
			strcpy(count ? l->to : l->from, word);
		} else if (set(l, word)) {
			return -EINVAL;
		}
		count++;
	}
	*why = text;
	return count >= 2 ? 0 : -EINVAL;
}

void link_seed(struct link *l, uint32_t seed)
{
	l->seed[0] = 0x330e; /* as srand48() has it */
	l->seed[1] = (unsigned short)seed;
	l->seed[2] = (unsigned short)(seed >> 16);
}

bool link_fate(struct link *l, uint64_t now, uint64_t *due)
{
	/* three draws a frame, whatever becomes of it, so that one share does not move another's fate */
	double lost = erand48(l->seed), overtakes = erand48(l->seed), jitter = erand48(l->seed);

	l->seen++;
	if (lost < l->loss) {
		l->lost++;
		return false;
	}
	*due = now + l->delay_ns + (uint64_t)(-log(1 - jitter) * (double)l->jitter_ns);
	if (overtakes < l->reorder) {
		l->overtook++;
		*due = *due > now + l->early_ns ? *due - l->early_ns : now;
	} else if (*due < l->last_due) {
		*due = l->last_due;
	} else {
		l->last_due = *due;
	}
	l->sum_ns += *due - now;
	return true;
}

static bool before(const struct link_frame *a, const struct link_frame *b)
{
	return a->due < b->due || (a->due == b->due && a->number < b->number);
}

int link_put(struct link *l, uint64_t now, const void *data, size_t len)
{
	struct link_frame *frame;
	uint64_t due;
	size_t i;

	if (!link_fate(l, now, &due))
		return 0;
	if (l->waiting == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		struct link_frame **grown = realloc(l->heap, room * sizeof(struct link_frame *));

		if (!grown)
			return -ENOMEM;
		l->heap = grown;
		l->room = room;
	}
	frame = malloc(sizeof(*frame) + len);
	if (!frame)
		return -ENOMEM;
	frame->due = due;
	frame->number = l->seen;
	frame->len = len;
	memcpy(frame->data, data, len);
	for (i = l->waiting++; i && before(frame, l->heap[(i - 1) / 2]); i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = frame;
	return 0;
}

uint64_t link_due(const struct link *l)
{
	return l->waiting ? l->heap[0]->due : UINT64_MAX;
}

struct link_frame *link_take(struct link *l, uint64_t now)
{
	struct link_frame *first, *last;
	size_t i = 0, child;

	if (link_due(l) > now)
		return NULL;
	first = l->heap[0];
	last = l->heap[--l->waiting];
	while ((child = 2 * i + 1) < l->waiting) {
		if (child + 1 < l->waiting && before(l->heap[child + 1], l->heap[child]))
			child++;
		if (before(last, l->heap[child]))
			break;
		l->heap[i] = l->heap[child];
		i = child;
	}
	if (l->waiting)
		l->heap[i] = last;
	return first;
}
