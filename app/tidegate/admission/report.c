/* SPDX-License-Identifier: BSD-3-Clause */
#include "admission/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/totals.h"
#include "choice/load.h"
#include "tg_telemetry.h"

#define POOLS_A_REPLY 16

/* Structures of 64-bit counters, added up word by word. */
static void add_words(void *sum, const void *more, size_t size)
{
	uint64_t *to = sum;
	const uint64_t *from = more;

	for (size_t i = 0; i < size / sizeof(*to); i++)
		to[i] += tg_stat_read(&from[i]);
}

static void add_packets(struct tg_admission_stats *sum, const struct tg_admission_stats *more)
{
	add_words(sum, more, offsetof(struct tg_admission_stats, waiting));
	for (unsigned int c = 0; c < TG_ADMIT_CLASSES; c++) {
		sum->waiting[c] += __atomic_load_n(&more->waiting[c], __ATOMIC_RELAXED);
		sum->most[c] += __atomic_load_n(&more->most[c], __ATOMIC_RELAXED);
		tg_hist_add(&sum->wait[c], &more->wait[c]);
	}
}

/* S of the pool's servers in the last window, and its tail. */
static void look_at_tail(struct tg_gateway *g, const struct tg_admission_pool *p,
			 struct tg_admission_sum *out)
{
	struct tg_hist *h = calloc(4,
				   sizeof(*h)); /* all, of one server: L, S, of the window: L, S */
	double p95, p99, model;

	for (unsigned int i = 0; h != NULL && i < g->snapshot->n_servers; i++) {
		if (g->snapshot->server[i] == NULL ||
		    g->snapshot->admission[g->snapshot->service_of[i]].pool != p)
			continue;
		memset(&h[1], 0, 2 * sizeof(*h));
		for (unsigned int w = 0; w < g->n_workers; w++) {
			tg_hist_add(&h[1], &tg_snapshot_stats(g->snapshot, i, w)->latency);
			tg_hist_add(&h[2], &tg_snapshot_stats(g->snapshot, i, w)->server);
		}
		tg_load_window(g->load, (uint16_t)i, &h[1], &h[2], &h[1], &h[3]);
		tg_hist_add(&h[0], &h[3]);
	}
	if (h == NULL || h[0].count == 0) {
		free(h);
		return;
	}
	p95 = (double)tg_hist_percentile_ns(&h[0], 95);
	p99 = (double)tg_hist_percentile_ns(&h[0], 99);
	model = p95 * tg_mm1_percentile_ratio(0.99, 0.95);
	out->server_p95_ns = (uint64_t)p95;
	out->server_p99_999_ns = (uint64_t)(p95 * tg_mm1_percentile_ratio(0.99999, 0.95) *
					    (model > 0 ? p99 / model : 1));
	free(h);
}

void tg_admission_sum(struct tg_gateway *g, const struct tg_admission_pool *p,
		      struct tg_admission_sum *out)
{
	memset(out, 0, sizeof(*out));
	tg_admit_look(p->tokens, &out->tokens);
	for (unsigned int w = 0; w < g->n_workers; w++) {
		add_words(&out->stats, tg_admit_lcore_stats(p->tokens, w), sizeof(out->stats));
		add_packets(&out->packets, p->stats[w]);
	}
	for (uint32_t i = 0; i < tg_admit_params(p->tokens)->slots; i++) {
		struct tg_admit_slot_view v;

		tg_admit_slot(p->tokens, i, &v);
		out->segments += v.used;
		out->segments_in_burst += v.burst;
	}
	look_at_tail(g, p, out);
}

const struct tg_admission_pool *tg_admission_pool_named(const struct tg_gateway *g,
							const char *name)
{
	for (unsigned int i = 0; i < TG_ADMISSION_POOLS_MAX; i++)
		if (g->snapshot->pool[i] != NULL && strcmp(g->snapshot->pool[i]->name, name) == 0)
			return g->snapshot->pool[i];
	return NULL;
}

static const char *class_name(bool burst)
{
	return burst ? "burst" : "calm";
}

static void name_segment(struct tg_admission_row *r)
{
	const struct tg_admit_params *a = tg_admit_params(r->pool->tokens);
	char text[TG_ADDR_STRLEN];

	if (r->slot.rule != 0)
		snprintf(r->name, sizeof(r->name), "%s", a->rule[r->slot.rule - 1].segment);
	else if (a->by != TG_ADMIT_BY_PREFIX)
		snprintf(r->name, sizeof(r->name), "%s",
			 a->by == TG_ADMIT_BY_SERVICE ? "service" : "others");
	else
		snprintf(r->name, sizeof(r->name), "%s/%u",
			 tg_addr_format(&r->slot.address.addr, text, sizeof(text)),
			 tg_addr_is_v4(&r->slot.address.addr) ? r->slot.address.len - 96u
							      : r->slot.address.len);
}

