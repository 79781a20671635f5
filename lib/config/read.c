/* SPDX-License-Identifier: BSD-3-Clause */
/* The top of the file, and its small objects: flow_table, control, metrics, tiers[]. */
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define SLOTS_MIN    (1u << 10)
#define SLOTS_MAX    (1u << 28)
#define DAY_S        86400
#define DELAY_MAX_US 10000000
#define TIERS_MAX    256

static void read_version(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];
	json_int_t n;

	(void)k;
	(void)at;
	if (!tg_whole_number(v, &n) || n != 1)
		tg_fault(r, "%s is not allowed: this tidegate reads version 1", tg_show(v, shown));
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

static void read_path(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_string(v) || !is_path(json_string_value(v)))
		tg_fault(r, "%s must be an absolute path of at most %d bytes", tg_show(v, shown),
			 TG_PATH_MAX - 1);
	else
		snprintf(at, TG_PATH_MAX, "%s", json_string_value(v));
}

static void read_path_or_null(struct tg_reader *r, const struct tg_config_key *k, json_t *v,
			      void *at)
{
	if (!json_is_null(v))
		read_path(r, k, v, at);
}

#define SECONDS(field, from) \
	.read = tg_read_uint, TG_FIELD(tg_config, field), .min = (from), .max = DAY_S

static const struct tg_config_key flow_table_keys[] = {
	{.name = "slots_per_worker",
	 .read = tg_read_slots,
	 TG_FIELD(tg_config, flow_table.slots),
	 .min = SLOTS_MIN,
	 .max = SLOTS_MAX,
	 .standard = "1048576"},
	{.name = "tcp_idle_s", SECONDS(flow_table.tcp_idle_s, 1), .standard = "300"},
	{.name = "udp_idle_s", SECONDS(flow_table.udp_idle_s, 1), .standard = "30"},
	{.name = "closed_s", SECONDS(flow_table.closed_s, 1), .standard = "5"},
	{.name = "snapshot",
	 .read = read_path_or_null,
	 TG_FIELD(tg_config, flow_snapshot),
	 .standard = "null"},
	{.name = "snapshot_s", SECONDS(flow_snapshot_s, 0), .standard = "10"},
};

static void read_flow_table(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_object(r, flow_table_keys, TG_COUNT(flow_table_keys), v, at);
}

static void read_mode(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	size_t digits = strspn(text, "01234567");
	char shown[TG_SHOWN_MAX];
	uint32_t mode = 0;

	(void)k;
	if (text[digits] != '\0' || digits < 3 || digits > 4 || (digits == 4 && text[0] != '0')) {
		tg_fault(
			r,
			"%s must be a text of three octal digits, a 0 before them or not: \"000\"..\"0777\", no setuid, setgid or sticky bit",
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
	{.name = "socket",
	 .read = read_path,
	 TG_FIELD(tg_config, control_socket),
	 .standard = "/run/tidegate/control.sock"},
	{.name = "mode", .read = read_mode, TG_FIELD(tg_config, control_mode), .standard = "0660"},
	{.name = "group",
	 .read = read_group,
	 TG_FIELD(tg_config, control_group),
	 .standard = "null"},
	{.name = "captures",
	 .read = read_path,
	 TG_FIELD(tg_config, captures),
	 .standard = TG_CAPTURES_STANDARD},
};

static void read_control(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_object(r, control_keys, TG_COUNT(control_keys), v, at);
}

static const struct tg_config_key metrics_keys[] = {
	{TG_UINT(tg_config_metrics, port, 0, 65535), .standard = "0"},
	{TG_KEY(tg_config_metrics, socket, read_path_or_null), .standard = "null"},
	{TG_UINT(tg_config_metrics, servers_max, 0, TG_SERVERS_MAX), .standard = "256"},
};

static void read_metrics(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_object(r, metrics_keys, TG_COUNT(metrics_keys), v, at);
}

struct tier {
	char name[TG_NAME_MAX];
	uint32_t delay_us;
};

static const struct tg_config_key tier_keys[] = {
	{TG_KEY(tier, name, tg_read_name), .required = true},
	{TG_UINT(tier, delay_us, 0, DELAY_MAX_US), .required = true},
};

static void read_tier(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tier tier = {0};

	(void)i;
	(void)at;
	if (!tg_read_object(r, tier_keys, TG_COUNT(tier_keys), v, &tier) || tier.name[0] == '\0')
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
	{.name = "flow_table", .read = read_flow_table},
	{.name = "workers", .read = tg_read_workers, TG_FIELD(tg_config, workers)},
	{.name = "control", .read = read_control},
	{.name = "metrics", .read = read_metrics, TG_FIELD(tg_config, metrics)},
	{.name = "ports", .read = tg_read_ports},
	{.name = "tiers", .read = read_tiers},
	{.name = "services", .read = tg_read_services, .required = true},
};

bool tg_read_top(struct tg_reader *r, json_t *root, struct tg_config *c)
{
	static const char *const may_be_absent[] = {"flow_table", "workers", "control", "metrics"};

	/* an absent object is one that leaves everything to its defaults */
	for (unsigned int i = 0; i < TG_COUNT(may_be_absent); i++) {
		if (json_is_object(root) && json_object_get(root, may_be_absent[i]) == NULL &&
		    json_object_set_new(root, may_be_absent[i], json_object()) < 0)
			r->no_memory = true;
	}
	return tg_read_object(r, top_keys, TG_COUNT(top_keys), root, c);
}
