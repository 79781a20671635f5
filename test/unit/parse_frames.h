/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames made header by header, for the parser's tests. Lengths of the IP headers are set by
 * frame_end; a test that wants them wrong overwrites bytes after it.
 */
#ifndef TG_PARSE_FRAMES_H
#define TG_PARSE_FRAMES_H

#include <netinet/in.h>
#include <string.h>

#include "../../lib/parse/frame.h"
#include "unit.h"

struct made {
	uint8_t b[70000];
	uint32_t n;
	uint32_t l3;   /* where the IP header starts; 0: none */
	uint8_t *next; /* byte that names the type of the next IPv6 header */
};

static const char CLIENT4[] = "198.51.100.7", VIP4[] = "192.0.2.10";
static const char CLIENT6[] = "2001:db8:1::7", VIP6[] = "2001:db8::10";

static inline struct tg_addr addr_of(const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return a;
}

static inline void put(struct made *m, const void *bytes, uint32_t n)
{
	ck_assert_uint_le(m->n + n, sizeof(m->b));
	memcpy(m->b + m->n, bytes, n);
	m->n += n;
}

/* The bytes of a string literal without its NUL. */
#define PUT(m, text) put(m, text, sizeof(text) - 1)

static inline void put16(struct made *m, uint16_t v)
{
	put(m, (uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

static inline void put32(struct made *m, uint32_t v)
{
	put16(m, (uint16_t)(v >> 16));
	put16(m, (uint16_t)v);
}

static inline void zeros(struct made *m, uint32_t n)
{
	memset(m->b + m->n, 0, n);
	m->n += n;
}

static inline void set16(struct made *m, uint32_t off, uint16_t v)
{
	m->b[off] = (uint8_t)(v >> 8);
	m->b[off + 1] = (uint8_t)v;
}

/* Ethernet with n tags 0x8100 of TCI 0x2001, 0x2002, ... */
static inline void link_tagged(struct made *m, uint16_t type, unsigned int n)
{
	m->n = 0;
	m->l3 = 0;
	PUT(m, "\x02\0\0\0\0\x02\x02\0\0\0\0\x01");
	for (unsigned int i = 0; i < n; i++) {
		put16(m, 0x8100);
		put16(m, (uint16_t)(0x2001 + i));
	}
	put16(m, type);
}

/* What follows the Ethernet addresses; fragment: the flags and offset word; options: a multiple
 * of 4 bytes. */
static inline void ip4_header(struct made *m, uint8_t protocol, uint16_t fragment,
			      const void *options, uint32_t n)
{
	struct tg_addr src = addr_of(CLIENT4), dst = addr_of(VIP4);

	m->l3 = m->n;
	put(m, (uint8_t[]){(uint8_t)(0x45 + n / 4), 0, 0, 0, 0, 1}, 6);
	put16(m, fragment);
	put(m, (uint8_t[]){61, protocol, 0, 0}, 4);
	put(m, src.b + 12, 4);
	put(m, dst.b + 12, 4);
	put(m, options, n);
}

static inline void ip4(struct made *m, uint8_t protocol)
{
	link_tagged(m, 0x0800, 0);
	ip4_header(m, protocol, 0x4000, "", 0);
}

static inline void ip6(struct made *m, uint8_t next, uint8_t hop_limit)
{
	struct tg_addr src = addr_of(CLIENT6), dst = addr_of(VIP6);

	link_tagged(m, 0x86dd, 0);
	m->l3 = m->n;
	put32(m, 0x60000000);
	put(m, (uint8_t[]){0, 0, next, hop_limit}, 4);
	m->next = m->b + m->n - 2;
	put(m, src.b, 16);
	put(m, dst.b, 16);
}

/* An extension header of 8 * (units + 1) bytes (fragment, AH: as their type has it). */
static inline void ext6(struct made *m, uint8_t type, uint8_t units)
{
	uint8_t last = *m->next;

	*m->next = type;
	m->next = m->b + m->n;
	put(m, (uint8_t[]){last, units}, 2);
	zeros(m, type == IPPROTO_AH ? (units + 2u) * 4 - 2 : (units + 1u) * 8 - 2);
}

static inline void fragment6(struct made *m, uint16_t offset_and_more)
{
	ext6(m, IPPROTO_FRAGMENT, 0);
	set16(m, m->n - 6, offset_and_more);
}

/* Ports 40000 -> 443, sequence 0x01020304, acknowledgement 0x05060708. */
static inline void tcp(struct made *m, uint8_t flags, const void *options, uint32_t n)
{
	put16(m, 40000);
	put16(m, 443);
	put32(m, 0x01020304);
	put32(m, 0x05060708);
	put(m, (uint8_t[]){(uint8_t)((5 + n / 4) << 4), flags, 1, 0, 0, 0, 0, 0}, 8);
	put(m, options, n);
}

static inline void udp(struct made *m, uint16_t payload)
{
	put16(m, 40000);
	put16(m, 53);
	put16(m, (uint16_t)(8 + payload));
	put16(m, 0);
	zeros(m, payload);
}

/* What an error quotes: the header of a packet from the VIP to the client, and its first 8 bytes. */
static inline void quote(struct made *m, bool v6, uint8_t protocol, uint16_t fragment,
			 uint32_t options)
{
	struct tg_addr client = addr_of(v6 ? CLIENT6 : CLIENT4), vip = addr_of(v6 ? VIP6 : VIP4);

	if (v6) {
		put32(m, 0x60000000);
		put(m, (uint8_t[]){5, 0, protocol, 60}, 4); /* was longer than what is quoted */
		put(m, vip.b, 16);
		put(m, client.b, 16);
	} else {
		put(m, (uint8_t[]){(uint8_t)(0x45 + options / 4), 0, 5, 220, 0, 1}, 6);
		put16(m, fragment);
		put(m, (uint8_t[]){60, protocol, 0, 0}, 4);
		put(m, vip.b + 12, 4);
		put(m, client.b + 12, 4);
		zeros(m, options);
	}
	put16(m, 443);
	put16(m, 40000);
	put32(m, 0x01020304);
}

/* Sets the IP length to what was put after the header. */
static inline void frame_end(struct made *m)
{
	if (m->b[m->l3] >> 4 == 4)
		set16(m, m->l3 + 2, (uint16_t)(m->n - m->l3));
	else
		set16(m, m->l3 + 4, (uint16_t)(m->n - m->l3 - 40));
}

/* The first len bytes in memory of just that size: sanitizers see a read past them. What is said of the
 * usual frame in one pass is what is said of it header by header. */
static inline enum tg_reason parse_cut(const struct made *m, uint32_t len, struct tg_pkt *p)
{
	uint8_t *exact = malloc(len > 0 ? len : 1);
	struct tg_pkt any;
	enum tg_reason why;

	memcpy(exact, m->b, len);
	memset(p, 0xa5, sizeof(*p)); /* parse fills all of it */
	why = tg_parse(exact, len, m->n, p);
	ck_assert_int_eq(tg_parse_any(exact, len, m->n, &any), why);
	ck_assert(why != TG_DROP_NONE || memcmp(p, &any, sizeof(any)) == 0);
	free(exact);
	return why;
}

static inline enum tg_reason parse(const struct made *m, struct tg_pkt *p)
{
	return parse_cut(m, m->n, p);
}

#define ck_assert_reason(m, why)                                                                \
	do {                                                                                    \
		struct tg_pkt p_;                                                               \
		ck_assert_str_eq(tg_reason_name(parse(m, &p_)), tg_reason_name(TG_DROP_##why)); \
	} while (0)

#endif