/* In its place among the rows, if it has one. */
static unsigned int insert(struct tg_admission_row *rows, unsigned int n,
			   const struct tg_admission_row *r)
{
	unsigned int at = n;

	while (at > 0 &&
	       (rows[at - 1].per_s < r->per_s ||
		(rows[at - 1].per_s == r->per_s && rows[at - 1].slot.total < r->slot.total)))
		at--;
	if (at == TG_ADMISSION_TOP)
		return n;
	if (n == TG_ADMISSION_TOP)
		n--;
	memmove(&rows[at + 1], &rows[at], (n - at) * sizeof(*rows));
	rows[at] = *r;
	return n + 1;
}

unsigned int tg_admission_top(const struct tg_gateway *g, const struct tg_admission_pool *p,
			      struct tg_admission_row rows[TG_ADMISSION_TOP])
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < TG_ADMISSION_POOLS_MAX; k++) {
		struct tg_admission_row r = {.pool = g->snapshot->pool[k]};

		if (r.pool == NULL || (p != NULL && r.pool != p))
			continue;
		for (uint32_t i = 0; i < tg_admit_params(r.pool->tokens)->slots; i++) {
			tg_admit_slot(r.pool->tokens, i, &r.slot);
			r.per_s = r.pool->per_s[i];
			if (r.slot.used)
				n = insert(rows, n, &r);
		}
	}
	for (unsigned int i = 0; i < n; i++)
		name_segment(&rows[i]);
	return n;
}

/* ------------------------------------------------------------------ control socket */

json_t *tg_admission_top_json(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_admission_row rows[TG_ADMISSION_TOP];
	const struct tg_admission_pool *p = NULL;
	json_t *list;
	unsigned int n;

	if (args[0] != NULL && (p = tg_admission_pool_named(g, args[0])) == NULL) {
		snprintf(err, err_len, "no pool \"%s\"; `admission list` shows them", args[0]);
		return NULL;
	}
	list = json_array();
	n = tg_admission_top(g, p, rows);
	for (unsigned int i = 0; i < n; i++) {
		uint16_t service = rows[i].slot.service;
		const struct tg_config_service *v = service < g->snapshot->n_services
							    ? g->snapshot->service[service]
							    : NULL;

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "segment",
						rows[i].name, "pool", rows[i].pool->name, "service",
						v != NULL ? v->name : "-", "class",
						class_name(rows[i].slot.burst), "value",
						tg_admit_value_name(rows[i].slot.value), "per_s",
						(json_int_t)rows[i].per_s, "asked",
						(json_int_t)rows[i].slot.total));
	}
	return list;
}

json_t *tg_admission_list_json(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_admission_sum *s = malloc(sizeof(*s));
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; s != NULL && i < TG_ADMISSION_POOLS_MAX; i++) {
		const struct tg_admission_pool *p = g->snapshot->pool[i];

		if (p == NULL)
			continue;
		tg_admission_sum(g, p, s);
		json_array_append_new(
			list,
			json_pack(
				"{s:s, s:s, s:I, s:I, s:b, s:I, s:i, s:i, s:b, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I}",
				"pool", p->name, "cost",
				tg_admit_cost_name(tg_admit_params(p->tokens)->cost),
				"budget_per_s", (json_int_t)s->tokens.rate_per_s, "headroom_per_s",
				(json_int_t)s->tokens.headroom_per_s, "fits", p->fits, "debt",
				(json_int_t)s->tokens.debt, "segments", (int)s->segments,
				"in_burst", (int)s->segments_in_burst, "strangers_in_burst",
				s->tokens.strangers_burst, "waiting_calm",
				(int)s->packets.waiting[TG_ADMIT_CALM], "waiting_burst",
				(int)s->packets.waiting[TG_ADMIT_BURST], "waiting_calm_most",
				(int)s->packets.most[TG_ADMIT_CALM], "waiting_burst_most",
				(int)s->packets.most[TG_ADMIT_BURST], "wait_calm_p99_ns",
				(json_int_t)tg_hist_percentile_ns(&s->packets.wait[TG_ADMIT_CALM],
								  99),
				"wait_burst_p99_ns",
				(json_int_t)tg_hist_percentile_ns(&s->packets.wait[TG_ADMIT_BURST],
								  99),
				"dropped_calm",
				(json_int_t)(s->packets.expired[TG_ADMIT_CALM] +
					     s->packets.full[TG_ADMIT_CALM]),
				"dropped_burst",
				(json_int_t)(s->packets.expired[TG_ADMIT_BURST] +
					     s->packets.full[TG_ADMIT_BURST])));
	}
	free(s);
	return list;
}

/* ------------------------------------------------------------------ telemetry */

