/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP's maximum segment size option (RFC 9293 section 3.7.1), lowered on its way so that what answers it fits
 * through the encapsulation. Never raised, never added.
 *
 * Thread-safety: pure.
 */
#ifndef TG_MSS_H
#define TG_MSS_H

#include <stdbool.h>
#include <stdint.h>

#define TG_MSS_LEAST 64 /* lower ones are left as they are: nobody is helped by smaller segments */

/*
 * tcp: a TCP header of a segment with SYN, len bytes of it that may be read and written (the transport header,
 * as long as its data offset says, at most). Lowers the option to max where it is above, and the checksum with
 * it (RFC 1624). Options that are malformed are left alone from there on. true: it was lowered.
 */
bool tg_mss_lower(uint8_t *tcp, unsigned int len, uint16_t max);

/* The largest segment (without options) in an IP packet of room bytes; at least TG_MSS_LEAST. */
uint16_t tg_mss_of(unsigned int room, bool v6);

#endif
