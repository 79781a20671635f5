/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bid-model: compares policies in the model (model.h says what it is and is not), several runs each with seeds of
 * their own, and prints JSON: means and the half widths of 95 % confidence intervals (Student's t).
 *
 *	bid-model [--runs N] [--time S] compare|check|SWEEP	(sweeps[] has their names)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define RUNS_MAX     30
#define HEAVY_LONGER 6 /* few jobs, of any length: more of them */

static unsigned int runs = 10;
static double time_s = 400;

/* 97.5 % points of Student's t for 1..29 degrees of freedom. */
static const double student[RUNS_MAX] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					 2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
					 2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
					 2.064, 2.060,  2.056, 2.052, 2.048, 2.045};

/* The two models of doc/bid.md. */
static struct setting standard(bool heavy)
{
	struct setting s = {
		.heavy = heavy,
		.n = 8,
		.rho = heavy ? 0.8 : 0.5,
		.job_s = heavy ? 0.2 : 0.05,
		.alpha = heavy ? 1.2 : 1.5,
		.most = 1000,
		.think_s = 1,
		.keep_s = 15,
		.jobs = 1,
		.tasks = heavy ? 0 : 16,
		.agent_s = 0.005,
		.report_s = 0.1,
		.weigh_s = 5,
		.phase_s = 60,
		.full_s = 5,
		.rtt_s = 100e-6,
	};

	return s;
}

static void print_figure(const char *name, const double *v, double factor)
{
	double mean = 0, square = 0;

	for (unsigned int i = 0; i < runs; i++)
		mean += v[i] * factor / runs;
	for (unsigned int i = 0; i < runs; i++)
		square += (v[i] * factor - mean) * (v[i] * factor - mean);
	printf("\"%s\":%.5g,\"%s_ci\":%.3g", name, mean, name,
	       runs > 1 ? student[runs - 1] * sqrt(square / (runs - 1) / runs) : 0);
}

static void print_runs(struct setting s)
{
	double active[RUNS_MAX], ratio[RUNS_MAX], turnaround[RUNS_MAX], wait[RUNS_MAX];
	uint64_t jobs = 0;

	s.time_s = s.heavy ? HEAVY_LONGER * time_s : time_s;
	s.warm_s = s.time_s / 5;
	for (unsigned int i = 0; i < runs; i++) {
		struct outcome o;

		s.seed = i + 1; /* the same chances for every policy */
		o = run_model(&s);
		active[i] = o.active;
		ratio[i] = o.ratio;
		turnaround[i] = o.turnaround;
		wait[i] = o.wait;
		jobs += o.jobs;
	}
	printf("{\"jobs\":%llu,", (unsigned long long)jobs);
	print_figure("active_sessions", active, 1);
	putchar(',');
	print_figure("turnaround_ratio", ratio, 1);
	putchar(',');
	print_figure("turnaround_ms", turnaround, 1e3);
	putchar(',');
	print_figure("wait_ms", wait, 1e3);
	putchar('}');
	fflush(stdout);
}

/* Every policy for one setting. */
static void print_policies(struct setting s)
{
	for (unsigned int p = 0; p < POLICIES; p++) {
		s.policy = (enum policy)p;
		printf("%s\"%s\":", p > 0 ? "," : "", policy_name(s.policy));
		print_runs(s);
	}
}

static void compare(void)
{
	printf("{\"general\":{");
	print_policies(standard(false));
	printf("},\"heavy\":{");
	print_policies(standard(true));
	printf("}}\n");
}

static void put_servers(struct setting *s, double v)
{
	s->n = (unsigned int)v;
}

static void put_staleness(struct setting *s, double v)
{
	s->agent_s = v;
	s->report_s = v;
	s->weigh_s = v;
}

/* The same work in jobs so much shorter: so many more SYNs a second. */
static void put_rate(struct setting *s, double v)
{
	s->job_s /= v;
}

static void put_load(struct setting *s, double v)
{
	s->rho = v;
}

static void put_shape(struct setting *s, double v)
{
	s->alpha = v;
}

static void put_tasks(struct setting *s, double v)
{
	s->tasks = v;
}

