/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any answer as text: an object as lines of key and value, a list of objects as a table, lists of
 * objects inside them as tables below. Keys that end in _ns are shown as times with a unit.
 *
 * Thread-safety: one thread.
 */
#ifndef TG_CTL_PRINT_H
#define TG_CTL_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

void tg_ctl_print(FILE *out, json_t *answer);

/* A terminal obeys control characters: each byte of one (ASCII's, and C1's in UTF-8) becomes a space.
 * lines: newlines stay. */
void tg_ctl_plain(char *text, bool lines);

#endif
