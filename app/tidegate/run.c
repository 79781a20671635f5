/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <poll.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <stdio.h>
#include <unistd.h>

#include "api/api.h"
#include "api/socket.h"
#include "api/telemetry.h"
#include "api/terminal.h"
#include "api/totals.h"
#include "api/watch.h"
#include "capture/report.h"
#include "control.h"
#include "kernel/exception.h"
#include "metrics/http.h"
#include "pipeline.h"
#include "recording/file.h"
#include "start/eal.h"
#include "start/host.h"
#include "start/notify.h"
#include "start/privilege.h"

#define WITHDRAW_MS 1000

struct loop {
	struct tg_gateway *g;
	const volatile bool *quit;
	volatile bool *hup;
	uint64_t stats_due;
	uint64_t socket_due; /* to look after the control socket's file */
	bool leaving;        /* told to end: services are withdrawn */
	uint64_t last_at;    /* ticks: then it ends */
	struct tg_terminal terminal;
	struct tg_notify notify;
	int result;
};

static void print_stats(struct tg_gateway *g)
{
	struct tg_totals t;

	if (tg_totals_collect(g->snapshot, g->worker, g->n_workers, &t) != 0)
		return;
	tg_report_text(&(struct tg_report){.totals = &t}, stdout);
	fflush(stdout);
	tg_totals_free(&t);
}

static void reload(struct tg_gateway *g)
{
	char err[4096];

	if (tg_control_reload(g, err, sizeof(err)) == 0)
		printf("tidegate: reloaded %s, version %llu\n", g->options->config,
		       (unsigned long long)g->snapshot->version);
	else
		fprintf(stderr, "tidegate: reload failed, the configuration in force stays:\n%s\n",
			err);
	fflush(stdout);
}

/* Does every worker move? */
static bool alive(const struct tg_gateway *g)
{
	unsigned int still;
	uint64_t count;

	tg_watch_count(g->watch, TG_ALARM_WORKER, &still, &count);
	return still == 0;
}

static void take_hup(struct loop *l)
{
	*l->hup = false;
	tg_notify_say(&l->notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
		      (unsigned long long)tg_notify_clock_us());
	reload(l->g);
	tg_notify_say(&l->notify, "READY=1");
}

/* Told to end. Addresses that a routing daemon announces are withdrawn first, and what is on its way
 * here until the routers have heard of it is still forwarded. */
static bool ends(struct loop *l)
{
	uint64_t now = rte_rdtsc();

	if (!*l->quit)
		return false;
	if (!l->leaving) {
		l->leaving = true;
		l->last_at = tg_exception_withdraw(l->g) == 0
				     ? now
				     : now + tg_us_to_ticks(&l->g->clock, WITHDRAW_MS * 1000);
	}
	return now >= l->last_at;
}

