/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What backing off costs and saves: a real worker on a core of its own, real time. Now and then a
 * packet comes, one at a time; its way from ring to ring is measured, and the CPU time of the
 * worker's thread. Prints a line and a JSON object for each way to be idle.
 */
#include <math.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"
#include "start/eal.h"
#include "tg_hist.h"

#define FLOWS   1000
#define MEAN_US 1000 /* between packets */

static void *work(void *worker)
{
	rte_thread_register();
	tg_worker_main(worker);
	rte_thread_unregister();
	return NULL;
}

static void pin(pthread_t t, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(t, sizeof(set), &set);
}

static double cpu_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_us(double us)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(us * (double)rte_get_tsc_hz() / 1e6);

	while (rte_rdtsc() < end)
		rte_pause();
}

/* One packet through, alone. False: it never came. */
static bool pass(struct rig *r, const struct tg_clock *clock, struct tg_hist *h)
{
	uint64_t start = rte_rdtsc(), end = start + clock->hz;

	if (!rig_feed(r))
		return false;
	while (rte_rdtsc() < end) {
		if (rig_take(r) == 0)
			continue;
		tg_hist_record(h, tg_ticks_to_ns(clock, rte_rdtsc() - start), 1);
		return true;
	}
	return false;
}

static int measure(const char *workers, double seconds)
{
	static struct rig rig;
	static struct tg_hist h;
	const struct tg_clock *clock = &rig.gateway.clock;
	double cpu, wall;
	clockid_t id;
	pthread_t t;
	int lost = 0;

	memset(&h, 0, sizeof(h));
	rig_make(&rig, FLOWS, workers, NULL);
	if (pthread_create(&t, NULL, work, rig.worker) != 0)
		return EXIT_FAILURE;
	pin(t, 1);
	pthread_getcpuclockid(t, &id);
	wait_us(100000);
	cpu = cpu_s(id);
	wall = cpu_s(CLOCK_MONOTONIC);
	while (cpu_s(CLOCK_MONOTONIC) - wall < seconds) {
		wait_us(-log(drand48()) * MEAN_US);
		lost += !pass(&rig, clock, &h);
	}
	cpu = (cpu_s(id) - cpu) / (cpu_s(CLOCK_MONOTONIC) - wall);
	__atomic_store_n(&rig.gateway.stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	printf("{\"workers\": %s, \"packets\": %llu, \"lost\": %d, \"cpu_percent\": %.1f, "
	       "\"p50_us\": %.2f, \"p95_us\": %.2f, \"p99_us\": %.2f, \"sleeps\": %llu}\n",
	       workers, (unsigned long long)h.count, lost, cpu * 100,
	       (double)tg_hist_percentile_ns(&h, 50) / 1e3,
	       (double)tg_hist_percentile_ns(&h, 95) / 1e3,
	       (double)tg_hist_percentile_ns(&h, 99) / 1e3,
	       (unsigned long long)rig.worker->idle.sleeps);
	fflush(stdout);
	rig_free(&rig);
	return lost;
}

int main(int argc, char **argv)
{
	static const char *const ways[] = {
		"{\"idle\": \"poll\"}",
		"{\"idle\": \"pause\"}",
		"{\"idle\": \"sleep\", \"idle_sleep_max_us\": 20}",
		"{\"idle\": \"sleep\"}",
		"{\"idle\": \"sleep\", \"idle_sleep_max_us\": 200}",
		"{\"idle\": \"sleep\", \"idle_sleep_max_us\": 1000}",
	};
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
	int lost = 0;

	rig_start(argv[0], FLOWS);
	pin(pthread_self(), 0);
	for (unsigned int i = 0; i < RTE_DIM(ways); i++)
		lost += measure(ways[i], seconds);
	tg_eal_end();
	return lost == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
