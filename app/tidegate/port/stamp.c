/* SPDX-License-Identifier: BSD-3-Clause */
/* Time stamps of a port that gives them. */
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include "stamp.h"

#define COMPARE_EVERY_MS 100

uint64_t tg_stamp_offload(const struct rte_eth_dev_info *info)
{
	return info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
}

void tg_stamp_start(struct tg_port *p, const struct tg_clock *clock, uint64_t offloads)
{
	uint64_t ticks;

	p->stamp_offset = -1;
	tg_device_clock_init(&p->clock, clock);
	if ((offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0 || p->generated ||
	    rte_eth_read_clock(p->ethdev, &ticks) != 0)
		return;
	if (rte_mbuf_dyn_rx_timestamp_register(&p->stamp_offset, &p->stamp_flag) != 0)
		p->stamp_offset = -1;
}

enum tg_arrival_kind tg_port_arrival(const struct tg_port *p)
{
	struct tg_device_map map;

	if (p->generated)
		return TG_ARRIVAL_POLL;
	return p->stamp_offset >= 0 && tg_device_clock_map(&p->clock, &map)
		       ? TG_ARRIVAL_NIC
		       : TG_ARRIVAL_CONSERVATIVE;
}

const char *tg_arrival_name(enum tg_arrival_kind kind)
{
	static const char *const names[] = {"conservative", "nic", "poll"};

	return names[kind];
}

void tg_port_compare_clocks(struct tg_port *p, const struct tg_clock *clock, uint64_t now)
{
	uint64_t device, before, after;

	if (p->stamp_offset < 0 || now < p->clock_due)
		return;
	before = rte_rdtsc_precise();
	if (rte_eth_read_clock(p->ethdev, &device) != 0)
		return;
	after = rte_rdtsc_precise();
	/* one that took too long is tried again at the next tick */
	if (tg_device_clock_read(&p->clock, device, before, after))
		p->clock_due = now + tg_us_to_ticks(clock, COMPARE_EVERY_MS * 1000);
}
