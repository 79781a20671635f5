/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The usual frame, read in one pass: untagged Ethernet, IPv4 without options and not a fragment, TCP
 * without options or with timestamps where nearly every stack puts them (RFC 7323 appendix A), all of
 * it up to the payload's second byte in hand. Private to this stage.
 *
 *   0            12   14  16   18  20     22   23   24      26   30   34
 *  | MACs        |type|4 5|tos|len|ident.|frag|TTL|proto|csum|src |dst | TCP ...
 *
 * It checks all that tg_parse_any checks and gives the same header to the bit, or says no: then that is
 * asked, which knows every reason. Branches that hang on what a packet carries are avoided: they are
 * a coin's toss, and a toss lost costs as much as the rest of this.
 */
#ifndef TG_PARSE_USUAL_H
#define TG_PARSE_USUAL_H

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_ether.h>

#include "frame.h"

#define USUAL_L4    (RTE_ETHER_HDR_LEN + 20)
#define USUAL_PLAIN (USUAL_L4 + 20) /* bytes through TCP's fixed header */

/* Bytes 12..15 and 20..23 of the frame as they stand: what of them must be what. */
#define USUAL_TYPE       rte_cpu_to_be_32(0x08004500u) /* IPv4, version 4, header of five words */
#define USUAL_TYPE_MASK  rte_cpu_to_be_32(0xffffff00u)
#define USUAL_PROTO      rte_cpu_to_be_32(IPPROTO_TCP) /* neither MF nor an offset */
#define USUAL_PROTO_MASK rte_cpu_to_be_32(0x3fff00ffu)

/* NOP, NOP, timestamps of 10 bytes */
#define TCP_USUAL_TS 0x0101080au

#define TLS_RECORD    5
#define TLS_HANDSHAKE 0x1603u /* type handshake, major version 3 */

static inline uint32_t frame_word(const struct frame *f, uint32_t off)
{
	uint32_t v;

	memcpy(&v, f->data + off, sizeof(v));
	return v;
}

/* The payload, which starts there in the frame: are its first two bytes those of a TLS handshake? */
static inline uint16_t usual_tls(const struct frame *f, uint32_t payload)
{
	bool there = frame_has(f, payload, 2);
	bool tls = frame_be16(f, there ? payload : 0) == TLS_HANDSHAKE;

	return (there & tls) ? TG_PKT_TLS : 0;
}

static __rte_always_inline bool parse_usual(const struct frame *f, struct tg_pkt *out)
{
	static const struct {
		uint8_t protocol, flags;
		uint16_t service;
	} rest = {IPPROTO_TCP, 0, TG_NO_SERVICE}; /* of the key, behind the ports */
	uint32_t total, header, src, dst, ports, ack = 0, tsecr = 0;
	uint16_t flags = 0;
	uint8_t tcp_flags;
	int32_t payload;

	if (unlikely(f->len < USUAL_PLAIN || f->len != f->wire_len))
		return false;
	if (unlikely((frame_word(f, 12) & USUAL_TYPE_MASK) != USUAL_TYPE ||
		     (frame_word(f, 20) & USUAL_PROTO_MASK) != USUAL_PROTO))
		return false;
	total = frame_be16(f, 16);
	header = (f->data[USUAL_L4 + 12] & 0xf0u) >> 2;
	payload = (int32_t)(total - 20 - header);
	if (unlikely(total > f->len - RTE_ETHER_HDR_LEN || payload < 0))
		return false;
	tcp_flags = f->data[USUAL_L4 + 13];
	if (likely((tcp_flags & TG_TCP_ACK) != 0)) /* without it the number means nothing */
		ack = frame_be32(f, USUAL_L4 + 8);
	if (likely(header == 32)) {
		if (unlikely(frame_be32(f, USUAL_PLAIN) != TCP_USUAL_TS))
			return false;
		flags = TG_PKT_TS;
		if (likely((tcp_flags & TG_TCP_ACK) != 0))
			tsecr = frame_be32(f, USUAL_PLAIN + 8);
	} else if (header != 20) {
		return false;
	}
	memcpy(&src, f->data + 26, sizeof(src));
	memcpy(&dst, f->data + 30, sizeof(dst));
	memcpy(&ports, f->data + USUAL_L4, sizeof(ports));
	out->key.client = tg_addr_from_v4(src);
	memcpy(&out->key.client_port, &ports, sizeof(ports)); /* and the service's, behind it */
	memcpy(&out->key.protocol, &rest, sizeof(rest));
	out->dst = tg_addr_from_v4(dst);
	out->seq = frame_be32(f, USUAL_L4 + 4);
	out->ack = ack;
	out->tsecr = tsecr;
	out->payload_len = (uint16_t)payload;
	out->ip_len = (uint16_t)total;
	if (payload >= TLS_RECORD)
		flags |= usual_tls(f, USUAL_L4 + header);
	out->flags = flags;
	out->vlan = 0;
	out->l3_off = RTE_ETHER_HDR_LEN;
	out->l4_off = USUAL_L4;
	out->tcp_flags = tcp_flags;
	out->ttl = f->data[22];
	return true;
}

#endif
