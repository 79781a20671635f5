/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which flow the next packet belongs to: any of them, with equal chances, so that neither the
 * order of the table nor a prefetcher helps.
 */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "tg_packet.h"

struct stream {
	uint64_t random;
	uint64_t flows;
	uint32_t low; /* of the last number drawn: bits that did not choose the flow */
};

/* 0..flows-1. A counter and a mixer (Steele, Lea, Flood: "SplitMix", 2014). */
static inline uint64_t stream_next(struct stream *s)
{
	uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	s->low = (uint32_t)z;
	return (uint64_t)(((unsigned __int128)z * s->flows) >> 64);
}

/* Client of a flow: one of 2^24 addresses in 10/8; ports only beyond that. */
static inline uint32_t stream_address(uint64_t flow)
{
	return rte_cpu_to_be_32(0x0a000000u | (uint32_t)(flow & 0xffffff));
}

static inline uint16_t stream_port(uint64_t flow)
{
	return rte_cpu_to_be_16((uint16_t)(20000 + (flow >> 24)));
}

/* The parts of a key that differ between flows. */
static inline void stream_fill_key(struct tg_key *k, uint64_t flow)
{
	uint32_t address = stream_address(flow);

	memcpy(&k->client.b[12], &address, sizeof(address));
	k->client_port = stream_port(flow);
}

/* The key of flow 0: HTTPS, service 0. */
static inline struct tg_key stream_key(void)
{
	struct tg_key k = {
		.client = {{[10] = 0xff, [11] = 0xff}},
		.service_port = rte_cpu_to_be_16(443),
		.protocol = IPPROTO_TCP,
	};

	stream_fill_key(&k, 0);
	return k;
}

#endif
