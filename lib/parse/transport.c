/* SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>

#include "usual.h"

#define TCP_HEADER        20
#define TCP_FIXED         14 /* through the flags: what a cut capture must still have */
#define TCP_OPTION_END    0
#define TCP_OPTION_NOP    1
#define TCP_OPTION_TS     8
#define TCP_OPTION_TS_LEN 10
#define UDP_HEADER        8
#define UDP_FIXED         6
#define WIREGUARD_LEAST   32

static void read_ports(const struct frame *f, uint32_t off, struct tg_pkt *out)
{
	memcpy(&out->key.client_port, f->data + off, 2);
	memcpy(&out->key.service_port, f->data + off + 2, 2);
}

/* Offset of the timestamp option among those from off to end, 0 if there is none. */
static uint32_t find_timestamps(const struct frame *f, uint32_t off, uint32_t end)
{
	while (end - off >= 2 && f->data[off] != TCP_OPTION_END) {
		uint8_t kind = f->data[off], size = f->data[off + 1];

		if (kind == TCP_OPTION_NOP) {
			off++;
			continue;
		}
		if (size < 2 || size > end - off)
			return 0;
		if (kind == TCP_OPTION_TS)
			return size == TCP_OPTION_TS_LEN ? off : 0;
		off += size;
	}
	return 0;
}

/* Options that are malformed or were not captured are as good as absent. */
static void read_timestamps(const struct frame *f, uint32_t off, uint32_t end, struct tg_pkt *out)
{
	uint32_t ts;

	if (end > f->len)
		end = f->len;
	if (end < off + TCP_OPTION_TS_LEN)
		return;
	if (end >= off + 12 && frame_be32(f, off) == TCP_USUAL_TS)
		ts = off + 2;
	else
		ts = find_timestamps(f, off, end);
	if (ts == 0)
		return;
	out->flags |= TG_PKT_TS;
	if (out->tcp_flags & TG_TCP_ACK) /* else the echo is not valid (RFC 7323 section 3.2) */
		out->tsecr = frame_be32(f, ts + 6);
}

static enum tg_reason read_tcp(const struct frame *f, uint32_t off, struct tg_pkt *out)
{
	uint32_t header;

	if (f->end - off < TCP_HEADER)
		return TG_DROP_L4_HEADER;
	if (!frame_has(f, off, TCP_FIXED))
		return TG_DROP_FRAME_SHORT;
	header = (f->data[off + 12] >> 4) * 4u;
	if (header < TCP_HEADER || header > f->end - off)
		return TG_DROP_L4_HEADER;
	read_ports(f, off, out);
	out->seq = frame_be32(f, off + 4);
	out->tcp_flags = f->data[off + 13];
	if (out->tcp_flags & TG_TCP_ACK)
		out->ack = frame_be32(f, off + 8);
	out->payload_len = (uint16_t)(f->end - off - header);
	if (header > TCP_HEADER)
		read_timestamps(f, off + TCP_HEADER, off + header, out);
	if (out->payload_len >= TLS_RECORD && frame_has(f, off + header, 2) &&
	    frame_be16(f, off + header) == TLS_HANDSHAKE)
		out->flags |= TG_PKT_TLS;
	return TG_DROP_NONE;
}

/* A message's type, 1 to 4, and three bytes of zero, as no other protocol in wide use begins (a DNS query of id
 * 256 to 1024 that wants no recursion does); an empty data message is the shortest (WireGuard, section 5.4). */
static bool is_wireguard(const struct frame *f, uint32_t off, uint32_t payload)
{
	return payload >= WIREGUARD_LEAST && frame_has(f, off, 4) &&
	       frame_be32(f, off) - (1u << 24) <= 3u << 24 && (frame_be32(f, off) & 0xffffff) == 0;
}

/* UDP, and UDP-Lite, whose length field is what its checksum covers (RFC 3828 section 3.1). */
static enum tg_reason read_udp(const struct frame *f, uint32_t off, bool lite, struct tg_pkt *out)
{
	uint32_t size = f->end - off, field;

	if (size < UDP_HEADER)
		return TG_DROP_L4_HEADER;
	if (!frame_has(f, off, UDP_FIXED))
		return TG_DROP_FRAME_SHORT;
	field = frame_be16(f, off + 4);
	if (field > size || (field < UDP_HEADER && !(lite && field == 0)))
		return TG_DROP_L4_HEADER;
	read_ports(f, off, out);
	out->payload_len = (uint16_t)((lite ? size : field) - UDP_HEADER);
	if (is_wireguard(f, off + UDP_HEADER, out->payload_len))
		out->flags |= TG_PKT_TUNNEL;
	return TG_DROP_NONE;
}

enum tg_reason tg_parse_transport(const struct frame *f, uint32_t off, struct tg_pkt *out)
{
	bool v6 = out->flags & TG_PKT_V6;

	out->payload_len = (uint16_t)(f->end - off);
	if (out->flags & TG_PKT_LATER)
		return TG_DROP_NONE;
	out->l4_off = (uint8_t)off;
	if (out->flags & TG_PKT_FRAGMENT)
		return TG_DROP_NONE;
	if (likely(out->key.protocol == IPPROTO_TCP))
		return read_tcp(f, off, out);
	switch (out->key.protocol) {
	case IPPROTO_UDP:
		return read_udp(f, off, false, out);
	case IPPROTO_UDPLITE:
		return read_udp(f, off, true, out);
	case IPPROTO_ICMP:
		return v6 ? TG_DROP_NONE : tg_parse_icmp(f, off, false, out);
	case IPPROTO_ICMPV6:
		return v6 ? tg_parse_icmp(f, off, true, out) : TG_DROP_NONE;
	default:
		return TG_DROP_NONE;
	}
}
