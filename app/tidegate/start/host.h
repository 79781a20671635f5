/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can this host keep what the configuration asks of the time gate? Looked at once, at the start.
 *
 * Thread-safety: main thread. Each sentence function writes at most `room` bytes and returns whether there
 * is something to say.
 */
#ifndef TG_HOST_H
#define TG_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tg_config;
struct tg_config_service;
struct tg_gateway;

/* The longest time that a thread which never rests stood still, in a look of 20 ms. */
uint64_t tg_host_stall_ns(void);

/* A limit that is shorter than that. */
bool tg_host_limit_sentence(const char *service, uint32_t limit_us, uint64_t stall_ns, char *text,
			    size_t room);
/* A rate that the device contradicts; link_mbps 0: it does not tell. */
bool tg_host_rate_sentence(const char *port, uint32_t rate_mbps, uint32_t link_mbps, char *text,
			   size_t room);
/* A service with a server that not every packet fits to: the first one. */
bool tg_host_narrow(const struct tg_config *c, const struct tg_config_service *v, char *text,
		    size_t room);
/* A time stamp counter that may stop or change its rate. */
bool tg_host_tsc_sentence(bool invariant, char *text, size_t room);

/* All that is to be said of a gateway that is about to run. Returns how many sentences. */
unsigned int tg_host_warn(const struct tg_gateway *g, FILE *to);

#endif
