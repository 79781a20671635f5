/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IP addresses. Every address is 16 bytes: IPv6 as it is, IPv4 mapped (::ffff:a.b.c.d,
 * RFC 4291 section 2.5.5.2), so that one key, one table and one comparison serve both families.
 *
 * Thread-safety: pure functions over the caller's memory.
 */
#ifndef TG_ADDR_H
#define TG_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tg_addr {
	uint8_t b[16]; /* network order */
};

/* An address with a prefix length: 0..128, counted in the 128-bit form (an IPv4 /24 is 120). */
struct tg_prefix {
	struct tg_addr addr;
	uint8_t len;
};

#define TG_ADDR_STRLEN 46 /* longest text form and its NUL, as INET6_ADDRSTRLEN */

static inline bool tg_addr_is_v4(const struct tg_addr *a)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(a->b, mapped, sizeof(mapped)) == 0;
}

static inline bool tg_addr_eq(const struct tg_addr *a, const struct tg_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

/* be32: four bytes in network order, as they stand in a packet. */
static inline struct tg_addr tg_addr_from_v4(uint32_t be32)
{
	struct tg_addr a = {.b = {[10] = 0xff, [11] = 0xff}};

	memcpy(&a.b[12], &be32, sizeof(be32));
	return a;
}

/* The last four bytes, in network order. Meaningful for an IPv4 address only. */
uint32_t tg_addr_to_v4(const struct tg_addr *a);

/* Text ("10.0.0.1", "2001:db8::1") to address; 0 or -EINVAL. Names are not resolved. */
int tg_addr_parse(const char *text, struct tg_addr *out);

/* Address to text, always terminated; buf should hold TG_ADDR_STRLEN. Returns buf. */
const char *tg_addr_format(const struct tg_addr *a, char *buf, size_t len);

/* "10.0.0.2/24", "2001:db8::2/64" to prefix (host bits are kept); 0 or -EINVAL. */
int tg_prefix_parse(const char *text, struct tg_prefix *out);

/* Is a inside the network of p? */
bool tg_prefix_contains(const struct tg_prefix *p, const struct tg_addr *a);

#endif
