/* SPDX-License-Identifier: BSD-3-Clause */
/* From text to a configuration: the parser, the top of the file, and what is said at the end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SLOTS_MIN (1u << 10)
#define SLOTS_MAX (1u << 28)
#define DAY_S 86400
#define DELAY_MAX_US 10000000
#define TIERS_MAX 256

#define FIELD(type, field)                                                                         \
	.offset = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)

static void read_version(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];
	json_int_t n;

	(void)k;
	(void)at;
	if (!tg_whole_number(v, &n) || n != 1)
		tg_fault(r, "%s is not allowed: this tidegate reads version 1", tg_show(v, shown));
}

static void read_slots(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	uint32_t *slots = at, given = 0;

	tg_read_uint(r, k, v, &given);
	if (given == 0)
		return;
	/* SLOTS_MAX is a power of two: this ends below 2^32 */
	for (*slots = SLOTS_MIN; *slots < given;)
		*slots *= 2;
	if (*slots != given)
		tg_note(r, "%u is rounded up to %u, a power of two", given, *slots);
}

static const struct tg_config_key flow_table_keys[] = {
	{.name = "slots_per_worker", .read = read_slots, FIELD(tg_flow_params, slots),
	 .min = SLOTS_MIN, .max = SLOTS_MAX, .standard = "1048576"},
	{.name = "tcp_idle_s", .read = tg_read_uint, FIELD(tg_flow_params, tcp_idle_s), .min = 1,
	 .max = DAY_S, .standard = "300"},
	{.name = "udp_idle_s", .read = tg_read_uint, FIELD(tg_flow_params, udp_idle_s), .min = 1,
	 .max = DAY_S, .standard = "30"},
	{.name = "closed_s", .read = tg_read_uint, FIELD(tg_flow_params, closed_s), .min = 1,
	 .max = DAY_S, .standard = "5"},
};

static void read_flow_table(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_object(r, flow_table_keys, COUNT(flow_table_keys), v, at);
}

static bool is_path(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++) {
		if ((uint8_t)s[i] < ' ' || s[i] == 0x7f)
			return false;
	}
	return n >= 2 && n < TG_PATH_MAX && s[0] == '/';
}

static void read_socket(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_string(v) || !is_path(json_string_value(v)))
		tg_fault(r, "%s must be an absolute path of at most %d bytes", tg_show(v, shown),
			 TG_PATH_MAX - 1);
	else
		snprintf(at, TG_PATH_MAX, "%s", json_string_value(v));
}

static void read_mode(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	size_t digits = strspn(text, "01234567");
	char shown[TG_SHOWN_MAX];
	uint32_t mode = 0;

	(void)k;
	if (text[digits] != '\0' || digits < 3 || digits > 4 || (digits == 4 && text[0] != '0')) {
		tg_fault(r, "%s must be a text of three octal digits, \"000\"..\"0777\"",
			 tg_show(v, shown));
		return;
	}
	for (; *text != '\0'; text++)
		mode = mode * 8 + (uint32_t)(*text - '0');
	memcpy(at, &mode, sizeof(mode));
}

static void read_group(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	if (!json_is_null(v))
		tg_read_name(r, k, v, at);
}

static const struct tg_config_key control_keys[] = {
	{.name = "socket", .read = read_socket, FIELD(tg_config, control_socket),
	 .standard = "/run/tidegate/control.sock"},
	{.name = "mode", .read = read_mode, FIELD(tg_config, control_mode), .standard = "0660"},
	{.name = "group", .read = read_group, FIELD(tg_config, control_group), .standard = "null"},
};

static void read_control(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_object(r, control_keys, COUNT(control_keys), v, at);
}

struct tier {
	char name[TG_NAME_MAX];
	uint32_t delay_us;
};

static const struct tg_config_key tier_keys[] = {
	{.name = "name", .read = tg_read_name, FIELD(tier, name), .required = true},
	{.name = "delay_us", .read = tg_read_uint, FIELD(tier, delay_us), .max = DELAY_MAX_US,
	 .required = true},
};

static void read_tier(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tier tier = {0};

	(void)i;
	(void)at;
	if (!tg_read_object(r, tier_keys, COUNT(tier_keys), v, &tier) || tier.name[0] == '\0')
		return;
	if (json_object_get(r->tiers, tier.name) != NULL) {
		size_t mark = tg_path_push_member(r, "name");

		tg_fault(r, "\"%s\" is the name of an earlier tier already", tier.name);
		tg_path_pop(r, mark);
	} else if (json_object_set_new(r->tiers, tier.name, json_integer(tier.delay_us)) < 0) {
		r->no_memory = true;
	}
}

static void read_tiers(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_list(r, v, 0, TIERS_MAX, "tiers", read_tier, at);
}

/* In this order: servers look up their tiers. */
static const struct tg_config_key top_keys[] = {
	{.name = "version", .read = read_version, .required = true},
	{.name = "flow_table", .read = read_flow_table, FIELD(tg_config, flow_table)},
	{.name = "control", .read = read_control},
	{.name = "ports", .read = tg_read_ports},
	{.name = "tiers", .read = read_tiers},
	{.name = "services", .read = tg_read_services, .required = true},
};

static void tell_no_effect(struct tg_reader *r)
{
	const char *key;
	json_t *seen;

	json_object_foreach(r->no_effect, key, seen) {
		json_int_t places = json_integer_value(json_array_get(seen, 1));
		size_t mark = tg_path_push(r, "%s", json_string_value(json_array_get(seen, 0)));

		if (places == 1)
			tg_note(r, "has no effect in this version");
		else
			tg_note(r, "has no effect in this version (nor have %lld more like it)",
				(long long)places - 1);
		tg_path_pop(r, mark);
	}
}

static struct tg_config *read_config(struct tg_reader *r, json_t *root)
{
	static const char *const absent_objects[] = {"flow_table", "control"};
	struct tg_config *c = tg_config_new();

	if (c == NULL) {
		r->no_memory = true;
		return NULL;
	}
	/* an absent object is one that leaves everything to its defaults */
	for (unsigned int i = 0; i < COUNT(absent_objects); i++) {
		if (json_is_object(root) && json_object_get(root, absent_objects[i]) == NULL &&
		    json_object_set_new(root, absent_objects[i], json_object()) < 0)
			r->no_memory = true;
	}
	if (tg_read_object(r, top_keys, COUNT(top_keys), root, c))
		tg_cross_check(r, c);
	tell_no_effect(r);
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
	tg_fault(r, "line %d, column %d: %s%s", e->line, e->column, e->text, hint);
}

static json_t *parse(struct tg_reader *r, const char *text, size_t len)
{
	json_error_t error;
	const char *zero;
	json_t *root;

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
	}
	tg_reader_free(&r);
	if (rc < 0 || r.no_memory || report->n_faults > 0) {
		tg_config_free(c);
		return rc < 0 || r.no_memory ? -ENOMEM : -EINVAL;
	}
	*out = c;
	return 0;
}
