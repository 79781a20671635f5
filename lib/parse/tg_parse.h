/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frame to parsed header. Reads Ethernet II with up to two VLAN tags, ARP, IPv4 (options walked,
 * source routes refused), IPv6 (extension headers walked up to TG_PARSE_EXT_MAX of them and
 * within 255 bytes from the start of the frame), fragments of both, TCP (with its timestamp
 * option), UDP, UDP-Lite ports, SCTP ports are not read; any other protocol has no ports.
 *
 * Never reads past the data of the first buffer, never trusts a length: the payload's length is
 * the IP header's, so Ethernet padding is no payload; an IP length beyond wire_len is dropped.
 * All fragments of a datagram, the first too, get ports 0 and TG_KEY_FRAGMENT. An ICMP or ICMPv6
 * error gets the key of the flow whose packet (from server to client) it quotes, read from as
 * little as an IP header and 8 bytes (RFC 792); protocol and ports are the quoted packet's.
 *
 * Thread-safety: pure. Sources: RFC 791, 792, 4443, 8200, 9293, 7323, 768, IEEE 802.1Q.
 */
#ifndef TG_PARSE_H
#define TG_PARSE_H

#include <stddef.h>

#include "tg_burst.h"

#define TG_PARSE_EXT_MAX 8

/*
 * One frame. data holds len readable bytes of a frame that was wire_len bytes long (len <=
 * wire_len). Returns TG_DROP_NONE and fills out (key.service = TG_NO_SERVICE), or the reason the
 * frame is not usable, with out->l3_off, flags and what was read so far.
 */
enum tg_reason tg_parse(const uint8_t *data, uint32_t len, uint32_t wire_len, struct tg_pkt *out);

/* The identification in the fragment header of an IPv6 packet that tg_parse found to be a fragment, as it stands
 * there. False: there is none in these len bytes. */
bool tg_parse_fragment_id(const uint8_t *data, uint32_t len, const struct tg_pkt *p, uint32_t *id);

/* The whole burst: fills b->pkt[] and b->fragments, drops what tg_parse refuses and what is not in one buffer up
 * to its transport header. Prefetches ahead. */
void tg_parse_burst(struct tg_burst *b);

#endif
