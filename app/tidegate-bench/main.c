/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "bench.h"

#define FAMILIES  (BENCH_PIPELINES + BENCH_STAGES + BENCH_CHOICES + 3)
#define CASES_MAX (FAMILIES * BENCH_FLOWS_MAX)

/* In the order in which they run. */
static const struct bench_family *family(unsigned int i)
{
	if (i < BENCH_PIPELINES)
		return &bench_pipeline[i];
	i -= BENCH_PIPELINES;
	if (i < BENCH_STAGES)
		return &bench_stage[i];
	i -= BENCH_STAGES;
	if (i < BENCH_CHOICES)
		return &bench_choose[i];
	i -= BENCH_CHOICES;
	return i == 0 ? &bench_hash_own : i == 1 ? &bench_hash_rte : &bench_hash_load;
}

struct options {
	bool json, check;
	unsigned int runs;
	double seconds;
	const char *only; /* NULL: every case that is not on demand */
};

struct chosen {
	const struct bench_family *family;
	uint64_t flows;
};

static void usage(FILE *out)
{
	fputs("usage: tidegate-bench [EAL options --] [options]\n"
	      "Measures nanoseconds a packet, without a NIC, on one core.\n\n"
	      "  --json         one JSON object on standard output, the table on standard error\n"
	      "  --check        only the cases that have a bar; ends with 1 where one is missed by more than\n"
	      "                 its margin. The growth to 10 M flows takes 2.6 GB of huge pages, and is\n"
	      "                 passed over without\n"
	      "  --runs N       runs of each case; their median is the figure (1..101, default 5)\n"
	      "  --seconds S    time measured for each case, all runs together (default 5)\n"
	      "  --only GLOB    only cases whose name matches: 'hash/*', 'io', '*/10M'\n"
	      "  --steady       for counting instructions: the gateway's clock moves by 100 ns a packet\n"
	      "  --help         this text\n\n"
	      "net: less the same loop without what is measured (for a pipeline: without a gateway).\n"
	      "Without EAL options: no devices, memory in huge pages if enough are free.\n"
	      "Cases (those in brackets are large or many and only run when --only names them):\n",
	      out);
	for (unsigned int i = 0; i < FAMILIES; i++) {
		const struct bench_family *f = family(i);

		fprintf(out, "  %s\n     ", f->what);
		for (unsigned int k = 0; k == 0 || f->flows[k].n != 0; k++) {
			char name[64];

			bench_case_name(f, f->flows[k].n, name, sizeof(name));
			fprintf(out, f->flows[k].on_demand ? " [%s]" : " %s", name);
		}
		fputc('\n', out);
	}
}

static bool is_chosen(const struct options *o, const struct bench_family *f, unsigned int k,
		      const char *name)
{
	if (o->only != NULL && fnmatch(o->only, name, 0) != 0)
		return false;
	if (o->check)
		return bench_bar_wants(name) &&
		       (!f->flows[k].on_demand ||
			f->memory(f, f->flows[k].n) < bench_host_free_huge());
	return o->only != NULL || !f->flows[k].on_demand;
}

static unsigned int choose(const struct options *o, struct chosen out[CASES_MAX])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FAMILIES; i++) {
		const struct bench_family *f = family(i);

		for (unsigned int k = 0; k == 0 || f->flows[k].n != 0; k++) {
			char name[64];

			bench_case_name(f, f->flows[k].n, name, sizeof(name));
			if (is_chosen(o, f, k, name))
				out[n++] = (struct chosen){f, f->flows[k].n};
		}
	}
	return n;
}

static uint64_t memory_needed(const struct chosen *c, unsigned int n)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < n; i++)
		most = RTE_MAX(most, c[i].family->memory(c[i].family, c[i].flows));
	return most;
}

static int number(const char *text, double min, double max, const char *option, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end != text && *end == '\0' && *out >= min && *out <= max)
		return 0;
	fprintf(stderr, "tidegate-bench: --%s: %s is not a number from %g to %g\n", option, text,
		min, max);
	return -EINVAL;
}

/* 0, 1 when help was asked for, or -EINVAL (said). */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{"json", no_argument, NULL, 'j'},          {"runs", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'}, {"only", required_argument, NULL, 'o'},
		{"check", no_argument, NULL, 'c'},         {"steady", no_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
	};
	double v;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 'j':
			o->json = true;
			break;
		case 'c':
			o->check = true;
			break;
		case 't':
			bench_steady = true;
			break;
		case 'r':
			if (number(optarg, 1, BENCH_RUNS_MAX, "runs", &v) < 0)
				return -EINVAL;
			o->runs = (unsigned int)v;
			break;
		case 's':
			if (number(optarg, 0.01, 3600, "seconds", &o->seconds) < 0)
				return -EINVAL;
			break;
		case 'o':
			o->only = optarg;
			break;
		case 'h':
			return 1;
		default:
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "tidegate-bench: %s is no option; EAL options end with --\n",
			argv[optind]);
		return -EINVAL;
	}
	return 0;
}

/* Index of "--", 0 if there is none. */
static int eal_options_end(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i;
	}
	return 0;
}

static int bench(const struct options *o, const struct chosen *c, unsigned int n)
{
	static struct bench_result results[CASES_MAX];
	struct bench_verdict verdicts[BENCH_BARS];
	FILE *table = o->json ? stderr : stdout;
	struct bench_host host;
	unsigned int n_bars = 0;
	int status = EXIT_SUCCESS;

	bench_host_read(&host);
	if (!host.huge_pages)
		bench_host_warn_ordinary_pages();
	bench_report_head(table, &host);
	for (unsigned int i = 0; i < n; i++) {
		bench_case_run(c[i].family, c[i].flows, o->runs, o->seconds / o->runs, &results[i]);
		bench_report_line(table, &results[i]);
		if (results[i].fault[0] != '\0')
			status = EXIT_FAILURE;
	}
	if (o->check) {
		n_bars = bench_bars_judge(results, n, verdicts);
		bench_report_bars(table, verdicts, n_bars);
	}
	for (unsigned int i = 0; i < n_bars; i++)
		if (!verdicts[i].met)
			status = EXIT_FAILURE;
	if (o->json && bench_report_json(stdout, &host, results, n, verdicts, n_bars) < 0) {
		fputs("tidegate-bench: the JSON object could not be written\n", stderr);
		status = EXIT_FAILURE;
	}
	return status;
}

int main(int argc, char **argv)
{
	struct options o = {.runs = 5, .seconds = 5};
	int eal = eal_options_end(argc, argv), rc, status;
	struct chosen cases[CASES_MAX];
	unsigned int n;

	rc = parse(argc - eal, argv + eal, &o);
	if (rc > 0) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	if (rc < 0) {
		fputs("tidegate-bench --help lists the options\n", stderr);
		return EXIT_FAILURE;
	}
	n = choose(&o, cases);
	if (n == 0) {
		fprintf(stderr, "tidegate-bench: no case matches %s; --help lists them\n", o.only);
		return EXIT_FAILURE;
	}
	rc = eal > 0 ? bench_host_start_eal_with(eal, argv)
		     : bench_host_start_eal(argv[0], memory_needed(cases, n));
	if (rc < 0) {
		fprintf(stderr, "tidegate-bench: EAL did not start: %s\n", strerror(-rc));
		return EXIT_FAILURE;
	}
	status = bench(&o, cases, n);
	bench_host_stop_eal();
	return status;
}
