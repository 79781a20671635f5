/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's end of a port: a second DPDK device (net_tap, net_virtio_user) whose other side is an
 * interface of the kernel. It has the port's link address and MTU, one queue, and no part in the packet
 * path: reading and writing it are system calls.
 *
 * Thread-safety: one thread uses a twin.
 */
#ifndef TG_TWIN_H
#define TG_TWIN_H

#include "port.h"

struct rte_mbuf;

struct tg_twin {
	bool used;
	uint16_t ethdev;
	unsigned int if_index; /* of the kernel's interface; 0: the driver does not say */
	char name[16];         /* of that interface */
};

/* Opens config->kernel as the twin of port. 0 or -errno and a sentence. */
int tg_twin_start(struct tg_twin *t, const struct tg_config_port *config,
		  const struct tg_port *port, struct rte_mempool *pool, char *err, size_t err_len);
void tg_twin_stop(struct tg_twin *t);

/* What the kernel sent, n at most; what it takes of n: the number. */
uint16_t tg_twin_receive(const struct tg_twin *t, struct rte_mbuf **m, uint16_t n);
uint16_t tg_twin_send(const struct tg_twin *t, struct rte_mbuf **m, uint16_t n);

#endif
