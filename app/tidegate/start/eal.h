/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting and ending DPDK's environment.
 *
 * Thread-safety: main thread.
 */
#ifndef TG_EAL_H
#define TG_EAL_H

#include <stdbool.h>
#include <stddef.h>

/* With the operator's options. Adds a file prefix of this process where none is given, so that two
 * gateways do not meet, and makes the telemetry socket 0660. */
int tg_eal_start(int argc, char **argv, char *err, size_t err_len);

/* Lets a group read telemetry, so that Telegraf and dpdk-telemetry.py need no root: the runtime folder
 * 0750, the socket 0660, both of that group. "" or no telemetry: nothing to do. -errno and a sentence. */
int tg_eal_share(const char *group, char *err, size_t err_len);

/* Without huge pages, devices, telemetry or privileges: offline. memory_mb: heap. */
int tg_eal_start_private(const char *program, unsigned int memory_mb, char *err, size_t err_len);

/* Is a hugetlbfs mounted anywhere? EAL takes huge pages through it alone, but for --in-memory. */
bool tg_eal_huge_mounted(void);

/* Ends it and removes its runtime folder. */
void tg_eal_end(void);

#endif
