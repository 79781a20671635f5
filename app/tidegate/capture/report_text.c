/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "report.h"
#include "table.h"

/* Servers shown; the JSON report has all. */
#define ROWS_MAX 40

enum { SERVICE, SERVER, FLOWS, EXCHANGES, BY, MEAN, P50, P95, P99, OWN };

static void head(struct tg_table *t)
{
	static const char *const names[] = {"service", "server", "flows", "exchanges", "by", "mean",
					    "p50",     "p95",    "p99",   "server p50"};

	tg_table_row(t);
	for (unsigned int c = 0; c < sizeof(names) / sizeof(names[0]); c++)
		tg_table_cell(t, c, "%s", names[c]);
}

static void duration(struct tg_table *t, unsigned int column, const struct tg_hist *h, double p)
{
	char text[TG_DURATION];

	if (h->count == 0)
		tg_table_cell(t, column, "-");
	else
		tg_table_cell(t, column, "%s",
			      tg_table_duration(p < 0 ? tg_hist_mean_ns(h)
						      : tg_hist_percentile_ns(h, p),
						text));
}

static void estimators(struct tg_table *t, const uint64_t *exchanges)
{
	static const struct {
		enum tg_estimator kind;
		const char *name;
	} kinds[] = {{TG_ESTIMATOR_ECHO, "echo"},
		     {TG_ESTIMATOR_ACK, "ack"},
		     {TG_ESTIMATOR_GAP, "gap"}};
	char text[32] = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t at = strlen(text);

		if (exchanges[kinds[i].kind] > 0)
			snprintf(text + at, sizeof(text) - at, "%s%s", at > 0 ? "+" : "",
				 kinds[i].name);
	}
	tg_table_cell(t, BY, "%s", text[0] != '\0' ? text : "-");
}

static void row(struct tg_table *t, const struct tg_totals *all, const struct tg_totals_server *s,
		bool first)
{
	const struct tg_config_service *service = all->snapshot->service[s->service];

	tg_table_row(t);
	if (first)
		tg_table_cell(t, SERVICE, "%s", service->name);
	tg_table_cell(t, SERVER, "%s", s->config->name);
	tg_table_cell(t, FLOWS, "%" PRIu64, s->flows);
	tg_table_cell(t, EXCHANGES, "%" PRIu64,
		      s->exchanges[TG_ESTIMATOR_GAP] + s->exchanges[TG_ESTIMATOR_ACK] +
			      s->exchanges[TG_ESTIMATOR_ECHO]);
	estimators(t, s->exchanges);
	duration(t, MEAN, &s->latency, -1);
	duration(t, P50, &s->latency, 50);
	duration(t, P95, &s->latency, 95);
	duration(t, P99, &s->latency, 99);
	duration(t, OWN, &s->server, 50);
}

static void servers(const struct tg_totals *all, FILE *to)
{
	unsigned int shown = all->n_servers < ROWS_MAX ? all->n_servers : ROWS_MAX;
	struct tg_table t;

	if (all->n_servers == 0) {
		fprintf(to, "no service: nothing was sent to a server\n");
		return;
	}
	tg_table_begin(&t, "llrrlrrrrr");
	head(&t);
	for (unsigned int i = 0; i < shown; i++)
		row(&t, all, &all->server[i],
		    i == 0 || all->server[i].service != all->server[i - 1].service);
	tg_table_print(&t, 0, to);
	if (shown < all->n_servers)
		fprintf(to, "and %u more servers: the JSON report (--report FILE) has them\n",
			all->n_servers - shown);
	fprintf(to,
		"\nmean to p99: from the end of a request to the end of its answer, as its client "
		"sees it\nserver p50:   that less the path, where the handshake was seen\n"
		"by:           echo = the server's timestamps, ack = acknowledgement numbers,\n"
		"              gap = pauses between packets\n");
}

static const char *meaning(const struct tg_report *r, enum tg_reason why)
{
	if (r->capture != NULL && why == TG_DROP_NOT_OURS)
		return "sent by a server, or to no service";
	return tg_reason_text(why);
}