static void tell_class(struct rte_tel_data *d, const struct tg_admission_sum *s, unsigned int c)
{
	const char *name = class_name(c == TG_ADMIT_BURST);
	const struct tg_admission_stats *p = &s->packets;

	tg_tel_u64f(d, s->stats.asked[c], "%s_asked", name);
	tg_tel_u64f(d, s->stats.admitted[c], "%s_admitted", name);
	tg_tel_u64f(d, p->held[c], "%s_held_packets", name);
	tg_tel_u64f(d, p->released[c], "%s_released_packets", name);
	tg_tel_u64f(d, p->expired[c], "%s_expired_packets", name);
	tg_tel_u64f(d, p->full[c], "%s_full_packets", name);
	tg_tel_u64f(d, p->would_wait[c], "%s_would_wait_packets", name);
	tg_tel_u64f(d, p->waiting[c], "%s_waiting", name);
	tg_tel_u64f(d, p->most[c], "%s_waiting_most", name);
	tg_tel_u64f(d, tg_hist_percentile_ns(&p->wait[c], 50), "%s_wait_p50_ns", name);
	tg_tel_u64f(d, tg_hist_percentile_ns(&p->wait[c], 99), "%s_wait_p99_ns", name);
	tg_tel_u64f(d, tg_hist_percentile_ns(&p->wait[c], 99.999), "%s_wait_p99_999_ns", name);
}

static void tell_tokens(struct rte_tel_data *d, const struct tg_admission_pool *p,
			const struct tg_admission_sum *s)
{
	tg_tel_string(d, "pool_name", p->name);
	tg_tel_u64(d, "budget_per_s", s->tokens.rate_per_s);
	tg_tel_u64(d, "headroom_per_s", s->tokens.headroom_per_s);
	tg_tel_u64(d, "capacity_per_s", (uint64_t)p->capacity_per_s);
	tg_tel_u64(d, "load_milli", (uint64_t)(p->rho * 1000));
	tg_tel_u64(d, "prediction_error_milli", (uint64_t)(p->error * 1000));
	tg_tel_u64(d, "model_fits", p->fits);
	tg_tel_u64(d, "base_tokens", s->tokens.base);
	tg_tel_u64(d, "base_tokens_leased", s->tokens.base_leased);
	tg_tel_u64(d, "auxiliary_tokens", s->tokens.auxiliary);
	tg_tel_u64(d, "auxiliary_tokens_leased", s->tokens.auxiliary_leased);
	tg_tel_u64(d, "extra_tokens", s->tokens.extra);
	tg_tel_u64(d, "extra_tokens_leased", s->tokens.extra_leased);
	tg_tel_u64(d, "debt", s->tokens.debt);
	tg_tel_u64(d, "intervals", s->tokens.interval);
	tg_tel_u64(d, "intervals_overrun", s->stats.overrun);
	tg_tel_u64(d, "clock_back", s->stats.clock_back);
	tg_tel_u64(d, "segments", s->segments);
	tg_tel_u64(d, "segments_in_burst", s->segments_in_burst);
	tg_tel_u64(d, "strangers_in_burst", s->tokens.strangers_burst);
	tg_tel_u64(d, "bursts", s->stats.bursts);
	tg_tel_u64(d, "collisions", s->stats.collisions);
	tg_tel_u64(d, "server_p95_ns", s->server_p95_ns);
	tg_tel_u64(d, "server_p99_999_predicted_ns", s->server_p99_999_ns);
}

static int tell_pool(struct tg_gateway *g, const struct tg_admission_pool *p,
		     struct rte_tel_data *d)
{
	struct tg_admission_sum *s = malloc(sizeof(*s));
	struct tg_admission_row rows[TG_ADMISSION_TOP];
	unsigned int n;

	if (s == NULL)
		return -ENOMEM;
	tg_admission_sum(g, p, s);
	tell_tokens(d, p, s);
	for (unsigned int c = 0; c < TG_ADMIT_CLASSES; c++)
		tell_class(d, s, c);
	free(s);
	n = tg_admission_top(g, p, rows);
	for (unsigned int i = 0; i < n; i++) {
		tg_tel_stringf(d, rows[i].name, "segment_%u_name", i);
		tg_tel_u64f(d, rows[i].slot.burst, "segment_%u_burst", i);
		tg_tel_u64f(d, rows[i].per_s, "segment_%u_per_s", i);
		tg_tel_u64f(d, rows[i].slot.value, "segment_%u_value", i);
	}
	return 0;
}

int tg_admission_telemetry(struct tg_gateway *g, const char *name, uint32_t from,
			   struct rte_tel_data *d)
{
	const struct tg_admission_pool *p;
	uint32_t shown = 0, i;

	if (name != NULL) {
		p = tg_admission_pool_named(g, name);
		return p != NULL ? tell_pool(g, p, d) : -EINVAL;
	}
	for (i = from; i < TG_ADMISSION_POOLS_MAX && shown < POOLS_A_REPLY; i++) {
		struct tg_admit_view v;

		if (g->snapshot->pool[i] == NULL)
			continue;
		tg_admit_look(g->snapshot->pool[i]->tokens, &v);
		tg_tel_stringf(d, g->snapshot->pool[i]->name, "pool_%u_name", i);
		tg_tel_u64f(d, v.rate_per_s, "pool_%u_budget_per_s", i);
		tg_tel_u64f(d, v.debt, "pool_%u_debt", i);
		shown++;
	}
	tg_tel_u64(d, "next", i < TG_ADMISSION_POOLS_MAX ? i : 0);
	return 0;
}
