/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a scenario, runs its replications, shows what came of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gateway/sim_gateway.h"
#include "sim.h"
#include "sim_options.h"
#include "tg_file.h"

static volatile sig_atomic_t quit;

static void on_signal(int signo)
{
	(void)signo;
	quit = 1;
}

static int complain(const char *sentence)
{
	fprintf(stderr, "tidegate-sim: %s\n", sentence);
	return 1;
}

static double seconds_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Where a run is, on a terminal, at most five times a second. */
struct progress {
	bool shown, on;
	uint32_t replication, replications;
	double start, next, end_s;
	uint64_t packets_before;
};

static bool tell(void *context, const struct tg_sim *s)
{
	struct progress *p = context;
	double now;

	if (quit || !p->on)
		return !quit;
	now = seconds_now(CLOCK_MONOTONIC);
	if (now < p->next)
		return true;
	p->next = now + 0.2;
	p->shown = true;
	fprintf(stderr, "\rreplication %u of %u: %.2f of %.2f s, %.2f M packets/s \033[K",
		p->replication + 1, p->replications, (double)tg_events_now(s->events) / 1e9,
		p->end_s, (double)(p->packets_before + s->packets) / (now - p->start) / 1e6);
	return true;
}

static void say_report(const struct tg_scenario_report *report)
{
	for (unsigned int i = 0; i < report->n_faults; i++)
		fprintf(stderr, "%s\n", report->faults[i]);
	for (unsigned int i = 0; i < report->n_notes; i++)
		fprintf(stderr, "note: %s\n", report->notes[i]);
}

/* NULL after every fault was printed. */
static struct tg_scenario *load(const struct tg_sim_options *o)
{
	struct tg_scenario_report report = {0};
	struct tg_scenario *sc = NULL;
	int rc = tg_scenario_load_with(o->scenario, o->set, o->n_set, &sc, &report);

	if (rc == 0)
		rc = tg_sim_gateway_check(sc, &report);
	say_report(&report);
	if (rc == -ENOMEM)
		complain("not enough memory");
	tg_scenario_report_free(&report);
	if (rc == 0)
		return sc;
	tg_scenario_free(sc);
	return NULL;
}

static int tell_check(const struct tg_scenario *sc)
{
	printf("%s: all right: %u gateways, %u servers, %u groups of clients; %u replications of %g s "
	       "after %g s\n",
	       sc->file, sc->n_gateways, sc->n_servers, sc->n_groups, sc->replications,
	       sc->duration_s, sc->warmup_s);
	for (uint32_t i = 0; i < sc->n_services; i++) {
		if (sc->service[i].load > 0)
			printf("service %s: predicted load of its servers %.4f\n",
			       sc->service[i].name, sc->service[i].load);
		else
			printf("service %s: asked in closed loops only, or for a time: its load follows\n",
			       sc->service[i].name);
	}
	return 0;
}

static int cannot_write(const char *file)
{
	fprintf(stderr, "tidegate-sim: %s: cannot be written: %s\n", file, strerror(errno));
	return 1;
}

/* Before the run, that none is lost because its results have no place. 0, or 1 after a sentence. */
static int try_results(const struct tg_sim_options *o)
{
	int fd;

	if (o->results == NULL)
		return 0;
	if (tg_same_file(o->results, o->scenario))
		return complain(
			"--results names the scenario: it would be overwritten; name another file");
	fd = open(o->results, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	if (fd < 0)
		return cannot_write(o->results);
	close(fd);
	return 0;
}

static int write_results(const json_t *joined, const char *file)
{
	FILE *f = fopen(file, "we");
	int rc;

	if (f == NULL)
		return cannot_write(file);
	rc = json_dumpf(joined, f, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	rc |= fputc('\n', f) == EOF ? -1 : 0;
	return fclose(f) == 0 && rc == 0 ? 0 : cannot_write(file);
}

/* Each of them; false after a sentence. */
static bool run_all(const struct tg_scenario *sc, json_t **runs, struct progress *p,
		    uint64_t *packets)
{
	for (uint32_t i = 0; i < sc->replications; i++) {
		uint64_t n = 0;
		char err[1024];
		int rc;

		p->replication = i;
		p->packets_before = *packets;
		rc = tg_sim_run(sc, i, tell, p, &runs[i], &n, err, sizeof(err));
		*packets += n;
		if (p->shown)
			fprintf(stderr, "\r\033[K");
		if (rc != 0) {
			complain(err);
			return false;
		}
	}
	return true;
}

static int show(const struct tg_sim_options *o, const struct tg_scenario *sc, json_t **runs)
{
	json_t *joined = tg_results_join(sc, runs, sc->replications);
	int rc = joined == NULL ? complain("not enough memory for the results") : 0;

	if (rc == 0 && !o->quiet)
		tg_results_table(joined, stdout);
	if (rc == 0 && o->results != NULL)
		rc = write_results(joined, o->results);
	json_decref(joined);
	return rc;
}

static int run(const struct tg_sim_options *o, const struct tg_scenario *sc)
{
	json_t **runs = calloc(sc->replications, sizeof(json_t *));
	struct progress p = {
		.on = !o->quiet && isatty(STDERR_FILENO),
		.replications = sc->replications,
		.end_s = sc->warmup_s + sc->duration_s,
		.start = seconds_now(CLOCK_MONOTONIC),
	};
	double cpu = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t packets = 0;
	int rc = 1;

	if (runs == NULL)
		return complain("not enough memory");
	if (run_all(sc, runs, &p, &packets))
		rc = show(o, sc, runs);
	if (rc == 0 && !o->quiet) {
		double wall = seconds_now(CLOCK_MONOTONIC) - p.start;

		cpu = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		fprintf(stderr,
			"%" PRIu64
			" packets in %.2f s (%.2f s of processor time): %.0f packets/s\n",
			packets, wall, cpu, (double)packets / wall);
	}
	for (uint32_t i = 0; i < sc->replications; i++)
		json_decref(runs[i]);
	free(runs);
	return rc;
}

static int simulate(const struct tg_sim_options *o, const char *program)
{
	struct tg_scenario *sc = load(o);
	struct sigaction a = {.sa_handler = on_signal};
	char err[1024];
	int rc;

	if (sc == NULL)
		return 1;
	if (o->check) {
		rc = tell_check(sc);
	} else if (try_results(o) != 0) {
		rc = 1;
	} else if (tg_sim_gateways_start(sc, program, err, sizeof(err)) != 0) {
		rc = complain(err);
	} else {
		sigaction(SIGINT, &a, NULL);
		sigaction(SIGTERM, &a, NULL);
		rc = run(o, sc);
		tg_sim_gateways_end();
	}
	tg_scenario_free(sc);
	return rc;
}

int main(int argc, char **argv)
{
	struct tg_sim_options o;
	char err[512];

	if (tg_sim_options_parse(argc, argv, &o, err, sizeof(err)) != 0) {
		complain(err);
		return 2;
	}
	if (o.help) {
		tg_sim_options_help(argv[0]);
		return 0;
	}
	if (o.version) {
		printf("tidegate-sim " TG_VERSION "\n");
		return 0;
	}
	return simulate(&o, argv[0]);
}
