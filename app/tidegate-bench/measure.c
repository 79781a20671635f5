/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "bench.h"

#define WARM_UP_S 0.2

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct run {
	double cpu, base_cpu, wall; /* ns */
	uint64_t packets, done;
};

/* A turn takes 5 ms in the fastest cases: long beside a look at the clock of the thread, which is a
 * system call, short enough for a case and its base to meet the same disturbances. */
static void one_turn(const struct bench_family *f, void *state, struct run *r)
{
	double start = cpu_ns(), middle;
	uint64_t tsc = rte_rdtsc();

	r->done += f->run(state, BENCH_TURN);
	r->packets += (uint64_t)BENCH_TURN * BENCH_BURST;
	middle = cpu_ns();
	r->cpu += middle - start;
	if (f->base != NULL) {
		f->base(state, BENCH_TURN);
		r->base_cpu += cpu_ns() - middle;
	}
	r->wall += (double)(rte_rdtsc() - tsc) * 1e9 / (double)rte_get_tsc_hz();
	if (f->tidy != NULL)
		f->tidy(state);
}

static struct run run_for(const struct bench_family *f, void *state, double seconds)
{
	struct run r = {0};

	while (r.wall < seconds * 1e9)
		one_turn(f, state, &r);
	return r;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_case_name(const struct bench_family *f, uint64_t flows, char *buf, size_t len)
{
	if (flows == 0)
		snprintf(buf, len, "%s", f->name);
	else if (flows % 1000000 == 0)
		snprintf(buf, len, "%s/%" PRIu64 "M", f->name, flows / 1000000);
	else if (flows % 1000 == 0)
		snprintf(buf, len, "%s/%" PRIu64 "k", f->name, flows / 1000);
	else
		snprintf(buf, len, "%s/%" PRIu64, f->name, flows);
}

void bench_case_run(const struct bench_family *f, uint64_t flows, unsigned int n_runs,
		    double seconds, struct bench_result *r)
{
	void *state;
	int rc;

	memset(r, 0, sizeof(*r));
	bench_case_name(f, flows, r->name, sizeof(r->name));
	r->flows = flows;
	rc = f->setup(f, flows, &state);
	if (rc < 0) {
		snprintf(r->fault, sizeof(r->fault), "set-up failed: %s", strerror(-rc));
		return;
	}
	r->has_net = f->base != NULL;
	r->is_net = f->is_net;
	run_for(f, state, WARM_UP_S);
	for (; r->n_runs < n_runs && r->fault[0] == '\0'; r->n_runs++) {
		struct run one = run_for(f, state, seconds);

		r->run[r->n_runs] = one.cpu / (double)one.packets;
		r->net[r->n_runs] = (one.cpu - one.base_cpu) / (double)one.packets;
		r->wall_over_cpu = RTE_MAX(r->wall_over_cpu, one.wall / (one.cpu + one.base_cpu));
		if (one.done != one.packets)
			snprintf(r->fault, sizeof(r->fault),
				 "only %" PRIu64 " of %" PRIu64 " packets came through", one.done,
				 one.packets);
	}
	f->free(state);
	qsort(r->run, r->n_runs, sizeof(r->run[0]), ascending);
	qsort(r->net, r->n_runs, sizeof(r->net[0]), ascending);
}
