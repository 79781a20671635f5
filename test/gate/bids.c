/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients that open connections to a service that takes bids, and its two servers, which answer with bids: one at once, the
 * other later, and now and then not at all, so that auctions wait for it until their window ends. */
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_tcp.h>

#include "soak.h"
#include "tg_bid_wire.h"

#define OPENERS  2000u /* ports on which connections are opened, again and again */
#define TALKERS  1000u /* ports of connections that are open */
#define OPENS    4u    /* one packet in so many opens a connection */
#define SLOW     0x0c  /* the slow server: the last byte of its address */
#define SILENT   8u    /* it leaves one in so many unanswered */
#define LATER_US 150u
#define WAITING  2048u /* answers of the slow one, a power of 2 */
#define SYN      0x02
#define ACK      0x10

static struct {
	struct rte_mbuf *m;
	uint64_t due;
} waiting[WAITING];
static uint32_t first, behind, asked;

static void write_tcp(struct rte_tcp_hdr *tcp, uint32_t k)
{
	bool opens = k % OPENS == 0;
	uint32_t port = opens ? 1024 + k / OPENS % OPENERS : 10000 + k % TALKERS;

	tcp->src_port = rte_cpu_to_be_16((uint16_t)port);
	tcp->dst_port = RTE_BE16(53);
	/* another number each time: a new connection on ports used before */
	tcp->sent_seq = rte_cpu_to_be_32(k);
	tcp->data_off = sizeof(*tcp) / 4 << 4;
	tcp->tcp_flags = opens ? SYN : ACK;
}

void soak_bids_write(uint8_t *frame, uint32_t k)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + sizeof(struct rte_ether_hdr));

	memset(ip + 1, 0, SOAK_FRAME - sizeof(struct rte_ether_hdr) - sizeof(*ip));
	ip->next_proto_id = IPPROTO_TCP;
	ip->total_length = rte_cpu_to_be_16(sizeof(*ip) + sizeof(struct rte_tcp_hdr));
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	write_tcp((struct rte_tcp_hdr *)(ip + 1), k);
}

/* Of a SYN the SYN-ACK: addresses and ports change places. */
static void answer(struct rte_mbuf *m, const uint8_t gateway[RTE_ETHER_ADDR_LEN])
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + sizeof(struct rte_ether_hdr));
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	uint32_t client = ip->src_addr, isn = rte_be_to_cpu_32(tcp->sent_seq);
	uint16_t port = tcp->src_port;

	memmove(frame + RTE_ETHER_ADDR_LEN, frame, RTE_ETHER_ADDR_LEN);
	memcpy(frame, gateway, RTE_ETHER_ADDR_LEN);
	ip->src_addr = ip->dst_addr;
	ip->dst_addr = client;
	ip->time_to_live = (uint8_t)(TG_BID_LEAST + isn % TG_BID_STEPS);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	tcp->src_port = tcp->dst_port;
	tcp->dst_port = port;
	tcp->recv_ack = rte_cpu_to_be_32(isn + 1);
	tcp->tcp_flags = SYN | ACK;
}

static bool is_syn(const struct rte_mbuf *m)
{
	const struct rte_tcp_hdr *tcp =
		rte_pktmbuf_mtod_offset(m, const struct rte_tcp_hdr *,
					sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr));

	return tcp->tcp_flags == SYN;
}

void soak_bids_serve(struct soak_rig *r, struct rte_mbuf **m, unsigned int n, uint64_t now)
{
	const uint64_t later = tg_us_to_ticks(&r->gateway.clock, LATER_US);
	struct rte_mbuf *at_once[SOAK_BURST];
	unsigned int k = 0;

	for (unsigned int i = 0; i < n; i++) {
		bool slow = rte_pktmbuf_mtod(m[i], const uint8_t *)[RTE_ETHER_ADDR_LEN - 1] == SLOW;

		if (!is_syn(m[i]) ||
		    (slow && (++asked % SILENT == 0 || behind - first == WAITING))) {
			rte_pktmbuf_free(m[i]);
			continue;
		}
		answer(m[i], r->back_mac);
		if (!slow) {
			at_once[k++] = m[i];
			continue;
		}
		waiting[behind % WAITING].m = m[i];
		waiting[behind++ % WAITING].due = now + later;
	}
	soak_enter(r->back_in, at_once, k);
	for (k = 0; first != behind && k < SOAK_BURST && waiting[first % WAITING].due <= now;)
		at_once[k++] = waiting[first++ % WAITING].m;
	soak_enter(r->back_in, at_once, k);
}

void soak_bids_end(void)
{
	while (first != behind)
		rte_pktmbuf_free(waiting[first++ % WAITING].m);
}
