/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <jansson.h>

#include "bench.h"

#define NOISY 1.05 /* wall over CPU time: others used this core */

static bool has_figure(const struct bench_result *r)
{
	return r->n_runs > 0 && r->fault[0] == '\0';
}

void bench_report_head(FILE *out, const struct bench_host *h)
{
	fprintf(out, "%s, %u cores, TSC %.0f MHz, %s pages, load %.2f at the start\n", h->cpu,
		h->cores, (double)h->tsc_hz / 1e6, h->huge_pages ? "huge" : "ordinary", h->load);
	fprintf(out, "%-28s %10s %8s %8s %9s %8s\n", "case", "ns/packet", "min", "max", "Mpps",
		"net");
}

void bench_report_line(FILE *out, const struct bench_result *r)
{
	const double *runs;
	double median;

	if (!has_figure(r)) {
		fprintf(out, "%-28s FAULT: %s\n", r->name, r->fault);
		return;
	}
	runs = bench_runs(r);
	median = bench_median(r, runs);
	fprintf(out, "%-28s %10.2f %8.2f %8.2f %9.2f", r->name, median, runs[0],
		runs[r->n_runs - 1], 1e3 / median);
	if (r->has_net)
		fprintf(out, " %8.2f", bench_median(r, r->net));
	if (r->wall_over_cpu > NOISY)
		fprintf(out, "  noisy: other processes had the core for %.0f %% of a run",
			100 * (1 - 1 / r->wall_over_cpu));
	fputc('\n', out);
	fflush(out);
}

static json_t *host_json(const struct bench_host *h)
{
	return json_pack("{s:s, s:i, s:I, s:b, s:f}", "cpu", h->cpu, "cores", (int)h->cores,
			 "tsc_hz", (json_int_t)h->tsc_hz, "huge_pages", h->huge_pages,
			 "load_at_start", h->load);
}

static json_t *case_json(const struct bench_result *r)
{
	json_t *runs, *c;
	double median;

	if (!has_figure(r))
		return json_pack("{s:s, s:I, s:s}", "name", r->name, "flows", (json_int_t)r->flows,
				 "fault", r->fault);
	runs = json_array();
	for (unsigned int i = 0; i < r->n_runs; i++)
		json_array_append_new(runs, json_real(bench_runs(r)[i]));
	median = bench_median(r, bench_runs(r));
	c = json_pack("{s:s, s:f, s:f, s:I, s:f, s:o}", "name", r->name, "ns_per_packet", median,
		      "mpps", 1e3 / median, "flows", (json_int_t)r->flows, "wall_over_cpu",
		      r->wall_over_cpu, "runs", runs);
	if (r->has_net)
		json_object_set_new(c, "net_ns_per_packet", json_real(bench_median(r, r->net)));
	return c;
}

void bench_report_bars(FILE *out, const struct bench_verdict *v, unsigned int n)
{
	fprintf(out, "\n%-28s %10s %8s\n", "bar", "figure", "most");
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "%-28s %10.2f %8.2f  %s\n", v[i].name, v[i].figure, v[i].most,
			v[i].met ? (v[i].figure <= v[i].most ? "met" : "met within its margin")
				 : "MISSED");
}

static json_t *bars_json(const struct bench_verdict *v, unsigned int n)
{
	json_t *bars = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(bars,
				      json_pack("{s:s, s:f, s:f, s:b}", "name", v[i].name, "figure",
						v[i].figure, "most", v[i].most, "met", v[i].met));
	return bars;
}

int bench_report_json(FILE *out, const struct bench_host *h, const struct bench_result *r,
		      unsigned int n, const struct bench_verdict *v, unsigned int n_bars)
{
	json_t *cases = json_array(), *root;
	int rc;

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(cases, case_json(&r[i]));
	root = json_pack("{s:o, s:o}", "host", host_json(h), "cases", cases);
	if (root == NULL)
		return -ENOMEM;
	if (n_bars > 0)
		json_object_set_new(root, "bars", bars_json(v, n_bars));
	rc = json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(root);
	return rc < 0 || fputc('\n', out) == EOF ? -EIO : 0;
}
