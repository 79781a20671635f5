/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and unwind; everything else is elsewhere. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "capture/offline.h"
#include "gateway.h"
#include "recording/file.h"
#include "restart/restart.h"
#include "run.h"
#include "start/eal.h"
#include "start/options.h"
#include "start/preflight.h"
#include "tsc.h"

static volatile bool quit, hup;

static void on_signal(int signo)
{
	if (signo == SIGHUP)
		hup = true;
	else
		quit = true;
}

static void catch_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int complain(const char *sentence)
{
	fprintf(stderr, "tidegate: %s\n", sentence);
	return 1;
}

/* NULL after every fault was printed. */
static struct tg_config *load(const char *path)
{
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;

	tg_config_load(path, &c, &report);
	for (unsigned int i = 0; i < report.n_faults; i++)
		fprintf(stderr, "tidegate: %s\n", report.faults[i]);
	for (unsigned int i = 0; i < report.n_notes; i++)
		fprintf(stderr, "tidegate: note: %s\n", report.notes[i]);
	tg_config_report_free(&report);
	return c;
}

/* Signals are this thread's alone: DPDK's telemetry thread ends for good when one breaks its accept. Threads
 * inherit the mask. */
static void signals(int how)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGINT);
	sigaddset(&s, SIGTERM);
	sigaddset(&s, SIGHUP);
	pthread_sigmask(how, &s, NULL);
}

static int run_gateway(const struct tg_options *o)
{
	static struct tg_gateway gateway;
	struct tg_config *config = load(o->config);
	char err[2048] = "";
	int r;

	if (config == NULL)
		return 1;
	tg_tsc_start(); /* EAL takes its time */
	signals(SIG_BLOCK);
	if (tg_eal_start(o->eal_argc, o->eal_argv, err, sizeof(err)) != 0) {
		tg_config_free(config);
		return complain(err);
	}
	if (tg_gateway_start(&gateway, o, config, err, sizeof(err)) != 0) {
		tg_eal_end();
		return complain(err);
	}
	signals(SIG_UNBLOCK);
	r = tg_run(&gateway, &quit, &hup);
	tg_gateway_stop(&gateway);
	tg_recording_end(&gateway);
	if (gateway.restart != NULL)
		tg_restart_end(gateway.restart, r == 0); /* a start that failed has no flows */
	if (r == 0)
		r = tg_run_report(&gateway);
	tg_gateway_free(&gateway);
	tg_eal_end();
	return r;
}

static int run_capture(const struct tg_options *o)
{
	struct tg_offline_options offline = {
		.program = o->eal_argv[0],
		.capture = o->capture,
		.report = o->report,
		.picture = o->picture,
		.config_path = o->config,
		.replay = o->replay,
		.quit = &quit,
	};

	if (o->config != NULL) {
		offline.config = load(o->config);
		if (offline.config == NULL)
			return 1;
	}
	return tg_offline(&offline);
}

int main(int argc, char **argv)
{
	struct tg_options o;
	char err[512];

	if (tg_options_parse(argc, argv, &o, err, sizeof(err)) != 0)
		return complain(err);
	if (o.help) {
		tg_options_help(argv[0]);
		return 0;
	}
	if (o.version) {
		printf("tidegate " TG_VERSION "\n");
		return 0;
	}
	if (o.check)
		return tg_check(&o);
	catch_signals();
	return o.capture != NULL ? run_capture(&o) : run_gateway(&o);
}
