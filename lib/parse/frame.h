/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame while it is read: private to this stage. Offsets count from its first byte. Every read
 * is preceded by frame_has() for the same bytes.
 */
#ifndef TG_PARSE_FRAME_H
#define TG_PARSE_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "tg_parse.h"

struct frame {
	const uint8_t *data;
	uint32_t len;      /* readable bytes */
	uint32_t wire_len; /* bytes it had on the wire */
	uint32_t end;      /* of the IP packet, by its own length: at most wire_len */
};

/* Are the n bytes at off readable? off and n are far below 2^31. */
static inline bool frame_has(const struct frame *f, uint32_t off, uint32_t n)
{
	return off + n <= f->len;
}

static inline uint16_t frame_be16(const struct frame *f, uint32_t off)
{
	uint16_t v;

	memcpy(&v, f->data + off, sizeof(v));
	return rte_be_to_cpu_16(v);
}

static inline uint32_t frame_be32(const struct frame *f, uint32_t off)
{
	uint32_t v;

	memcpy(&v, f->data + off, sizeof(v));
	return rte_be_to_cpu_32(v);
}

/* A fragment: one flow for all of them between two addresses, as only the first has ports. */
static inline void frame_is_fragment(struct tg_pkt *out, bool later)
{
	out->flags |= TG_PKT_FRAGMENT | (later ? TG_PKT_LATER : 0);
	out->key.flags |= TG_KEY_FRAGMENT;
}

/* tg_parse for every kind of frame, header by header. */
enum tg_reason tg_parse_any(const uint8_t *data, uint32_t len, uint32_t wire_len,
			    struct tg_pkt *out);

/*
 * IPv6 extension headers (RFC 8200 section 4) from *off, where a header of type out->key.protocol
 * starts. Leaves the protocol and *off at what follows the last one walked; of a fragment, at
 * what follows its fragment header. f->end is set.
 */
enum tg_reason tg_parse_ip6_extensions(const struct frame *f, uint32_t *off, struct tg_pkt *out);

/* What follows the IP header(s): a header of type out->key.protocol at off. f->end is set, off is
 * at most f->end. */
enum tg_reason tg_parse_transport(const struct frame *f, uint32_t off, struct tg_pkt *out);

/* ICMP (v6: ICMPv6) at off. An error that quotes a packet of out->dst gets that packet's flow; one
 * whose quote cannot be read is TG_DROP_ICMP. */
enum tg_reason tg_parse_icmp(const struct frame *f, uint32_t off, bool v6, struct tg_pkt *out);

#endif
