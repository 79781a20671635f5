/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control knows, as OpenMetrics text (openmetrics.io, version 1.0.0): every family with its type, unit
 * and help, `# EOF` last. Series are bounded: workers, ports, drop reasons, alarms, services, and the first
 * `servers_max` servers in the order of their ids; tidegate_metrics_servers_left_out says how many are not shown.
 *
 * Thread-safety: control's thread. Workers are read as telemetry reads them, and never waited for.
 */
#ifndef TG_METRICS_H
#define TG_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tg_gateway;

#define TG_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Writes all families. 0, -ENOMEM. */
int tg_metrics_write(struct tg_gateway *g, uint64_t now, FILE *out);

/* A label's value with `\`, `"` and newlines escaped; out has room for twice its length and the NUL. */
void tg_metrics_escape(const char *value, char *out, size_t len);

#endif
