/* SPDX-License-Identifier: BSD-3-Clause */
/* Echo requests (RFC 792, RFC 4443 section 4) become echo replies. */
#include <rte_icmp.h>
#include <rte_ip.h>

#include "private.h"

#define ECHO_REPLY_V4 0
#define ECHO_REPLY_V6 129
#define REPLY_TTL     64

/* A 16-bit word under the checksum changed (RFC 1624, equation 3); all in network order. */
static uint16_t checksum_update(uint16_t checksum, uint16_t from, uint16_t to)
{
	uint32_t sum = (uint32_t)(uint16_t)~checksum + (uint16_t)~from + to;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Unspecified, loopback, multicast, broadcast: no one station sent it. */
static bool can_be_answered(const struct tg_addr *a)
{
	static const struct tg_addr none, loopback = {{[15] = 1}};

	if (tg_addr_is_v4(a))
		return a->b[12] != 0 && a->b[12] != 127 && a->b[12] < 224;
	return a->b[0] != 0xff && !tg_addr_eq(a, &none) && !tg_addr_eq(a, &loopback);
}

/* Type and code are one word. */
static void answer_icmp(struct rte_icmp_hdr *h, uint8_t type)
{
	uint16_t from, to;

	memcpy(&from, h, sizeof(from));
	h->icmp_type = type;
	memcpy(&to, h, sizeof(to));
	h->icmp_cksum = checksum_update(h->icmp_cksum, from, to);
	/* the sum may be either zero; a body of zeros alone needs this one, every other takes it */
	if (h->icmp_cksum == 0)
		h->icmp_cksum = 0xffff;
}

/* Swapping the addresses leaves every sum as it is; the TTL starts anew. */
static void answer_v4(struct rte_ipv4_hdr *h)
{
	uint32_t src = h->src_addr;
	uint16_t from, to;

	h->src_addr = h->dst_addr;
	h->dst_addr = src;
	memcpy(&from, &h->time_to_live, sizeof(from)); /* TTL and protocol are one word */
	h->time_to_live = REPLY_TTL;
	memcpy(&to, &h->time_to_live, sizeof(to));
	h->hdr_checksum = checksum_update(h->hdr_checksum, from, to);
}

static void answer_v6(struct rte_ipv6_hdr *h)
{
	uint8_t src[16];

	memcpy(src, h->src_addr, sizeof(src));
	memcpy(h->src_addr, h->dst_addr, sizeof(src));
	memcpy(h->dst_addr, src, sizeof(src));
	h->hop_limits = REPLY_TTL;
}

/* Ours to answer: one whole packet to one station, with nothing between the IP header and ICMP
 * that would have to be answered as well. */
static bool is_plain(const struct rte_mbuf *m, const struct tg_pkt *p)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (p->l4_off + sizeof(struct rte_icmp_hdr) > m->data_len || (frame[0] & 1))
		return false;
	return !(p->flags & TG_PKT_V6) || p->l4_off == p->l3_off + sizeof(struct rte_ipv6_hdr);
}

void neigh_ping(const struct tg_neigh_local *l, const struct tg_clock *clock,
		struct tg_bucket *bucket, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	struct rte_mbuf *m = b->mbuf[i];
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	if (!(neigh_local_flags(l, &p->dst, b->port) & NEIGH_PING) || !is_plain(m, p))
		return;
	if (!can_be_answered(&p->key.client)) {
		tg_drop(b, i, TG_DROP_ICMP);
		return;
	}
	if (!tg_bucket_take(bucket, clock, b->now, TG_PING_RATE)) {
		tg_drop(b, i, TG_DROP_PING_RATE);
		return;
	}
	if (p->flags & TG_PKT_V6) {
		answer_v6((void *)(frame + p->l3_off));
		answer_icmp((void *)(frame + p->l4_off), ECHO_REPLY_V6);
	} else {
		answer_v4((void *)(frame + p->l3_off));
		answer_icmp((void *)(frame + p->l4_off), ECHO_REPLY_V4);
	}
	neigh_reply(l, b, i, frame + RTE_ETHER_ADDR_LEN);
}
