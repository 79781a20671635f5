/* SPDX-License-Identifier: BSD-3-Clause */
/* The file as a whole: read, judged, freed. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario/scenario_reader.h"

#define FILE_MAX (16u << 20)

static void read_version(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	json_int_t n;
	char shown[TG_SHOWN_MAX];

	(void)k;
	(void)at;
	if (!tg_whole_number(v, &n) || n != 1)
		tg_fault(r, "%s is not a version that is known; 1 is", tg_show(v, shown));
}

static void read_seed(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];
	json_int_t n;

	(void)k;
	if (!tg_whole_number(v, &n) || n < 0)
		tg_fault(r, "%s must be a whole number from 0", tg_show(v, shown));
	else
		*(uint64_t *)at = (uint64_t)n;
}

/* In this order: groups look up their services. */
static const struct tg_config_key keys[] = {
	{.name = "version", .read = read_version, .required = true},
	{TG_KEY(tg_scenario, seed, read_seed)},
	{TG_UINT(tg_scenario, replications, 1, TG_REPLICATIONS_MAX)},
	{TG_REAL(tg_scenario, warmup_s, 0, TG_SIM_SECONDS_MAX)},
	{TG_KEY(tg_scenario, duration_s, tg_read_positive), .max = TG_SIM_SECONDS_MAX,
	 .required = true},
	{TG_REAL(tg_scenario, series_s, 0, TG_SIM_SECONDS_MAX)},
	{.name = "config", .read = tg_read_gateway_config, .required = true},
	{.name = "gateways", .read = tg_read_gateways},
	{.name = "servers", .read = tg_read_stations, .required = true},
	{.name = "clients", .read = tg_read_groups, .required = true},
};

#define SERIES_MAX 100000 /* windows */

static void read_root(struct tg_scenario_reader *sr, json_t *root)
{
	struct tg_scenario *s = &sr->all->s;
	struct tg_reader *r = &sr->r;

	if (!tg_read_object(r, keys, TG_COUNT(keys), root, s))
		return;
	if (s->series_s > 0 && s->duration_s / s->series_s > SERIES_MAX)
		TG_MEMBER_FAULT(r, "series_s", "%g makes more than %d windows of the duration",
				s->series_s, SERIES_MAX);
	tg_scenario_cross_check(sr);
	if (r->report->n_faults == 0 && !r->no_memory)
		tg_scenario_check_load(sr);
}

