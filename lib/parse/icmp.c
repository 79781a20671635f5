/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP and ICMPv6. An error is about a packet that a server sent to a client, of which it quotes
 * the beginning: the quoted packet's flow is the error's, turned round.
 */
#include <netinet/in.h>

#include "frame.h"

#define ICMP_HEADER 8
#define IP4_HEADER  20
#define IP6_HEADER  40
#define PORTS       4 /* what every quote has of the transport header, and more (RFC 792) */
#define QUOTED      8 /* what it should have: of TCP the sequence number as well */

/* RFC 792: unreachable, time exceeded, parameter problem. Source quench is obsolete (RFC 6633), and
 * a redirect is for hosts that the gateway does not speak for. */
static uint16_t icmp4_flags(uint8_t type, uint8_t code)
{
	switch (type) {
	case 8:
		return code == 0 ? TG_PKT_PING : 0;
	case 3:
	case 11:
	case 12:
		return TG_PKT_ICMP_ERROR;
	default:
		return 0;
	}
}

/* RFC 4443: 1 to 4 quote; RFC 4861 section 7.1: neighbour discovery that crossed a router, hop
 * limit below 255, is none. */
static uint16_t icmp6_flags(uint8_t type, uint8_t code, uint8_t hop_limit)
{
	if (type >= 1 && type <= 4)
		return TG_PKT_ICMP_ERROR;
	if (code != 0)
		return 0;
	if (type == 128)
		return TG_PKT_PING;
	return type >= 133 && type <= 137 && hop_limit == 255 ? TG_PKT_ND : 0;
}

/* The quoted IP header at *off: its protocol and addresses in q, *off behind it. */
static bool read_quoted_ip4(const struct frame *f, uint32_t *off, struct tg_pkt *q)
{
	const uint8_t *ip = f->data + *off;
	uint32_t header, src, dst;

	if (f->end - *off < IP4_HEADER || !frame_has(f, *off, IP4_HEADER) || ip[0] >> 4 != 4)
		return false;
	header = (ip[0] & 0x0fu) * 4;
	if (header < IP4_HEADER || header > f->end - *off ||
	    (frame_be16(f, *off + 6) & 0x1fff) != 0) /* a later fragment has no ports */
		return false;
	memcpy(&src, ip + 12, sizeof(src));
	memcpy(&dst, ip + 16, sizeof(dst));
	q->dst = tg_addr_from_v4(src);
	q->key.client = tg_addr_from_v4(dst);
	q->key.protocol = ip[9];
	*off += header;
	return true;
}

static bool read_quoted_ip6(const struct frame *f, uint32_t *off, struct tg_pkt *q)
{
	const uint8_t *ip = f->data + *off;

	if (f->end - *off < IP6_HEADER || !frame_has(f, *off, IP6_HEADER) || ip[0] >> 4 != 6)
		return false;
	memcpy(q->dst.b, ip + 8, 16);
	memcpy(q->key.client.b, ip + 24, 16);
	q->key.protocol = ip[6];
	*off += IP6_HEADER;
	return tg_parse_ip6_extensions(f, off, q) == TG_DROP_NONE && !(q->flags & TG_PKT_LATER);
}

/* The quote at off gives the error its flow: that of the packet it is about. It must have been
 * sent from the address that the error went to. */
static enum tg_reason read_quote(const struct frame *f, uint32_t off, bool v6, struct tg_pkt *out)
{
	struct tg_pkt q = {.flags = 0};

	if (!(v6 ? read_quoted_ip6(f, &off, &q) : read_quoted_ip4(f, &off, &q)) ||
	    !tg_addr_eq(&q.dst, &out->dst))
		return TG_DROP_ICMP;
	if (tg_has_ports(q.key.protocol)) {
		if (f->end - off < PORTS || !frame_has(f, off, PORTS))
			return TG_DROP_ICMP;
		memcpy(&out->key.service_port, f->data + off, 2);
		memcpy(&out->key.client_port, f->data + off + 2, 2);
		if (q.key.protocol == IPPROTO_TCP && f->end - off >= QUOTED &&
		    frame_has(f, off, QUOTED))
			out->seq = frame_be32(f, off + 4);
	}
	out->key.client = q.key.client;
	out->key.protocol = q.key.protocol;
	out->payload_len = 0; /* nothing of it is the flow's */
	return TG_DROP_NONE;
}

enum tg_reason tg_parse_icmp(const struct frame *f, uint32_t off, bool v6, struct tg_pkt *out)
{
	if (f->end - off < ICMP_HEADER)
		return TG_DROP_L4_HEADER;
	if (!frame_has(f, off, 2))
		return TG_DROP_FRAME_SHORT;
	out->flags |= v6 ? icmp6_flags(f->data[off], f->data[off + 1], out->ttl)
			 : icmp4_flags(f->data[off], f->data[off + 1]);
	out->payload_len = (uint16_t)(f->end - off - ICMP_HEADER);
	return out->flags & TG_PKT_ICMP_ERROR ? read_quote(f, off + ICMP_HEADER, v6, out)
					      : TG_DROP_NONE;
}
