/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How servers are reached from the configured ports: outgoing port, next hop, addresses. And which
 * addresses are ours.
 *
 * Thread-safety: control only.
 */
#ifndef TG_ROUTES_H
#define TG_ROUTES_H

#include "snapshot.h"

/* The route to a server: a port of role server or both whose network holds its address, else
 * through a gateway of its family on such a port, else (with a configured MAC) the first such
 * port. -EINVAL and a sentence when there is none. */
int tg_route_check(const struct tg_config *c, const struct tg_config_service *service,
		   const struct tg_config_server *server, char *err, size_t err_len);

/* The same, and makes it: the next hop is a neighbour from here on. */
int tg_route_make(const struct tg_snapshot_env *env, const struct tg_config *c,
		  const struct tg_config_service *service, const struct tg_config_server *server,
		  struct tg_route *out, char *err, size_t err_len);

/* VIPs on ports that clients come by, own addresses on their ports. */
int tg_local_make(const struct tg_snapshot_env *env, const struct tg_config *c,
		  struct tg_neigh_local **out);

#endif
