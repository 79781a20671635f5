/* SPDX-License-Identifier: BSD-3-Clause */
#include "stages.h"

#include "worker.h"

const char *tg_stage_name(enum tg_stage s)
{
	static const char *const names[] = {
#define TG_STAGE_NAME(id, name) name,
		TG_STAGES(TG_STAGE_NAME)
#undef TG_STAGE_NAME
	};

	return s < TG_STAGE_COUNT ? names[s] : "?";
}

static void count(uint64_t *to, uint64_t n)
{
	__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

void tg_lap_end(struct tg_worker *w, enum tg_stage s, unsigned int packets)
{
	struct tg_stage_stats *st = &w->stage[s];
	uint64_t now = tg_worker_now(w), spent = now > w->lap ? now - w->lap : 0;

	count(&st->calls, 1);
	count(&st->packets, packets);
	count(&st->ticks, spent);
	tg_hist_record(&st->work, tg_ticks_to_ns(&w->clock, spent), 1);
	w->lap = now | 1; /* 0 is "not timed" */
}

void tg_stage_waited(struct tg_worker *w, enum tg_stage s, uint64_t since, uint64_t until)
{
	tg_hist_record(&w->stage[s].wait, tg_ticks_to_ns(&w->clock, tg_gate_sojourn(since, until)),
		       1);
}
