/* SPDX-License-Identifier: BSD-3-Clause */
/* From text to a configuration: what is no JSON is said here, all the rest by the tables. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

static struct tg_config *read_config(struct tg_reader *r, json_t *root)
{
	struct tg_config *c = tg_config_new();

	if (c == NULL) {
		r->no_memory = true;
		return NULL;
	}
	if (tg_read_top(r, root, c))
		tg_cross_check(r, c);
	return c;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (memchr(" \t\r\n", text[i], 4) == NULL)
			return false;
	}
	return true;
}

/* What the parser says quotes the file: kept printable. */
static void tell_syntax(struct tg_reader *r, json_error_t *e)
{
	const char *hint = "";

	if (json_error_code(e) == json_error_premature_end_of_input)
		hint = "; the file ends too early (half written?)";
	else if (strstr(e->text, "near '/") != NULL || strstr(e->text, "near '#") != NULL)
		hint = "; JSON has no comments";
	for (char *p = e->text; *p != '\0'; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	if (strstr(e->text, "JSON_ALLOW_NUL") != NULL) /* an option of the parser's */
		snprintf(e->text, sizeof(e->text), "\\u0000 is a zero byte: no text here has one");
	tg_fault(r, "line %d, column %d: %s%s", e->line, e->column, e->text, hint);
}

static json_t *parse(struct tg_reader *r, const char *text, size_t len)
{
	json_error_t error;
	const char *zero;
	json_t *root;

	/* what some editors put before UTF-8; a parser may pass over it (RFC 8259, section 8.1) */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	if (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
		tg_fault(r, "is UTF-16: save it as UTF-8");
		return NULL;
	}
	if (is_blank(text, len)) {
		tg_fault(r, "is empty (half written?): must be an object {\"version\": 1, ...}");
		return NULL;
	}
	/* the parser passes over some of them; a crash leaves blocks of them */
	zero = memchr(text, '\0', len);
	if (zero != NULL) {
		tg_fault(r, "has a zero byte at offset %zu: is no text (half written?)",
			 (size_t)(zero - text));
		return NULL;
	}
	root = json_loadb(text, len, JSON_DECODE_ANY, &error);
	/* as reals even the largest are out of range where they stand, by their keys */
	if (root == NULL && json_error_code(&error) == json_error_numeric_overflow)
		root = json_loadb(text, len, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error);
	if (root == NULL)
		tell_syntax(r, &error);
	else
		tg_find_repeated_keys(r, text, len);
	return root;
}

int tg_config_parse(const char *name, const char *text, size_t len, struct tg_config **out,
		    struct tg_config_report *report)
{
	struct tg_config *c = NULL;
	struct tg_reader r;
	json_t *root;
	int rc = tg_reader_init(&r, name, report);

	*out = NULL;
	if (rc == 0) {
		root = parse(&r, text, len);
		if (root != NULL)
			c = read_config(&r, root);
		json_decref(root);
		if (r.unsaid > 0)
			tg_report_add(report, TG_FAULT, "%s: and %u more faults", name, r.unsaid);
		if (r.unsaid_notes > 0)
			tg_report_add(report, TG_NOTE, "%s: and %u more notes", name,
				      r.unsaid_notes);
	}
	tg_reader_free(&r);
	if (rc < 0 || r.no_memory || report->n_faults > 0) {
		tg_config_free(c);
		return rc < 0 || r.no_memory ? -ENOMEM : -EINVAL;
	}
	*out = c;
	return 0;
}
