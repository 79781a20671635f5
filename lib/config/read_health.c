/* SPDX-License-Identifier: BSD-3-Clause */
/* services[].health */
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define INTERVAL_MAX_MS 3600000

#define AT(field)             TG_FIELD(tg_health_params, field)
#define KEY(field, reader)    TG_KEY(tg_health_params, field, reader)
#define UINT(field, from, to) TG_UINT(tg_health_params, field, from, to)

static const char *type_name(unsigned int i)
{
	return tg_health_type_name(i);
}

/* A request line has no spaces in it (RFC 9112 section 3). */
static void read_path(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	const char *path = json_is_string(v) ? json_string_value(v) : "";
	char shown[TG_SHOWN_MAX];
	size_t n = strlen(path), good = 0;

	(void)k;
	while (good < n && path[good] > ' ' && path[good] <= '~')
		good++;
	if (path[0] != '/' || good < n || n >= TG_HEALTH_PATH_MAX)
		tg_fault(r,
			 "%s must begin with / and have up to %d printable ASCII characters without "
			 "spaces",
			 tg_show(v, shown), TG_HEALTH_PATH_MAX - 1);
	else
		snprintf(at, TG_HEALTH_PATH_MAX, "%s", path);
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_payload(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	const char *text = json_is_string(v) ? json_string_value(v) : "?";
	struct tg_health_params *p = at;
	char shown[TG_SHOWN_MAX];
	size_t n = strlen(text);
	bool good = n % 2 == 0 && n / 2 <= TG_HEALTH_PAYLOAD_MAX;

	(void)k;
	for (size_t i = 0; good && i < n; i++)
		good = nibble(text[i]) >= 0;
	if (!good) {
		tg_fault(r, "%s must be up to %d bytes in hexadecimal, two digits each",
			 tg_show(v, shown), TG_HEALTH_PAYLOAD_MAX);
		return;
	}
	p->payload_len = (uint16_t)(n / 2);
	for (size_t i = 0; i < n / 2; i++)
		p->payload[i] = (uint8_t)(nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]));
}

static void read_initial(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	bool down = strcmp(text, "down") == 0;
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!down && strcmp(text, "up") != 0)
		tg_fault(r, "%s is not allowed; this version has \"up\", \"down\"",
			 tg_show(v, shown));
	else
		memcpy(at, &down, sizeof(down));
}

static const struct tg_config_key health_keys[] = {
	{KEY(type, tg_read_choice), .choice = type_name, .standard = "off"},
	{UINT(interval_ms, 100, INTERVAL_MAX_MS), .standard = "1000"},
	{UINT(timeout_ms, 10, INTERVAL_MAX_MS), .standard = "500"},
	{UINT(rise, 1, 100), .standard = "2"},
	{UINT(fall, 1, 100), .standard = "3"},
	{UINT(port, 1, UINT16_MAX), .standard = "the service's first port"},
	{KEY(path, read_path), .standard = "/"},
	{.name = "payload", .read = read_payload, .standard = "none"},
	{KEY(expect, tg_read_bool), .standard = "false"},
	{KEY(passive, tg_read_bool), .standard = "true"},
	{.name = "initial", .read = read_initial, AT(initial_down), .standard = "up"},
};

/* A key that another type of check reads would have no effect. An object with type off may have any: it is a check
 * that was turned off. */
static void refuse_other(struct tg_reader *r, json_t *v, const char *key, enum tg_health_type its,
			 enum tg_health_type type)
{
	size_t mark = tg_path_push_member(r, key);

	if (json_object_get(v, key) != NULL && type != TG_HEALTH_OFF && type != its)
		tg_fault(r, "is read by checks of type \"%s\" only, this one is \"%s\": remove it",
			 tg_health_type_name(its), tg_health_type_name(type));
	tg_path_pop(r, mark);
}

void tg_read_health(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *health)
{
	const struct tg_health_params *p = health;

	(void)k;
	if (!tg_read_object(r, health_keys, TG_COUNT(health_keys), v, health))
		return;
	refuse_other(r, v, "path", TG_HEALTH_HTTP, p->type);
	refuse_other(r, v, "payload", TG_HEALTH_UDP, p->type);
	refuse_other(r, v, "expect", TG_HEALTH_UDP, p->type);
}
