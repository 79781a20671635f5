/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a probe: an Ethernet frame (link addresses are left to tg_encap) with an IPv4 or
 * IPv6 packet as a client would send it. IPv4: DF set, identification 0 (RFC 6864), TTL 64;
 * checksums right. A SYN has no options: a server then sends segments of at most 536 bytes of IPv4
 * (RFC 9293 section 3.7.1), 1220 of IPv6.
 *
 * Thread-safety: pure. Sources: RFC 791, 8200, 9293, 768, 9112.
 */
#ifndef TG_PROBE_H
#define TG_PROBE_H

#include "tg_health.h"
#include "tg_packet.h"

#define TG_PROBE_TTL       64
#define TG_PROBE_DATA_MAX  384
#define TG_PROBE_FRAME_MAX (14 + 40 + 20 + TG_PROBE_DATA_MAX)

struct tg_probe {
	struct tg_addr from, to;     /* of one family */
	uint16_t from_port, to_port; /* host order */
};

/* frame has room for TG_PROBE_FRAME_MAX; len: 0..TG_PROBE_DATA_MAX. Fills p as tg_parse would, for
 * tg_encap. Returns the frame's length. */
uint16_t tg_probe_tcp(const struct tg_probe *probe, uint32_t seq, uint32_t ack, uint8_t flags,
		      const void *data, uint16_t len, uint8_t *frame, struct tg_pkt *p);
uint16_t tg_probe_udp(const struct tg_probe *probe, const void *data, uint16_t len, uint8_t *frame,
		      struct tg_pkt *p);

/* A request for path at a host of that address: GET, HTTP/1.1, Connection: close. Returns its
 * length, up to TG_PROBE_DATA_MAX. */
uint16_t tg_probe_get(const char *path, const struct tg_addr *host, uint16_t port,
		      char out[TG_PROBE_DATA_MAX]);

#endif
