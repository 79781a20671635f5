/* SPDX-License-Identifier: BSD-3-Clause */
/* One direction of a link. */
#include "scenario/scenario_reader.h"

static const struct tg_config_key keys[] = {
	{TG_REAL(tg_link_params, delay_us, 0, 10000000)},
	{TG_DIST(tg_link_params, jitter_us, 0, 10000000)},
	{TG_REAL(tg_link_params, rate_mbps, 0, 10000000)},
	{TG_UINT(tg_link_params, queue_packets, 1, 10000000)},
	{TG_REAL(tg_link_params, loss, 0, 1)},
	{TG_REAL(tg_link_params, burst_loss, 1, 1000000)},
	{TG_REAL(tg_link_params, reorder, 0, 1)},
	{TG_REAL(tg_link_params, reorder_us, 0, 10000000)},
};

struct tg_link_params tg_link_standard(double delay_us)
{
	return (struct tg_link_params){.delay_us = delay_us,
				       .queue_packets = 1000,
				       .burst_loss = 1};
}

void tg_read_link(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_link_params *p = at;

	(void)k;
	if (!tg_read_object(r, keys, TG_COUNT(keys), v, p))
		return;
	if (p->reorder > 0 && p->reorder_us > p->delay_us)
		TG_MEMBER_FAULT(r, "reorder_us",
				"%g is more than delay_us, %g: nothing arrives before it was sent",
				p->reorder_us, p->delay_us);
	if (p->reorder > 0 && p->reorder_us == 0)
		TG_MEMBER_FAULT(r, "reorder_us",
				"is missing: by how much a reordered packet is early");
}