/* What the parser says quotes the file: kept printable. */
static void tell_syntax(struct tg_reader *r, json_error_t *e)
{
	for (char *p = e->text; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	tg_fault(r, "line %d, column %d: %s", e->line, e->column, e->text);
}

static void read_text(struct tg_scenario_reader *sr, const char *text, size_t len,
		      const struct tg_scenario_setting *set, unsigned int n_set)
{
	struct tg_reader *r = &sr->r;
	const char *zero = memchr(text, '\0', len);
	json_error_t error;
	json_t *root;

	if (zero != NULL) {
		tg_fault(r, "has a zero byte at offset %zu: is no text", (size_t)(zero - text));
		return;
	}
	root = json_loadb(text, len, JSON_DECODE_ANY, &error);
	if (root == NULL) {
		tell_syntax(r, &error);
		return;
	}
	tg_path_push(r, "$");
	tg_find_repeated_keys(r, text, len);
	/* before the settings, which may be of the one that is there by default */
	if (json_is_object(root) && json_object_get(root, "gateways") == NULL)
		json_object_set_new(root, "gateways", json_pack("[{}]"));
	if (tg_scenario_set(r, root, set, n_set))
		read_root(sr, root);
	tg_path_pop(r, 0);
	json_decref(root);
}

int tg_scenario_parse(const char *file, const char *text, size_t len,
		      const struct tg_scenario_setting *set, unsigned int n_set,
		      struct tg_scenario **out, struct tg_scenario_report *report)
{
	struct tg_config_report said = {.faults = report->faults,
					.n_faults = report->n_faults,
					.notes = report->notes,
					.n_notes = report->n_notes};
	struct tg_scenario_reader sr = {.all = calloc(1, sizeof(*sr.all))};
	int rc = sr.all == NULL ? -ENOMEM : tg_reader_init(&sr.r, file, &said);

	*out = NULL;
	if (sr.all == NULL)
		return rc;
	sr.all->s = (struct tg_scenario){.file = strdup(file), .seed = 1, .replications = 5};
	if (rc == 0 && sr.all->s.file != NULL)
		read_text(&sr, text, len, set, n_set);
	if (sr.r.unsaid > 0)
		tg_report_add(&said, TG_FAULT, "%s: and %u more faults", file, sr.r.unsaid);
	if (rc == 0 && (sr.r.no_memory || sr.all->s.file == NULL))
		rc = -ENOMEM;
	tg_reader_free(&sr.r);
	tg_config_free((struct tg_config *)(uintptr_t)sr.config);
	report->faults = said.faults;
	report->n_faults = said.n_faults;
	report->notes = said.notes;
	report->n_notes = said.n_notes;
	if (rc == 0 && said.n_faults > 0)
		rc = -EINVAL;
	if (rc == 0)
		*out = &sr.all->s;
	else
		tg_scenario_free(&sr.all->s);
	said.faults = said.notes = NULL;
	said.n_faults = said.n_notes = 0;
	tg_config_report_free(&said); /* the defaults */
	return rc;
}

/* All of a regular file of bounded size. NULL with errno; EFBIG: too long. */
static char *read_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	struct stat st;
	ssize_t n = 1;

	*len = 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		errno = S_ISREG(st.st_mode) ? (st.st_size > FILE_MAX ? EFBIG : 0) : EINVAL;
		text = errno == 0 ? malloc((size_t)st.st_size + 1) : NULL;
	}
	while (text != NULL && n > 0 && *len < (size_t)st.st_size) {
		n = read(fd, text + *len, (size_t)st.st_size - *len);
		*len += n > 0 ? (size_t)n : 0;
	}
	if (text != NULL && n < 0) {
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

int tg_scenario_load_with(const char *file, const struct tg_scenario_setting *set,
			  unsigned int n_set, struct tg_scenario **out,
			  struct tg_scenario_report *report)
{
	size_t len;
	char *text;
	int rc;

	*out = NULL;
	errno = 0;
	text = read_file(file, &len);
	if (text == NULL) {
		tg_scenario_fault(report, "%s: cannot be read: %s", file,
				  errno == EINVAL ? "is no regular file" : strerror(errno));
		return -EINVAL;
	}
	rc = tg_scenario_parse(file, text, len, set, n_set, out, report);
	free(text);
	return rc;
}

int tg_scenario_load(const char *file, struct tg_scenario **out, struct tg_scenario_report *report)
{
	return tg_scenario_load_with(file, NULL, 0, out, report);
}

void tg_scenario_fault(struct tg_scenario_report *report, const char *format, ...)
{
	struct tg_config_report said = {.faults = report->faults, .n_faults = report->n_faults};
	char *text;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	tg_report_add(&said, TG_FAULT, "%s", text);
	report->faults = said.faults;
	report->n_faults = said.n_faults;
	free(text);
}

void tg_scenario_report_free(struct tg_scenario_report *report)
{
	struct tg_config_report said = {.faults = report->faults,
					.n_faults = report->n_faults,
					.notes = report->notes,
					.n_notes = report->n_notes};

	tg_config_report_free(&said);
	*report = (struct tg_scenario_report){0};
}

void tg_scenario_free(struct tg_scenario *s)
{
	struct tg_scenario_all *all = (struct tg_scenario_all *)s;

	if (s == NULL)
		return;
	for (unsigned int i = 0; i < all->n_owned; i++)
		free(all->owned[i]);
	free(all->owned);
	json_decref(s->config);
	free(s->file);
	free(all);
}
