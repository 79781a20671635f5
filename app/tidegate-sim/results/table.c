/* SPDX-License-Identifier: BSD-3-Clause */
/* The joined results for people: means, and behind +- half of their 95 % intervals. */
#include <math.h>
#include <string.h>

#include "capture/table.h"
#include "results/private.h"

static const json_t *at(const json_t *j, const char *key)
{
	return json_object_get(j, key);
}

static double mean(const json_t *number)
{
	return json_number_value(at(number, "mean"));
}

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(at(j, key));

	return s == NULL ? "-" : s;
}

/* "1.25 ms +- 0.02 ms"; "-": nothing was seen. */
static void time_cell(struct tg_table *t, unsigned int column, const json_t *number)
{
	const json_t *half = at(number, "half_width");
	char a[TG_DURATION], b[TG_DURATION];

	if (!json_is_number(at(number, "mean")))
		tg_table_cell(t, column, "-");
	else if (!json_is_number(half))
		tg_table_cell(t, column, "%s",
			      tg_table_duration((unsigned long long)mean(number), a));
	else
		tg_table_cell(t, column, "%s +- %s",
			      tg_table_duration((unsigned long long)mean(number), a),
			      tg_table_duration((unsigned long long)json_number_value(half), b));
}

static void count_cell(struct tg_table *t, unsigned int column, const json_t *number)
{
	tg_table_cell(t, column, "%.0f", mean(number));
}

static void head(struct tg_table *t, const char *const *names, unsigned int n)
{
	tg_table_row(t);
	for (unsigned int i = 0; i < n; i++)
		tg_table_cell(t, i, "%s", names[i]);
}

#define HEAD(t, ...)                                                   \
	do {                                                           \
		static const char *const names_[] = {__VA_ARGS__};     \
		head((t), names_, sizeof(names_) / sizeof(names_[0])); \
	} while (0)

static void clients(const json_t *joined, FILE *to)
{
	struct tg_table t;
	const json_t *g;
	size_t i;

	tg_table_begin(&t, "lrrrrrrrr");
	HEAD(&t, "clients", "requests", "answered", "failed", "mean", "p50", "p95", "p99", "p99.9");
	json_array_foreach(at(joined, "clients"), i, g) {
		const json_t *l = at(g, "latency_ns");

		tg_table_row(&t);
		tg_table_cell(&t, 0, "%s", text(g, "name"));
		count_cell(&t, 1, at(g, "requests"));
		count_cell(&t, 2, at(g, "answered"));
		count_cell(&t, 3, at(g, "failed"));
		time_cell(&t, 4, at(l, "mean"));
		time_cell(&t, 5, at(l, "p50"));
		time_cell(&t, 6, at(l, "p95"));
		time_cell(&t, 7, at(l, "p99"));
		time_cell(&t, 8, at(l, "p99_9"));
	}
	tg_table_print(&t, 0, to);
}

static void servers(const json_t *joined, FILE *to)
{
	struct tg_table t;
	const json_t *s;
	size_t i;

	tg_table_begin(&t, "lrrrrrrrr");
	HEAD(&t, "server", "share", "busy", "wait", "service", "waiting", "in system",
	     "Little's law", "refused");
	json_array_foreach(at(joined, "servers"), i, s) {
		tg_table_row(&t);
		tg_table_cell(&t, 0, "%s", text(s, "name"));
		tg_table_cell(&t, 1, "%.1f %%", 100 * mean(at(s, "share")));
		tg_table_cell(&t, 2, "%.1f %%", 100 * mean(at(s, "utilisation")));
		time_cell(&t, 3, at(s, "wait_mean_ns"));
		time_cell(&t, 4, at(s, "service_mean_ns"));
		tg_table_cell(&t, 5, "%.3f", mean(at(s, "number_waiting")));
		tg_table_cell(&t, 6, "%.3f", mean(at(s, "number_in_system")));
		tg_table_cell(&t, 7, "%.3f", mean(at(at(s, "little"), "rate_times_sojourn")));
		count_cell(&t, 8, at(s, "refused"));
	}
	tg_table_print(&t, 0, to);
}

/* What really happened of a gateway's service and server. */
static const json_t *truth_of(const json_t *joined, const char *service, const char *address)
{
	const json_t *s, *v;
	size_t i, j;

	json_array_foreach(at(joined, "servers"), i, s) {
		if (strcmp(text(s, "address"), address) != 0)
			continue;
		json_array_foreach(at(s, "services"), j, v)
			if (strcmp(text(v, "service"), service) == 0)
				return v;
	}
	return NULL;
}

