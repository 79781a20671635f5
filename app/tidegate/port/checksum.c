/* SPDX-License-Identifier: BSD-3-Clause */
#include "checksum.h"

#include <netinet/in.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#define TCP_CHECKSUM 16 /* its offset */
#define UDP_CHECKSUM 6

static void complete(struct rte_mbuf *m, const struct tg_pkt *p)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, p->l3_off);
	uint8_t *l4 = rte_pktmbuf_mtod_offset(m, uint8_t *, p->l4_off);
	bool tcp = p->key.protocol == IPPROTO_TCP, v6 = (p->flags & TG_PKT_V6) != 0;
	uint32_t len = p->l3_off + (uint32_t)p->ip_len - p->l4_off;
	uint16_t at = tcp ? TCP_CHECKSUM : UDP_CHECKSUM, is, pseudo;

	if (p->l4_off + len > m->data_len || len < at + sizeof(is) ||
	    (v6 && p->l4_off != p->l3_off + sizeof(struct rte_ipv6_hdr)))
		return;
	pseudo = v6 ? rte_ipv6_phdr_cksum((void *)ip, 0) : rte_ipv4_phdr_cksum((void *)ip, 0);
	memcpy(&is, l4 + at, sizeof(is));
	if (is != pseudo)
		return;
	is = (uint16_t)~rte_raw_cksum(l4, len);
	if (is == 0 && !tcp) /* zero says that there is none (RFC 768) */
		is = 0xffff;
	memcpy(l4 + at, &is, sizeof(is));
}

void tg_checksum_complete(struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_pkt *p = &b->pkt[i];

		if (b->verdict[i] == TG_FORWARD &&
		    (p->key.protocol == IPPROTO_TCP || p->key.protocol == IPPROTO_UDP) &&
		    (p->flags & (TG_PKT_FRAGMENT | TG_PKT_ICMP_ERROR | TG_PKT_ARP)) == 0 &&
		    p->l4_off != 0)
			complete(b->mbuf[i], p);
	}
}
