/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rate of the time stamp counter. DPDK rounds it to 10 MHz, up to 2000 ppm off: the clock of a
 * server, read from its timestamps, would drift away from ours by 2 ms a second. So it is measured
 * against the kernel's monotonic clock, to about 1 ppm.
 *
 * Thread-safety: main thread.
 */
#ifndef TG_TSC_H
#define TG_TSC_H

#include <stdint.h>

/* The first reading: call it early, so that the measurement costs no time of its own. */
void tg_tsc_start(void);

/* Ticks a second; waits until a tenth of a second has passed since the first reading. */
uint64_t tg_tsc_hz(void);

#endif
