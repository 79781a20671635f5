/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bars: what a figure must not exceed. A bar is missed when the median of its runs is above it by
 * more than MARGIN, which is what a shared machine does to a figure of this kind.
 */
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "bench.h"
#include "tg_flow.h"

#define MARGIN 1.10

struct bar {
	const char *name; /* of the case */
	double most;      /* ns a packet; times the figure of `over` if that is given */
	bool net;         /* of the net figure */
	const char *over; /* another case, or NULL */
};

static const struct bar bars[] = {
	{"pipeline/established/1k", 42, true, NULL},
	{"pipeline/established/1M", 60, true, NULL},
	{"pipeline/established/10M", 1.3, true, "pipeline/established/1M"},
	{"pipeline/new/1M", 200, true, NULL},
	{"pipeline/gue/1M", 80, true, NULL},
	{"stage/pirate/1k", 12, true, NULL},
	{"stage/pirate/1M", 25, true, NULL},
	{"stage/admit/1k", 5, true, NULL},
	{"stage/gate", 1.5, true, NULL},
	{"choose/latency/4", 100, true, NULL},
	{"choose/latency/1k", 100, true, NULL},
};

bool bench_bar_wants(const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(bars); i++)
		if (strcmp(bars[i].name, name) == 0)
			return true;
	return false;
}

static const struct bench_result *result_of(const struct bench_result *r, unsigned int n,
					    const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(r[i].name, name) == 0 && r[i].n_runs > 0 && r[i].fault[0] == '\0')
			return &r[i];
	return NULL;
}

static double figure_of(const struct bench_result *r, bool net)
{
	return bench_median(r, net && r->has_net ? r->net : r->run);
}

static bool judge(const struct bar *bar, const struct bench_result *results, unsigned int n,
		  struct bench_verdict *v)
{
	const struct bench_result *r = result_of(results, n, bar->name), *over = NULL;

	if (bar->over != NULL)
		over = result_of(results, n, bar->over);
	if (r == NULL || (bar->over != NULL && over == NULL))
		return false;
	v->name = bar->name;
	v->figure = figure_of(r, bar->net);
	v->most = over != NULL ? bar->most * figure_of(over, bar->net) : bar->most;
	v->met = v->figure <= v->most * MARGIN;
	return true;
}

/* What a slot of the flow table takes, its tag included: no matter of time. */
static void judge_memory(struct bench_verdict *v)
{
	v->name = "memory/slot";
	v->figure = sizeof(struct tg_flow) + sizeof(uint16_t);
	v->most = 130;
	v->met = v->figure <= v->most;
}

unsigned int bench_bars_judge(const struct bench_result *results, unsigned int n,
			      struct bench_verdict out[BENCH_BARS])
{
	unsigned int judged = 0;

	_Static_assert(RTE_DIM(bars) + 1 == BENCH_BARS, "room for all of them");
	for (unsigned int i = 0; i < RTE_DIM(bars); i++)
		judged += judge(&bars[i], results, n, &out[judged]);
	judge_memory(&out[judged++]);
	return judged;
}
