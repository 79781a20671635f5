/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Destination to service. Built once per configuration and never changed after; workers read it
 * without locks. Precedence where services overlap: exact port before any port, the protocol
 * before `any`. Protocols without ports match services on any port of that protocol. A fragment whose
 * ports are not known (TG_KEY_FRAGMENT) matches none. An IPv4 address in an IPv6 header is nobody's.
 *
 * Thread-safety: build and free on the control thread; match from any thread.
 */
#ifndef TG_SERVICE_H
#define TG_SERVICE_H

#include <stdbool.h>

#include "tg_burst.h"

#define TG_PROTOCOL_ANY 0 /* hop-by-hop options: never a service's protocol */
#define TG_PORT_ANY     0

struct tg_service_rule {
	struct tg_addr address;
	uint8_t protocol; /* IP protocol number, or TG_PROTOCOL_ANY */
	uint16_t port;    /* network order, or TG_PORT_ANY; TG_PORT_ANY where protocol is `any` */
	uint16_t service; /* id, what match returns */
};

struct tg_service_table;

/* A table of n rules, on NUMA node socket. Two rules alike: -EEXIST, a port with protocol `any`:
 * -EINVAL; *clash (may be NULL) is the index of the (second) rule. -ENOMEM. */
int tg_service_table_create(const struct tg_service_rule *rules, unsigned int n, int socket,
			    struct tg_service_table **out, unsigned int *clash);
void tg_service_table_free(struct tg_service_table *t);

/* The service of one packet, TG_NO_SERVICE if none. *is_vip: the address has a service at all. */
uint16_t tg_service_find(const struct tg_service_table *t, const struct tg_pkt *p, bool *is_vip);

/* Why tg_service_find found nothing for p. */
enum tg_reason tg_service_refusal(const struct tg_pkt *p, bool is_vip);

/*
 * The burst: fills pkt[i].key.service of packets on their way; drops them as not_ours,
 * no_service, fragment, or icmp (ICMP to a VIP that no `any` service takes). Two packets in a row
 * to one destination cost one look-up.
 */
void tg_service_match(const struct tg_service_table *t, struct tg_burst *b);

#endif
