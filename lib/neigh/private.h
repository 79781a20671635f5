/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this stage share. Entries: `word` and `news` are written by any thread
 * (atomics), the key (port, address) and the chain are written by control and read by workers;
 * everything else is control's.
 */
#ifndef TG_NEIGH_PRIVATE_H
#define TG_NEIGH_PRIVATE_H

#include <string.h>

#include <rte_ether.h>
#include <rte_jhash.h>
#include <rte_mbuf.h>

#include "tg_encap.h"
#include "tg_neigh.h"

/* In a link word: set by configuration, packets do not change it. In the word itself, so that one
 * compare-and-swap decides between a worker that learns and control that fixes. */
#define NEIGH_FIXED (UINT64_C(1) << 49)

#define NEIGH_BUCKETS TG_NEIGH_MAX

enum neigh_state {
	NEIGH_FREE = 0,
	NEIGH_LIVE,
	NEIGH_GONE, /* out of its chain; a worker may still be looking at it */
};

struct neigh_entry {
	uint64_t word; /* what routes point to */
	uint64_t news; /* ticks: when its link address was last confirmed; 0: never */
	struct tg_addr address;
	struct tg_addr source; /* ours, to ask from */
	uint64_t ask_at;       /* ticks: nothing to do before */
	uint16_t port;
	uint16_t next; /* in the chain: index + 1, 0 at its end */
	uint8_t state;
	uint8_t unanswered;
	bool kept;    /* added since the last mark */
	bool watched; /* tg_neigh_watch since then */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct neigh_entry) == 64, "a link word shares its line with no other entry");

struct tg_neigh_table {
	struct tg_clock clock;
	unsigned int place;  /* where the search for a free entry goes on */
	unsigned int cursor; /* where the next tick goes on */
	uint16_t bucket[NEIGH_BUCKETS];
	struct neigh_entry entry[TG_NEIGH_MAX];
	uint64_t fixed[TG_NEIGH_MAX]; /* of an entry, as last added: its word; 0: to be asked for */
};

struct neigh_place {
	struct tg_addr address;
	uint16_t port;
	uint8_t flags; /* NEIGH_OURS, NEIGH_PING; 0: free */
};

struct tg_neigh_local {
	unsigned int n_ports;
	uint32_t mask; /* places - 1 */
	struct tg_neigh_port *ports;
	struct neigh_place place[];
};

#define NEIGH_OURS 0x01
#define NEIGH_PING 0x02

/* What a is to us on that port: NEIGH_* or 0. */
unsigned int neigh_local_flags(const struct tg_neigh_local *l, const struct tg_addr *a,
			       uint16_t port);

struct neigh_entry *neigh_find(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *a);

/* a has the link address mac, says packet i; known addresses only. override: also if another one is
 * known (RFC 4861 section 7.2.5). */
void neigh_learn(struct tg_neigh_table *t, const struct tg_neigh_local *l, const struct tg_burst *b,
		 unsigned int i, const struct tg_addr *a, const uint8_t mac[6], bool override);
/* a answered without saying its link address: the one we have is right. */
void neigh_confirm(struct tg_neigh_table *t, const struct tg_burst *b, const struct tg_addr *a);

/* One packet of the burst each; b->port is a port of l. */
void neigh_arp(struct tg_neigh_table *t, const struct tg_neigh_local *l, struct tg_burst *b,
	       unsigned int i);
void neigh_nd(struct tg_neigh_table *t, const struct tg_neigh_local *l, struct tg_burst *b,
	      unsigned int i);
void neigh_ping(const struct tg_neigh_local *l, const struct tg_clock *clock,
		struct tg_bucket *bucket, struct tg_burst *b, unsigned int i);

/* A request for the link address of e, to its known one if unicast is set. frame has room for
 * NEIGH_FRAME_MAX; returns the length. */
#define NEIGH_FRAME_MAX 96
uint16_t neigh_arp_request(const struct neigh_entry *e, const struct tg_neigh_port *port,
			   const uint8_t *unicast, uint8_t *frame);
uint16_t neigh_nd_request(const struct neigh_entry *e, const struct tg_neigh_port *port,
			  const uint8_t *unicast, uint8_t *frame);

/* The link header of a frame of our own; returns its length, 14 or 18. */
static inline uint16_t neigh_link_header(uint8_t *frame, const uint8_t *dst,
					 const struct tg_neigh_port *port, uint16_t type)
{
	uint16_t off = 2 * RTE_ETHER_ADDR_LEN;
	uint16_t tag[2] = {rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN), rte_cpu_to_be_16(port->vlan)};

	memcpy(frame, dst, RTE_ETHER_ADDR_LEN);
	memcpy(frame + RTE_ETHER_ADDR_LEN, port->mac, RTE_ETHER_ADDR_LEN);
	if (port->vlan != 0) {
		memcpy(frame + off, tag, sizeof(tag));
		off += sizeof(tag);
	}
	type = rte_cpu_to_be_16(type);
	memcpy(frame + off, &type, sizeof(type));
	return off + sizeof(type);
}

/* Packet i is an answer now: from our port's address to dst. */
static inline void neigh_reply(const struct tg_neigh_local *l, struct tg_burst *b, unsigned int i,
			       const uint8_t *dst)
{
	uint8_t *frame = rte_pktmbuf_mtod(b->mbuf[i], uint8_t *);

	memmove(frame, dst, RTE_ETHER_ADDR_LEN);
	memcpy(frame + RTE_ETHER_ADDR_LEN, l->ports[b->port].mac, RTE_ETHER_ADDR_LEN);
	b->verdict[i] = TG_REPLY;
	b->out_port[i] = b->port;
}

static inline void neigh_mac_of(uint64_t word, uint8_t mac[6])
{
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(word >> (8 * i));
}

/* Can a single station have it? */
static inline bool neigh_mac_ok(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return !(mac[0] & 1) && memcmp(mac, none, sizeof(none)) != 0;
}

static inline uint32_t neigh_hash(const struct tg_addr *a)
{
	return rte_jhash(a->b, sizeof(a->b), 0);
}

#endif
