/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the gap rules cost a packet: the published one and the envelope rule over the same packets of
 * 1000 flows, interleaved by time, in one run. Thread time, net of the same loop without a rule; median
 * of nine. 15 % of exchanges are followed by a pause.
 */
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gap_envelope.h"

#define FLOWS     1000
#define EXCHANGES 120
#define MOST      (EXCHANGES * 8 + 2)
#define AHEAD     16 /* packets: the flow table prefetches a burst */
#define RUNS      9
#define REQUEST   200
#define SMALL     52

enum { LOOP, PUBLISHED, ENVELOPE, RULES };

/* Of a flow entry what the estimators touch. */
struct flow {
	_Alignas(64) uint64_t key[5];
	uint64_t near[TG_PIRATE_NEAR / 8];
	uint64_t far[TG_PIRATE_FAR / 8];
};

struct event {
	uint64_t arrival;
	uint32_t flow;
	uint32_t size;
};

struct trace {
	struct event *event;
	struct tg_pkt *packet;
	size_t n;
	double t; /* ms */
	uint32_t flow;
};

static uint64_t seed = 88172645463325252u;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) * 0x1p-53;
}

/* coefficient of variation 0.3 */
static double about(double mean)
{
	double u = -6;

	for (int i = 0; i < 12; i++)
		u += uniform();
	return mean * fmax(0.05, 1 + 0.3 * u);
}

static void put(struct trace *t, double ms, uint32_t size)
{
	t->event[t->n++] = (struct event){(uint64_t)(ms * 1e6), t->flow, size};
}

static void stop_and_wait(struct trace *t, double wait)
{
	put(t, t->t, REQUEST);
	t->t += wait;
}

static void acknowledged(struct trace *t, double wait)
{
	put(t, t->t, REQUEST);
	put(t, t->t + wait, SMALL);
	t->t += wait + 0.05;
}

static void six_acknowledgements(struct trace *t, double wait)
{
	put(t, t->t, REQUEST + (uint32_t)(uniform() * 200));
	for (int i = 6; i > 0; i--)
		put(t, t->t + wait * (1 - i * 0.03), SMALL);
	t->t += wait;
}

static void burst(struct trace *t, double wait)
{
	for (int i = 0; i < 8; i++) {
		put(t, t->t, REQUEST);
		t->t += about(0.05);
	}
	t->t += wait;
}

static void page(struct trace *t, double wait)
{
	put(t, t->t, uniform() < 0.5 ? 1500 : 90);
	put(t, t->t + 0.01, 300);
	put(t, t->t + wait, SMALL);
	put(t, t->t + wait + about(wait), SMALL);
	t->t += wait * 2.5;
}

static const struct {
	const char *name;
	void (*exchange)(struct trace *, double);
} workloads[] = {
	{"stop and wait", stop_and_wait},
	{"one acknowledgement", acknowledged},
	{"six acknowledgements", six_acknowledgements},
	{"burst of 8", burst},
	{"page", page},
};
#define WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* kind == WORKLOADS: all of them, a fifth of the flows each. */
static void make(struct trace *t, size_t kind)
{
	t->n = 0;
	for (t->flow = 0; t->flow < FLOWS; t->flow++) {
		double wait = 2 + 20 * uniform();
		size_t k = kind == WORKLOADS ? t->flow % WORKLOADS : kind;

		t->t = 1000 + 100 * uniform();
		put(t, t->t, 60);
		put(t, t->t + 1, SMALL);
		t->t += 1.1;
		for (int i = 0; i < EXCHANGES; i++) {
			workloads[k].exchange(t, about(wait));
			if (uniform() < 0.15)
				t->t -= 200 * log(uniform() + 1e-9);
		}
	}
	qsort(t->event, t->n, sizeof(t->event[0]), by_time);
	for (size_t i = 0; i < t->n; i++) {
		t->packet[i] = (struct tg_pkt){.ip_len = (uint16_t)t->event[i].size};
		t->packet[i].key.protocol = IPPROTO_TCP;
	}
}

static double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline uint64_t one(int rule, const struct tg_pirate_config *c, struct flow *f,
			   const struct tg_pkt *p, uint64_t t)
{
	struct tg_sample s;
	bool closed;

	if (rule == LOOP)
		return f->near[0] + f->far[0] + p->ip_len + t;
	if (rule == PUBLISHED) {
		closed = tg_gap_arrive(c, (void *)f->near, (void *)f->far, t, &s);
		tg_gap_depart(c, (void *)f->near, (void *)f->far, t);
	} else {
		closed = tg_envelope_arrive(c, NULL, (void *)f->near, (void *)f->far, &s);
		tg_envelope_depart(c, (void *)f->near, (void *)f->far, p, t);
	}
	return closed;
}

static inline double pass(int rule, const struct tg_pirate_config *c, struct flow *flows,
			  const struct trace *t, uint64_t later)
{
	double begin = thread_ns();
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->event[i];
		const struct flow *next = &flows[t->event[i + AHEAD < t->n ? i + AHEAD : i].flow];

		__builtin_prefetch(next);
		__builtin_prefetch(next->far);
		sum += one(rule, c, &flows[e->flow], &t->packet[i], e->arrival + later);
	}
	__asm__ volatile("" ::"r"(sum));
	return (thread_ns() - begin) / (double)t->n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const struct trace *t, const char *name)
{
	static struct flow flows[RULES][FLOWS];
	struct tg_clock clock = tg_clock_init(1000000000);
	struct tg_pirate_params params = {TG_ESTIMATOR_GAP, TG_GAP_MODE_SUM};
	struct tg_pirate_config c = tg_pirate_compile(&params, &clock);
	uint64_t span = t->event[t->n - 1].arrival - t->event[0].arrival + 1000000;
	double ns[RULES][RUNS];

	for (int rule = 0; rule < RULES; rule++) {
		for (int i = 0; i < FLOWS; i++)
			flows[rule][i] = (struct flow){.key = {0}};
	}
	for (unsigned int run = 0; run < RUNS; run++) {
		ns[LOOP][run] = pass(LOOP, &c, flows[LOOP], t, run * span);
		ns[PUBLISHED][run] = pass(PUBLISHED, &c, flows[PUBLISHED], t, run * span);
		ns[ENVELOPE][run] = pass(ENVELOPE, &c, flows[ENVELOPE], t, run * span);
	}
	for (int rule = 0; rule < RULES; rule++)
		qsort(ns[rule], RUNS, sizeof(double), by_value);
	printf("| %s | %.1f | %.1f | %.2f |\n", name, ns[PUBLISHED][RUNS / 2] - ns[LOOP][RUNS / 2],
	       ns[ENVELOPE][RUNS / 2] - ns[LOOP][RUNS / 2],
	       (ns[ENVELOPE][RUNS / 2] - ns[LOOP][RUNS / 2]) /
		       (ns[PUBLISHED][RUNS / 2] - ns[LOOP][RUNS / 2]));
}

int main(void)
{
	struct trace t = {.event = calloc((size_t)FLOWS * MOST, sizeof(*t.event)),
			  .packet = calloc((size_t)FLOWS * MOST, sizeof(*t.packet))};

	if (t.event == NULL || t.packet == NULL)
		return 1;
	puts("| packets | published, ns | envelope, ns | ratio |\n| --- | --- | --- | --- |");
	for (size_t k = 0; k <= WORKLOADS; k++) {
		make(&t, k);
		measure(&t, k == WORKLOADS ? "a fifth of the flows each" : workloads[k].name);
	}
	free(t.event);
	free(t.packet);
	return 0;
}
