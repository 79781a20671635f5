/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules for clients and limits of rates in the pipeline (lib/guard), between the look-up of flows and admission:
 * access for every packet, limits by whether its flow is known. Services without either pass by; without any such
 * service the stage is not entered.
 *
 * Thread-safety: tg_guarding_burst: the worker; the listings: control.
 */
#ifndef TG_GUARDING_H
#define TG_GUARDING_H

#include <jansson.h>

#include "gateway.h"

void tg_guarding_burst(struct tg_worker *w, struct tg_burst *b);

/* Those that waited for tokens and go on now: was forwarding stopped, or their client denied, meanwhile? Their
 * rates were judged when they came. */
void tg_guarding_released(struct tg_worker *w, struct tg_burst *b);

/* `access list [SERVICE]`, `limit list`. */
json_t *tg_guarding_access_json(struct tg_gateway *g, char **args, char *err, size_t err_len);
json_t *tg_guarding_limits_json(struct tg_gateway *g, char **args, char *err, size_t err_len);

#endif
