/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A started gateway, until it is told to end: control's loop, on the main lcore, or on a thread
 * of its own when the main lcore is the only one and works.
 *
 * Thread-safety: main thread.
 */
#ifndef TG_RUN_H
#define TG_RUN_H

#include "gateway.h"

/* Runs until *quit; *hup asks for a reload. Exit code: 0, or 1 after a sentence on stderr. */
int tg_run(struct tg_gateway *g, const volatile bool *quit, volatile bool *hup);

/* Totals on stdout, and as JSON where --report names a file. After tg_gateway_stop. Exit code. */
int tg_run_report(struct tg_gateway *g);

#endif
