/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path: what is for no service goes to the kernel by the port's twin, and what the
 * kernel sends leaves by the port. So one NIC carries services and SSH, BGP, monitoring.
 *
 *   worker:  a packet about to be dropped for a reason in TO_KERNEL is put on a ring instead
 *   thread:  ring -> twin -> kernel;  kernel -> twin -> ring of frames of our own -> worker 0 -> port
 *
 * The packet path is not touched: only what a stage has dropped is looked at. Both rings are bounded;
 * what finds no room is dropped and counted. The thread also puts the port's own addresses on the
 * kernel's interface, and the addresses of services with `announce` for as long as one of their servers
 * is alive: a routing daemon that announces the addresses of that interface withdraws them with it.
 *
 * Thread-safety: tg_exception_take is a worker's, everything else control's or the main thread's.
 */
#ifndef TG_EXCEPTION_H
#define TG_EXCEPTION_H

#include "gateway.h"

/* Packet buffers that one twin and its ring can hold. */
#define TG_EXCEPTION_BUFFERS 2048

struct tg_exception;

/* What the thread counts; workers count what they hand over (tg_worker_stats.to_kernel). */
struct tg_exception_stats {
	uint64_t delivered; /* frames that the kernel took */
	uint64_t refused;   /* that it did not: its interface is down, or its queue full */
	uint64_t sent;      /* frames of the kernel that were queued for a port */
	uint64_t unsent;    /* that found no room there */
};

/* Opens the twins of ports that name a kernel device. *out stays NULL when none does. 0, or -errno and
 * a sentence. */
int tg_exception_create(struct tg_gateway *g, const struct tg_config *c, struct tg_exception **out,
			char *err, size_t err_len);
/* Starts the thread. Before capabilities are dropped: it keeps CAP_NET_ADMIN, and nothing else. */
int tg_exception_start(struct tg_exception *x);
/* Ends the thread and closes the twins; after the workers. */
void tg_exception_stop(struct tg_exception *x);
void tg_exception_free(struct tg_exception *x);

/* Packet i was dropped: is it the kernel's? Then it is TG_TAKEN. */
bool tg_exception_take(struct tg_worker *w, struct tg_burst *b, unsigned int i);

/* Control, every 100 ms: which addresses the kernel should have now. */
void tg_exception_tick(struct tg_gateway *g, uint64_t now);
/* No service is announced from here on. How many addresses were. */
unsigned int tg_exception_withdraw(struct tg_gateway *g);

void tg_exception_stats(const struct tg_exception *x, struct tg_exception_stats *out);
/* Services' addresses that the kernel has. */
unsigned int tg_exception_announced(const struct tg_exception *x);

#endif
