/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Second chances: whom a gateway that guessed names in the GUE header, read from the bytes that it
 * sent. The servers' side passes a segment that it has no connection for on to them (network.c).
 */
#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "gateway/private.h"

#define GUE_PORT 6080

/* The scenario's server with this address. False: there is none. */
static bool find_server(const struct tg_sim *s, const struct tg_addr *wanted, uint16_t *server)
{
	for (uint32_t i = 0; i < s->scenario->n_servers; i++) {
		struct tg_addr a;

		if (tg_addr_parse(s->scenario->server[i].station.address, &a) != 0 ||
		    !tg_addr_eq(&a, wanted))
			continue;
		*server = (uint16_t)i;
		return true;
	}
	return false;
}

void tg_sim_gue_read(const struct tg_sim *s, const struct rte_mbuf *m, struct tg_sim_packet *p)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *at;
	bool v4 = frame[12] == 0x08 && frame[13] == 0x00;
	unsigned int ip = v4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
	unsigned int size = v4 ? 4 : 16;
	uint32_t n;

	p->n_next = 0;
	at = frame + RTE_ETHER_HDR_LEN + ip;
	if (m->data_len < RTE_ETHER_HDR_LEN + ip + sizeof(struct rte_udp_hdr) + 8 ||
	    frame[RTE_ETHER_HDR_LEN + (v4 ? 9 : 6)] != IPPROTO_UDP ||
	    (at[2] << 8 | at[3]) != GUE_PORT || (at[8] & 0x1f) == 0)
		return;
	at += sizeof(struct rte_udp_hdr) +
	      4; /* its list: a count, and addresses of the outer family */
	n = at[3];
	at += 4;
	for (uint32_t i = 0; i < n && p->n_next < TG_ALTERNATIVES; i++, at += size) {
		struct tg_addr a = {{0}};

		if (v4)
			a.b[10] = a.b[11] = 0xff;
		memcpy(a.b + 16 - size, at, size);
		if (find_server(s, &a, &p->next_server[p->n_next]))
			p->n_next++;
	}
}
