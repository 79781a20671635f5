/* SPDX-License-Identifier: BSD-3-Clause */
/* What the traffic itself shows of servers: once a second, who stands out is checked at once. */
#include "choice/load.h"
#include "health/private.h"

struct tg_suspect_window health_traffic(const struct tg_gateway *g, uint16_t server)
{
	struct tg_suspect_window s = {0};

	for (unsigned int w = 0; w < g->n_workers; w++) {
		const struct tg_server_stats *st = tg_snapshot_stats(g->snapshot, server, w);

		s.tries += tg_stat_read(&st->flows) + tg_stat_read(&st->requests);
		s.again += tg_stat_read(&st->pirate.syns_repeated) +
			   tg_stat_read(&st->pirate.repeated);
	}
	return s;
}

static void add(struct tg_suspect_window *to, const struct tg_suspect_window *w)
{
	to->tries += w->tries;
	to->again += w->again;
	to->waiting += w->waiting;
	to->overdue += w->overdue;
}

/* The last second of one server. */
static void turn(const struct tg_gateway *g, uint16_t server, struct health_entry *e)
{
	struct tg_suspect_window now = health_traffic(g, server);
	const struct tg_load_view *v = tg_load_of(g->load, server);

	e->window = (struct tg_suspect_window){
		.tries = now.tries - e->sums.tries,
		.again = now.again - e->sums.again,
		.waiting = v != NULL ? v->waiting : 0,
		.overdue = v != NULL ? v->overdue : 0,
	};
	e->sums = now;
}

static void judge(struct tg_gateway *g, uint16_t server, const struct tg_suspect_window *all,
		  uint64_t now)
{
	struct health_entry *e = &g->health->entry[server];
	const struct tg_suspect_window others = {
		.tries = all->tries - e->window.tries,
		.again = all->again - e->window.again,
		.waiting = all->waiting - e->window.waiting,
		.overdue = all->overdue - e->window.overdue,
	};
	bool before = e->suspect;

	e->suspect = health_service(g, server)->health.passive && tg_suspect(&e->window, &others);
	e->suspects += e->suspect && !before;
	if (e->suspect)
		tg_check_hurry(&e->check, now);
}

void health_passive(struct tg_gateway *g, uint64_t now)
{
	static struct tg_suspect_window all[TG_SERVICES_MAX]; /* control only */
	const struct tg_snapshot *s = g->snapshot;
	struct health_entry *entry = g->health->entry;

	if (now < g->health->window_due)
		return;
	g->health->window_due = now + tg_s_to_ticks(&g->clock, 1);
	memset(all, 0, sizeof(all));
	for (unsigned int i = 0; i < s->n_servers; i++) {
		if (!entry[i].used)
			continue;
		turn(g, (uint16_t)i, &entry[i]);
		add(&all[s->service_of[i]], &entry[i].window);
	}
	for (unsigned int i = 0; i < s->n_servers; i++)
		if (entry[i].used)
			judge(g, (uint16_t)i, &all[s->service_of[i]], now);
}