/* What is to be done first. From here on a service manager may rely on it. */
static void begin(struct loop *l)
{
	const struct tg_gateway *g = l->g;
	char err[2048];

	if (tg_privilege_drop() != 0) {
		fprintf(stderr, "tidegate: cannot drop capabilities\n");
		l->result = 1;
	} else if (g->options->cmdline != NULL &&
		   tg_terminal_file(l->g, g->options->cmdline, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate: %s\n", err);
		l->result = 1;
	}
	if (l->result != 0)
		return;
	/* takes a millisecond, in which workers forward: after the file that may stop them */
	if (tg_privilege_drop_others(err, sizeof(err)) != 0)
		fprintf(stderr, "tidegate: warning: %s\n", err);
	if (g->options->interactive)
		tg_terminal_open(&l->terminal, l->g);
	tg_notify_say(&l->notify, "READY=1\nMAINPID=%ld\nSTATUS=%s, %u workers, %u ports",
		      (long)getpid(), g->mode == TG_MODE_SHADOW ? "shadow" : "inline", g->n_workers,
		      g->n_ports);
}

/* Somebody may clear /run under a gateway that runs. */
static void keep_socket(struct loop *l)
{
	uint64_t now = rte_rdtsc();
	char err[512];

	if (now < l->socket_due)
		return;
	l->socket_due = now + tg_s_to_ticks(&l->g->clock, 1);
	if (tg_control_socket_keep(l->g->socket, err, sizeof(err)))
		fprintf(stderr, "tidegate: %s\n", err);
}

static void *control_loop(void *ctx)
{
	struct loop *l = ctx;
	struct tg_gateway *g = l->g;
	uint64_t period = tg_s_to_ticks(&g->clock, g->options->stats_period_s);

	begin(l);
	l->stats_due = rte_rdtsc() + period;
	while (!ends(l) && l->result == 0) {
		tg_control_socket_poll(g->socket, TG_CONTROL_TICK_MS);
		tg_control_tick(g, rte_rdtsc());
		keep_socket(l);
		if (g->options->interactive)
			tg_terminal_poll(&l->terminal, g);
		tg_recording_tick(g, rte_rdtsc());
		tg_metrics_http_poll(g->metrics, rte_rdtsc());
		tg_notify_tick(&l->notify, alive(g), rte_rdtsc());
		if (*l->hup)
			take_hup(l);
		if (period != 0 && rte_rdtsc() >= l->stats_due) {
			l->stats_due += period;
			print_stats(g);
		}
	}
	tg_terminal_close(&l->terminal);
	tg_notify_say(&l->notify, "STOPPING=1");
	__atomic_store_n(&g->stop, true, __ATOMIC_RELAXED);
	return NULL;
}

static void say_hello(const struct tg_gateway *g)
{
	printf("tidegate " TG_VERSION ": %s, %u worker%s, %u port%s, control socket %s\n",
	       g->mode == TG_MODE_SHADOW ? "shadow (nothing is sent)" : "inline", g->n_workers,
	       g->n_workers == 1 ? "" : "s", g->n_ports, g->n_ports == 1 ? "" : "s",
	       g->snapshot->config->control_socket);
	for (unsigned int p = 0; p < g->n_ports; p++)
		printf("  port %s: %s (%s), %u receive queue%s, arrival %s, NUMA node %d%s\n",
		       g->ports[p].name, g->ports[p].device, g->ports[p].driver,
		       g->ports[p].rx_queues, g->ports[p].rx_queues == 1 ? "" : "s",
		       g->ports[p].stamp_offset >= 0
			       ? "by the device's time stamps"
			       : tg_arrival_name(tg_port_arrival(&g->ports[p])),
		       g->ports[p].socket,
		       g->ports[p].socket >= 0 && g->ports[p].socket != g->worker[0]->socket
			       ? ": another node than its worker's, slower"
			       : "");
	fflush(stdout);
}

/* The main lcore works when it is alone; control then runs on a thread of its own. */
static int run_both(struct loop *l)
{
	struct tg_worker *w = l->g->worker[0];
	pthread_t thread;

	if (w->lcore != rte_get_main_lcore()) {
		control_loop(l);
		return l->result;
	}
	if (rte_ctrl_thread_create(&thread, "control", NULL, control_loop, l) != 0) {
		fprintf(stderr, "tidegate: cannot start the control thread\n");
		return 1;
	}
	if (tg_privilege_drop_and_run(w) != 0)
		l->result = 1;
	pthread_join(thread, NULL);
	return l->result;
}

int tg_run(struct tg_gateway *g, const volatile bool *quit, volatile bool *hup)
{
	struct loop l = {.g = g, .quit = quit, .hup = hup};
	const struct tg_config *c = g->snapshot->config;
	char err[512];
	int r;

	if (tg_control_socket_open(c->control_socket, c->control_mode, c->control_group,
				   tg_api_handle, g, &g->socket, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate: %s\n", err);
		return 1;
	}
	if (tg_metrics_http_open(g, &g->metrics, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate: %s\n", err);
		tg_control_socket_close(g->socket);
		g->socket = NULL;
		return 1;
	}
	if (tg_eal_share(c->control_group, err, sizeof(err)) != 0)
		fprintf(stderr, "tidegate: %s\n", err);
	tg_telemetry_start(g);
	tg_notify_open(&l.notify, &g->clock);
	say_hello(g);
	tg_host_warn(g, stderr);
	r = run_both(&l);
	tg_notify_close(&l.notify);
	tg_telemetry_stop();
	tg_metrics_http_close(g->metrics);
	g->metrics = NULL;
	tg_control_socket_close(g->socket);
	g->socket = NULL;
	return r;
}

int tg_run_report(struct tg_gateway *g)
{
	struct tg_totals t;
	struct tg_report report = {.totals = &t};
	char err[512];
	int r = 0;

	for (unsigned int i = 0; i < g->n_workers; i++)
		tg_pipeline_end(g->worker[i]);
	if (tg_totals_collect(g->snapshot, g->worker, g->n_workers, &t) != 0)
		return 1;
	tg_report_text(&report, stdout);
	if (g->options->report != NULL &&
	    tg_report_write(&report, g->options->report, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate: %s\n", err);
		r = 1;
	}
	tg_totals_free(&t);
	return r;
}
