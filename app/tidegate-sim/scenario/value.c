/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, lists of numbers, and the memory that a scenario owns. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scenario/scenario_reader.h"

void *tg_scenario_own(struct tg_reader *r, size_t n, size_t size)
{
	struct tg_scenario_all *all = tg_scenario_reader_of(r)->all;
	void **grown = realloc(all->owned, (all->n_owned + 1) * sizeof(*grown));
	void *p;

	if (grown != NULL)
		all->owned = grown;
	p = grown == NULL ? NULL : calloc(n > 0 ? n : 1, size);
	if (p == NULL)
		r->no_memory = true;
	else
		all->owned[all->n_owned++] = p;
	return p;
}

static bool in_range(struct tg_reader *r, const json_t *v, uint64_t min, uint64_t max)
{
	double d = json_number_value(v);
	char shown[TG_SHOWN_MAX];

	if (!json_is_number(v)) {
		tg_fault(r, "%s is no number (%ju..%ju is allowed)", tg_show(v, shown),
			 (uintmax_t)min, (uintmax_t)max);
		return false;
	}
	if (!(d >= (double)min && d <= (double)max)) {
		tg_fault(r, "%s is out of range (%ju..%ju)", tg_show(v, shown), (uintmax_t)min,
			 (uintmax_t)max);
		return false;
	}
	return true;
}

void tg_read_real(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	if (in_range(r, v, k->min, k->max))
		*(double *)at = json_number_value(v);
}

void tg_read_positive(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];

	if (!in_range(r, v, 0, k->max))
		return;
	/* what is not 0 but nothing in nanoseconds is a mistake too */
	if (json_number_value(v) < 1e-9)
		tg_fault(r, "%s is out of range (above 0, up to %ju)", tg_show(v, shown),
			 (uintmax_t)k->max);
	else
		*(double *)at = json_number_value(v);
}

/* Name of a file, looked for beside the scenario. */
static FILE *open_beside(struct tg_reader *r, const char *name)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(r->file, '/');
	struct stat st;
	char *path;
	FILE *f;
	int fd;

	if (asprintf(&path, "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - r->file), r->file,
		     name) < 0) {
		r->no_memory = true;
		return NULL;
	}
	/* without waiting for the other end of a pipe */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (f == NULL)
		tg_fault(r, "\"%s\" cannot be opened: %s", name, strerror(errno));
	else if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode)) {
		tg_fault(r, "\"%s\" is no regular file", name);
		fclose(f);
		f = NULL;
	}
	free(path);
	return f;
}

static bool line_number(const char *line, double max, double *out)
{
	char *end;

	*out = strtod(line, &end);
	if (end == line)
		return false;
	end += strspn(end, " \t\r\n");
	return *end == '\0' && *out >= 0 && *out <= max;
}

static bool grow(double **list, uint32_t n, uint32_t *room)
{
	uint32_t wanted = *room == 0 ? 1024 : *room * 2;
	double *grown;

	if (n < *room)
		return true;
	grown = realloc(*list, wanted * sizeof(*grown));
	if (grown == NULL)
		return false;
	*list = grown;
	*room = wanted;
	return true;
}

/* NULL after a fault. */
static double *read_lines(struct tg_reader *r, FILE *f, double max, uint32_t *n)
{
	double *list = NULL, value;
	uint32_t room = 0, line = 0;
	char text[128];

	for (*n = 0; fgets(text, sizeof(text), f) != NULL;) {
		line++;
		if (text[0] == '#' || text[strspn(text, " \t\r\n")] == '\0')
			continue;
		if (*n >= TG_SIM_TRACE_MAX || !line_number(text, max, &value)) {
			tg_fault(r,
				 "line %u of the file is no number of 0..%g, or one too many (%d)",
				 line, max, TG_SIM_TRACE_MAX);
			*n = 0;
			break;
		}
		if (!grow(&list, *n, &room)) {
			r->no_memory = true;
			*n = 0;
			break;
		}
		list[(*n)++] = value;
	}
	return list;
}

static void numbers_in_file(struct tg_reader *r, const char *name, double max, const double **out,
			    uint32_t *n)
{
	FILE *f = open_beside(r, name);
	unsigned int faults = r->report->n_faults;
	double *list, *kept;

	if (f == NULL)
		return;
	list = read_lines(r, f, max, n);
	fclose(f);
	if (*n == 0 && r->report->n_faults == faults && !r->no_memory)
		tg_fault(r, "\"%s\" holds no number", name);
	kept = *n > 0 ? tg_scenario_own(r, *n, sizeof(*kept)) : NULL;
	if (kept != NULL) {
		memcpy(kept, list, *n * sizeof(*kept));
		*out = kept;
	}
	free(list);
}

void tg_read_numbers(struct tg_reader *r, json_t *v, double max, const double **out, uint32_t *n)
{
	size_t size = json_array_size(v);
	char shown[TG_SHOWN_MAX];
	double *list;

	if (json_is_string(v)) {
		numbers_in_file(r, json_string_value(v), max, out, n);
		return;
	}
	if (size == 0 || size > TG_SIM_TRACE_MAX) {
		tg_fault(r, "%s must be the name of a file, or a list of 1..%d numbers",
			 tg_show(v, shown), TG_SIM_TRACE_MAX);
		return;
	}
	list = tg_scenario_own(r, size, sizeof(*list));
	for (size_t i = 0; list != NULL && i < size; i++) {
		size_t mark = tg_path_push(r, "[%zu]", i);
		const json_t *entry = json_array_get(v, i);

		if (in_range(r, entry, 0, (uint64_t)max))
			list[i] = json_number_value(entry);
		tg_path_pop(r, mark);
	}
	*out = list;
	*n = list == NULL ? 0 : (uint32_t)size;
}
