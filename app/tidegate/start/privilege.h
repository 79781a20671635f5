/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Least privilege after start-up: once ports, memory and sockets are open, capabilities are not
 * needed any more. Linux keeps them a thread: every thread of ours drops its own, and those of DPDK and its drivers
 * are made to, by a signal (SIGRTMAX - 3).
 */
#ifndef TG_PRIVILEGE_H
#define TG_PRIVILEGE_H

#include <stddef.h>

/* Drops every capability of the calling thread, for good. 0 or -errno. */
int tg_privilege_drop(void);

/* The same but for CAP_NET_ADMIN, if the thread has it: the thread that keeps the addresses of the kernel's
 * interfaces. */
int tg_privilege_keep_net_admin(void);

/* Every other thread of the process drops all of its own, but the one that keeps CAP_NET_ADMIN. 0, or -errno and a
 * sentence when one did not within a second. */
int tg_privilege_drop_others(char *err, size_t err_len);

/* lcore entry: drops, then tg_worker_main(worker). */
int tg_privilege_drop_and_run(void *worker);

#endif
