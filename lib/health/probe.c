/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#define ETHER 14
#define IP4   20
#define IP6   40
#define TCP   20
#define UDP   8

static uint8_t *put16(uint8_t *at, uint16_t v)
{
	v = htons(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static uint8_t *put32(uint8_t *at, uint32_t v)
{
	return put16(put16(at, (uint16_t)(v >> 16)), (uint16_t)v);
}

/* RFC 1071, of words in network order. */
static uint32_t add_up(const uint8_t *data, unsigned int len, uint32_t sum)
{
	for (unsigned int i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)data[i] << 8 : data[i];
	return sum;
}

static uint16_t finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Addresses, protocol and length count too (RFC 9293 section 3.1, RFC 8200 section 8.1). */
static uint16_t transport_checksum(const struct tg_probe *q, uint8_t protocol, const uint8_t *l4,
				   uint16_t len)
{
	unsigned int skip = tg_addr_is_v4(&q->from) ? 12 : 0;
	uint32_t sum = protocol + (uint32_t)len;

	sum = add_up(q->from.b + skip, 16 - skip, sum);
	sum = add_up(q->to.b + skip, 16 - skip, sum);
	return finish(add_up(l4, len, sum));
}

static void ip4_header(const struct tg_probe *q, uint8_t protocol, uint16_t len, uint8_t *ip)
{
	memset(ip, 0, IP4);
	ip[0] = 0x45;
	put16(ip + 2, (uint16_t)(IP4 + len));
	put16(ip + 6, 0x4000); /* DF */
	ip[8] = TG_PROBE_TTL;
	ip[9] = protocol;
	memcpy(ip + 12, q->from.b + 12, 4);
	memcpy(ip + 16, q->to.b + 12, 4);
	put16(ip + 10, finish(add_up(ip, IP4, 0)));
}

static void ip6_header(const struct tg_probe *q, uint8_t protocol, uint16_t len, uint8_t *ip)
{
	memset(ip, 0, IP6);
	ip[0] = 0x60;
	put16(ip + 4, len);
	ip[6] = protocol;
	ip[7] = TG_PROBE_TTL;
	memcpy(ip + 8, q->from.b, 16);
	memcpy(ip + 24, q->to.b, 16);
}

/* What stands around len bytes of a transport header and data; where that header belongs. */
static uint8_t *headers(const struct tg_probe *q, uint8_t protocol, uint16_t len, uint8_t *frame,
			struct tg_pkt *p)
{
	bool v4 = tg_addr_is_v4(&q->to);
	unsigned int ip = v4 ? IP4 : IP6;

	memset(frame, 0, ETHER - 2);
	put16(frame + ETHER - 2, v4 ? 0x0800 : 0x86dd);
	if (v4)
		ip4_header(q, protocol, len, frame + ETHER);
	else
		ip6_header(q, protocol, len, frame + ETHER);
	*p = (struct tg_pkt){
		.key = {.client = q->from,
			.client_port = htons(q->from_port),
			.service_port = htons(q->to_port),
			.protocol = protocol,
			.service = TG_NO_SERVICE},
		.dst = q->to,
		.ip_len = (uint16_t)(ip + len),
		.flags = v4 ? 0 : TG_PKT_V6,
		.l3_off = ETHER,
		.l4_off = (uint8_t)(ETHER + ip),
		.ttl = TG_PROBE_TTL,
	};
	return frame + ETHER + ip;
}

uint16_t tg_probe_tcp(const struct tg_probe *probe, uint32_t seq, uint32_t ack, uint8_t flags,
		      const void *data, uint16_t len, uint8_t *frame, struct tg_pkt *p)
{
	uint8_t *l4 = headers(probe, IPPROTO_TCP, (uint16_t)(TCP + len), frame, p), *at;

	at = put16(put16(l4, probe->from_port), probe->to_port);
	at = put32(put32(at, seq), ack);
	*at++ = TCP / 4 << 4;
	*at++ = flags;
	at = put16(at, UINT16_MAX); /* window */
	memset(at, 0, 4);
	if (len > 0)
		memcpy(l4 + TCP, data, len);
	put16(at, transport_checksum(probe, IPPROTO_TCP, l4, (uint16_t)(TCP + len)));
	p->seq = seq;
	p->ack = ack;
	p->tcp_flags = flags;
	p->payload_len = len;
	return (uint16_t)(ETHER + p->ip_len);
}

uint16_t tg_probe_udp(const struct tg_probe *probe, const void *data, uint16_t len, uint8_t *frame,
		      struct tg_pkt *p)
{
	uint8_t *l4 = headers(probe, IPPROTO_UDP, (uint16_t)(UDP + len), frame, p), *at;
	uint16_t sum;

	at = put16(put16(l4, probe->from_port), probe->to_port);
	at = put16(at, (uint16_t)(UDP + len));
	memset(at, 0, 2);
	if (len > 0)
		memcpy(l4 + UDP, data, len);
	sum = transport_checksum(probe, IPPROTO_UDP, l4, (uint16_t)(UDP + len));
	put16(at, sum != 0 ? sum : UINT16_MAX); /* 0 would mean: none (RFC 768) */
	p->payload_len = len;
	return (uint16_t)(ETHER + p->ip_len);
}

uint16_t tg_probe_get(const char *path, const struct tg_addr *host, uint16_t port,
		      char out[TG_PROBE_DATA_MAX])
{
	bool v4 = tg_addr_is_v4(host);
	char text[TG_ADDR_STRLEN];
	int n;

	tg_addr_format(host, text, sizeof(text));
	n = snprintf(out, TG_PROBE_DATA_MAX,
		     "GET %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: tidegate-health\r\n"
		     "Connection: close\r\n\r\n",
		     path, v4 ? "" : "[", text, v4 ? "" : "]", port);
	return (uint16_t)(n < TG_PROBE_DATA_MAX ? n : TG_PROBE_DATA_MAX - 1);
}
