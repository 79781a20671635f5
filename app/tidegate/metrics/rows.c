/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listings of the control socket as metrics: each number of a row is a series of type "unknown" (the
 * listing says not whether it only grows), the texts of the row are its labels.
 */
#include "metrics/rows.h"

#include <string.h>

#include "api/api.h"
#include "metrics/metrics.h"

#define ROWS_MAX   1024
#define LABELS_MAX 512

static const struct {
	const char *command, *family;
} listings[] = {
	{"task list", "task"},
	{"stage list", "stage"},
	{"admission list", "admission"},
	{"bid list", "auction"},
};

/* Only what a metric's or a label's name may have. */
static bool is_name(const char *key)
{
	return key[0] != '\0' &&
	       strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(key);
}

static void labels_of(const json_t *row, size_t at, char out[LABELS_MAX])
{
	size_t n = 0;
	const char *key;
	json_t *v;

	/* rows without a text of their own are told apart by their place */
	n += (size_t)snprintf(out, LABELS_MAX, "{row=\"%zu\"", at);
	json_object_foreach((json_t *)(uintptr_t)row, key, v) {
		char text[160];

		if (!json_is_string(v) || !is_name(key) || n > LABELS_MAX - 240)
			continue;
		tg_metrics_escape(json_string_value(v), text, sizeof(text));
		n += (size_t)snprintf(out + n, LABELS_MAX - n, ",%.64s=\"%s\"", key, text);
	}
	snprintf(out + n, LABELS_MAX - n, "}");
}

static void series(const json_t *rows, const char *key, const char *family, const char *command,
		   FILE *out)
{
	char labels[LABELS_MAX];
	json_t *row;
	size_t i;

	fprintf(out, "# TYPE tidegate_%s_%s unknown\n", family, key);
	fprintf(out, "# HELP tidegate_%s_%s \"%s\" of `tidegatectl %s`.\n", family, key, key,
		command);
	json_array_foreach(rows, i, row) {
		const json_t *v = json_object_get(row, key);

		if (i >= ROWS_MAX || !json_is_number(v))
			continue;
		labels_of(row, i, labels);
		fprintf(out, "tidegate_%s_%s%s %.17g\n", family, key, labels, json_number_value(v));
	}
}

void tg_metrics_rows(struct tg_gateway *g, FILE *out)
{
	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++) {
		char err[256], *none[1] = {NULL};
		json_t *rows = tg_api_handle(g, listings[i].command, none, 0, err, sizeof(err));
		json_t *first = json_array_get(rows, 0), *v;
		const char *key;

		json_object_foreach(first, key, v) {
			if (json_is_number(v) && is_name(key))
				series(rows, key, listings[i].family, listings[i].command, out);
		}
		json_decref(rows);
	}
}
