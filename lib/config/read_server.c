/* SPDX-License-Identifier: BSD-3-Clause */
/* services[].servers[] */
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define DELAY_MAX_US    10000000
#define EXCHANGE_MAX_US 60000000 /* as long as an exchange may take (tg_pirate.h) */
#define ALPHA_MAX       1000

#define KEY(field, reader)    TG_KEY(tg_config_server, field, reader)
#define UINT(field, from, to) TG_UINT(tg_config_server, field, from, to)

static const char *state_name(unsigned int i)
{
	static const char *const names[] = {
		[TG_SERVER_UP] = "up", [TG_SERVER_DRAIN] = "drain", [TG_SERVER_DOWN] = "down", NULL};

	return names[i];
}

static void read_mac(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_config_server *server = at;
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	char shown[TG_SHOWN_MAX];
	unsigned int b[6] = {0};
	int end = 0;

	(void)k;
	if (strspn(text, "0123456789abcdefABCDEF:") != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    end != 17 || text[17] != '\0') {
		tg_fault(r, "%s is no link address (as 02:00:5e:10:00:01)", tg_show(v, shown));
		return;
	}
	if ((b[0] & 1) != 0 || (b[0] | b[1] | b[2] | b[3] | b[4] | b[5]) == 0) {
		tg_fault(r, "%s is a group address or all zero: no server has it",
			 tg_show(v, shown));
		return;
	}
	for (unsigned int i = 0; i < 6; i++)
		server->mac[i] = (uint8_t)b[i];
	server->has_mac = true;
}

static void read_alpha(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	double alpha = json_number_value(v);
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_number(v) || (alpha != 0 && !(alpha > 2 && alpha <= ALPHA_MAX)))
		tg_fault(r, "%s is not allowed: 0 (learn), or above 2 up to %d", tg_show(v, shown),
			 ALPHA_MAX);
	else
		memcpy(at, &alpha, sizeof(alpha));
}

static const struct tg_config_key server_keys[] = {
	{KEY(name, tg_read_name), .required = true},
	{KEY(address, tg_read_address), .required = true},
	{.name = "mac", .read = read_mac},
	{UINT(weight, 0, UINT16_MAX), .standard = "1"},
	{UINT(workers, 1, UINT16_MAX), .standard = "1"},
	{UINT(service_time_us, 0, EXCHANGE_MAX_US), .standard = "0"},
	{KEY(tier, tg_read_name)},
	{UINT(delay_us, 0, DELAY_MAX_US)},
	{KEY(alpha, read_alpha), .standard = "0"},
	{KEY(state, tg_read_choice), .choice = state_name, .standard = "up"},
	{UINT(hop_offset, 0, TG_BID_HOPS_MAX)},
};

/* A server's delay is its own, else its tier's, else 0. */
static void settle_delay(struct tg_reader *r, const json_t *v, struct tg_config_server *server)
{
	bool own = json_object_get(v, "delay_us") != NULL;
	const json_t *delay;

	if (server->tier[0] == '\0') {
		if (!own)
			tg_default(r, "delay_us", "0");
		return;
	}
	delay = json_object_get(r->tiers, server->tier);
	if (delay == NULL) {
		size_t mark = tg_path_push_member(r, "tier");

		tg_fault(r, "\"%s\" is none of the names in `tiers`", server->tier);
		tg_path_pop(r, mark);
	} else if (!own) {
		server->delay_us = (uint32_t)json_integer_value(delay);
		tg_default(r, "delay_us", "%u (of its tier)", server->delay_us);
	}
}

static void read_server(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_config_server *server;

	(void)i;
	if (r->n_servers++ >= TG_SERVERS_MAX) {
		if (r->n_servers == TG_SERVERS_MAX + 1)
			tg_fault(r, "is one server too many: %d in all services together",
				 TG_SERVERS_MAX);
		return;
	}
	server = tg_config_add_server(at);
	if (server == NULL) {
		r->no_memory = true;
		return;
	}
	if (tg_read_object(r, server_keys, TG_COUNT(server_keys), v, server))
		settle_delay(r, v, server);
}

void tg_read_servers(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *service)
{
	(void)k;
	tg_read_list(r, v, 1, TG_SERVERS_MAX, "servers", read_server, service);
}
