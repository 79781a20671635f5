/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Any frame of a capture as an Ethernet frame, which is all the pipeline parses.
 *
 * | link type | what becomes of it |
 * | --- | --- |
 * | 1 Ethernet | as it is, even a runt: parsing is the pipeline's |
 * | 12, 14, 101 raw IP; 228 IPv4; 229 IPv6 | header put before it |
 * | 0 NULL, 108 LOOP | family (either byte order; IPv6 is 10, 24, 28 or 30) replaced |
 * | 113, 276 Linux cooked v1, v2 | header replaced; VLAN tags stay |
 * | 9 PPP, 50 PPP in HDLC framing | ff 03 and protocol replaced |
 * | 104 Cisco HDLC | header replaced |
 *
 * A synthesised header has constant, locally administered addresses. What is not IP and has no
 * ethertype (a loopback family, a netlink message, a PPP control packet) gets an ethertype that
 * is no IP, so that the pipeline counts it as such instead of the reader hiding it.
 *
 * Units: bytes. Thread-safety: pure functions over the arguments; a struct tg_link_stats belongs
 * to one thread. Never reads past frame->cap_len nor writes past `room`.
 *
 * Source: www.tcpdump.org/linktypes.html; RFC 1661, RFC 1662 (PPP).
 */
#ifndef TG_LINK_H
#define TG_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "capture.h"

#define TG_LINK_ETHERNET 1u

/** Ethertype of what is no IP: "local experimental" (IEEE 802), and PPP's own for PPP control. */
#define TG_LINK_NOT_IP 0x88b5
#define TG_LINK_PPP    0x880b

/** Different unsupported link types told apart in one capture. */
#define TG_LINK_KINDS 16

/** An Ethernet frame made of a captured one. */
struct tg_link_result {
	uint32_t cap_len;  /**< bytes written */
	uint32_t wire_len; /**< bytes the whole frame has; more than cap_len: it was cut */
};

/** What could not be converted. */
struct tg_link_stats {
	uint64_t converted;   /**< frames handed on */
	uint64_t malformed;   /**< frames shorter than their own link header */
	uint64_t unsupported; /**< frames of a link type that is not in the table above */
	struct {
		uint32_t link_type;
		uint64_t frames;
	} kinds[TG_LINK_KINDS]; /**< unsupported frames by link type, the first TG_LINK_KINDS */
	uint32_t kind_count;
};

/**
 * Write `frame` as Ethernet to `out`.
 *
 * A frame longer than `room` is cut to it, which result->wire_len shows.
 *
 * @return 0; -EPROTONOSUPPORT: link type not supported; -EBADMSG: shorter than its link header;
 *         -ENOBUFS: `room` does not even hold an Ethernet header
 */
int tg_link_to_ethernet(const struct tg_frame *frame, uint8_t *out, uint32_t room,
			struct tg_link_result *result);

/** Count what tg_link_to_ethernet() returned for `frame`. */
void tg_link_count(struct tg_link_stats *stats, const struct tg_frame *frame, int rc);

/** The link type's name ("IEEE802_11"), or NULL if nobody knows it. */
const char *tg_link_name(uint32_t link_type);

#endif
