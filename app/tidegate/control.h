/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control: the slow tick. Publishes snapshots, computes costs from what the workers measured,
 * resolves neighbours, reloads.
 *
 * Thread-safety: control's thread; takes gateway.mutex while it changes what telemetry reads.
 */
#ifndef TG_CONTROL_H
#define TG_CONTROL_H

#include "gateway.h"

#define TG_CONTROL_TICK_MS 5

/* One tick at `now`. */
void tg_control_tick(struct tg_gateway *g, uint64_t now);

/* Puts a configuration in force, which the gateway then owns (also on failure: it is freed).
 * Waits until no worker holds the one before. */
int tg_control_apply(struct tg_gateway *g, struct tg_config *config, char *err, size_t err_len);

/* The same for a configuration that was read from the file: servers whose state there is what it
 * was keep the state that an operator gave them since. */
int tg_control_load(struct tg_gateway *g, struct tg_config *config, char *err, size_t err_len);

/* Reads the configuration file again: differences are applied; a bad file changes nothing. err: one
 * sentence a fault, separated by newlines. */
int tg_control_reload(struct tg_gateway *g, char *err, size_t err_len);

/* Compiles the configuration in force again: what it is compiled against has changed. */
int tg_control_renew(struct tg_gateway *g, char *err, size_t err_len);

/*
 * Stopped: what comes for a service is dropped as `stopped`, with its flow's entry left as it is; what
 * was taken in before still leaves. ARP, ND, ping, health checks and the way to the kernel go on. Outlives
 * a reload, not a restart. When it returns 0 every worker acts by it. -ENOMEM, -EBUSY (a worker is held
 * up) and a sentence.
 */
int tg_control_set_stopped(struct tg_gateway *g, bool stopped, char *err, size_t err_len);

/* Changes the state of one server. -ENOENT and a sentence. */
int tg_control_set_state(struct tg_gateway *g, const char *service, const char *server,
			 enum tg_server_state state, char *err, size_t err_len);

#endif
