/* SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>

#include "frame.h"

#define IP6_HEADER 40
#define IP6_NEXT   6 /* where it says what follows it */

/* Length of the extension header of this type at off, whose first two bytes are readable. */
static uint32_t extension_len(const struct frame *f, uint32_t off, uint8_t type)
{
	uint8_t units = f->data[off + 1];

	switch (type) {
	case IPPROTO_FRAGMENT:
		return 8; /* the second byte is reserved */
	case IPPROTO_AH:
		return (units + 2u) * 4; /* RFC 4302 section 2.2 */
	default:
		return (units + 1u) * 8;
	}
}

/* RFC 8200 section 4.5. True if it is one of several fragments; an atomic one (RFC 6946), offset
 * 0 and nothing after it, is an ordinary packet. */
static bool read_fragment(const struct frame *f, uint32_t off, struct tg_pkt *out)
{
	uint16_t word = frame_be16(f, off + 2);

	if ((word & 0xfff9) == 0)
		return false;
	frame_is_fragment(out, (word & 0xfff8) != 0);
	return true;
}

/* One header: is it one that is walked, and may it stand here? */
static bool is_extension(uint8_t type)
{
	return type == IPPROTO_HOPOPTS || type == IPPROTO_ROUTING || type == IPPROTO_FRAGMENT ||
	       type == IPPROTO_AH || type == IPPROTO_DSTOPTS;
}

enum tg_reason tg_parse_ip6_extensions(const struct frame *f, uint32_t *off, struct tg_pkt *out)
{
	for (unsigned int n = 0; is_extension(out->key.protocol); n++) {
		uint8_t type = out->key.protocol;
		uint32_t size;

		/* hop-by-hop options only ever come first */
		if (n == TG_PARSE_EXT_MAX || (type == IPPROTO_HOPOPTS && n > 0) ||
		    f->end - *off < 8)
			return TG_DROP_IP6_HEADERS;
		if (!frame_has(f, *off, 8))
			return TG_DROP_FRAME_SHORT;
		size = extension_len(f, *off, type);
		if (size > f->end - *off)
			return TG_DROP_IP6_HEADERS;
		/* segments left: the destination is a station on the way, not the end (section 4.4);
		 * refused like IPv4's source routes */
		if (type == IPPROTO_ROUTING && f->data[*off + 3] != 0)
			return TG_DROP_IP6_HEADERS;
		out->key.protocol = f->data[*off];
		*off += size;
		if (type == IPPROTO_FRAGMENT && read_fragment(f, *off - size, out))
			break;
	}
	return *off <= UINT8_MAX ? TG_DROP_NONE : TG_DROP_IP6_HEADERS;
}

bool tg_parse_fragment_id(const uint8_t *data, uint32_t len, const struct tg_pkt *p, uint32_t *id)
{
	const struct frame f = {.data = data, .len = len};
	uint32_t off = p->l3_off + IP6_HEADER;
	uint8_t type = data[p->l3_off + IP6_NEXT];

	for (unsigned int n = 0; n < TG_PARSE_EXT_MAX && is_extension(type); n++) {
		if (!frame_has(&f, off, 8))
			return false;
		if (type == IPPROTO_FRAGMENT) {
			memcpy(id, data + off + 4, sizeof(*id));
			return true;
		}
		type = data[off];
		off += extension_len(&f, off, data[off]);
	}
	return false;
}
