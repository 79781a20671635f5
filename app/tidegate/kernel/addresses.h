/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses on the kernel's interfaces, by rtnetlink: a list of what should be there, and what we have put
 * there. Addresses that somebody else put there are left alone.
 *
 * Thread-safety: one thread wants, one thread applies; a mutex between them.
 */
#ifndef TG_KERNEL_ADDRESSES_H
#define TG_KERNEL_ADDRESSES_H

#include <stdbool.h>

#include "tg_addr.h"

struct tg_kernel_address {
	struct tg_prefix prefix; /* of IPv4: 96..128 */
	unsigned int if_index;
};

struct tg_kernel_addresses;

/* -ENOMEM. */
int tg_kernel_addresses_create(struct tg_kernel_addresses **out);
void tg_kernel_addresses_free(struct tg_kernel_addresses *a);

/* What should be there: a copy is taken; without memory for it the list stays as it was. */
void tg_kernel_addresses_want(struct tg_kernel_addresses *a, const struct tg_kernel_address *list,
			      unsigned int n);
/* Brings the interfaces up to date. What the kernel refuses is told on standard error and tried again
 * with the next change. */
void tg_kernel_addresses_apply(struct tg_kernel_addresses *a);

#endif
