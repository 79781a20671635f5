/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/watch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway.h"
#include "port/rx.h"

#define LOOK_MS   100
#define LOG_S     60   /* the same alarm is told at most so often */
#define MISSED_MS 5000 /* without a missed packet: the alarm ends */

int tg_watch_create(struct tg_watch **out)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? 0 : -ENOMEM;
}

void tg_watch_free(struct tg_watch *w)
{
	free(w);
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("tidegate: alarm: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* It is so now. True: it begins, and is to be told. */
static bool begins(struct tg_alarm *a, const struct tg_clock *clock, uint64_t worst, uint64_t now)
{
	bool fresh = !a->active;

	a->active = true;
	a->last = now;
	if (worst > a->worst)
		a->worst = worst;
	if (!fresh)
		return false;
	a->count++;
	if (a->logged != 0 && now - a->logged < tg_s_to_ticks(clock, LOG_S))
		return false;
	a->logged = now;
	return true;
}

/* Late by so much: between half of the bound and the bound nothing changes. True: to be told. */
static bool judge(struct tg_alarm *a, const struct tg_gateway *g, uint64_t late, uint64_t now)
{
	uint64_t bound = tg_us_to_ticks(&g->clock,
					(uint64_t)g->snapshot->config->workers.late_ms * 1000);

	if (late >= bound)
		return begins(a, &g->clock, tg_ticks_to_ns(&g->clock, late), now);
	if (late < bound / 2)
		a->active = false;
	return false;
}

static double seconds(const struct tg_gateway *g, uint64_t ticks)
{
	return (double)tg_ticks_to_ns(&g->clock, ticks) / 1e9;
}

static void look_at_tasks(struct tg_watch *w, const struct tg_gateway *g, unsigned int i,
			  uint64_t now)
{
	const struct tg_worker *worker = g->worker[i];

	for (unsigned int k = 0; k < worker->sched.n; k++) {
		const struct tg_task *t = worker->sched.task[k];
		uint64_t late = tg_task_late(t, now);

		if (judge(&w->task[i][k], g, late, now))
			say("lcore %u: background task \"%s\" is late by %.1f s: the worker stands still, or "
			    "workers.background_share_percent is too small for its load (tidegatectl task list)",
			    worker->lcore, t->name, seconds(g, late));
	}
}

static void look_at_worker(struct tg_watch *w, const struct tg_gateway *g, unsigned int i,
			   uint64_t now)
{
	uint64_t turns = tg_stat_read(&g->worker[i]->stats.turns), still;

	if (turns != w->turns[i] || w->moved[i] == 0) {
		w->turns[i] = turns;
		w->moved[i] = now;
	}
	still = now > w->moved[i] ? now - w->moved[i] : 0;
	if (judge(&w->worker[i], g, still, now))
		say("lcore %u: its worker has not moved for %.1f s: something else runs on its core, or it "
		    "was stopped",
		    g->worker[i]->lcore, seconds(g, still));
}

/* A ring that was full at every look for as long as late_ms: packets are lost, or about to be. */
static void look_at_rings(struct tg_watch *w, const struct tg_gateway *g, unsigned int i,
			  uint64_t now)
{
	for (unsigned int p = 0; p < g->n_ports; p++) {
		const struct tg_rx *rx = &g->worker[i]->rx[p];
		uint64_t *since = &w->full_since[i][p];
		bool full = rx->active && rx->arrival.ring_polls > 0 &&
			    __atomic_load_n(&rx->arrival.full, __ATOMIC_RELAXED) >=
				    rx->arrival.ring_polls;

		if (!full)
			*since = 0;
		else if (*since == 0)
			*since = now;
		if (judge(&w->ring[i][p], g, *since == 0 ? 0 : now - *since, now))
			say("port %s, queue %u: its receive ring has been full for %.1f s: lcore %u does not keep "
			    "up; give more lcores or receive queues",
			    g->ports[p].name, rx->queue, seconds(g, now - *since),
			    g->worker[i]->lcore);
	}
}

static void look_at_port(struct tg_watch *w, const struct tg_gateway *g, unsigned int p,
			 uint64_t now)
{
	struct tg_alarm *a = &w->port[p];
	struct tg_port_stats st = {0};
	uint64_t before = w->missed[p], n;

	if (tg_port_stats(&g->ports[p], &st) != 0)
		return;
	w->missed[p] = st.rx_missed + st.rx_nombuf;
	n = w->missed[p] > before ? w->missed[p] - before : 0;
	if (n > 0 && begins(a, &g->clock, n, now))
		say("port %s: %llu packets were missed (no room in its receive rings: %llu, no buffers: %llu, "
		    "since the start): the workers do not keep up, or ports[].rx_descriptors is too small "
		    "for a burst",
		    g->ports[p].name, (unsigned long long)n, (unsigned long long)st.rx_missed,
		    (unsigned long long)st.rx_nombuf);
	else if (now - a->last > tg_us_to_ticks(&g->clock, MISSED_MS * 1000))
		a->active = false;
}

static void look_at_link(struct tg_watch *w, const struct tg_gateway *g, unsigned int p,
			 uint64_t now)
{
	enum tg_port_state link = tg_port_state(&g->ports[p]);
	uint64_t *since = &w->down_since[p];
	bool was = w->down[p].active;

	if (link == TG_PORT_UP)
		*since = 0;
	else if (*since == 0)
		*since = now;
	if (judge(&w->down[p], g, *since == 0 ? 0 : now - *since, now))
		say("port %s (%s): %s", g->ports[p].name, g->ports[p].device,
		    tg_port_state_text(link));
	else if (was && !w->down[p].active)
		say("port %s (%s): %s again", g->ports[p].name, g->ports[p].device,
		    tg_port_state_text(link));
}

/* Control's own tick: health reports and reloads wait for it. */
static void look_at_control(struct tg_watch *w, const struct tg_gateway *g, uint64_t now)
{
	uint64_t late = w->ticked != 0 && now > w->ticked ? now - w->ticked : 0;

	w->ticked = now;
	if (judge(&w->control, g, late, now))
		say("control stood still for %.1f s: its core is taken by something else; give it a core "
		    "of its own (EAL: --lcores)",
		    seconds(g, late));
}

void tg_watch_tick(struct tg_watch *w, const struct tg_gateway *g, uint64_t now)
{
	/* in a simulation an idle worker makes no turns */
	if (g->n_workers == 0 || g->worker[0]->virtual_time != NULL)
		return;
	look_at_control(w, g, now);
	if (now < w->due)
		return;
	w->due = now + tg_us_to_ticks(&g->clock, LOOK_MS * 1000);
	for (unsigned int i = 0; i < g->n_workers; i++) {
		look_at_tasks(w, g, i, now);
		look_at_worker(w, g, i, now);
		look_at_rings(w, g, i, now);
	}
	for (unsigned int p = 0; p < g->n_ports; p++) {
		look_at_port(w, g, p, now);
		look_at_link(w, g, p, now);
	}
}
