/* SPDX-License-Identifier: BSD-3-Clause */
#include "print.h"

#include <stdbool.h>
#include <string.h>

#define CELL_MAX 256
#define KEY_MAX  128

static void print_value(FILE *out, const char *title, json_t *v);

static bool is_table(const json_t *v)
{
	return json_is_array(v) && json_is_object(json_array_get(v, 0));
}

/* Does a component of "latency_ns.mean" end in _ns? */
static bool is_time(const char *key)
{
	for (const char *p = strstr(key, "_ns"); p != NULL; p = strstr(p + 1, "_ns")) {
		if (p[3] == '\0' || p[3] == '.')
			return true;
	}
	return false;
}

/* "latency_ns.mean" as "latency.mean": the value tells its unit. */
static void show_title(const char *key, char out[KEY_MAX])
{
	size_t n = 0;

	for (const char *p = key; *p != '\0' && n < KEY_MAX - 1; p++) {
		if (strncmp(p, "_ns", 3) == 0 && (p[3] == '\0' || p[3] == '.'))
			p += 2;
		else
			out[n++] = *p;
	}
	out[n] = '\0';
	tg_ctl_plain(out, false);
}

static void show_time(double ns, char out[CELL_MAX])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned int u = 0;

	for (; u < 3 && ns >= 999.5; u++)
		ns /= 1000;
	snprintf(out, CELL_MAX, "%.*f %s",
		 u == 0 || ns >= 99.95 ? 0
		 : ns >= 9.995         ? 1
				       : 2,
		 ns, units[u]);
}

void tg_ctl_plain(char *text, bool lines)
{
	for (unsigned char *p = (unsigned char *)text; *p != '\0'; p++) {
		if ((*p < ' ' && !(lines && *p == '\n')) || *p == 0x7f) {
			*p = ' ';
		} else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
			p[0] = p[1] = ' ';
		}
	}
}

static void show_text(const char *text, char out[CELL_MAX])
{
	snprintf(out, CELL_MAX, "%s", text);
	tg_ctl_plain(out, false);
}

static void show_list(const json_t *list, char out[CELL_MAX])
{
	size_t n = 0, i;
	json_t *v;

	out[0] = '\0';
	json_array_foreach(list, i, v) {
		char item[CELL_MAX] = "";

		if (json_is_string(v))
			show_text(json_string_value(v), item);
		else
			item[json_dumpb(v, item, sizeof(item) - 1, JSON_ENCODE_ANY) % sizeof(item)] =
				'\0';
		n += (size_t)snprintf(out + n, CELL_MAX - n, "%s%s", i > 0 ? "," : "", item);
		if (n >= CELL_MAX)
			return;
	}
	if (i == 0)
		strcpy(out, "-");
}

static void show_cell(const char *key, const json_t *v, char out[CELL_MAX])
{
	if (v == NULL || json_is_null(v))
		strcpy(out, "-");
	else if (json_is_string(v))
		show_text(json_string_value(v), out);
	else if (json_is_boolean(v))
		strcpy(out, json_is_true(v) ? "yes" : "no");
	else if (json_is_array(v))
		show_list(v, out);
	else if (json_is_number(v) && is_time(key))
		show_time(json_number_value(v), out);
	else if (json_is_integer(v))
		snprintf(out, CELL_MAX, "%lld", (long long)json_integer_value(v));
	else
		snprintf(out, CELL_MAX, "%.6g", json_number_value(v));
}

/* Members of objects inside become "outer.inner"; tables are left out. */
static void flatten(json_t *object, const char *prefix, json_t *out)
{
	const char *key;
	json_t *v;

	json_object_foreach(object, key, v) {
		char name[KEY_MAX];

		snprintf(name, sizeof(name), "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", key);
		if (json_is_object(v))
			flatten(v, name, out);
		else if (!is_table(v))
			json_object_set(out, name, v);
	}
}

