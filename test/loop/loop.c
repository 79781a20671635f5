/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's loop against one that runs its tasks to completion: the product's own worker, its
 * tasks and a million flows, on a virtual clock.
 *
 * The clock moves by what the code took, read from the TSC around each piece (a burst, a step, a
 * poll), so costs are this machine's. Two things are not the machine's: time without anything to do
 * is skipped, and a piece that took four times the mean of its kind (and what a larger burst may
 * take) was interrupted by the host: it counts as one of that mean. Both loops are the same code: to completion, a task's step is its
 * round.
 *
 * Packets come as a Poisson stream (low load), or there are always more than a burst of them (full
 * load). Prints one JSON object; test/bar/loop.sh judges it.
 */
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>

#include "port/rx.h"
#include "rig.h"
#include "start/eal.h"
#include "tg_hist.h"

#define RUNS      3
#define PACKET_NS 300 /* allowed to each packet of a burst */

enum piece { PIECE_BURST, PIECE_STEP, PIECE_REST, PIECES };

enum discipline {
	STEPS,  /* the scheduler */
	ROUNDS, /* a task that is due runs its whole round */
	DISCIPLINES
};

struct run {
	struct tg_virtual_time time; /* first: spend gets it back */
	struct rig rig;
	enum discipline discipline;
	double rate_hz; /* packets; 0: full load */
	uint64_t random, next_arrival;
	uint64_t last;                  /* TSC up to which the clock has moved */
	double mean[PIECES];            /* ticks, of those that were not stalled */
	uint64_t stalls, pieces;        /* of all */
	uint64_t arrival[2 * RIG_RING]; /* of packets in rx, oldest at head */
	uint64_t head, tail;
	struct tg_hist sojourn;
	bool (*step)(void *ctx, uint64_t now); /* the task's own */
	uint64_t late_max;
};

static struct run run;

/* allowed: above what a piece of its kind takes anyway */
static void advance(struct run *r, enum piece piece, uint64_t allowed)
{
	uint64_t now = rte_rdtsc(), took = now - r->last;
	double *mean = &r->mean[piece], bound = 4 * *mean + (double)allowed;

	r->last = now;
	r->pieces++;
	if (*mean > 0 && (double)took > bound) {
		r->stalls++;
		took = (uint64_t)*mean;
		*mean *= 1.01; /* it may have become slower */
	}
	*mean += ((double)took - *mean) / (*mean > 0 ? 64 : 1);
	r->time.now += took;
}

/* Between the stages and the gate: the packets leave now. */
static void spend(struct tg_virtual_time *t, unsigned int packets)
{
	struct run *r = (struct run *)t;

	advance(r, PIECE_BURST, packets * tg_ns_to_ticks(&r->rig.gateway.clock, PACKET_NS));
	for (unsigned int i = 0; i < packets && r->head < r->tail; i++) {
		uint64_t since = r->arrival[r->head++ % (2 * RIG_RING)];

		tg_hist_record(&r->sojourn,
			       tg_ticks_to_ns(&r->rig.gateway.clock, r->time.now - since), 1);
	}
}

/* In place of the task's step. */
static bool timed_step(void *ctx, uint64_t now)
{
	bool more;

	(void)now;
	advance(&run, PIECE_REST, 0);
	do {
		more = run.step(ctx, run.time.now);
		advance(&run, PIECE_STEP, 0);
	} while (more && run.discipline != STEPS);
	return more;
}

static double uniform(struct run *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return ((double)(r->random >> 11) + 0.5) / 9007199254740992.0;
}

static void arrive(struct run *r, uint64_t when)
{
	if (!rig_feed(&r->rig)) {
		fputs("loop: a packet found the receive ring full\n", stderr);
		exit(EXIT_FAILURE);
	}
	r->arrival[r->tail++ % (2 * RIG_RING)] = when;
}

static void arrivals(struct run *r)
{
	while (r->rate_hz > 0 && r->next_arrival <= r->time.now) {
		arrive(r, r->next_arrival);
		r->next_arrival += (uint64_t)(-log(uniform(r)) / r->rate_hz *
					      (double)r->rig.gateway.clock.hz);
	}
	while (r->rate_hz == 0 && r->tail - r->head < 2 * TG_BURST_MAX)
		arrive(r, r->time.now);
}

/* Nothing happens before the next packet or task: polls without result are skipped. */
static void skip(struct run *r)
{
	uint64_t wait = tg_sched_idle(&r->rig.worker->sched, r->time.now);
	uint64_t to = r->time.now + RTE_MIN(wait, r->rig.gateway.clock.hz);

	to = RTE_MIN(to, r->next_arrival);
	if (to <= r->time.now)
		return;
	r->time.now = to;
	tg_arrival_poll(&r->rig.worker->rx[0].arrival, 0, to);
}

