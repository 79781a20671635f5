/* SPDX-License-Identifier: BSD-3-Clause */
#include "private.h"

#define SHIFT 20

void tg_gate_wire_init(struct tg_gate_wire *wire, uint32_t rate_mbps, unsigned int sharers,
		       const struct tg_clock *clock)
{
	unsigned __int128 byte = (unsigned __int128)clock->hz * 8 * sharers << SHIFT;

	wire->free = 0;
	wire->byte = rate_mbps == 0 ? 0 : (uint64_t)(byte / (UINT64_C(1000000) * rate_mbps));
	if (rate_mbps != 0 && wire->byte == 0)
		wire->byte = 1; /* a wire faster than the clock can tell */
}

static inline uint64_t on_the_wire(const struct tg_gate_wire *wire, const struct tg_gate_item *item)
{
	return ((uint64_t)(item->bytes + TG_GATE_WIRE_OVERHEAD) * wire->byte >> SHIFT) + 1;
}

uint16_t tg_gate_check_wire(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
			    const struct tg_gate_wire *wire, const struct tg_gate_item *items,
			    uint16_t n, uint64_t now, uint16_t *pass, uint16_t *late)
{
	uint64_t end = wire->free > now ? wire->free : now;
	uint16_t n_pass = 0, n_late = 0, n_above = 0, n_future = 0;

	for (uint16_t i = 0; i < n; i++) {
		const struct tg_gate_limit *l = tg_gate_limit_of(limits, &items[i]);
		uint64_t own = on_the_wire(wire, &items[i]);
		uint64_t sojourn = tg_gate_sojourn(items[i].arrival, end + own);

		n_future = (uint16_t)(n_future + (items[i].arrival > now));
		if (sojourn > l->cut) {
			n_above++;
			tg_gate_blame(stats, &items[i],
				      tg_gate_late(l, items[i].arrival, now)
					      ? tg_gate_place(&items[i], now)
					      : TG_GATE_WIRE);
		}
		if (sojourn > l->drop) {
			late[n_late++] = i;
			continue;
		}
		end += own;
		pass[n_pass++] = i;
	}
	tg_gate_count(&stats->checked, n);
	tg_gate_count(&stats->late, n_above);
	tg_gate_count(&stats->late_dropped, n_late);
	if (n_future > 0)
		tg_gate_count(&stats->future, n_future);
	return n_pass;
}

void tg_gate_wire_sent(struct tg_gate_wire *wire, const struct tg_gate_item *items,
		       const uint16_t *pass, uint16_t n_sent, uint64_t now)
{
	if (n_sent > 0 && wire->free < now)
		wire->free = now;
	for (uint16_t i = 0; i < n_sent; i++)
		wire->free += on_the_wire(wire, &items[pass[i]]);
}
