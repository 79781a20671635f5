/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void tg_table_begin(struct tg_table *t, const char *align)
{
	*t = (struct tg_table){.align = align, .n_columns = (unsigned int)strlen(align)};
}

void tg_table_row(struct tg_table *t)
{
	if (t->n_rows == t->room) {
		unsigned int room = t->room == 0 ? 16 : 2 * t->room;
		void *cell = realloc(t->cell, room * sizeof(*t->cell));

		if (cell == NULL)
			return;
		t->cell = cell;
		t->room = room;
	}
	memset(t->cell[t->n_rows++], 0, sizeof(*t->cell));
}

void tg_table_cell(struct tg_table *t, unsigned int column, const char *format, ...)
{
	va_list args;

	if (t->n_rows == 0 || column >= t->n_columns)
		return;
	va_start(args, format);
	vsnprintf(t->cell[t->n_rows - 1][column], TG_TABLE_CELL, format, args);
	va_end(args);
}

static unsigned int width(const struct tg_table *t, unsigned int column)
{
	size_t widest = 0;

	for (unsigned int row = 0; row < t->n_rows; row++) {
		size_t length = strlen(t->cell[row][column]);

		if (length > widest)
			widest = length;
	}
	return (unsigned int)widest;
}

void tg_table_print(struct tg_table *t, unsigned int indent, FILE *to)
{
	int widths[TG_TABLE_COLUMNS];

	for (unsigned int c = 0; c < t->n_columns; c++)
		widths[c] = (int)width(t, c) * (t->align[c] == 'l' ? -1 : 1);
	for (unsigned int row = 0; row < t->n_rows; row++) {
		for (unsigned int c = 0; c < t->n_columns; c++) {
			/* a last column that stands left needs no blanks after it */
			int w = c == t->n_columns - 1 && widths[c] < 0 ? 0 : widths[c];

			fprintf(to, "%*s%*s", c == 0 ? (int)indent : 2, "", w, t->cell[row][c]);
		}
		fputc('\n', to);
	}
	free(t->cell);
	t->cell = NULL;
	t->n_rows = t->room = 0;
}

const char *tg_table_duration(unsigned long long ns, char buf[TG_DURATION])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	unsigned int unit = 0;

	/* 999.5 would be printed as 1000 of the smaller unit */
	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	if (unit == 0 || value >= 99.95)
		snprintf(buf, TG_DURATION, "%.0f %s", value, units[unit]);
	else
		snprintf(buf, TG_DURATION, "%.*f %s", value >= 9.995 ? 1 : 2, value, units[unit]);
	return buf;
}
