/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes of a client's packet: Ethernet, IPv4 or IPv6, TCP (with the timestamp option) or UDP. The
 * payload takes its room but is not written: nobody between the ends looks at it, and the TCP
 * checksum, which only ends verify, is left 0.
 *
 * Thread-safety: pure, but for the buffer.
 */
#ifndef TG_FRAME_H
#define TG_FRAME_H

#include <stdbool.h>

#include "packet.h"
#include "tg_addr.h"

struct rte_mbuf;

/* Who speaks to whom, as it stands in the headers. */
struct tg_frame_path {
	uint8_t from_mac[6], to_mac[6];
	struct tg_addr client, service;
	uint16_t client_port, service_port; /* host order */
	uint8_t protocol;                   /* IPPROTO_TCP or IPPROTO_UDP */
};

/* Bytes of the frame of a packet without its payload. */
uint32_t tg_frame_header(const struct tg_frame_path *path, const struct tg_sim_packet *p);

/* Writes the frame into an empty buffer. False: it does not fit. */
bool tg_frame_write(struct rte_mbuf *m, const struct tg_frame_path *path,
		    const struct tg_sim_packet *p);

#endif
