/* SPDX-License-Identifier: BSD-3-Clause */
/* The rig's frames: TCP over IPv4, written and read. Included by rig.h. Thread-safety: as the rig. */
#ifndef TG_BID_RIG_FRAMES_H
#define TG_BID_RIG_FRAMES_H

/* A frame of TCP over IPv4. */
struct rig_frame {
	uint8_t dst_mac[6], src_mac[6];
	uint32_t src, dst; /* host order */
	uint16_t src_port, dst_port;
	uint32_t seq, ack;
	uint8_t ttl, flags;
	unsigned int payload;
	bool checksums; /* as read: they stand */
};

static inline struct rte_mbuf *rig_write(const struct rig_frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	uint8_t *at = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(54 + f->payload));
	struct rte_ipv4_hdr *ip = (void *)(at + 14);
	struct rte_tcp_hdr *tcp = (void *)(at + 34);

	memset(at, 0, m->data_len);
	memcpy(at, f->dst_mac, 6);
	memcpy(at + 6, f->src_mac, 6);
	at[12] = 8;
	ip->version_ihl = 0x45;
	ip->total_length = htons((uint16_t)(40 + f->payload));
	ip->time_to_live = f->ttl;
	ip->next_proto_id = IPPROTO_TCP;
	ip->src_addr = htonl(f->src);
	ip->dst_addr = htonl(f->dst);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	tcp->src_port = htons(f->src_port);
	tcp->dst_port = htons(f->dst_port);
	tcp->sent_seq = htonl(f->seq);
	tcp->recv_ack = htonl(f->ack);
	tcp->data_off = 0x50;
	tcp->tcp_flags = f->flags;
	tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	return m;
}

static inline bool rig_read(unsigned int port, struct rig_frame *f)
{
	struct rte_mbuf *m = NULL;
	const uint8_t *at;
	const struct rte_ipv4_hdr *ip;
	const struct rte_tcp_hdr *tcp;

	for (unsigned int w = 0; m == NULL && w < rig.workers; w++)
		if (rte_ring_dequeue(rig.tx[port][w], (void **)&m) != 0)
			m = NULL;
	if (m == NULL)
		return false;
	at = rte_pktmbuf_mtod(m, const uint8_t *);
	ip = (const void *)(at + 14);
	tcp = (const void *)(at + 34);
	*f = (struct rig_frame){.src = ntohl(ip->src_addr),
				.dst = ntohl(ip->dst_addr),
				.src_port = ntohs(tcp->src_port),
				.dst_port = ntohs(tcp->dst_port),
				.seq = ntohl(tcp->sent_seq),
				.ack = ntohl(tcp->recv_ack),
				.ttl = ip->time_to_live,
				.flags = tcp->tcp_flags};
	memcpy(f->dst_mac, at, 6);
	memcpy(f->src_mac, at + 6, 6);
	f->payload = ntohs(ip->total_length) - 40u;
	f->checksums = rte_raw_cksum(ip, 20) == 0xffff &&
		       rte_ipv4_udptcp_cksum_verify(ip, tcp) == 0;
	rte_pktmbuf_free(m);
	return true;
}

/* Puts a frame in by a queue of a port. */
static inline void rig_in(unsigned int port, unsigned int queue, struct rig_frame f)
{
	memcpy(f.dst_mac, rig.gateway.ports[port].mac, 6);
	rte_ring_enqueue(rig.rx[port][queue], rig_write(&f));
}

static inline void rig_client(uint16_t port, uint32_t seq, uint32_t ack, uint8_t flags,
			      unsigned int payload)
{
	rig_in(FRONT, 0,
	       (struct rig_frame){.src_mac = {2, 0, 0, 0, 0, 5},
				  .src = CLIENT,
				  .dst = VIP,
				  .src_port = port,
				  .dst_port = 80,
				  .seq = seq,
				  .ack = ack,
				  .ttl = 64,
				  .flags = flags,
				  .payload = payload});
}

static inline void rig_server(uint8_t server, uint16_t port, uint32_t ack, uint8_t ttl,
			      uint8_t flags)
{
	rig_in(BACK, 0,
	       (struct rig_frame){.src_mac = {2, 0, 0, 0, 1, server},
				  .src = VIP,
				  .dst = CLIENT,
				  .src_port = 80,
				  .dst_port = port,
				  .seq = 7000u + server,
				  .ack = ack,
				  .ttl = ttl,
				  .flags = flags});
}

/* Time passes and everyone has a turn; with several workers twice, so that what is handed over arrives. */
static inline void rig_turn(uint64_t later)
{
	for (unsigned int w = 0; w < rig.workers; w++)
		rig.time[w].now += later;
	for (unsigned int k = 0; k < rig.workers; k++)
		for (unsigned int w = 0; w < rig.workers; w++)
			tg_worker_turn(rig.gateway.worker[w]);
}

#endif
