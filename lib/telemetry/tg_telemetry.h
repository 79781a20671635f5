/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers for DPDK's telemetry socket: flat, numeric, stable keys with the unit in the name.
 * DPDK 22.11 refuses keys with characters outside [A-Za-z0-9_/], more than 256 entries and
 * replies beyond 16 KiB: these helpers keep to that, so that dpdk-telemetry.py and Telegraf's
 * inputs.dpdk work as they are.
 *
 * A callback starts its reply with tg_tel_start and then adds to it. What does not fit is left out
 * and the reply ends with "truncated": 1, so that a reader can tell; commands that may have more to
 * say take a page as a parameter.
 *
 * Thread-safety: callbacks run on telemetry's own threads, one reply at a time in each; they take
 * the mutex they share with control, never one a worker takes.
 * Errors: -E2BIG when the reply is full, -EINVAL when it was not started on this thread.
 */
#ifndef TG_TELEMETRY_H
#define TG_TELEMETRY_H

#include <stdint.h>

struct rte_tel_data;

/* d becomes an empty dictionary. First in every callback. */
int tg_tel_start(struct rte_tel_data *d);

/* dict[key] = value; characters that are not allowed become '_', keys longer than 127 are cut. */
int tg_tel_u64(struct rte_tel_data *d, const char *key, uint64_t value);
/* The same with a printf-made key: "server_%u_latency_p50_ns". */
int tg_tel_u64f(struct rte_tel_data *d, uint64_t value, const char *key_format, ...)
	__attribute__((format(printf, 3, 4)));
/* Control characters become '?', values longer than 127 bytes are cut and end in "...". */
int tg_tel_string(struct rte_tel_data *d, const char *key, const char *value);
int tg_tel_stringf(struct rte_tel_data *d, const char *value, const char *key_format, ...)
	__attribute__((format(printf, 3, 4)));

/* Comma separated parameters of a command: copies into buf, fills argv, returns argc (at most max,
 * empty ones kept), -E2BIG when the text or the number of parameters does not fit, 0 for NULL or
 * "". */
int tg_tel_params(const char *params, char *buf, unsigned int len, char **argv, unsigned int max);

#endif
