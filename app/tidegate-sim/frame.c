/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

/* NOP, NOP, timestamps (RFC 7323 appendix A) */
struct timestamp_option {
	uint8_t nop[2], kind, length;
	rte_be32_t tsval, tsecr;
} __attribute__((packed));

/* A SYN's own: largest segment (RFC 9293), NOP, window scale (RFC 7323). They make it larger than what acknowledges,
 * as every client's is. */
static const uint8_t syn_options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 3, 3, 7};

static uint32_t transport_header(const struct tg_frame_path *path, const struct tg_sim_packet *p)
{
	if (path->protocol == IPPROTO_UDP)
		return sizeof(struct rte_udp_hdr);
	return sizeof(struct rte_tcp_hdr) +
	       ((p->tcp_flags & TG_TCP_SYN) ? (uint32_t)sizeof(syn_options) : 0) +
	       (p->timestamps ? (uint32_t)sizeof(struct timestamp_option) : 0);
}

static uint32_t network_header(const struct tg_frame_path *path)
{
	return tg_addr_is_v4(&path->client) ? sizeof(struct rte_ipv4_hdr)
					    : sizeof(struct rte_ipv6_hdr);
}

uint32_t tg_frame_header(const struct tg_frame_path *path, const struct tg_sim_packet *p)
{
	return RTE_ETHER_HDR_LEN + network_header(path) + transport_header(path, p);
}

static void write_ip4(uint8_t *at, const struct tg_frame_path *path, uint16_t length)
{
	struct rte_ipv4_hdr h = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(length),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = path->protocol,
	};

	memcpy(&h.src_addr, &path->client.b[12], 4);
	memcpy(&h.dst_addr, &path->service.b[12], 4);
	h.hdr_checksum = rte_ipv4_cksum(&h);
	memcpy(at, &h, sizeof(h));
}

static void write_ip6(uint8_t *at, const struct tg_frame_path *path, uint16_t length)
{
	struct rte_ipv6_hdr h = {
		.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16((uint16_t)(length - sizeof(h))),
		.proto = path->protocol,
		.hop_limits = 64,
	};

	memcpy(h.src_addr, path->client.b, 16);
	memcpy(h.dst_addr, path->service.b, 16);
	memcpy(at, &h, sizeof(h));
}

static void write_tcp(uint8_t *at, const struct tg_frame_path *path, const struct tg_sim_packet *p)
{
	struct rte_tcp_hdr h = {
		.src_port = rte_cpu_to_be_16(path->client_port),
		.dst_port = rte_cpu_to_be_16(path->service_port),
		.sent_seq = rte_cpu_to_be_32(p->seq),
		.recv_ack = rte_cpu_to_be_32(p->ack),
		.data_off = (uint8_t)(transport_header(path, p) / 4 << 4),
		.tcp_flags = p->tcp_flags,
		.rx_win = rte_cpu_to_be_16(p->window),
	};
	struct timestamp_option o = {
		.nop = {1, 1},
		.kind = 8,
		.length = 10,
		.tsval = rte_cpu_to_be_32(p->tsval),
		.tsecr = rte_cpu_to_be_32(p->tsecr),
	};

	memcpy(at, &h, sizeof(h));
	at += sizeof(h);
	if (p->tcp_flags & TG_TCP_SYN) {
		memcpy(at, syn_options, sizeof(syn_options));
		at += sizeof(syn_options);
	}
	if (p->timestamps)
		memcpy(at, &o, sizeof(o));
}

static void write_udp(uint8_t *at, const struct tg_frame_path *path, const struct tg_sim_packet *p)
{
	struct rte_udp_hdr h = {
		.src_port = rte_cpu_to_be_16(path->client_port),
		.dst_port = rte_cpu_to_be_16(path->service_port),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(h) + p->payload)),
	};

	memcpy(at, &h, sizeof(h));
	if (p->payload > 3) {
		const uint8_t begins[4] = {p->first_byte, 0, p->third_byte, 0};

		memcpy(at + sizeof(h), begins, sizeof(begins));
	} else if (p->payload > 0) {
		at[sizeof(h)] = p->first_byte;
	}
}

bool tg_frame_write(struct rte_mbuf *m, const struct tg_frame_path *path,
		    const struct tg_sim_packet *p)
{
	uint32_t network = network_header(path), transport = transport_header(path, p);
	uint32_t length = network + transport + p->payload;
	struct rte_ether_hdr ether = {
		.ether_type = rte_cpu_to_be_16(tg_addr_is_v4(&path->client) ? RTE_ETHER_TYPE_IPV4
									    : RTE_ETHER_TYPE_IPV6)};
	uint8_t *at;

	if (length > UINT16_MAX - RTE_ETHER_HDR_LEN)
		return false;
	at = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(RTE_ETHER_HDR_LEN + length));
	if (at == NULL)
		return false;
	memcpy(&ether.dst_addr, path->to_mac, 6);
	memcpy(&ether.src_addr, path->from_mac, 6);
	memcpy(at, &ether, sizeof(ether));
	at += sizeof(ether);
	if (tg_addr_is_v4(&path->client))
		write_ip4(at, path, (uint16_t)length);
	else
		write_ip6(at, path, (uint16_t)length);
	at += network;
	if (path->protocol == IPPROTO_UDP)
		write_udp(at, path, p);
	else
		write_tcp(at, path, p);
	return true;
}
