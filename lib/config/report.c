/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"

/* Room doubles whenever the count reaches a power of two, so no capacity need be kept. */
static int append(char ***list, unsigned int *n, char *sentence)
{
	if ((*n & (*n - 1)) == 0) {
		size_t room = *n == 0 ? 1 : (size_t)*n * 2;
		char **grown = realloc(*list, room * sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		*list = grown;
	}
	(*list)[(*n)++] = sentence;
	return 0;
}

int tg_report_add(struct tg_config_report *r, enum tg_sentence kind, const char *format, ...)
{
	char *sentence;
	va_list ap;
	int rc;

	va_start(ap, format);
	rc = vasprintf(&sentence, format, ap);
	va_end(ap);
	if (rc < 0)
		return -ENOMEM;
	if (kind == TG_FAULT)
		rc = append(&r->faults, &r->n_faults, sentence);
	else if (kind == TG_NOTE)
		rc = append(&r->notes, &r->n_notes, sentence);
	else
		rc = append(&r->defaults, &r->n_defaults, sentence);
	if (rc < 0)
		free(sentence);
	return rc;
}

static void free_list(char **list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void tg_config_report_free(struct tg_config_report *r)
{
	free_list(r->faults, r->n_faults);
	free_list(r->notes, r->n_notes);
	free_list(r->defaults, r->n_defaults);
	*r = (struct tg_config_report){0};
}