static void packets(const struct tg_report *r, FILE *to)
{
	const struct tg_totals *all = r->totals;
	struct tg_table t;

	fprintf(to, "\npackets: %" PRIu64 " received, %" PRIu64 " forwarded, %" PRIu64 " dropped",
		all->all.received, all->all.forwarded, all->dropped);
	if (all->all.replied > 0)
		fprintf(to, ", %" PRIu64 " answered (ARP, neighbour discovery, ping)",
			all->all.replied);
	if (all->all.taken_in > 0)
		fprintf(to, ", %" PRIu64 " answers to health checks", all->all.taken_in);
	if (all->all.made > 0)
		fprintf(to, "; %" PRIu64 " made here for auctions", all->all.made);
	if (all->all.to_kernel > 0)
		fprintf(to, ", %" PRIu64 " to the kernel", all->all.to_kernel);
	fprintf(to, "\n");
	tg_table_begin(&t, "rll");
	for (unsigned int i = 1; i < TG_DROP_REASON_COUNT; i++) {
		if (all->all.dropped[i] == 0)
			continue;
		tg_table_row(&t);
		tg_table_cell(&t, 0, "%" PRIu64, all->all.dropped[i]);
		tg_table_cell(&t, 1, "%s", tg_reason_name(i));
		tg_table_cell(&t, 2, "%s", meaning(r, i));
	}
	tg_table_print(&t, 2, to);
}

static void capture(const struct tg_report_capture *c, FILE *to)
{
	char text[TG_DURATION];

	fprintf(to, "%s: %s, %" PRIu64 " frames over %s\n\n", c->file, c->info->format,
		c->info->frames, tg_table_duration(c->last_ns - c->first_ns, text));
}

/* Flows whose server the capture does not show. */
static void picks(const struct tg_report_capture *c, FILE *to)
{
	uint32_t n = tg_flow_results_count(c->results), picked = 0;

	for (uint32_t i = 0; i < n; i++)
		picked += tg_flow_results_at(c->results, i)->would_pick;
	if (picked > 0)
		fprintf(to,
			"\nservers of %" PRIu32 " of %" PRIu32 " flows are what the policy would "
			"pick: the capture does not show where they went\n",
			picked, n);
}

/* Who only watches, and sees where flows go: where the policy would have placed them. */
static void elsewhere(const struct tg_totals *all, FILE *to)
{
	struct tg_table t;

	if (all->all.compared == 0)
		return;
	fprintf(to,
		"\n%" PRIu64 " of %" PRIu64
		" new flows would have gone to another server than they went to\n",
		all->all.elsewhere, all->all.compared);
	tg_table_begin(&t, "llrr");
	tg_table_row(&t);
	tg_table_cell(&t, 0, "service");
	tg_table_cell(&t, 1, "server");
	tg_table_cell(&t, 2, "went");
	tg_table_cell(&t, 3, "would go");
	for (unsigned int i = 0; i < RTE_MIN(all->n_servers, ROWS_MAX); i++) {
		const struct tg_totals_server *s = &all->server[i];

		tg_table_row(&t);
		tg_table_cell(&t, 0, "%s", all->snapshot->service[s->service]->name);
		tg_table_cell(&t, 1, "%s", s->config->name);
		tg_table_cell(&t, 2, "%" PRIu64, s->flows);
		tg_table_cell(&t, 3, "%" PRIu64, s->picked);
	}
	tg_table_print(&t, 2, to);
}

/* What a gateway that only watched would have changed. */
static void would_change(const struct tg_totals *all, FILE *to)
{
	const struct tg_gate_stats *g = &all->all.gate;
	char p50[TG_DURATION], p99[TG_DURATION], max[TG_DURATION];

	if (all->all.dropped[TG_DROP_SHADOW] == 0)
		return;
	fprintf(to,
		"\nshadow: nothing was sent. Of %" PRIu64 " packets %" PRIu64
		" would have been late "
		"(%" PRIu64 " dropped for it), %" PRIu64 " in time\n"
		"  time in here: p50 %s, p99 %s, longest of those in time %s; late by where it went: ring %" PRIu64
		", stages %" PRIu64 "\n",
		g->checked, g->late, g->late_dropped, g->checked - g->late,
		tg_table_duration(tg_hist_percentile_ns(&g->sojourn, 50), p50),
		tg_table_duration(tg_hist_percentile_ns(&g->sojourn, 99), p99),
		tg_table_duration(g->max_sojourn_ns, max), g->late_at[TG_GATE_RING],
		g->late_at[TG_GATE_STAGES]);
}

void tg_report_text(const struct tg_report *r, FILE *to)
{
	if (r->capture != NULL)
		capture(r->capture, to);
	servers(r->totals, to);
	if (r->capture != NULL)
		picks(r->capture, to);
	packets(r, to);
	would_change(r->totals, to);
	elsewhere(r->totals, to);
	if (r->capture != NULL && r->capture->replay != NULL)
		tg_replay_text(r->capture->replay, to);
}