static void go(struct run *r, double seconds)
{
	uint64_t end = r->time.now + (uint64_t)(seconds * (double)r->rig.gateway.clock.hz);

	while (r->time.now < end) {
		unsigned int got;

		arrivals(r);
		r->last = rte_rdtsc();
		got = tg_worker_turn(r->rig.worker);
		advance(r, PIECE_REST, got * tg_ns_to_ticks(&r->rig.gateway.clock, PACKET_NS));
		rig_take(&r->rig);
		for (unsigned int k = 0; k < r->rig.worker->sched.n; k++) {
			const struct tg_task *t = r->rig.worker->sched.task[k];

			r->late_max = RTE_MAX(r->late_max, tg_task_late(t, r->time.now));
		}
		if (got == 0 && r->rate_hz > 0)
			skip(r);
	}
}

static void begin(struct run *r, double rate_hz)
{
	memset(&r->sojourn, 0, sizeof(r->sojourn));
	r->rate_hz = rate_hz;
	r->next_arrival = rate_hz > 0 ? r->time.now : UINT64_MAX;
	r->late_max = 0;
}

/* What is left in the ring when a full load ends goes out uncounted. */
static void drain(struct run *r)
{
	do {
		r->last = rte_rdtsc();
		r->head = r->tail;
	} while (tg_worker_turn(r->rig.worker) > 0);
	rig_take(&r->rig);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(double x[RUNS])
{
	qsort(x, RUNS, sizeof(x[0]), ascending);
	return x[RUNS / 2];
}

static void print(struct run *r, double rate_hz, double p50[DISCIPLINES][RUNS],
		  double p999[DISCIPLINES][RUNS], double oldest_ms, double full_mpps)
{
	const struct tg_task *t = &r->rig.worker->ageing;
	double ns = (double)tg_ticks_to_ns(&r->rig.gateway.clock, t->work) / (double)t->steps;

	printf("{\"flows\": %u, \"kpps\": %.0f, \"p50_us\": {\"scheduler\": %.3f, \"run_to_completion\": %.3f}, "
	       "\"p999_us\": {\"scheduler\": %.3f, \"run_to_completion\": %.3f}, "
	       "\"step_ns\": %.0f, \"oldest_task_ms\": %.3f, \"full_load_mpps\": %.2f, "
	       "\"stalled_pieces\": %.6f}\n",
	       (unsigned int)r->rig.stream.flows, rate_hz / 1e3, middle(p50[STEPS]),
	       middle(p50[ROUNDS]), middle(p999[STEPS]), middle(p999[ROUNDS]), ns, oldest_ms,
	       full_mpps, (double)r->stalls / (double)r->pieces);
}

static void compare(struct run *r, double rate_hz, double seconds)
{
	static double p50[DISCIPLINES][RUNS], p999[DISCIPLINES][RUNS];
	double oldest_ms;

	go(r, 0.2); /* warm */
	for (unsigned int k = 0; k < RUNS; k++)
		for (unsigned int d = 0; d < DISCIPLINES; d++) {
			r->discipline = d;
			begin(r, rate_hz);
			go(r, seconds);
			p50[d][k] = (double)tg_hist_percentile_ns(&r->sojourn, 50) / 1e3;
			p999[d][k] = (double)tg_hist_percentile_ns(&r->sojourn, 99.9) / 1e3;
		}
	r->discipline = STEPS;
	begin(r, 0);
	go(r, seconds);
	oldest_ms = (double)tg_ticks_to_ns(&r->rig.gateway.clock, r->late_max) / 1e6;
	print(r, rate_hz, p50, p999, oldest_ms, (double)r->sojourn.count / seconds / 1e6);
	drain(r);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {{"flows", required_argument, NULL, 'f'},
					      {"kpps", required_argument, NULL, 'k'},
					      {"seconds", required_argument, NULL, 's'},
					      {NULL, 0, NULL, 0}};
	double seconds = 3, kpps = 500;
	uint32_t flows = 1000000;
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'f')
			flows = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'k')
			kpps = strtod(optarg, NULL);
		else if (c == 's')
			seconds = strtod(optarg, NULL);
		else
			return EXIT_FAILURE;
	}
	rig_start(argv[0], flows);
	run.time = (struct tg_virtual_time){.now = rte_get_tsc_hz(), .spend = spend};
	run.random = 88172645463325252u;
	run.last = rte_rdtsc();
	rig_make(&run.rig, flows, "{}", &run.time);
	run.step = run.rig.worker->ageing.step;
	run.rig.worker->ageing.step = timed_step;
	begin(&run, kpps * 1e3);
	compare(&run, kpps * 1e3, seconds);
	rig_free(&run.rig);
	tg_eal_end();
	return EXIT_SUCCESS;
}
