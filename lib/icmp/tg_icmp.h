/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP errors of our own: the packet does not fit to its server once it is encapsulated, and its
 * sender must know (path MTU discovery: RFC 1191, RFC 8201). Sent from the service's address, which
 * is the one that the client knows.
 *
 * Thread-safety: pure; the caller owns the packet and limits how many are sent (tg_bucket.h).
 */
#ifndef TG_ICMP_H
#define TG_ICMP_H

#include <stdbool.h>

#include "tg_burst.h"

/* Of a worker, answers a second and as many at once. A client asks again only with what it has lost. */
#define TG_ICMP_ERROR_RATE 1000

/*
 * Turns a packet that nothing has changed yet into "fragmentation needed" (RFC 792 type 3 code 4,
 * with the next hop's MTU as in RFC 1191) or "packet too big" (RFC 4443 section 3.2), addressed to
 * the station it came from: link addresses turned round, VLAN tags kept. mtu: the longest IP packet
 * that fits, 68..65535; IPv6 is told at least 1280 (RFC 8200 section 5). Quotes as much as keeps the
 * answer within 576 (RFC 1812 section 4.3.2.3) or 1280 bytes and lies in the first buffer.
 *
 * False, with nothing changed, where no error may be sent: IPv4 without "don't fragment", ICMP
 * errors and later fragments (RFC 1122 section 3.2.2), or where there is no headroom.
 */
bool tg_icmp_too_big(struct rte_mbuf *m, const struct tg_pkt *p, uint16_t mtu);

#endif
