/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background tasks, stages, pools of tokens and auctions for the page of metrics.
 *
 * Thread-safety: control's thread.
 */
#ifndef TG_METRICS_ROWS_H
#define TG_METRICS_ROWS_H

#include <stdio.h>

struct tg_gateway;

/* Writes their families; what is not there has none. */
void tg_metrics_rows(struct tg_gateway *g, FILE *out);

#endif
