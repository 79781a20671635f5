/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "frame.h"

#define TCP_OPTIONS_TS 12 /* two NOPs and the timestamps (RFC 7323, appendix A) */

static uint8_t put_ip4(struct frame *f, const struct frame_kind *k, uint16_t l4_len)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(ip) + l4_len)),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = k->protocol,
	};

	inet_pton(AF_INET, FRAME_VIP_V4, &ip.dst_addr);
	f->sum = rte_raw_cksum(&ip, sizeof(ip));
	memcpy(f->bytes + RTE_ETHER_HDR_LEN, &ip, sizeof(ip));
	f->client_off = RTE_ETHER_HDR_LEN + offsetof(struct rte_ipv4_hdr, src_addr);
	f->checksum_off = RTE_ETHER_HDR_LEN + offsetof(struct rte_ipv4_hdr, hdr_checksum);
	return RTE_ETHER_HDR_LEN + sizeof(ip);
}

static uint8_t put_ip6(struct frame *f, const struct frame_kind *k, uint16_t l4_len)
{
	struct rte_ipv6_hdr ip = {
		.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16(l4_len),
		.proto = k->protocol,
		.hop_limits = 64,
	};

	inet_pton(AF_INET6, "2001:db8:c::", ip.src_addr);
	inet_pton(AF_INET6, FRAME_VIP_V6, ip.dst_addr);
	memcpy(f->bytes + RTE_ETHER_HDR_LEN, &ip, sizeof(ip));
	f->client_off = RTE_ETHER_HDR_LEN + offsetof(struct rte_ipv6_hdr, src_addr) + 12;
	return RTE_ETHER_HDR_LEN + sizeof(ip);
}

static void put_tcp(struct frame *f, const struct frame_kind *k, uint8_t off, uint8_t flags)
{
	static const uint8_t options[] = {1, 1, 8, 10}; /* NOP, NOP, timestamps of 10 bytes */
	struct rte_tcp_hdr tcp = {
		.dst_port = rte_cpu_to_be_16(k->service_port),
		.data_off = (uint8_t)((sizeof(tcp) + (k->timestamps ? TCP_OPTIONS_TS : 0)) / 4
				      << 4),
		.tcp_flags = flags,
		.rx_win = rte_cpu_to_be_16(512),
	};

	memcpy(f->bytes + off, &tcp, sizeof(tcp));
	if (flags == TG_TCP_ACK)
		f->behind = FRAME_BEHIND;
	f->seq_off = (uint8_t)(off + offsetof(struct rte_tcp_hdr, sent_seq));
	if (k->timestamps) {
		memcpy(f->bytes + off + sizeof(tcp), options, sizeof(options));
		f->timestamp_off = (uint8_t)(off + sizeof(tcp) + sizeof(options));
	}
}

static void put_udp(struct frame *f, const struct frame_kind *k, uint8_t off, uint16_t payload)
{
	struct rte_udp_hdr udp = {
		.dst_port = rte_cpu_to_be_16(k->service_port),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(udp) + payload)),
	};

	memcpy(f->bytes + off, &udp, sizeof(udp));
}

void frame_make(struct frame *f, const struct frame_kind *k, const uint8_t dst_mac[6],
		uint8_t tcp_flags, uint16_t payload)
{
	bool tcp = k->protocol == IPPROTO_TCP;
	uint16_t header = tcp ? sizeof(struct rte_tcp_hdr) + (k->timestamps ? TCP_OPTIONS_TS : 0)
			      : sizeof(struct rte_udp_hdr);
	uint16_t type = rte_cpu_to_be_16(k->v6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	uint16_t l4_len = (uint16_t)(header + payload);
	uint8_t off;

	memset(f, 0, sizeof(*f));
	memcpy(f->bytes, dst_mac, RTE_ETHER_ADDR_LEN);
	f->bytes[RTE_ETHER_ADDR_LEN] = 0x02; /* locally administered */
	memcpy(f->bytes + 2 * RTE_ETHER_ADDR_LEN, &type, sizeof(type));
	off = k->v6 ? put_ip6(f, k, l4_len) : put_ip4(f, k, l4_len);
	f->port_off = off;
	if (tcp)
		put_tcp(f, k, off, tcp_flags);
	else
		put_udp(f, k, off, payload);
	f->written = (uint8_t)(off + header);
	f->len = (uint16_t)(off + l4_len);
	if (f->len < RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN)
		f->len = RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN; /* as Ethernet pads it */
}
