/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_gate.h"

static const struct tg_gate_limit unlimited = {
	.cut = UINT64_MAX, .drop = UINT64_MAX, .max = UINT64_MAX, .action = TG_GATE_SHADOW};

struct tg_gate_limit tg_gate_compile(const struct tg_gate_params *params,
				     const struct tg_clock *clock)
{
	struct tg_gate_limit l = unlimited;
	uint32_t max = params->sojourn_max_us;

	l.action = (uint8_t)params->action;
	if (max == 0)
		return l;
	l.max = tg_us_to_ticks(clock, max);
	l.cut = params->margin_us < max ? tg_us_to_ticks(clock, max - params->margin_us) : 0;
	if (params->action == TG_GATE_DROP)
		l.drop = l.cut;
	return l;
}

static inline const struct tg_gate_limit *limit_of(const struct tg_gate_limit *limits,
						   const struct tg_gate_item *item)
{
	return item->service == TG_NO_SERVICE ? &unlimited : &limits[item->service];
}

static inline void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

uint16_t tg_gate_check(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		       const struct tg_gate_item *items, uint16_t n, uint64_t now, uint16_t *pass,
		       uint16_t *late)
{
	uint16_t n_pass = 0, n_late = 0, n_above = 0;

	/* Both lists are written and one of them grows: what comes is not predictable under
	 * overload, and a mispredicted branch costs more than the whole check. */
	for (uint16_t i = 0; i < n; i++) {
		const struct tg_gate_limit *l = limit_of(limits, &items[i]);
		uint64_t sojourn = tg_gate_sojourn(items[i].arrival, now);
		bool drop = sojourn > l->drop;

		pass[n_pass] = i;
		late[n_late] = i;
		n_pass = (uint16_t)(n_pass + !drop);
		n_late = (uint16_t)(n_late + drop);
		n_above = (uint16_t)(n_above + (sojourn > l->cut));
	}
	count(&stats->checked, n);
	if (n_above > 0) {
		count(&stats->late, n_above);
		count(&stats->late_dropped, n_late);
	}
	return n_pass;
}

/* n packets of one arrival. */
static inline void record(struct tg_gate_stats *stats, const struct tg_clock *clock,
			  uint64_t sojourn, uint32_t n)
{
	uint64_t ns = tg_ticks_to_ns(clock, sojourn);

	tg_hist_record(&stats->sojourn, ns, n);
	if (ns > stats->max_sojourn_ns)
		__atomic_store_n(&stats->max_sojourn_ns, ns, __ATOMIC_RELAXED);
}

void tg_gate_sent(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		  const struct tg_clock *clock, const struct tg_gate_item *items,
		  const uint16_t *pass, uint16_t n_sent, uint64_t gate, uint64_t after)
{
	uint64_t arrival;
	uint32_t run = 0, uncertain = 0;

	if (n_sent == 0)
		return;
	arrival = items[pass[0]].arrival;
	/* All packets of one poll have one arrival, so a burst is a few runs at most. */
	for (uint16_t i = 0; i < n_sent; i++) {
		const struct tg_gate_item *item = &items[pass[i]];
		const struct tg_gate_limit *l = limit_of(limits, item);

		if (item->arrival != arrival) {
			record(stats, clock, tg_gate_sojourn(arrival, gate), run);
			arrival = item->arrival;
			run = 0;
		}
		run++;
		uncertain += (uint32_t)(tg_gate_sojourn(arrival, gate) <= l->cut) &
			     (uint32_t)(tg_gate_sojourn(arrival, after) > l->max);
	}
	record(stats, clock, tg_gate_sojourn(arrival, gate), run);
	if (uncertain > 0)
		count(&stats->late_uncertain, uncertain);
}