static void put_idle(struct setting *s, double v)
{
	s->keep_s = v;
}

static void put_full(struct setting *s, double v)
{
	s->full_s = v;
}

#define VALUES_MAX 6

/* What the figures depend on, each by itself around the standard setting. */
static const struct sweep {
	const char *name;
	void (*put)(struct setting *s, double v);
	bool general, heavy;
	double value[VALUES_MAX]; /* -1: the end */
} sweeps[] = {
	{"servers", put_servers, true, true, {2, 4, 8, 16, 32, 64}},
	{"staleness", put_staleness, true, true, {0.001, 0.005, 0.02, 0.1, 0.5, 2}},
	{"rate", put_rate, true, true, {0.25, 1, 4, -1}},
	{"load", put_load, true, true, {0.3, 0.5, 0.7, 0.8, 0.9, -1}},
	{"shape", put_shape, true, true, {1.1, 1.2, 1.5, 2, 2.5, -1}},
	{"tasks", put_tasks, true, false, {0, 2, 4, 8, 16, 32}},
	{"idle", put_idle, true, false, {0.001, 1, 5, 15, 60, -1}},
	{"full", put_full, false, true, {0.5, 2, 5, 20, 80, -1}},
};

static void print_model(struct setting s, void (*put)(struct setting *s, double v), double v)
{
	put(&s, v);
	printf(",\"%s\":{", s.heavy ? "heavy" : "general");
	print_policies(s);
	putchar('}');
}

/* One line a value: {"sweep":name,"value":v,"general":{policy:…},"heavy":{…}}. */
static bool sweep(const char *name)
{
	const struct sweep *w = sweeps;

	while (w < sweeps + sizeof(sweeps) / sizeof(sweeps[0]) && strcmp(name, w->name) != 0)
		w++;
	if (w == sweeps + sizeof(sweeps) / sizeof(sweeps[0]))
		return false;
	for (unsigned int i = 0; i < VALUES_MAX && w->value[i] >= 0; i++) {
		printf("{\"sweep\":\"%s\",\"value\":%g", name, w->value[i]);
		if (w->general)
			print_model(standard(false), w->put, w->value[i]);
		if (w->heavy)
			print_model(standard(true), w->put, w->value[i]);
		printf("}\n");
	}
	return true;
}

/* Random arrivals split without looking, nothing in the background: M/G/1-PS says 1 / (1 - rho) whatever the jobs. */
static int check(void)
{
	struct setting s = standard(false);
	double ratio = 0, spread = 0, v[RUNS_MAX], closed = 1 / (1 - s.rho);

	s.n = 1;
	s.tasks = 0;
	s.jobs = 1;
	s.most = 100;
	s.time_s = time_s * 10;
	s.warm_s = time_s;
	for (unsigned int i = 0; i < runs; i++) {
		s.seed = i + 1;
		v[i] = run_model(&s).ratio;
		ratio += v[i] / runs;
	}
	for (unsigned int i = 0; i < runs; i++)
		spread += (v[i] - ratio) * (v[i] - ratio);
	spread = student[runs - 1] * sqrt(spread / (runs - 1) / runs);
	printf("{\"ratio\":%.4f,\"ci\":%.4f,\"closed_form\":%.4f}\n", ratio, spread, closed);
	return fabs(ratio - closed) > fmax(2 * spread, 0.02 * closed);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: bid-model [--runs 2..%d] [--time S] compare|check|SWEEP\n"
		"SWEEP: servers, staleness, rate, load, shape, tasks, idle, full\n",
		RUNS_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	while (argc > 3 && argv[1][0] == '-') {
		if (strcmp(argv[1], "--runs") == 0)
			runs = (unsigned int)strtoul(argv[2], NULL, 10);
		else if (strcmp(argv[1], "--time") == 0)
			time_s = strtod(argv[2], NULL);
		argv += 2;
		argc -= 2;
	}
	if (argc != 2 || runs < 2 || runs > RUNS_MAX || !(time_s > 1))
		return usage();
	if (strcmp(argv[1], "compare") == 0)
		compare();
	else if (strcmp(argv[1], "check") == 0)
		return check();
	else if (!sweep(argv[1]))
		return usage();
	return 0;
}
