/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of services and servers by name, over all configurations of a run, and the statistics that
 * belong to a server. An id whose name is gone is given away again, with a new generation.
 *
 * Thread-safety: control's; workers reach the statistics through a snapshot.
 */
#ifndef TG_REGISTRY_H
#define TG_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"
#include "tg_config.h"

#define TG_WORKERS_MAX 64

struct tg_registry_service {
	char name[TG_NAME_MAX];
	bool used;
};

struct tg_registry_server {
	char name[TG_NAME_MAX];
	uint16_t service; /* id */
	struct tg_addr address;
	bool used, up;       /* up: serves its flows (state up or drain, and not failed) */
	bool failed;         /* its health checks say so: set before a snapshot is made */
	uint16_t generation; /* changes when the server stops serving its flows */
	uint64_t retired;    /* round in which its name went: not given away in the same */
	struct tg_server_stats *stats[TG_WORKERS_MAX];
};

struct tg_registry {
	unsigned int n_workers;
	int worker_socket[TG_WORKERS_MAX];
	uint64_t round;                     /* assignments so far */
	unsigned int n_services, n_servers; /* ids given so far: 0..n-1 */
	struct tg_registry_service service[TG_SERVICES_MAX];
	struct tg_registry_server server[TG_SERVERS_MAX];
};

/* Names and ids as they were; what belongs to them stays the registry's. */
struct tg_registry_saved;

int tg_registry_create(unsigned int n_workers, const int *worker_socket, struct tg_registry **out);
void tg_registry_free(struct tg_registry *r);

/*
 * Gives every service and server of a configuration an id (services[i] -> service_id[i], its
 * server j -> server_id[k], k counting through all services), retires names that are gone and
 * makes statistics for new ones. -ENOMEM; -ENOSPC: no id is free, as those whose names go now are
 * given away only by the next one. The snapshot in force keeps working, since it has its own copy
 * of what it needs; what was changed until then, tg_registry_restore takes back.
 */
int tg_registry_assign(struct tg_registry *r, const struct tg_config *c, uint16_t *service_id,
		       uint16_t *server_id);

/* Before an assignment of which no snapshot may come; NULL without memory. Freed by the caller
 * (free), restored or not. */
struct tg_registry_saved *tg_registry_save(const struct tg_registry *r);
void tg_registry_restore(struct tg_registry *r, const struct tg_registry_saved *saved);

#endif
