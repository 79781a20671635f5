/* SPDX-License-Identifier: BSD-3-Clause */
#include "true_server.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "map.h"
#include "tg_parse.h"
#include "tg_service.h"

#define ETHER_HEADER 14u
#define GRE_HEADER   4u

/* One server can serve several services, under an id in each. */
struct by_address {
	struct tg_addr address;
	uint16_t service; /* TG_NO_SERVICE: any; only tells that the address is a server's */
};

struct by_mac {
	uint8_t mac[6];
	uint16_t service;
};

struct tg_true_servers {
	const struct tg_service_table *services;
	struct tg_map *address, *mac; /* -> uint16_t, a server id */
};

void tg_true_servers_free(struct tg_true_servers *t)
{
	if (t == NULL)
		return;
	tg_map_free(t->address);
	tg_map_free(t->mac);
	free(t);
}

static bool add(struct tg_map *map, const void *key, uint16_t id)
{
	uint16_t *value = tg_map_add(map, key);

	if (value != NULL)
		*value = id;
	return value != NULL;
}

static bool add_server(struct tg_true_servers *t, const struct tg_snapshot *s, uint16_t id)
{
	const struct tg_config_server *server = s->server[id];
	struct by_address address = {server->address, TG_NO_SERVICE};
	struct by_mac mac = {.service = s->service_of[id]};

	if (!add(t->address, &address, id))
		return false;
	address.service = s->service_of[id];
	if (!add(t->address, &address, id))
		return false;
	memcpy(mac.mac, server->mac, sizeof(mac.mac));
	return !server->has_mac || add(t->mac, &mac, id);
}

struct tg_true_servers *tg_true_servers_create(const struct tg_snapshot *s)
{
	struct tg_true_servers *t = calloc(1, sizeof(*t));
	bool fits;

	if (t == NULL)
		return NULL;
	t->services = s->services;
	t->address = tg_map_create(sizeof(struct by_address), sizeof(uint16_t), 2 * TG_SERVERS_MAX);
	t->mac = tg_map_create(sizeof(struct by_mac), sizeof(uint16_t), TG_SERVERS_MAX);
	fits = t->address != NULL && t->mac != NULL;
	for (unsigned int i = 0; fits && i < s->n_servers; i++)
		fits = s->server[i] == NULL || add_server(t, s, (uint16_t)i);
	if (!fits) {
		tg_true_servers_free(t);
		return NULL;
	}
	return t;
}

static uint16_t look_up(const struct tg_map *map, const void *key)
{
	const uint16_t *id = tg_map_find(map, key);

	return id != NULL ? *id : TG_NO_SERVER;
}

/* What one of our servers is sent in a tunnel: where the inner packet begins, its EtherType in
 * *type; else 0. GRE only as the gateway writes it: no flag, version 0 (RFC 2784). */
static uint32_t inner_offset(const struct tg_true_servers *t, const struct tg_pkt *p,
			     const uint8_t *frame, uint32_t length, uint16_t *type)
{
	const struct by_address outer = {p->dst, TG_NO_SERVICE};
	const uint8_t *gre = frame + p->l4_off;

	if ((p->flags & TG_PKT_FRAGMENT) || p->l4_off > length ||
	    tg_map_find(t->address, &outer) == NULL)
		return 0;
	switch (p->key.protocol) {
	case IPPROTO_IPIP:
		*type = RTE_ETHER_TYPE_IPV4;
		return p->l4_off;
	case IPPROTO_IPV6:
		*type = RTE_ETHER_TYPE_IPV6;
		return p->l4_off;
	case IPPROTO_GRE:
		if (length - p->l4_off < GRE_HEADER || gre[0] != 0 || gre[1] != 0)
			return 0;
		*type = (uint16_t)(gre[2] << 8 | gre[3]);
		return p->l4_off + GRE_HEADER;
	default:
		return 0;
	}
}

/* Ethernet and the inner packet remain; VLAN tags go with the outer header. */
static void take_off(uint8_t *frame, uint32_t *length, uint32_t *wire_len, uint32_t inner,
		     uint16_t type)
{
	uint32_t gone = inner - ETHER_HEADER;

	memmove(frame + ETHER_HEADER, frame + inner, *length - inner);
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	*length -= gone;
	*wire_len -= gone;
}

void tg_true_servers_burst(const struct tg_true_servers *t, struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->mbuf[i];
		uint32_t length = m->data_len;

		if (m->nb_segs > 1)
			continue;
		b->server[i] = tg_true_server(t, rte_pktmbuf_mtod(m, uint8_t *), &length,
					      &b->wire_len[i]);
		m->data_len = (uint16_t)length;
		m->pkt_len = length;
	}
}

uint16_t tg_true_server(const struct tg_true_servers *t, uint8_t *frame, uint32_t *length,
			uint32_t *wire_len)
{
	struct by_address to;
	struct by_mac mac = {{0}, 0};
	uint16_t service, type = 0;
	struct tg_pkt p;
	uint32_t inner;
	bool is_vip;

	if (tg_parse(frame, *length, *wire_len, &p) != TG_DROP_NONE)
		return TG_NO_SERVER;
	inner = inner_offset(t, &p, frame, *length, &type);
	if (inner != 0) {
		to.address = p.dst;
		take_off(frame, length, wire_len, inner, type);
		if (tg_parse(frame, *length, *wire_len, &p) != TG_DROP_NONE)
			return TG_NO_SERVER;
		to.service = tg_service_find(t->services, &p, &is_vip);
		return look_up(t->address, &to);
	}
	service = tg_service_find(t->services, &p, &is_vip);
	memcpy(mac.mac, frame, sizeof(mac.mac));
	mac.service = service;
	return service == TG_NO_SERVICE ? TG_NO_SERVER : look_up(t->mac, &mac);
}
