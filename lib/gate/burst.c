/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual case, nothing late, once a burst and not once a packet. */
#include "private.h"

_Static_assert(TG_BURST_MAX == 32, "what `all` counts");

static const uint16_t all[TG_BURST_MAX] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					   22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static inline struct tg_gate_span span_of(const struct tg_gate_item *items, uint16_t n)
{
	struct tg_gate_span s = {UINT64_MAX, 0};
	uint64_t first = n > 0 ? items[0].arrival : 0, apart = 0;

	for (unsigned int i = 1; i < n; i++)
		apart |= items[i].arrival ^ first;
	if (apart == 0 && n > 0) /* of one poll, of whose packets nothing else is known */
		return (struct tg_gate_span){first, first};
	for (unsigned int i = 0; i < n; i++) {
		uint64_t a = items[i].arrival;

		s.oldest = a < s.oldest ? a : s.oldest;
		s.newest = a > s.newest ? a : s.newest;
	}
	return s;
}

uint16_t tg_gate_check_burst(const struct tg_gate_limit *limits,
			     const struct tg_gate_limit *strictest, struct tg_gate_stats *stats,
			     const struct tg_gate_wire *wire, const struct tg_gate_item *items,
			     uint16_t n, uint64_t now, uint16_t *pass, uint16_t *late,
			     struct tg_gate_span *span)
{
	*span = span_of(items, n);
	if (wire->byte != 0)
		return tg_gate_check_wire(limits, stats, wire, items, n, now, pass, late);
	if (span->newest > now || now - span->oldest > strictest->cut)
		return tg_gate_check(limits, stats, items, n, now, pass, late);
	memcpy(pass, all, sizeof(all));
	tg_gate_count(&stats->checked, n);
	return n;
}

void tg_gate_sent_burst(const struct tg_gate_limit *limits, const struct tg_gate_limit *strictest,
			struct tg_gate_stats *stats, const struct tg_clock *clock,
			const struct tg_gate_item *items, const uint16_t *pass, uint16_t n_sent,
			uint64_t gate, uint64_t after, const struct tg_gate_span *span)
{
	if (n_sent == 0)
		return;
	if (span->oldest != span->newest || tg_gate_sojourn(span->oldest, after) > strictest->max) {
		tg_gate_sent(limits, stats, clock, items, pass, n_sent, gate, after);
		return;
	}
	tg_gate_record(stats, tg_ticks_to_ns(clock, tg_gate_sojourn(span->oldest, gate)), n_sent);
	tg_hist_record(&stats->handing, tg_ticks_to_ns(clock, tg_gate_sojourn(gate, after)),
		       n_sent);
}
