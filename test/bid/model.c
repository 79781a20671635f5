/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bid-model: compares policies in the model (model.h says what it is and is not), several runs each with seeds of
 * their own, and prints JSON: means and the half widths of 95 % confidence intervals (Student's t).
 *
 *	bid-model [--runs N] [--time S] compare|servers|staleness|rate|check
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
static void print_policies(struct setting s, unsigned int from, unsigned int to)
{
	for (unsigned int p = from; p < to; p++) {
		s.policy = (enum policy)p;
		printf("%s\"%s\":", p > from ? "," : "", policy_name(s.policy));
		print_runs(s);
	}
}

static void compare(void)
{
	printf("{\"general\":{");
	print_policies(standard(false), 0, POLICIES);
	printf("},\"heavy\":{");
	print_policies(standard(true), 0, POLICIES);
	printf("}}\n");
}

/* One line a value of what is swept: {"value":…,"general":{policy:…},"heavy":{…}}. */
static void sweep(const double *value, unsigned int n, void (*put)(struct setting *s, double v),
		  unsigned int from)
{
	for (unsigned int i = 0; i < n; i++) {
		struct setting general = standard(false), heavy = standard(true);

		put(&general, value[i]);
		put(&heavy, value[i]);
		printf("{\"value\":%g,\"general\":{", value[i]);
		print_policies(general, from, POLICIES);
		printf("},\"heavy\":{");
		print_policies(heavy, from, POLICIES);
		printf("}}\n");
	}
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
		"usage: bid-model [--runs 2..%d] [--time S] compare|servers|staleness|rate|check\n",
		RUNS_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	static const double servers[] = {2, 4, 8, 16, 32, 64}, rates[] = {1, 10, 100};
	static const double staleness[] = {0.001, 0.005, 0.02, 0.1, 0.5, 2};

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
	else if (strcmp(argv[1], "servers") == 0)
		sweep(servers, 6, put_servers, 0);
	else if (strcmp(argv[1], "staleness") == 0)
		sweep(staleness, 6, put_staleness, DWRR);
	else if (strcmp(argv[1], "rate") == 0)
		sweep(rates, 3, put_rate, 0);
	else if (strcmp(argv[1], "check") == 0)
		return check();
	else
		return usage();
	return 0;
}
