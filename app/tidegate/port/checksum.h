/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums that the sender's kernel left to a NIC that is none: a packet from a veth or a tap of the same host
 * comes to a packet socket with the sum of its pseudo header in the checksum's place. Forwarded like
 * that nobody would take it, so it is completed here. A whole checksum that happens to be that sum is
 * computed once more, and stays as it is.
 *
 * Thread-safety: the caller's burst.
 */
#ifndef TG_CHECKSUM_H
#define TG_CHECKSUM_H

#include "tg_burst.h"

/* TCP and UDP packets on their way, parsed; fragments and what is not in one buffer are left alone. */
void tg_checksum_complete(struct tg_burst *b);

#endif
