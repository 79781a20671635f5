/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_gate.h"

static const struct tg_gate_limit unlimited = {.cut = UINT64_MAX,
					       .drop = UINT64_MAX,
					       .max = UINT64_MAX,
					       .action = TG_GATE_SHADOW};

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

/* Passes all of them and says whether it should not have: is anything late, or from the future?
 * Nearly always not, then one comparison a packet is all. */
static inline bool pass_all(const struct tg_gate_limit *limits, const struct tg_gate_item *items,
			    uint16_t n, uint64_t now, uint16_t *pass)
{
	unsigned int any = 0;

	for (unsigned int i = 0; i < n; i++) {
		pass[i] = (uint16_t)i;
		any |= now - items[i].arrival > limit_of(limits, &items[i])->cut;
	}
	return any;
}

/* Both lists are written and one of them grows: what comes is not predictable under overload, and
 * a mispredicted branch costs more than the whole check. */
static uint16_t split(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		      const struct tg_gate_item *items, uint16_t n, uint64_t now, uint16_t *pass,
		      uint16_t *late)
{
	uint16_t n_pass = 0, n_late = 0, n_above = 0;

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
	count(&stats->late, n_above);
	count(&stats->late_dropped, n_late);
	return n_pass;
}

uint16_t tg_gate_check(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		       const struct tg_gate_item *items, uint16_t n, uint64_t now, uint16_t *pass,
		       uint16_t *late)
{
	count(&stats->checked, n);
	if (pass_all(limits, items, n, now, pass))
		return split(limits, stats, items, n, now, pass, late);
	return n;
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
	uint16_t i = 0, uncertain = 0;

	/* All packets of one poll have one arrival, so a burst is a few runs at most. */
	while (i < n_sent) {
		uint64_t arrival = items[pass[i]].arrival;
		uint64_t sojourn = tg_gate_sojourn(arrival, gate);
		uint64_t in_the_end = tg_gate_sojourn(arrival, after);
		uint16_t first = i;

		do {
			const struct tg_gate_limit *l = limit_of(limits, &items[pass[i]]);

			uncertain = (uint16_t)(uncertain +
					       (in_the_end > l->max && sojourn <= l->cut));
			i++;
		} while (i < n_sent && items[pass[i]].arrival == arrival);
		record(stats, clock, sojourn, (uint32_t)(i - first));
	}
	if (uncertain > 0)
		count(&stats->late_uncertain, uncertain);
}
