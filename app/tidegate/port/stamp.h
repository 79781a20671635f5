/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive time stamps at a port's start. The rest of it: port.h, tg_device_clock.h. */
#ifndef TG_STAMP_H
#define TG_STAMP_H

#include "port.h"

struct rte_eth_dev_info;

/* The offload to ask for: 0 where the device has none. */
uint64_t tg_stamp_offload(const struct rte_eth_dev_info *info);

/* After the port has started with these offloads: are there stamps, and a clock to read them by? */
void tg_stamp_start(struct tg_port *p, const struct tg_clock *clock, uint64_t offloads);

#endif