/* The columns of a table: key -> width, in the order of their first row. */
static json_t *columns_of(const json_t *rows)
{
	json_t *columns = json_object(), *row, *v;
	const char *key;
	size_t i;

	json_array_foreach(rows, i, row) {
		json_object_foreach(row, key, v) {
			char cell[CELL_MAX], title[KEY_MAX];
			json_int_t width = json_integer_value(json_object_get(columns, key));

			show_cell(key, v, cell);
			show_title(key, title);
			if (width < (json_int_t)strlen(title))
				width = (json_int_t)strlen(title);
			if (width < (json_int_t)strlen(cell))
				width = (json_int_t)strlen(cell);
			json_object_set_new(columns, key, json_integer(width));
		}
	}
	return columns;
}

/* Numbers to the right, texts to the left; nothing after the last text. */
static void print_cell(FILE *out, const char *text, int width, bool right, bool last)
{
	if (right)
		fprintf(out, "%*s", width, text);
	else
		fprintf(out, "%-*s", last ? 0 : width, text);
	fputs(last ? "\n" : "  ", out);
}

/* row NULL: the titles; like: a row that shows which columns are numbers. */
static void print_row(FILE *out, json_t *columns, const json_t *row, const json_t *like)
{
	size_t left = json_object_size(columns);
	const char *key;
	json_t *width;

	json_object_foreach(columns, key, width) {
		char text[CELL_MAX];

		if (row == NULL)
			show_title(key, text);
		else
			show_cell(key, json_object_get(row, key), text);
		print_cell(out, text, (int)json_integer_value(width),
			   json_is_number(json_object_get(like, key)), --left == 0);
	}
}

static void print_table(FILE *out, const json_t *list)
{
	json_t *rows = json_array(), *row, *columns;
	size_t i;

	json_array_foreach(list, i, row) {
		json_t *flat = json_object();

		flatten(row, "", flat);
		json_array_append_new(rows, flat);
	}
	columns = columns_of(rows);
	print_row(out, columns, NULL, json_array_get(rows, 0));
	json_array_foreach(rows, i, row)
		print_row(out, columns, row, row);
	json_decref(columns);
	json_decref(rows);
}

/* Tables inside an object, below it, under its name and theirs. */
static void print_tables_of(FILE *out, const char *owner, json_t *object)
{
	const char *key;
	json_t *v;

	json_object_foreach(object, key, v) {
		char title[CELL_MAX];

		snprintf(title, sizeof(title), "%.100s%s%.100s", owner,
			 owner[0] != '\0' ? ", " : "", key);
		if (json_is_object(v))
			print_tables_of(out, title, v);
		else if (is_table(v))
			print_value(out, title, v);
	}
}

static void print_object(FILE *out, json_t *object)
{
	json_t *flat = json_object(), *v;
	int width = 0;
	const char *key;
	char title[KEY_MAX], text[CELL_MAX];

	flatten(object, "", flat);
	json_object_foreach(flat, key, v) {
		show_title(key, title);
		if (width < (int)strlen(title))
			width = (int)strlen(title);
	}
	json_object_foreach(flat, key, v) {
		show_title(key, title);
		show_cell(key, v, text);
		fprintf(out, "%-*s  %s\n", width, title, text);
	}
	json_decref(flat);
}

static void print_value(FILE *out, const char *title, json_t *v)
{
	json_t *row;
	size_t i;

	if (title[0] != '\0')
		fprintf(out, "\n%s:\n", title);
	print_table(out, v);
	json_array_foreach(v, i, row) {
		char owner[CELL_MAX], name[CELL_MAX];

		show_cell("name", json_object_get(row, "name"), name);
		snprintf(owner, sizeof(owner), "%.100s%s%.100s", title, title[0] != '\0' ? " " : "",
			 name);
		print_tables_of(out, owner, row);
	}
}

void tg_ctl_print(FILE *out, json_t *answer)
{
	char text[CELL_MAX];

	if (json_is_object(answer)) {
		print_object(out, answer);
		print_tables_of(out, "", answer);
	} else if (is_table(answer)) {
		print_value(out, "", answer);
	} else {
		show_cell("", answer, text);
		fprintf(out, "%s\n",
			json_is_array(answer) && json_array_size(answer) == 0 ? "none" : text);
	}
}
