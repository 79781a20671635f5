/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "tg_addr.h"

#define V4_PREFIX_BITS 96 /* of the mapped form that stand before the IPv4 address */

uint32_t tg_addr_to_v4(const struct tg_addr *a)
{
	uint32_t be32;

	memcpy(&be32, &a->b[12], sizeof(be32));
	return be32;
}

int tg_addr_parse(const char *text, struct tg_addr *out)
{
	uint32_t be32;

	if (inet_pton(AF_INET, text, &be32) == 1) {
		*out = tg_addr_from_v4(be32);
		return 0;
	}
	return inet_pton(AF_INET6, text, out->b) == 1 ? 0 : -EINVAL;
}

const char *tg_addr_format(const struct tg_addr *a, char *buf, size_t len)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (tg_addr_is_v4(a))
		inet_ntop(AF_INET, &a->b[12], text, sizeof(text));
	else
		inet_ntop(AF_INET6, a->b, text, sizeof(text));
	snprintf(buf, len, "%s", text);
	return buf;
}

/* Digits only: strtoul would take signs, spaces and the empty text. */
static int parse_bits(const char *text, unsigned int max, unsigned int *bits)
{
	unsigned int v = 0;

	if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
		return -EINVAL;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		v = v * 10 + (unsigned int)(*text - '0');
		if (v > max)
			return -EINVAL;
	}
	*bits = v;
	return 0;
}

int tg_prefix_parse(const char *text, struct tg_prefix *out)
{
	const char *slash = strchr(text, '/');
	char addr[TG_ADDR_STRLEN];
	struct tg_prefix p;
	unsigned int before, bits;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, text, (size_t)(slash - text));
	addr[slash - text] = '\0';
	if (tg_addr_parse(addr, &p.addr) < 0)
		return -EINVAL;
	/* "::ffff:10.0.0.1/120" is in the 128-bit form already */
	before = strchr(addr, ':') == NULL ? V4_PREFIX_BITS : 0;
	if (parse_bits(slash + 1, 128 - before, &bits) < 0)
		return -EINVAL;
	p.len = (uint8_t)(before + bits);
	*out = p;
	return 0;
}

bool tg_prefix_contains(const struct tg_prefix *p, const struct tg_addr *a)
{
	unsigned int bytes = p->len / 8, bits = p->len % 8;

	if (memcmp(p->addr.b, a->b, bytes) != 0)
		return false;
	return bits == 0 || (p->addr.b[bytes] ^ a->b[bytes]) >> (8 - bits) == 0;
}