static void measured_row(struct tg_table *t, const char *what, const json_t *seen,
			 const json_t *truth, const char *const *names)
{
	static const char *const keys[] = {"mean", "p50", "p95"};

	tg_table_row(t);
	tg_table_cell(t, 0, "%s", names[0]);
	tg_table_cell(t, 1, "%s", names[1]);
	tg_table_cell(t, 2, "%s", what);
	for (unsigned int i = 0; i < 3; i++) {
		time_cell(t, 3 + 2 * i, at(seen, keys[i]));
		time_cell(t, 4 + 2 * i, at(truth, keys[i]));
	}
}

/* What a gateway measured from one direction, and the truth. */
static void measured(const json_t *joined, const json_t *gateway, FILE *to)
{
	struct tg_table t;
	const json_t *v, *s;
	size_t i, j;

	tg_table_begin(&t, "lllrrrrrr");
	HEAD(&t, "service", "server", "", "mean", "truth", "p50", "truth", "p95", "truth");
	json_array_foreach(at(gateway, "services"), i, v)
		json_array_foreach(at(v, "servers"), j, s) {
			const json_t *truth = truth_of(joined, text(v, "name"), text(s, "address"));
			const char *names[] = {text(v, "name"), text(s, "name")};

			measured_row(&t, "L", at(s, "latency_ns"), at(truth, "latency_ns"), names);
			names[0] = names[1] = "";
			measured_row(&t, "S", at(s, "server_ns"), at(truth, "server_ns"), names);
		}
	tg_table_print(&t, 2, to);
}

static void gateways(const json_t *joined, FILE *to)
{
	const json_t *g, *n;
	const char *reason;
	size_t i;

	json_array_foreach(at(joined, "gateways"), i, g) {
		const json_t *p = at(g, "packets");

		fprintf(to, "gateway %zu: ", i);
		if (!json_is_object(g)) {
			fprintf(to, "down at the end\n");
			continue;
		}
		fprintf(to, "%.0f packets received, %.0f forwarded, %.0f dropped",
			mean(at(p, "received")), mean(at(p, "forwarded")), mean(at(p, "dropped")));
		json_object_foreach((json_t *)(uintptr_t)at(g, "drops"), reason, n)
			if (mean(n) > 0)
				fprintf(to, ", %s %.0f", reason, mean(n));
		fputc('\n', to);
		measured(joined, g, to);
	}
}

static void conservation(const json_t *joined, FILE *to)
{
	const json_t *c = at(joined, "conservation"), *p = at(c, "packets"), *q = at(c, "requests");
	bool good = json_is_true(at(p, "balanced")) && json_is_true(at(q, "balanced"));

	fprintf(to,
		"packets: %.0f made = %.0f arrived + %.0f lost + %.0f queue full + %.0f no gateway + "
		"%.0f ring full + %.0f dropped by the gateway + %.0f server down + %.0f under way\n",
		mean(at(p, "made")), mean(at(p, "arrived")), mean(at(p, "lost")),
		mean(at(p, "queue_full")), mean(at(p, "no_gateway")), mean(at(p, "gateway_missed")),
		mean(at(p, "gateway_dropped")), mean(at(p, "server_down")),
		mean(at(p, "under_way")));
	fprintf(to, "requests: %.0f asked = %.0f answered + %.0f failed + %.0f open: %s\n",
		mean(at(q, "asked")), mean(at(q, "answered")), mean(at(q, "failed")),
		mean(at(q, "open")),
		good ? "everything is accounted for" : "NOT everything is accounted for");
}

void tg_results_table(const json_t *joined, FILE *to)
{
	fprintf(to,
		"%s: seed %lld, %lld replications of %g s after %g s; +-: half of a 95 %% interval\n\n",
		text(joined, "scenario"), (long long)json_integer_value(at(joined, "seed")),
		(long long)json_integer_value(at(joined, "replications")),
		json_number_value(at(joined, "duration_s")),
		json_number_value(at(joined, "warmup_s")));
	clients(joined, to);
	fputc('\n', to);
	servers(joined, to);
	fputc('\n', to);
	gateways(joined, to);
	fputc('\n', to);
	conservation(joined, to);
}
