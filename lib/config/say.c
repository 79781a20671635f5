/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the reader stands, and what it says about it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

#define SAID_MAX 100 /* a file of another kind would give a fault for every byte */

int tg_reader_init(struct tg_reader *r, const char *file, struct tg_config_report *report)
{
	*r = (struct tg_reader){
		.file = file,
		.report = report,
		.tiers = json_object(),
	};
	return r->tiers == NULL ? -ENOMEM : 0;
}

void tg_reader_free(struct tg_reader *r)
{
	json_decref(r->tiers);
}

static void push(struct tg_reader *r, const char *text)
{
	int n = snprintf(r->path + r->path_len, sizeof(r->path) - r->path_len, "%s", text);

	r->path_len += (size_t)n;
	if (r->path_len >= sizeof(r->path))
		r->path_len = sizeof(r->path) - 1;
}

size_t tg_path_push(struct tg_reader *r, const char *format, ...)
{
	size_t mark = r->path_len;
	char text[TG_SHOWN_MAX + 8];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	push(r, text);
	return mark;
}

void tg_path_pop(struct tg_reader *r, size_t mark)
{
	r->path_len = mark;
	r->path[mark] = '\0';
}

/* Printable ASCII as it is, other bytes as \xNN, cut with "..." before the room ends. */
static void show_text(const char *text, char buf[TG_SHOWN_MAX])
{
	const size_t room = TG_SHOWN_MAX - sizeof("\\xNN...\"");
	size_t n = 0;

	buf[n++] = '"';
	for (; *text != '\0' && n < room; text++) {
		if (*text == '"' || *text == '\\')
			n += (size_t)sprintf(buf + n, "\\%c", *text);
		else if (*text >= ' ' && *text <= '~')
			buf[n++] = *text;
		else
			n += (size_t)sprintf(buf + n, "\\x%02x", (uint8_t)*text);
	}
	snprintf(buf + n, TG_SHOWN_MAX - n, "%s\"", *text != '\0' ? "..." : "");
}

static bool is_plain_word(const char *name)
{
	size_t n = strspn(name,
			  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-");

	return n > 0 && n < 48 && name[n] == '\0';
}

size_t tg_path_push_member(struct tg_reader *r, const char *name)
{
	char shown[TG_SHOWN_MAX];

	if (is_plain_word(name))
		return tg_path_push(r, "%s%s", r->path_len > 0 ? "." : "", name);
	show_text(name, shown);
	return tg_path_push(r, "[%s]", shown);
}

/* A sentence of the reader: the file, the place and what is to be said. */
static void say(struct tg_reader *r, enum tg_sentence kind, const char *format, va_list ap)
{
	char *text;

	if (kind == TG_FAULT && r->report->n_faults >= SAID_MAX) {
		r->unsaid++;
		return;
	}
	if (kind == TG_NOTE && r->report->n_notes >= SAID_MAX) {
		r->unsaid_notes++;
		return;
	}
	if (vasprintf(&text, format, ap) < 0) {
		r->no_memory = true;
		return;
	}
	if (tg_report_add(r->report, kind, "%s: %s%s%s", r->file, r->path,
			  r->path_len > 0 ? ": " : "", text) < 0)
		r->no_memory = true;
	free(text);
}

void tg_fault(struct tg_reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(r, TG_FAULT, format, ap);
	va_end(ap);
}

void tg_note(struct tg_reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(r, TG_NOTE, format, ap);
	va_end(ap);
}

void tg_default(struct tg_reader *r, const char *key, const char *format, ...)
{
	char value[TG_SHOWN_MAX + TG_PATH_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(value, sizeof(value), format, ap);
	va_end(ap);
	if (tg_report_add(r->report, TG_DEFAULT, "%s%s%s = %s", r->path, r->path_len > 0 ? "." : "",
			  key, value) < 0)
		r->no_memory = true;
}

const char *tg_show(const json_t *v, char buf[TG_SHOWN_MAX])
{
	size_t n;

	if (json_is_object(v) || json_is_array(v)) {
		snprintf(buf, TG_SHOWN_MAX, "%s", json_is_array(v) ? "a list" : "an object");
	} else if (json_is_string(v)) {
		show_text(json_string_value(v), buf);
	} else {
		n = json_dumpb(v, buf, TG_SHOWN_MAX - 1, JSON_ENCODE_ANY);
		buf[n < TG_SHOWN_MAX ? n : 0] = '\0';
	}
	return buf;
}
