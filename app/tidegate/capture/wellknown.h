/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How well known a port is: 2 for ports that services listen on, 1 for other ports that only a
 * privileged process may open, 0 for the rest. Port in host order. Pure.
 *
 * Source: IANA service name and port number registry, and common practice.
 */
#ifndef TG_WELLKNOWN_H
#define TG_WELLKNOWN_H

#include <stdint.h>

int tg_port_rank(uint16_t port);

#endif
