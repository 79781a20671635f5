/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861), and echo replies.
 *
 *   tg_neigh_table  process-wide: (port, address) -> link address word. Entries are made by
 *                   control for next hops of the configuration only (bounded; nothing a packet
 *                   says makes one); any worker refreshes them from what it receives; control
 *                   asks again when they age
 *   tg_neigh_local  immutable, per configuration: which addresses are ours (VIPs, own), on which
 *                   ports, and each port's MAC
 *
 * Thread-safety: control adds, ages and frees; workers store link words and times (relaxed,
 * single words), so any number of threads may learn the same thing.
 */
#ifndef TG_NEIGH_H
#define TG_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_bucket.h"
#include "tg_burst.h"
#include "tg_clock.h"

#define TG_NEIGH_MAX 16384 /* next hops: those of two configurations, while one follows the other */

struct tg_neigh_table;
struct tg_neigh_local;

struct tg_neigh_address {
	struct tg_addr address;
	uint16_t port; /* index, or TG_NEIGH_ANY_PORT */
	bool vip;      /* answer ping only as ping says; own addresses always answer */
	bool ping;
};
#define TG_NEIGH_ANY_PORT UINT16_MAX

struct tg_neigh_port {
	uint8_t mac[6];
	uint16_t vlan; /* 0, or the tag our own requests carry; then we learn from that one only */
};

/* -ENOMEM. */
int tg_neigh_table_create(const struct tg_clock *clock, int socket, struct tg_neigh_table **out);
void tg_neigh_table_free(struct tg_neigh_table *t);

/*
 * The entry of a next hop, made if it is new. *word is where its link address lives for as long
 * as the table does (what tg_route.mac points at). fixed: a configured MAC (NULL: resolve), which
 * is the entry's from tg_neigh_commit on, so that a configuration that is refused in the end has
 * moved nobody. source: our address to ask from. -EINVAL if that is of the other family, -ENOSPC.
 * Control only.
 */
int tg_neigh_add(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *address,
		 const struct tg_addr *source, const uint8_t *fixed, const uint64_t **word);
/* The entry is one of several ways to the same place: its news must be fresh, so it is asked every second, and
 * invalid 4 s after its last answer. Until the next tg_neigh_mark. Control only. */
void tg_neigh_watch(struct tg_neigh_table *t, uint16_t port, const struct tg_addr *address);
/* What was added since tg_neigh_mark takes effect: a fixed entry is never asked for and never changed
 * by packets; one that is fixed no longer keeps its address until asking shows otherwise. Control
 * only. */
void tg_neigh_commit(struct tg_neigh_table *t);
/* Entries not added again since tg_neigh_mark are forgotten by tg_neigh_purge (once no worker
 * can hold a route to them). Their places are used again after the next purge, which must come when
 * no worker can still be looking at them either. tg_neigh_forget does the first only: for entries
 * that no route was ever made to, whenever that is. Control only. */
void tg_neigh_mark(struct tg_neigh_table *t);
void tg_neigh_forget(struct tg_neigh_table *t);
void tg_neigh_purge(struct tg_neigh_table *t);

/*
 * Control, every ~100 ms: writes up to max frames (ARP requests, neighbour solicitations; padded
 * to 60 bytes) that are due at `now` through send(ctx, port index, frame, length). Unresolved:
 * every second at most; resolved: again after 30 s (watched: 1 s) without news, by unicast; invalid after three
 * unanswered. ports is indexed by port. Returns the number sent; what max left out comes first
 * in the next tick.
 */
unsigned int tg_neigh_tick(
	struct tg_neigh_table *t, const struct tg_neigh_port *ports, uint64_t now, unsigned int max,
	void (*send)(void *ctx, uint16_t port, const uint8_t *frame, uint16_t len), void *ctx);

/* addresses: n entries, ports: n_ports. An address may come several times (a port each, or the
 * VIP of several services): it answers ping where one of them does. -ENOMEM. */
int tg_neigh_local_create(const struct tg_neigh_address *addresses, unsigned int n,
			  const struct tg_neigh_port *ports, unsigned int n_ports, int socket,
			  struct tg_neigh_local **out);
void tg_neigh_local_free(struct tg_neigh_local *l);

bool tg_neigh_is_local(const struct tg_neigh_local *l, const struct tg_addr *a, uint16_t port);

/* Echo replies a second of one worker, as many at once. */
#define TG_PING_RATE 100

/*
 * The burst: ARP, ND and echo requests to addresses of ours. Learns from ARP and ND; turns
 * requests into answers in place (TG_REPLY, out_port set, checksums right, VLAN tags kept); drops
 * what is done with as neighbour_consumed, ping above the rate as ping_rate, from an address that
 * cannot be answered as icmp. Leaves everything else alone. Echo requests that a service of
 * protocol `any` could take are answered here first when the address answers ping.
 *
 * ARP: a probe (no sender address, RFC 5227) for one of ours is answered, an announcement (sender
 * is target) only learnt from. ND: checks of RFC 4861 section 7.1 and 6980; duplicate address
 * detection (RFC 4862) is answered to all nodes; router messages and redirects are ignored. Echo:
 * fragments and IPv6 extension headers are not ours to answer.
 */
void tg_neigh_input(struct tg_neigh_table *t, const struct tg_neigh_local *l,
		    const struct tg_clock *clock, struct tg_bucket *ping, struct tg_burst *b);

struct tg_neigh_info {
	struct tg_addr address;
	uint16_t port;
	uint8_t mac[6];
	bool valid, fixed;
	uint64_t age_ns; /* since the last news of it; UINT64_MAX: none yet, or fixed */
};
/* Control: entry i (0..), false at the end. */
bool tg_neigh_get(const struct tg_neigh_table *t, unsigned int i, uint64_t now,
		  struct tg_neigh_info *out);

#endif
