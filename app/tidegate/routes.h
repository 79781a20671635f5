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
 * through the first gateway of its family that answers, on such a port, else (with a configured MAC) the first such
 * port. -EINVAL and a sentence when there is none. */
int tg_route_check(const struct tg_config *c, const struct tg_config_service *service,
		   const struct tg_config_server *server, char *err, size_t err_len);

/* The same, and makes it: the next hop is a neighbour from here on, and every gateway if it is one. *gateway is
 * then its link word, else as it was; NULL: nobody wants to know. */
int tg_route_make(const struct tg_snapshot_env *env, const struct tg_config *c,
		  const struct tg_config_service *service, const struct tg_config_server *server,
		  struct tg_route *out, const uint64_t **gateway, char *err, size_t err_len);

/* Is the way to the server too narrow for what clients can send? What follows, and the commands that mend it. */
bool tg_route_narrow(const struct tg_config *c, const struct tg_config_service *service,
		     const struct tg_config_server *server, char *text, size_t room);

/* Is the server itself the next hop? */
bool tg_route_on_link(const struct tg_config *c, const struct tg_config_server *server);

/* Our own address that the server's health checks come from: of the service's family, on the port
 * to the server. False: there is none (tg_route_check says so). */
bool tg_route_probe_source(const struct tg_config *c, const struct tg_config_service *service,
			   const struct tg_config_server *server, struct tg_addr *out);

/* Would routes be made otherwise now, since gateways come and go? text: which one is the way. Control only. */
bool tg_routes_moved(const struct tg_snapshot_env *env, const struct tg_snapshot *s, char *text,
		     size_t room);

/* The first gateway of a family that answers, on a port that clients come by: the way back to those beyond the link. Its
 * next hop is a neighbour from here on. None: mac is NULL. -ENOSPC, -EINVAL and a sentence. */
int tg_client_way_make(const struct tg_snapshot_env *env, const struct tg_config *c, bool v4,
		       struct tg_route *out, char *err, size_t err_len);

/* VIPs on ports that clients come by, own addresses on their ports. */
int tg_local_make(const struct tg_snapshot_env *env, const struct tg_config *c,
		  struct tg_neigh_local **out);

#endif
