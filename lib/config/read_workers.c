/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of every worker: workers. */
#include "reader.h"

#define HOUR_MS 3600000

static const char *idle_mode(unsigned int i)
{
	static const char *const names[] = {"poll", "pause", "sleep"};

	return i < TG_COUNT(names) ? names[i] : NULL;
}

static const struct tg_config_key keys[] = {
	{TG_UINT(tg_config_workers, background_us, 1, 1000), .standard = "10"},
	{TG_UINT(tg_config_workers, background_share_percent, 1, 100), .standard = "25"},
	{TG_UINT(tg_config_workers, late_ms, 10, HOUR_MS), .standard = "1000"},
	{TG_KEY(tg_config_workers, idle, tg_read_choice), .choice = idle_mode, .standard = "poll"},
	{TG_UINT(tg_config_workers, idle_sleep_max_us, 1, 10000), .standard = "50"},
};

void tg_read_workers(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *workers)
{
	(void)k;
	tg_read_object(r, keys, TG_COUNT(keys), v, workers);
}

/* What the kernel takes to wake a thread on a quiet host, and to spare. */
#define WAKE_US 100

void tg_note_sleep(struct tg_reader *r, const struct tg_config_workers *w,
		   const struct tg_config_service *s)
{
	uint32_t limit = s->gate.sojourn_max_us;

	if (w->idle != TG_IDLE_SLEEP || limit == 0 ||
	    limit >= w->idle_sleep_max_us + WAKE_US + s->gate.margin_us)
		return;
	tg_note(r,
		"a sojourn_max_us of %u leaves no room for workers that sleep up to %u us when idle: "
		"the first packet after a silence may be late",
		limit, w->idle_sleep_max_us);
}
