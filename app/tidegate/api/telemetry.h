/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The /tidegate/... commands of DPDK's telemetry socket: flat, numeric, the unit in the name.
 *
 * Thread-safety: callbacks run on telemetry's thread and hold gateway.mutex.
 */
#ifndef TG_APP_TELEMETRY_H
#define TG_APP_TELEMETRY_H

#include "gateway.h"

/* DPDK cannot unregister a command: after tg_telemetry_stop they answer with an error. */
void tg_telemetry_start(struct tg_gateway *g);
void tg_telemetry_stop(void);

#endif
