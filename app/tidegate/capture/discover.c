/* SPDX-License-Identifier: BSD-3-Clause */
#include "discover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "tg_parse.h"

/* A flow table twice as large as the capture needs leaves no flow without a place. */
#define SLOTS_MIN (1u << 10)
#define SLOTS_MAX (1u << 19)

/* Headers are all that is looked at. */
#define FRAME_ROOM 2048

struct candidate {
	const struct tg_endpoint *endpoint;
	const struct tg_served *served;
};

/* The parser gives no fragment ports, since only the first one has them; here the first one is
 * enough to tell the service.
 */
static const uint16_t *first_fragment_ports(const uint8_t *data, uint32_t length,
					    const struct tg_pkt *p, uint16_t ports[2])
{
	if ((p->flags & (TG_PKT_FRAGMENT | TG_PKT_LATER)) != TG_PKT_FRAGMENT || p->l4_off == 0 ||
	    length < p->l4_off + 2 * sizeof(ports[0]))
		return NULL;
	memcpy(ports, data + p->l4_off, 2 * sizeof(ports[0]));
	return ports;
}

static void read_all(struct tg_capture *cap, uint8_t *buffer, struct tg_progress *progress,
		     const volatile bool *stop, struct tg_conversations *to)
{
	const struct tg_capture_info *info = tg_capture_info(cap);
	struct tg_link_result frame;
	struct tg_frame raw;
	struct tg_pkt p;
	uint16_t ports[2];

	while (tg_capture_next(cap, &raw) == 1) {
		if (stop != NULL && *stop)
			return;
		tg_progress_step(progress, info->bytes_read, info->size);
		if (tg_link_to_ethernet(&raw, buffer, FRAME_ROOM, &frame) != 0 ||
		    tg_parse(buffer, frame.cap_len, frame.wire_len, &p) != TG_DROP_NONE)
			continue;
		tg_conversations_add(to, &p,
				     first_fragment_ports(buffer, frame.cap_len, &p, ports));
	}
}

static const char *protocol_name(uint8_t protocol, char *number, size_t len)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_IPIP:
		return "ipip";
	case IPPROTO_IPV6:
		return "ip6ip";
	case IPPROTO_GRE:
		return "gre";
	case IPPROTO_ESP:
		return "esp";
	case IPPROTO_AH:
		return "ah";
	case IPPROTO_SCTP:
		return "sctp";
	default:
		snprintf(number, len, "ip-%u", protocol);
		return number;
	}
}

/* "tcp 10.0.0.1:443", "udp [2001:db8::1]:53", "esp 10.0.0.1" */
static void name_service(const struct tg_endpoint *e, const char *address, char *name, size_t len)
{
	char number[16];
	const char *protocol = protocol_name(e->protocol, number, sizeof(number));

	if (e->port == 0)
		snprintf(name, len, "%.8s %.45s", protocol, address);
	else if (tg_addr_is_v4(&e->address))
		snprintf(name, len, "%.8s %.45s:%u", protocol, address, ntohs(e->port));
	else
		snprintf(name, len, "%.8s [%.45s]:%u", protocol, address, ntohs(e->port));
}

static int add_service(struct tg_discovery *d, const struct candidate *from)
{
	const struct tg_endpoint *e = from->endpoint;
	struct tg_config_service *service = tg_config_add_service(d->config);
	struct tg_config_server *server;
	char address[TG_ADDR_STRLEN];

	if (service == NULL)
		return -ENOMEM;
	tg_addr_format(&e->address, address, sizeof(address));
	name_service(e, address, service->name, sizeof(service->name));
	service->address = e->address;
	service->protocol = e->protocol;
	service->n_ports = e->port != 0;
	service->ports[0] = ntohs(e->port);
	service->policy = TG_POLICY_ROUND_ROBIN;
	server = tg_config_add_server(service);
	if (server == NULL)
		return -ENOMEM;
	snprintf(server->name, sizeof(server->name), "%s", address);
	server->address = e->address;
	d->found[d->n_services++] = from->served->found;
	return 0;
}

static int busiest_first(const void *one, const void *other)
{
	const struct candidate *a = one, *b = other;

	if (a->served->packets != b->served->packets)
		return a->served->packets < b->served->packets ? 1 : -1;
	return memcmp(a->endpoint, b->endpoint, sizeof(*a->endpoint));
}

static int make_services(struct tg_discovery *d)
{
	uint32_t n = tg_conversations_served(d->conversations);
	struct candidate *all = calloc(n + 1, sizeof(*all));
	int rc = 0;

	d->found = calloc(n + 1, sizeof(*d->found));
	if (all == NULL || d->found == NULL) {
		free(all);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		all[i].served = tg_conversations_server(d->conversations, i, &all[i].endpoint);
	qsort(all, n, sizeof(*all), busiest_first);
	d->left_out = n > TG_SERVICES_MAX ? n - TG_SERVICES_MAX : 0;
	n -= (uint32_t)d->left_out;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = add_service(d, &all[i]);
	free(all);
	return rc;
}

int tg_discover(struct tg_capture *cap, struct tg_progress *progress, const volatile bool *stop,
		struct tg_discovery *out)
{
	uint32_t slots = SLOTS_MIN, wanted;
	uint8_t buffer[FRAME_ROOM];

	*out = (struct tg_discovery){
		.config = tg_config_new(),
		.conversations = tg_conversations_create(),
	};
	if (out->config == NULL || out->conversations == NULL)
		goto fail;
	read_all(cap, buffer, progress, stop, out->conversations);
	tg_conversations_decide(out->conversations);
	if (make_services(out) != 0)
		goto fail;
	wanted = 2 * tg_conversations_count(out->conversations);
	while (slots < wanted && slots < SLOTS_MAX)
		slots *= 2;
	out->config->flow_table.slots = slots;
	out->tables_full = tg_conversations_lost(out->conversations);
	return 0;
fail:
	tg_discovery_free(out);
	return -ENOMEM;
}

void tg_discovery_free(struct tg_discovery *d)
{
	tg_config_free(d->config);
	tg_conversations_free(d->conversations);
	free(d->found);
	*d = (struct tg_discovery){0};
}
