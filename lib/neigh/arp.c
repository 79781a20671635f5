/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP for IPv4 over Ethernet (RFC 826, RFC 5227). */
#include <rte_arp.h>

#include "private.h"

#define FRAME_MIN 60 /* without the check sequence */

static void set_header(struct rte_arp_hdr *a, uint16_t operation)
{
	a->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
	a->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	a->arp_hlen = RTE_ETHER_ADDR_LEN;
	a->arp_plen = sizeof(a->arp_data.arp_sip);
	a->arp_opcode = rte_cpu_to_be_16(operation);
}

static bool is_ours_to_read(const struct rte_arp_hdr *a)
{
	return a->arp_hardware == rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) &&
	       a->arp_protocol == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) &&
	       a->arp_hlen == RTE_ETHER_ADDR_LEN && a->arp_plen == sizeof(a->arp_data.arp_sip) &&
	       (a->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REQUEST) ||
		a->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REPLY));
}

void neigh_arp(struct tg_neigh_table *t, const struct tg_neigh_local *l, struct tg_burst *b,
	       unsigned int i)
{
	struct rte_mbuf *m = b->mbuf[i];
	unsigned int off = b->pkt[i].l3_off;
	struct rte_arp_hdr a;
	struct tg_addr sender, target;
	uint8_t *sha = a.arp_data.arp_sha.addr_bytes;

	if (off + sizeof(a) > m->data_len) {
		tg_drop(b, i, TG_DROP_FRAME_SHORT);
		return;
	}
	tg_drop(b, i, TG_DROP_NEIGHBOUR);
	memcpy(&a, rte_pktmbuf_mtod_offset(m, void *, off), sizeof(a));
	if (!is_ours_to_read(&a) || !neigh_mac_ok(sha))
		return;
	sender = tg_addr_from_v4(a.arp_data.arp_sip);
	target = tg_addr_from_v4(a.arp_data.arp_tip);
	if (a.arp_data.arp_sip != 0)
		neigh_learn(t, l, b, i, &sender, sha, true);
	if (a.arp_opcode != rte_cpu_to_be_16(RTE_ARP_OP_REQUEST) || tg_addr_eq(&sender, &target) ||
	    !tg_neigh_is_local(l, &target, b->port))
		return;
	a.arp_opcode = rte_cpu_to_be_16(RTE_ARP_OP_REPLY);
	a.arp_data.arp_tha = a.arp_data.arp_sha;
	memcpy(sha, l->ports[b->port].mac, RTE_ETHER_ADDR_LEN);
	a.arp_data.arp_tip = tg_addr_to_v4(&sender);
	a.arp_data.arp_sip = tg_addr_to_v4(&target);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, off), &a, sizeof(a));
	b->reason[i] = TG_DROP_NONE;
	neigh_reply(l, b, i, a.arp_data.arp_tha.addr_bytes);
}

uint16_t neigh_arp_request(const struct neigh_entry *e, const struct tg_neigh_port *port,
			   const uint8_t *unicast, uint8_t *frame)
{
	static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct rte_arp_hdr a = {0};
	uint16_t off = neigh_link_header(frame, unicast != NULL ? unicast : broadcast, port,
					 RTE_ETHER_TYPE_ARP);

	set_header(&a, RTE_ARP_OP_REQUEST);
	memcpy(a.arp_data.arp_sha.addr_bytes, port->mac, RTE_ETHER_ADDR_LEN);
	a.arp_data.arp_sip = tg_addr_to_v4(&e->source);
	a.arp_data.arp_tip = tg_addr_to_v4(&e->address);
	memcpy(frame + off, &a, sizeof(a));
	return RTE_MAX((uint16_t)(off + sizeof(a)), (uint16_t)FRAME_MIN);
}
