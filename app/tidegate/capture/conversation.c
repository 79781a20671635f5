/* SPDX-License-Identifier: BSD-3-Clause */
/* A conversation is kept once for both directions: its two endpoints in the order of their bytes. */
#include "conversation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "wellknown.h"

enum side { LOW, HIGH };

struct pair {
	struct tg_endpoint end[2]; /* by side */
};

struct conversation {
	uint32_t packets[2]; /* by the side that sent them */
	uint8_t first;       /* side that sent the first packet */
	uint8_t server;      /* side, when found != TG_FOUND_NOT */
	uint8_t found;
};

struct tg_conversations {
	struct tg_map *conversations; /* struct pair -> struct conversation */
	struct tg_map *servers;       /* struct tg_endpoint -> struct tg_served */
	uint64_t lost;
};

const char *tg_found_name(enum tg_found found)
{
	switch (found) {
	case TG_FOUND_SYN:
		return "syn";
	case TG_FOUND_PORT:
		return "port";
	case TG_FOUND_SERVICE:
		return "service";
	case TG_FOUND_SENDER:
		return "first sender";
	default:
		return "";
	}
}

struct tg_conversations *tg_conversations_create(void)
{
	struct tg_conversations *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->conversations = tg_map_create(sizeof(struct pair), sizeof(struct conversation),
					   TG_CONVERSATIONS_MAX);
	all->servers = tg_map_create(sizeof(struct tg_endpoint), sizeof(struct tg_served),
				     TG_ENDPOINTS_MAX);
	if (all->conversations == NULL || all->servers == NULL) {
		tg_conversations_free(all);
		return NULL;
	}
	return all;
}

void tg_conversations_free(struct tg_conversations *all)
{
	if (all == NULL)
		return;
	tg_map_free(all->conversations);
	tg_map_free(all->servers);
	free(all);
}

static bool is_unspecified(const struct tg_addr *a)
{
	static const struct tg_addr none;

	return tg_addr_is_v4(a) ? tg_addr_to_v4(a) == 0 : tg_addr_eq(a, &none);
}

/* Can something be sent to one host at this address? */
static bool is_one_host(const struct tg_addr *a)
{
	if (is_unspecified(a))
		return false;
	/* 224/4: multicast, reserved, broadcast */
	return tg_addr_is_v4(a) ? a->b[12] < 224 : a->b[0] != 0xff;
}

static bool is_told(uint8_t protocol)
{
	return protocol != IPPROTO_ICMP && protocol != IPPROTO_ICMPV6 && protocol != IPPROTO_IGMP &&
	       protocol != IPPROTO_NONE;
}

/* The pair of a packet, and the side that sent it. */
static bool pair_of(const struct tg_pkt *p, const uint16_t ports[2], struct pair *pair,
		    enum side *sender)
{
	struct tg_endpoint from = {.address = p->key.client, .protocol = p->key.protocol};
	struct tg_endpoint to = {.address = p->dst, .protocol = p->key.protocol};

	if (p->flags & (TG_PKT_ARP | TG_PKT_ND) || !is_told(p->key.protocol) ||
	    is_unspecified(&from.address) || !is_one_host(&to.address))
		return false;
	if (tg_has_ports(p->key.protocol)) {
		from.port = ports != NULL ? ports[0] : p->key.client_port;
		to.port = ports != NULL ? ports[1] : p->key.service_port;
		if (from.port == 0 || to.port == 0)
			return false;
	}
	*sender = memcmp(&from, &to, sizeof(from)) < 0 ? LOW : HIGH;
	pair->end[*sender] = from;
	pair->end[!*sender] = to;
	return true;
}

static void note_syn(struct conversation *c, const struct tg_pkt *p, enum side sender)
{
	if (p->key.protocol != IPPROTO_TCP || !(p->tcp_flags & TG_TCP_SYN) ||
	    c->found == TG_FOUND_SYN)
		return;
	c->server = p->tcp_flags & TG_TCP_ACK ? sender : !sender;
	c->found = TG_FOUND_SYN;
}

bool tg_conversations_add(struct tg_conversations *all, const struct tg_pkt *p,
			  const uint16_t ports[2])
{
	struct conversation *c;
	struct pair pair;
	enum side sender;

	if (!pair_of(p, ports, &pair, &sender))
		return false;
	c = tg_map_add(all->conversations, &pair);
	if (c == NULL) {
		all->lost++;
		return true;
	}
	if (c->packets[LOW] == 0 && c->packets[HIGH] == 0)
		c->first = sender;
	if (c->packets[sender] < UINT32_MAX)
		c->packets[sender]++;
	note_syn(c, p, sender);
	return true;
}

static void serve(struct tg_conversations *all, const struct pair *pair, struct conversation *c)
{
	struct tg_served *s = tg_map_add(all->servers, &pair->end[c->server]);

	if (s == NULL) {
		all->lost++;
		return;
	}
	s->packets += c->packets[!c->server];
	s->conversations++;
	if (s->found < c->found)
		s->found = c->found;
}

static void decide_by_port(const struct pair *pair, struct conversation *c)
{
	int low = tg_port_rank(ntohs(pair->end[LOW].port));
	int high = tg_port_rank(ntohs(pair->end[HIGH].port));

	if (c->found != TG_FOUND_NOT || low == high)
		return;
	c->server = low > high ? LOW : HIGH;
	c->found = TG_FOUND_PORT;
}

/* What only other conversations, or who spoke first, can tell. */
static void decide_by_others(const struct tg_conversations *all, const struct pair *pair,
			     struct conversation *c)
{
	bool low = tg_map_find(all->servers, &pair->end[LOW]) != NULL;
	bool high = tg_map_find(all->servers, &pair->end[HIGH]) != NULL;

	c->server = low == high ? !c->first : high;
	c->found = low == high ? TG_FOUND_SENDER : TG_FOUND_SERVICE;
}

void tg_conversations_decide(struct tg_conversations *all)
{
	uint32_t n = tg_map_count(all->conversations);
	const void *pair;

	for (uint32_t i = 0; i < n; i++) {
		struct conversation *c = tg_map_at(all->conversations, i, &pair);

		decide_by_port(pair, c);
		if (c->found != TG_FOUND_NOT)
			serve(all, pair, c);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct conversation *c = tg_map_at(all->conversations, i, &pair);

		if (c->found != TG_FOUND_NOT)
			continue;
		decide_by_others(all, pair, c);
		serve(all, pair, c);
	}
}

bool tg_conversations_from_server(const struct tg_conversations *all, const struct tg_pkt *p)
{
	const struct conversation *c;
	struct pair pair;
	enum side sender;

	if (!pair_of(p, NULL, &pair, &sender))
		return false;
	c = tg_map_find(all->conversations, &pair);
	/* one endpoint that talks to itself has no direction */
	if (c == NULL || memcmp(&pair.end[LOW], &pair.end[HIGH], sizeof(pair.end[LOW])) == 0)
		return false;
	return c->server == sender;
}

uint32_t tg_conversations_served(const struct tg_conversations *all)
{
	return tg_map_count(all->servers);
}

const struct tg_served *tg_conversations_server(const struct tg_conversations *all, uint32_t i,
						const struct tg_endpoint **endpoint)
{
	const void *key;
	const struct tg_served *s = tg_map_at(all->servers, i, &key);

	*endpoint = key;
	return s;
}

uint32_t tg_conversations_count(const struct tg_conversations *all)
{
	return tg_map_count(all->conversations);
}

uint64_t tg_conversations_lost(const struct tg_conversations *all)
{
	return all->lost;
}
