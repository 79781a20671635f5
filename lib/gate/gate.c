/* SPDX-License-Identifier: BSD-3-Clause */
#include "private.h"

const struct tg_gate_limit tg_gate_unlimited = {.cut = UINT64_MAX,
						.drop = UINT64_MAX,
						.max = UINT64_MAX,
						.early = UINT64_MAX,
						.action = TG_GATE_SHADOW};

struct tg_gate_limit tg_gate_compile(const struct tg_gate_params *params,
				     const struct tg_clock *clock)
{
	struct tg_gate_limit l = tg_gate_unlimited;
	uint32_t max = params->sojourn_max_us;

	l.action = (uint8_t)params->action;
	if (max == 0)
		return l;
	l.max = tg_us_to_ticks(clock, max);
	l.cut = params->margin_us < max ? tg_us_to_ticks(clock, max - params->margin_us) : 0;
	if (params->action == TG_GATE_DROP)
		l.drop = l.cut;
	if (params->early)
		l.early = l.drop;
	return l;
}

const char *tg_gate_place_name(enum tg_gate_place place)
{
	static const char *const names[TG_GATE_PLACES] = {"ring", "stages", "driver", "wire"};

	return place < TG_GATE_PLACES ? names[place] : "?";
}

struct tg_gate_limit tg_gate_strictest(const struct tg_gate_limit *limits, unsigned int n)
{
	struct tg_gate_limit least = tg_gate_unlimited;

	for (unsigned int i = 0; i < n; i++) {
		least.cut = TG_MIN(least.cut, limits[i].cut);
		least.drop = TG_MIN(least.drop, limits[i].drop);
		least.max = TG_MIN(least.max, limits[i].max);
		least.early = TG_MIN(least.early, limits[i].early);
	}
	return least;
}

/* Passes all of them and says whether it should not have: is anything late, or from the future?
 * Nearly always not, then one comparison a packet is all. */
static inline bool pass_all(const struct tg_gate_limit *limits, const struct tg_gate_item *items,
			    uint16_t n, uint64_t now, uint16_t *pass)
{
	unsigned int any = 0;

	for (unsigned int i = 0; i < n; i++) {
		pass[i] = (uint16_t)i;
		any |= now - items[i].arrival > tg_gate_limit_of(limits, &items[i])->cut;
	}
	return any;
}

/* Both lists are written and one of them grows: what comes is not predictable under overload, and
 * a mispredicted branch costs more than the whole check. (To tell where the time of a late one
 * went is worth a branch: it is dropped, or at fault.) */
static uint16_t split(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		      const struct tg_gate_item *items, uint16_t n, uint64_t now, uint16_t *pass,
		      uint16_t *late)
{
	uint16_t n_pass = 0, n_late = 0, n_above = 0, n_future = 0;

	for (uint16_t i = 0; i < n; i++) {
		const struct tg_gate_limit *l = tg_gate_limit_of(limits, &items[i]);
		uint64_t sojourn = tg_gate_sojourn(items[i].arrival, now);
		bool drop = sojourn > l->drop;

		n_future = (uint16_t)(n_future + (items[i].arrival > now));
		pass[n_pass] = i;
		late[n_late] = i;
		n_pass = (uint16_t)(n_pass + !drop);
		n_late = (uint16_t)(n_late + drop);
		n_above = (uint16_t)(n_above + (sojourn > l->cut));
		if (sojourn > l->cut)
			tg_gate_blame(stats, &items[i], tg_gate_place(&items[i], now));
	}
	tg_gate_count(&stats->late, n_above);
	tg_gate_count(&stats->late_dropped, n_late);
	tg_gate_count(&stats->future, n_future);
	return n_pass;
}

uint16_t tg_gate_check(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		       const struct tg_gate_item *items, uint16_t n, uint64_t now, uint16_t *pass,
		       uint16_t *late)
{
	tg_gate_count(&stats->checked, n);
	if (pass_all(limits, items, n, now, pass))
		return split(limits, stats, items, n, now, pass, late);
	return n;
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
			const struct tg_gate_limit *l = tg_gate_limit_of(limits, &items[pass[i]]);

			uncertain = (uint16_t)(uncertain +
					       (in_the_end > l->max && sojourn <= l->cut));
			i++;
		} while (i < n_sent && items[pass[i]].arrival == arrival);
		tg_gate_record(stats, tg_ticks_to_ns(clock, sojourn), (uint32_t)(i - first));
	}
	if (n_sent > 0)
		tg_hist_record(&stats->handing, tg_ticks_to_ns(clock, tg_gate_sojourn(gate, after)),
			       n_sent);
	if (uncertain > 0)
		tg_gate_count(&stats->late_uncertain, uncertain);
}

/* The largest of its three waits. */
enum tg_gate_place tg_gate_place(const struct tg_gate_item *item, uint64_t now)
{
	uint64_t first = item->gated != 0 ? item->gated : now;
	uint64_t ring = tg_gate_sojourn(item->arrival, item->polled);
	uint64_t stages = tg_gate_sojourn(item->polled, first);
	uint64_t driver = tg_gate_sojourn(first, now);

	if (driver > ring && driver > stages)
		return TG_GATE_DRIVER;
	return stages > ring ? TG_GATE_STAGES : TG_GATE_RING;
}

void tg_gate_blame(struct tg_gate_stats *stats, const struct tg_gate_item *item,
		   enum tg_gate_place place)
{
	tg_gate_count(&stats->late_at[place], 1);
	if (stats->late_service != NULL && item->service != TG_NO_SERVICE)
		tg_gate_count(&stats->late_service[item->service * TG_GATE_PLACES + place], 1);
}

void tg_gate_early(const struct tg_gate_limit *limits, struct tg_gate_stats *stats,
		   struct tg_burst *b)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		uint16_t service = b->pkt[i].key.service;

		if (b->verdict[i] != TG_FORWARD || service == TG_NO_SERVICE ||
		    tg_gate_sojourn(b->arrival[i], b->now) <= limits[service].early)
			continue;
		tg_drop(b, i, TG_DROP_LATE);
		n++;
	}
	if (n > 0)
		tg_gate_count(&stats->late_early, n);
}
