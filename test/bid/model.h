/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small discrete-event model of one gateway and N servers, to compare ways to choose. Not the gateway: packets,
 * links and TCP are not in it. What is the gateway's own is the auction (lib/bid, every call of it).
 *
 * Thread-safety: one thread. Times are seconds, loads are tasks (general) or seconds of work (heavy).
 */
#ifndef TG_BID_MODEL_H
#define TG_BID_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define SERVERS_MAX 64

enum policy { RR, LCF, DWRR, TWO, JSQ, BID, DELAY, POLICIES };

/* What a run is. */
struct setting {
	bool heavy; /* first come first served, one long job a session; else processor sharing, and idle sessions */
	unsigned int n;
	double rho;   /* jobs' share of all servers' time */
	double job_s; /* mean */
	double alpha,
		most; /* bounded Pareto: shape, and the longest as a multiple of the shortest */
	double think_s, keep_s,
		jobs; /* general: between jobs, open after the last one, jobs a session */
	double tasks; /* general: tasks in the background where there are some: n of this many, at times */
	double agent_s;  /* bids are so old at most */
	double report_s; /* reports for jsq come so often */
	double weigh_s;  /* and the weights of dwrr are set so often, by a report of then */
	double phase_s;  /* general: how long the background stays as it is, mean */
	double full_s;   /* heavy: so much work that waits is a bid of full load */
	double rtt_s;    /* gateway to server and back */
	double time_s, warm_s;
	enum policy policy;
	uint64_t seed;
};

struct outcome {
	double active;     /* sessions with a job at a server, mean over time */
	double ratio;      /* turnaround over requested time, mean over jobs */
	double turnaround; /* s, mean */
	double wait;       /* s, mean */
	uint64_t jobs;
};

/* What a choice is made from. */
struct state {
	const struct setting *set;
	double now;
	double load[SERVERS_MAX]; /* now; general: tasks that want to run, heavy: work that waits, s */
	double bid[SERVERS_MAX];     /* as the agents saw it last */
	double report[SERVERS_MAX];  /* as reported last */
	double weighed[SERVERS_MAX]; /* as reported when weights were set */
	uint32_t open[SERVERS_MAX];  /* sessions open, as the gateway counts them */
	uint64_t random;
};

double uniform(uint64_t *random);
double exponential(uint64_t *random, double mean);

/* choose.c */
void choose_start(const struct setting *set);
void choose_end(void);
/* The server of a new session; *after: the decision takes so long, s. */
unsigned int choose(struct state *st, double *after);
const char *policy_name(enum policy p);

/* run.c */
struct outcome run_model(const struct setting *set);

#endif
