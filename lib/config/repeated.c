/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that an object repeats. A JSON parser keeps the last one in silence, or stops at the first
 * without saying where it stands. The parser has accepted the text: only the structure is
 * followed here, and every key is decoded by the parser again ("\u0061" is "a").
 */
#include <string.h>

#include "reader.h"

struct scan {
	const char *p, *end;
	const char *counted; /* lines are counted up to here */
	unsigned int line;
	struct tg_reader *r;
};

static void scan_value(struct scan *s);

static void skip_space(struct scan *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) != NULL && *s->p != '\0')
		s->p++;
}

/* At a quote: past the closing one. */
static void skip_string(struct scan *s)
{
	for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
		if (*s->p == '\\')
			s->p++;
	}
	s->p++;
}

static bool at_mark(struct scan *s, char mark)
{
	skip_space(s);
	return s->p < s->end && *s->p == mark;
}

static unsigned int line_of(struct scan *s, const char *at)
{
	for (; s->counted < at; s->counted++)
		s->line += *s->counted == '\n';
	return s->line;
}

/* "key": value. seen holds the keys of this object so far. */
static void scan_member(struct scan *s, json_t *seen)
{
	const char *start = s->p, *name;
	json_t *key;
	size_t mark;

	skip_string(s);
	key = json_loadb(start, (size_t)(s->p - start), JSON_DECODE_ANY, NULL);
	name = json_string_value(key);
	if (name == NULL) {
		s->r->no_memory = true;
		s->p = s->end;
		json_decref(key);
		return;
	}
	mark = tg_path_push_member(s->r, name);
	if (json_object_get(seen, name) != NULL)
		tg_fault(s->r, "is given twice (again on line %u)", line_of(s, start));
	else if (json_object_set_new(seen, name, json_true()) < 0)
		s->r->no_memory = true;
	json_decref(key);
	if (at_mark(s, ':'))
		s->p++;
	scan_value(s);
	tg_path_pop(s->r, mark);
}

static void scan_object(struct scan *s)
{
	json_t *seen = json_object();

	for (s->p++; s->p < s->end && !at_mark(s, '}');) {
		if (at_mark(s, '"'))
			scan_member(s, seen);
		else
			s->p++;
	}
	s->p++;
	json_decref(seen);
}

static void scan_list(struct scan *s)
{
	unsigned int i = 0;

	for (s->p++; s->p < s->end && !at_mark(s, ']'); i++) {
		size_t mark = tg_path_push(s->r, "[%u]", i);
		const char *start = s->p;

		scan_value(s);
		tg_path_pop(s->r, mark);
		if (at_mark(s, ',') || s->p == start)
			s->p++;
	}
	s->p++;
}

/* The parser has bounded the depth (2048 in jansson). */
static void scan_value(struct scan *s)
{
	if (at_mark(s, '{'))
		scan_object(s);
	else if (at_mark(s, '['))
		scan_list(s);
	else if (at_mark(s, '"'))
		skip_string(s);
	else
		while (s->p < s->end && strchr(",]} \t\r\n", *s->p) == NULL)
			s->p++;
}

void tg_find_repeated_keys(struct tg_reader *r, const char *text, size_t len)
{
	struct scan s = {.p = text, .end = text + len, .counted = text, .line = 1, .r = r};

	scan_value(&s);
}
