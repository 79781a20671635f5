/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client sends, written out byte by byte, with a checksum that knows nothing of the library's: what the tests
 * of encapsulation begin with.
 */
#ifndef TG_TEST_ENCAP_FRAMES_H
#define TG_TEST_ENCAP_FRAMES_H

#include "tg_encap.h"
#include "unit.h"

#define FRAME_MAX 2048

struct frame {
	uint8_t b[FRAME_MAX];
	unsigned int len;
};

static inline void put(struct frame *f, const void *bytes, unsigned int n)
{
	ck_assert_uint_le(f->len + n, FRAME_MAX);
	memcpy(f->b + f->len, bytes, n);
	f->len += n;
}

static inline void put16(struct frame *f, unsigned int v)
{
	uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};

	put(f, b, 2);
}

/* RFC 1071, the slow way. */
static inline unsigned int checksum(const uint8_t *b, unsigned int n)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i += 2)
		sum += b[i] << 8 | b[i + 1];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return 0xffff - sum;
}

static inline void put_v4(struct frame *f, unsigned int tos, unsigned int len, unsigned int id,
			  bool df, unsigned int ttl, unsigned int protocol, const uint8_t *src,
			  const uint8_t *dst)
{
	unsigned int at = f->len, sum;

	put16(f, 0x4500 | tos);
	put16(f, len);
	put16(f, id);
	put16(f, df ? 0x4000 : 0);
	put16(f, ttl << 8 | protocol);
	put16(f, 0);
	put(f, src, 4);
	put(f, dst, 4);
	sum = checksum(f->b + at, 20);
	f->b[at + 10] = (uint8_t)(sum >> 8);
	f->b[at + 11] = (uint8_t)sum;
}

static inline void put_v6(struct frame *f, unsigned int tos, unsigned int len, unsigned int hops,
			  unsigned int next, const uint8_t *src, const uint8_t *dst)
{
	put16(f, 0x6000 | tos << 4);
	put16(f, 0);
	put16(f, len);
	put16(f, next << 8 | hops);
	put(f, src, 16);
	put(f, dst, 16);
}

static const uint8_t src_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
static const uint8_t server_mac[6] = {0x06, 0xf1, 0xe2, 0xd3, 0xc4, 0xb5};
static const uint8_t client4[4] = {203, 0, 113, 9}, vip4[4] = {198, 51, 100, 80};
static const uint8_t client6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 9};
static const uint8_t vip6[16] = {0x20, 0x01, 0x0d, 0xb8, 1, [15] = 0x80};

/* What a client sends. */
struct inner {
	bool v6, df;
	unsigned int tags, tos, ttl, payload, padding, cut; /* cut: bytes missing at the end */
};

static inline void put_inner_ip(struct frame *f, const struct inner *in, unsigned int ttl)
{
	static const uint8_t pattern[] = {0xc0, 0xff, 0xee, 0x11, 0x7e};

	if (in->v6)
		put_v6(f, in->tos, in->payload, ttl, 17, client6, vip6);
	else
		put_v4(f, in->tos, 20 + in->payload, 0xbeef, in->df, ttl, 17, client4, vip4);
	for (unsigned int i = 0; i < in->payload; i++)
		put(f, &pattern[i % sizeof(pattern)], 1);
}

static inline unsigned int inner_len(const struct inner *in)
{
	return (in->v6 ? 40 : 20) + in->payload;
}

static const uint8_t tag_bytes[8] = {0x88, 0xa8, 0xa0, 0x64, 0x81, 0x00, 0x30, 0x07};

static inline void put_inner_tags(struct frame *f, unsigned int tags)
{
	put(f, tag_bytes + (tags == 1 ? 4 : 0), 4 * tags);
}

/* The frame as it comes, and what parse says of it. */
static inline void arrives(struct frame *f, const struct inner *in, struct tg_pkt *p)
{
	static const uint8_t macs[12] = {0x02, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa,
					 0x02, 0xbb, 0xbb, 0xbb, 0xbb, 0xbb};
	static const uint8_t zeros[64];

	f->len = 0;
	put(f, macs, 12);
	put_inner_tags(f, in->tags);
	put16(f, in->v6 ? 0x86dd : 0x0800);
	memset(p, 0, sizeof(*p));
	p->l3_off = (uint8_t)f->len;
	p->l4_off = (uint8_t)(f->len + (in->v6 ? 40 : 20));
	p->ip_len = (uint16_t)inner_len(in);
	p->ttl = (uint8_t)in->ttl;
	if (in->tags > 0)
		p->vlan = in->tags == 1 ? 0x3007 : 0xa064;
	p->flags = (uint16_t)((in->v6 ? TG_PKT_V6 : 0) | (in->tags > 0 ? TG_PKT_VLAN : 0) |
			      (in->cut > 0 ? TG_PKT_CUT : 0));
	put_inner_ip(f, in, in->ttl);
	put(f, zeros, in->padding);
	f->len -= in->cut;
}

#endif
