/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of metrics over HTTP (libmicrohttpd): GET /metrics on 127.0.0.1 and a port, on a Unix socket, or both.
 * At most 4 connections at once and 10 s each; the page is made at most once a second, however many ask.
 *
 * Thread-safety: control's thread. There is no thread of its own: tg_metrics_http_poll serves what is ready.
 */
#ifndef TG_METRICS_HTTP_H
#define TG_METRICS_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct tg_gateway;
struct tg_metrics_http;

/* By the configuration in force; *out stays NULL when neither is wanted. -errno and a sentence. */
int tg_metrics_http_open(struct tg_gateway *g, struct tg_metrics_http **out, char *err,
			 size_t err_len);
void tg_metrics_http_close(struct tg_metrics_http *h);

/* Each of control's ticks; h NULL: nothing. */
void tg_metrics_http_poll(struct tg_metrics_http *h, uint64_t now);

#endif
