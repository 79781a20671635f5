/* SPDX-License-Identifier: BSD-3-Clause */
/* The rig's frames: TCP over IPv4 or IPv6, written and read. Included by rig.h. Thread-safety: as the rig. */
#ifndef TG_BID_RIG_FRAMES_H
#define TG_BID_RIG_FRAMES_H

/* A frame of TCP. */
struct rig_frame {
	uint8_t dst_mac[6], src_mac[6];
	uint32_t src, dst; /* host order; of IPv6 the last four bytes */
	uint16_t src_port, dst_port;
	uint32_t seq, ack;
	uint8_t ttl, flags;
	unsigned int payload;
	bool checksums; /* as read: they stand */
};

static inline unsigned int rig_ip_len(void)
{
	return rig.v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
}

static inline unsigned int rig_tcp_len(void)
{
	return sizeof(struct rte_tcp_hdr) + (rig.timestamps ? 12 : 0);
}

/* No operation twice, timestamps (RFC 7323 section 3.2): both are the time now. */
static inline void rig_write_timestamps(uint8_t *at, bool acknowledges)
{
	static const uint8_t kind[4] = {1, 1, 8, 10};
	uint32_t ms = htonl((uint32_t)(rig.time[0].now / MS));

	memcpy(at, kind, sizeof(kind));
	memcpy(at + 4, &ms, sizeof(ms));
	if (acknowledges)
		memcpy(at + 8, &ms, sizeof(ms));
}

static inline void rig_address6(uint8_t to[16], uint32_t a)
{
	static const uint8_t prefix[12] = {0x20, 1, 0x0d, 0xb8};

	a = htonl(a);
	memcpy(to, prefix, sizeof(prefix));
	memcpy(to + sizeof(prefix), &a, sizeof(a));
}

static inline uint32_t rig_address_of(const uint8_t from[16])
{
	uint32_t a;

	memcpy(&a, from + 12, sizeof(a));
	return ntohl(a);
}

static inline void rig_write_ip(uint8_t *at, const struct rig_frame *f)
{
	struct rte_ipv6_hdr *ip6 = (void *)at;
	struct rte_ipv4_hdr *ip = (void *)at;
	uint16_t len = (uint16_t)(rig_tcp_len() + f->payload);

	if (rig.v6) {
		ip6->vtc_flow = htonl(6u << 28);
		ip6->payload_len = htons(len);
		ip6->proto = IPPROTO_TCP;
		ip6->hop_limits = f->ttl;
		rig_address6(ip6->src_addr, f->src);
		rig_address6(ip6->dst_addr, f->dst);
		return;
	}
	ip->version_ihl = 0x45;
	ip->total_length = htons((uint16_t)(sizeof(*ip) + len));
	ip->time_to_live = f->ttl;
	ip->next_proto_id = IPPROTO_TCP;
	ip->src_addr = htonl(f->src);
	ip->dst_addr = htonl(f->dst);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

static inline struct rte_mbuf *rig_write(const struct rig_frame *f)
{
	unsigned int l4 = 14 + rig_ip_len();
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	uint8_t *at = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(l4 + rig_tcp_len() + f->payload));
	struct rte_tcp_hdr *tcp = (void *)(at + l4);

	memset(at, 0, m->data_len);
	memcpy(at, f->dst_mac, 6);
	memcpy(at + 6, f->src_mac, 6);
	at[12] = rig.v6 ? 0x86 : 8;
	at[13] = rig.v6 ? 0xdd : 0;
	rig_write_ip(at + 14, f);
	tcp->src_port = htons(f->src_port);
	tcp->dst_port = htons(f->dst_port);
	tcp->sent_seq = htonl(f->seq);
	tcp->recv_ack = htonl(f->ack);
	tcp->data_off = (uint8_t)(rig_tcp_len() / 4 << 4);
	tcp->tcp_flags = f->flags;
	if (rig.timestamps)
		rig_write_timestamps(at + l4 + sizeof(*tcp), (f->flags & RTE_TCP_ACK_FLAG) != 0);
	tcp->cksum = rig.v6 ? rte_ipv6_udptcp_cksum((void *)(at + 14), tcp)
			    : rte_ipv4_udptcp_cksum((void *)(at + 14), tcp);
	return m;
}

static inline void rig_read_ip(const uint8_t *at, struct rig_frame *f)
{
	const struct rte_ipv6_hdr *ip6 = (const void *)at;
	const struct rte_ipv4_hdr *ip = (const void *)at;
	const struct rte_tcp_hdr *tcp = (const void *)(at + rig_ip_len());

	if (rig.v6) {
		f->src = rig_address_of(ip6->src_addr);
		f->dst = rig_address_of(ip6->dst_addr);
		f->ttl = ip6->hop_limits;
		f->payload = ntohs(ip6->payload_len) - (tcp->data_off >> 4) * 4u;
		f->checksums = rte_ipv6_udptcp_cksum_verify(ip6, tcp) == 0;
		return;
	}
	f->src = ntohl(ip->src_addr);
	f->dst = ntohl(ip->dst_addr);
	f->ttl = ip->time_to_live;
	f->payload = ntohs(ip->total_length) - 20u - (tcp->data_off >> 4) * 4u;
	f->checksums = rte_raw_cksum(ip, 20) == 0xffff &&
		       rte_ipv4_udptcp_cksum_verify(ip, tcp) == 0;
}

static inline bool rig_read(unsigned int port, struct rig_frame *f)
{
	struct rte_mbuf *m = NULL;
	const struct rte_tcp_hdr *tcp;
	const uint8_t *at;

	for (unsigned int w = 0; m == NULL && w < rig.workers; w++)
		if (rte_ring_dequeue(rig.tx[port][w], (void **)&m) != 0)
			m = NULL;
	if (m == NULL)
		return false;
	at = rte_pktmbuf_mtod(m, const uint8_t *);
	tcp = (const void *)(at + 14 + rig_ip_len());
	*f = (struct rig_frame){.src_port = ntohs(tcp->src_port),
				.dst_port = ntohs(tcp->dst_port),
				.seq = ntohl(tcp->sent_seq),
				.ack = ntohl(tcp->recv_ack),
				.flags = tcp->tcp_flags};
	memcpy(f->dst_mac, at, 6);
	memcpy(f->src_mac, at + 6, 6);
	rig_read_ip(at + 14, f);
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
