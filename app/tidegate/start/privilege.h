/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Least privilege after start-up: once ports, memory and sockets are open, capabilities are not
 * needed any more. Linux keeps them a thread, so every thread of ours drops its own.
 */
#ifndef TG_PRIVILEGE_H
#define TG_PRIVILEGE_H

/* Drops every capability of the calling thread, for good. 0 or -errno. */
int tg_privilege_drop(void);

/* The same but for CAP_NET_ADMIN, if the thread has it: the thread that keeps the addresses of the kernel's
 * interfaces. */
int tg_privilege_keep_net_admin(void);

/* lcore entry: drops, then tg_worker_main(worker). */
int tg_privilege_drop_and_run(void *worker);

#endif
