/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What auctions counted, over all workers. Cumulative but for `open`.
 *
 * Thread-safety: control, or who holds the gateway's mutex. Errors: none.
 */
#ifndef TG_AUCTION_REPORT_H
#define TG_AUCTION_REPORT_H

#include <jansson.h>
#include <rte_telemetry.h>

#include "gateway.h"

/* Every service that takes bids, with its servers: a list of objects. */
json_t *tg_auction_json(const struct tg_gateway *g);

/* One service, servers from the `from`th on, a page of them; `next` is the one to go on with, 0: none. */
void tg_auction_telemetry(const struct tg_gateway *g, uint16_t service, uint32_t from,
			  struct rte_tel_data *d);
/* Without a service: what is no single one's. */
void tg_auction_telemetry_all(const struct tg_gateway *g, struct rte_tel_data *d);

#endif
