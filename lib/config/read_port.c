/* SPDX-License-Identifier: BSD-3-Clause */
/* ports[] */
#include <stdio.h>
#include <string.h>

#include "reader.h"

#define MTU_MIN         68 /* RFC 791 section 3.2: every module forwards 68 octets */
#define DESCRIPTORS_MIN 32 /* one burst */
#define DESCRIPTORS_MAX 32768
#define QUEUES_MAX      1024

static const char *role_name(unsigned int i)
{
	static const char *const names[] = {"client", "server", "both", NULL};

	return names[i];
}

/* A bad entry keeps its place, unset, so that indices in later sentences stay right. */
static void read_prefix(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_config_port *port = at;
	char shown[TG_SHOWN_MAX];
	struct tg_prefix p;

	port->n_addresses = i + 1;
	if (!json_is_string(v) || tg_prefix_parse(json_string_value(v), &p) < 0) {
		tg_fault(r, "%s is no address with prefix length (as 10.0.0.2/24, 2001:db8::2/64)",
			 tg_show(v, shown));
	} else if (!tg_is_host(&p.addr)) {
		tg_fault(r, "%s is unspecified, loopback, multicast or reserved: no host has it",
			 tg_show(v, shown));
	} else if (tg_is_end_of(&p, &p.addr)) {
		tg_fault(r, "%s is the network's own or its broadcast address: no host has it",
			 tg_show(v, shown));
	} else {
		port->addresses[i] = p;
		if (p.len <= (tg_addr_is_v4(&p.addr) ? 96 : 0))
			tg_note(r,
				"%s makes every address of its family a neighbour on this link: no "
				"gateway is asked; is the prefix length meant so?",
				tg_show(v, shown));
	}
}

static void read_gateway(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_config_port *port = at;

	port->n_gateways = i + 1;
	tg_read_address(r, NULL, v, &port->gateways[i]);
}

static void read_addresses(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_list(r, v, 0, TG_PORT_ADDRESSES_MAX, "addresses with prefix length", read_prefix,
		     at);
}

static void read_gateways(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_list(r, v, 0, TG_PORT_ADDRESSES_MAX, "addresses", read_gateway, at);
}

/* A number, or "auto" (0). */
static void read_queues(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	if (!json_is_string(v) || strcmp(json_string_value(v), "auto") != 0)
		tg_read_uint(r, k, v, at);
}

#define KEY(field, reader)    TG_KEY(tg_config_port, field, reader)
#define UINT(field, from, to) TG_UINT(tg_config_port, field, from, to)

static const struct tg_config_key port_keys[] = {
	{KEY(name, tg_read_name), .required = true},
	{KEY(port, tg_read_name), .required = true},
	{KEY(role, tg_read_choice), .choice = role_name, .required = true},
	{.name = "addresses", .read = read_addresses, .standard = "[]"},
	{.name = "gateways", .read = read_gateways, .standard = "[]"},
	{UINT(vlan, 1, 4094)},
	{UINT(mtu, MTU_MIN, UINT16_MAX), .standard = "1500"},
	{UINT(rx_descriptors, DESCRIPTORS_MIN, DESCRIPTORS_MAX), .standard = "1024"},
	{UINT(tx_descriptors, DESCRIPTORS_MIN, DESCRIPTORS_MAX), .standard = "256"},
	{KEY(rx_queues, read_queues), .min = 1, .max = QUEUES_MAX, .standard = "auto"},
	{UINT(rate_mbps, 1, 10000000), .standard = "unknown"},
	{KEY(kernel, tg_read_name), .standard = "none"},
};

static void read_port(struct tg_reader *r, json_t *v, unsigned int i, void *config)
{
	struct tg_config *c = config;
	struct tg_config_port *port = &c->ports[i];

	*port = (struct tg_config_port){
		.mtu = 1500,
		.rx_descriptors = 1024,
		.tx_descriptors = 256,
	};
	c->n_ports = i + 1;
	tg_read_object(r, port_keys, TG_COUNT(port_keys), v, port);
}

void tg_read_ports(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *config)
{
	(void)k;
	tg_read_list(r, v, 1, TG_PORTS_MAX, "ports", read_port, config);
}
