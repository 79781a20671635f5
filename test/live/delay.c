/* SPDX-License-Identifier: BSD-3-Clause */
#include "delay.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_US 60e6

static bool microseconds(const char **text, double *us)
{
	char *end;

	*us = strtod(*text, &end);
	if (end == *text || !(*us >= 0 && *us <= LONGEST_US))
		return false;
	*text = end;
	return true;
}

static bool after(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len))
		return false;
	*text += len;
	return true;
}

static bool parse_set(struct delay *d, const char **text)
{
	do {
		if (d->count == DELAY_SET_MAX || !microseconds(text, &d->set_us[d->count]))
			return false;
		d->count++;
	} while (after(text, ","));
	return true;
}

static bool parse_pareto(struct delay *d, const char **text)
{
	return microseconds(text, &d->mean_us) && after(text, ":") &&
	       microseconds(text, &d->shape) && d->shape > 1;
}

int delay_parse(struct delay *delay, const char *text)
{
	struct delay d = {0};
	bool ok = false;

	if (after(&text, "const:")) {
		d.kind = DELAY_CONST;
		ok = microseconds(&text, &d.mean_us);
	} else if (after(&text, "exp:")) {
		d.kind = DELAY_EXP;
		ok = microseconds(&text, &d.mean_us);
	} else if (after(&text, "pareto:")) {
		d.kind = DELAY_PARETO;
		ok = parse_pareto(&d, &text);
	} else if (after(&text, "set:")) {
		d.kind = DELAY_SET;
		ok = parse_set(&d, &text);
	}
	/* a file's line ends in a newline */
	if (!ok || (*text && strcmp(text, "\n")))
		return -EINVAL;
	*delay = d;
	return 0;
}

uint64_t delay_draw(const struct delay *d)
{
	double u = 1 - drand48(); /* (0, 1] */
	double us = d->mean_us;

	switch (d->kind) {
	case DELAY_CONST:
		break;
	case DELAY_EXP:
		us *= -log(u);
		break;
	case DELAY_PARETO:
		us *= (d->shape - 1) / d->shape * pow(u, -1 / d->shape);
		break;
	case DELAY_SET:
		us = d->set_us[(unsigned int)((1 - u) * d->count)];
		break;
	}
	return (uint64_t)(fmin(us, LONGEST_US) * 1e3);
}
