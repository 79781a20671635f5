/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A table of text whose columns are as wide as they must be.
 *
 * Thread-safety: one thread. Cells that do not fit or find no memory are cut or left out: a table
 * never fails.
 */
#ifndef TG_TABLE_H
#define TG_TABLE_H

#include <stdio.h>

#define TG_TABLE_COLUMNS 12
#define TG_TABLE_CELL    80

struct tg_table {
	unsigned int n_columns, n_rows, room;
	const char *align; /**< 'l' or 'r' a column */
	char (*cell)[TG_TABLE_COLUMNS][TG_TABLE_CELL];
};

/** `align` has one letter a column, at most TG_TABLE_COLUMNS. */
void tg_table_begin(struct tg_table *t, const char *align);

/** A new row, empty. */
void tg_table_row(struct tg_table *t);

/** A cell of the newest row. */
void tg_table_cell(struct tg_table *t, unsigned int column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Prints every row, `indent` spaces in front, and forgets them. */
void tg_table_print(struct tg_table *t, unsigned int indent, FILE *to);

/** Room for tg_table_duration(). */
#define TG_DURATION 24

/** A duration with three digits and its unit: "8.04 us", "23 ns", "1.25 s". Returns buf. */
const char *tg_table_duration(unsigned long long ns, char buf[TG_DURATION]);

#endif
