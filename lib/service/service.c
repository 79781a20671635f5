/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One open-addressing table, at most half full, holds two kinds of entries:
 *   VIP   an address with services, and which kinds of rule it has, so that only those are
 *         asked for
 *   RULE  address, protocol, port -> service
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <rte_branch_prediction.h>

#include "tg_mem.h"
#include "tg_service.h"

enum kind { EMPTY = 0, VIP, RULE };

/* What a VIP has, in the order of precedence. */
#define HAS_PORT     0x1 /* a protocol's service on one port */
#define HAS_PROTOCOL 0x2 /* a protocol's service on any port */
#define HAS_ANY      0x4 /* a service of every protocol */

struct entry {
	struct tg_addr address;
	uint16_t port;
	uint8_t protocol;
	uint8_t kind;
	uint16_t value; /* service id; of a VIP, HAS_* */
	uint16_t unused;
};
#define ENTRY_KEY offsetof(struct entry, value)
_Static_assert(ENTRY_KEY == 20, "the key has no padding");

struct tg_service_table {
	uint32_t mask;
	struct entry entry[];
};

/* The entry of this key, or the empty one where it would go. */
static struct entry *find(const struct tg_service_table *t, const struct entry *key)
{
	uint32_t i = (uint32_t)XXH3_64bits(key, ENTRY_KEY) & t->mask;

	while (t->entry[i].kind != EMPTY && memcmp(&t->entry[i], key, ENTRY_KEY) != 0)
		i = (i + 1) & t->mask;
	return (struct entry *)(uintptr_t)&t->entry[i];
}

static struct entry make_key(const struct tg_addr *address, enum kind kind, uint8_t protocol,
			     uint16_t port)
{
	struct entry key = {.address = *address,
			    .port = port,
			    .protocol = protocol,
			    .kind = (uint8_t)kind};

	return key;
}

/* The entry of this key, made with value if it is new: then *made. */
static struct entry *put(struct tg_service_table *t, struct entry key, uint16_t value, bool *made)
{
	struct entry *e = find(t, &key);

	*made = e->kind == EMPTY;
	if (*made) {
		*e = key;
		e->value = value;
	}
	return e;
}

static int add_rule(struct tg_service_table *t, const struct tg_service_rule *r)
{
	uint16_t has = r->protocol == TG_PROTOCOL_ANY ? HAS_ANY
		       : r->port == TG_PORT_ANY       ? HAS_PROTOCOL
						      : HAS_PORT;
	bool made;

	if (has == HAS_ANY && r->port != TG_PORT_ANY)
		return -EINVAL;
	put(t, make_key(&r->address, RULE, r->protocol, r->port), r->service, &made);
	if (!made)
		return -EEXIST;
	put(t, make_key(&r->address, VIP, 0, 0), 0, &made)->value |= has;
	return 0;
}

int tg_service_table_create(const struct tg_service_rule *rules, unsigned int n, int socket,
			    struct tg_service_table **out, unsigned int *clash)
{
	struct tg_service_table *t;
	uint64_t size = 16;
	int rc;

	while (size < UINT64_C(2) * 2 * n) /* a rule makes at most two entries */
		size *= 2;
	t = tg_mem_zalloc("service table", sizeof(*t) + size * sizeof(t->entry[0]), 64, socket);
	if (t == NULL)
		return -ENOMEM;
	t->mask = (uint32_t)(size - 1);
	for (unsigned int i = 0; i < n; i++) {
		rc = add_rule(t, &rules[i]);
		if (rc < 0) {
			if (clash != NULL)
				*clash = i;
			tg_service_table_free(t);
			return rc;
		}
	}
	*out = t;
	return 0;
}

void tg_service_table_free(struct tg_service_table *t)
{
	tg_mem_free(t);
}

/* The service under one key; false if there is none. */
static inline bool ask(const struct tg_service_table *t, const struct tg_addr *address,
		       enum kind kind, uint8_t protocol, uint16_t port, uint16_t *service)
{
	struct entry key = make_key(address, kind, protocol, port);
	const struct entry *e = find(t, &key);

	if (e->kind == EMPTY)
		return false;
	*service = e->value;
	return true;
}

uint16_t tg_service_find(const struct tg_service_table *t, const struct tg_pkt *p, bool *is_vip)
{
	uint8_t protocol = p->key.protocol;
	uint16_t has, service = TG_NO_SERVICE;

	/* an IPv4 address that came in an IPv6 header is none of ours (RFC 4038 section 4.2) */
	*is_vip = !((p->flags & TG_PKT_V6) && tg_addr_is_v4(&p->dst)) &&
		  ask(t, &p->dst, VIP, 0, 0, &has);
	if (!*is_vip || (p->key.flags & TG_KEY_FRAGMENT))
		return TG_NO_SERVICE;
	if ((has & HAS_PORT) && p->key.service_port != TG_PORT_ANY &&
	    ask(t, &p->dst, RULE, protocol, p->key.service_port, &service))
		return service;
	if ((has & HAS_PROTOCOL) && ask(t, &p->dst, RULE, protocol, TG_PORT_ANY, &service))
		return service;
	if (has & HAS_ANY)
		ask(t, &p->dst, RULE, TG_PROTOCOL_ANY, TG_PORT_ANY, &service);
	return service;
}

enum tg_reason tg_service_refusal(const struct tg_pkt *p, bool is_vip)
{
	uint8_t icmp = p->flags & TG_PKT_V6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

	if (!is_vip)
		return TG_DROP_NOT_OURS;
	if (p->key.protocol == icmp || (p->flags & TG_PKT_ICMP_ERROR))
		return TG_DROP_ICMP;
	return p->flags & TG_PKT_FRAGMENT ? TG_DROP_FRAGMENT : TG_DROP_NO_SERVICE;
}

/* All that tg_service_find looks at, in three words. */
struct destination {
	uint64_t address[2];
	uint64_t ask; /* port, protocol, whether a fragment without ports, whether IPv6 */
};

static inline struct destination destination_of(const struct tg_pkt *p)
{
	struct destination d;
	uint32_t ask;

	_Static_assert(offsetof(struct tg_key, service_port) + sizeof(ask) ==
			       offsetof(struct tg_key, service),
		       "port, protocol and TG_KEY_FRAGMENT stand side by side");
	memcpy(d.address, &p->dst, sizeof(d.address));
	memcpy(&ask, &p->key.service_port, sizeof(ask));
	d.ask = (uint64_t)(p->flags & TG_PKT_V6) << 32 | ask;
	return d;
}

static inline bool differ(const struct destination *a, const struct destination *b)
{
	return ((a->address[0] ^ b->address[0]) | (a->address[1] ^ b->address[1]) |
		(a->ask ^ b->ask)) != 0;
}

void tg_service_match(const struct tg_service_table *t, struct tg_burst *b)
{
	struct destination last = {.ask = UINT64_MAX}; /* nobody's */
	uint16_t service = TG_NO_SERVICE;
	bool is_vip = false;

	for (unsigned int i = 0; i < b->n; i++) {
		struct tg_pkt *p = &b->pkt[i];
		struct destination d;

		if (b->verdict[i] != TG_FORWARD || (p->flags & (TG_PKT_ARP | TG_PKT_ND)))
			continue;
		d = destination_of(p);
		if (unlikely(differ(&last, &d))) {
			service = tg_service_find(t, p, &is_vip);
			last = d;
		}
		p->key.service = service;
		if (unlikely(service == TG_NO_SERVICE))
			tg_drop(b, i, tg_service_refusal(p, is_vip));
	}
}
