/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames as clients send them: a template, and the bytes in which the packets of different flows
 * and times differ. Checksums: the IP header's is right, the transport's is not kept (no stage
 * looks at it).
 *
 * TCP flows send requests of 8 bytes now and then and acknowledge in between. Sequence and
 * acknowledgement numbers are 8 times a counter of all packets, so they grow from packet to packet
 * of every flow without a state of their own. What only acknowledges is numbered behind every request, as it
 * would be if nothing was lost. Timestamps are milliseconds of one clock, as servers tell them.
 */
#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "stream.h"

#define FRAME_MAX     128
#define FRAME_REQUEST 8 /* bytes of payload */
#define FRAME_BEHIND  (1u << 31)

struct frame_kind {
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	bool v6, timestamps;
	uint16_t service_port; /* host order */
};

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint16_t len;                   /* of the frame */
	uint8_t written;                /* bytes that are copied: headers */
	uint8_t client_off, port_off;   /* the last four bytes of the client's address; its port */
	uint8_t checksum_off;           /* of the IPv4 header; 0: none */
	uint8_t seq_off, timestamp_off; /* 0: none */
	uint32_t sum;                   /* of the IPv4 header without the client's address */
	uint32_t behind;                /* its sequence number, what requests have */
};

/* payload: bytes after the transport header. dst_mac: where the frame goes to. */
void frame_make(struct frame *f, const struct frame_kind *k, const uint8_t dst_mac[6],
		uint8_t tcp_flags, uint16_t payload);

/* The addresses that frame_make writes as destination: text. */
#define FRAME_VIP_V4 "192.0.2.10"
#define FRAME_VIP_V6 "2001:db8::10"

static inline void frame_put32(uint8_t *at, uint32_t host)
{
	uint32_t be = rte_cpu_to_be_32(host);

	memcpy(at, &be, sizeof(be));
}

/* Packet number n, of the given flow, at ms of the clock. to: room for f->len bytes. */
static inline void frame_write(const struct frame *f, uint8_t *to, uint64_t flow, uint32_t n,
			       uint32_t ms)
{
	uint32_t client = stream_address(flow), sum;
	uint16_t port = stream_port(flow), checksum;

	memcpy(to, f->bytes, f->written);
	memcpy(to + f->client_off, &client, sizeof(client));
	memcpy(to + f->port_off, &port, sizeof(port));
	if (f->checksum_off != 0) {
		sum = f->sum + (client & 0xffff) + (client >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		checksum = (uint16_t)~sum;
		memcpy(to + f->checksum_off, &checksum, sizeof(checksum));
	}
	if (f->seq_off != 0) {
		frame_put32(to + f->seq_off, n * FRAME_REQUEST - f->behind);
		frame_put32(to + f->seq_off + 4, n * FRAME_REQUEST);
	}
	if (f->timestamp_off != 0) {
		frame_put32(to + f->timestamp_off, ms);
		frame_put32(to + f->timestamp_off + 4, ms);
	}
}

#endif
