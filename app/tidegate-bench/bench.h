/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nanoseconds a packet, without a NIC. A family is one thing to measure; with each of its numbers
 * of flows it is a case ("hash/own/1M"). A case sets up its state, runs bursts of BENCH_BURST
 * packets over it as often as it is told, and frees it.
 *
 * A figure is the thread's CPU time divided by its packets: what other processes on the same core
 * take away is not in it, what they do to the caches is. Many cases have a base, the same loop
 * without what is to be measured; the two take turns of some milliseconds, so that a noisy machine
 * disturbs both alike, and the difference is the net figure.
 *
 * Thread-safety: one thread.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_BURST     32
#define BENCH_TURN      4096 /* bursts that a case is told to run at once */
#define BENCH_RUNS_MAX  101
#define BENCH_FLOWS_MAX 6

struct bench_flows {
	uint64_t n;     /* 0 ends the list; a case without any has no number in its name. Servers of
			   a choice, percent of a table */
	bool on_demand; /* large or many: only when --only names it */
};

struct bench_family {
	const char *name;
	const char *what;                          /* one line of --help */
	struct bench_flows flows[BENCH_FLOWS_MAX]; /* up to the first 0 */
	bool is_net;                               /* the net figure is the case's figure */
	/* Bytes of EAL memory, roughly. */
	uint64_t (*memory)(const struct bench_family *f, uint64_t flows);
	/* 0 and *state, or -errno. */
	int (*setup)(const struct bench_family *f, uint64_t flows, void **state);
	/* Runs the bursts; returns how many packets were done as the case means it (found,
	 * forwarded): fewer than all is a fault that is reported. */
	uint64_t (*run)(void *state, unsigned int bursts);
	void (*base)(void *state, unsigned int bursts); /* or NULL */
	void (*tidy)(void *state);                      /* after each run, not timed; or NULL */
	void (*free)(void *state);
	const void *kind; /* for the family's own code */
};

#define BENCH_PIPELINES 13
#define BENCH_STAGES    4
#define BENCH_CHOICES   13 /* policies */
extern const struct bench_family bench_pipeline[BENCH_PIPELINES];
extern const struct bench_family bench_stage[BENCH_STAGES];
extern const struct bench_family bench_choose[BENCH_CHOICES];
extern const struct bench_family bench_hash_own, bench_hash_rte, bench_hash_load;

/* Before any setup: the gateway's clock moves by its packets alone, so that instructions can be counted. */
extern bool bench_steady;

/* One finished case. */
struct bench_result {
	char name[64];
	uint64_t flows;
	unsigned int n_runs;
	bool has_net, is_net;
	double run[BENCH_RUNS_MAX]; /* ns a packet, ascending */
	double net[BENCH_RUNS_MAX]; /* less the base, ascending */
	double wall_over_cpu;       /* worst of the runs */
	char fault[128];            /* why there is no figure, or "" */
};

/* The runs that the case's figure comes from. */
static inline const double *bench_runs(const struct bench_result *r)
{
	return r->is_net ? r->net : r->run;
}

static inline double bench_median(const struct bench_result *r, const double *runs)
{
	unsigned int half = r->n_runs / 2;

	return r->n_runs % 2 ? runs[half] : (runs[half - 1] + runs[half]) / 2;
}

/* n runs of `seconds` each, after a short one that warms up. */
void bench_case_run(const struct bench_family *f, uint64_t flows, unsigned int n_runs,
		    double seconds, struct bench_result *r);
/* "hash/own/1M" */
void bench_case_name(const struct bench_family *f, uint64_t flows, char *buf, size_t len);

/* What the figures hold for. */
struct bench_host {
	char cpu[96];
	unsigned int cores;
	uint64_t tsc_hz;
	bool huge_pages;
	double load; /* of the machine, one minute, at the start */
};

void bench_host_read(struct bench_host *h);
uint64_t bench_host_free_huge(void); /* bytes */
/* EAL with memory bytes: huge pages if there are enough, else ordinary ones and a warning. 0 or
 * -errno. */
int bench_host_start_eal(char *program, uint64_t memory);
/* EAL with the user's options, argv[1..argc-1]. */
int bench_host_start_eal_with(int argc, char **argv);
void bench_host_stop_eal(void);
void bench_host_warn_ordinary_pages(void);

#define BENCH_BARS 12

/* A figure and its bar: ns a packet; of a slot's memory, bytes. */
struct bench_verdict {
	const char *name;
	double figure, most;
	bool met; /* not above it by more than its margin */
};

/* Is there a bar for the case of that name? */
bool bench_bar_wants(const char *name);
/* The bars whose cases have a figure; their number. */
unsigned int bench_bars_judge(const struct bench_result *results, unsigned int n,
			      struct bench_verdict out[BENCH_BARS]);

void bench_report_head(FILE *out, const struct bench_host *h);
void bench_report_line(FILE *out, const struct bench_result *r);
void bench_report_bars(FILE *out, const struct bench_verdict *v, unsigned int n);
/* n_bars 0: without bars. 0 or -ENOMEM, -EIO. */
int bench_report_json(FILE *out, const struct bench_host *h, const struct bench_result *r,
		      unsigned int n, const struct bench_verdict *v, unsigned int n_bars);

#endif
