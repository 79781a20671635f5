/* SPDX-License-Identifier: BSD-3-Clause */
/* services[].admission */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

#define PER_S_MAX UINT32_C(4000000000)
#define SLOTS_MIN 64u
#define SLOTS_MAX (1u << 20)

#define AT(field)             TG_FIELD(tg_admit_params, field)
#define UINT(field, from, to) TG_UINT(tg_admit_params, field, from, to)

static const struct tg_config_key segments_keys[] = {
	{.name = "by",
	 .read = tg_read_choice,
	 AT(by),
	 .choice = tg_admit_by_name,
	 .standard = "prefix"},
	{UINT(ipv4_prefix, 1, 32), .standard = "24"},
	{UINT(ipv6_prefix, 1, 128), .standard = "48"},
	{.name = "slots",
	 .read = tg_read_slots,
	 AT(slots),
	 .min = SLOTS_MIN,
	 .max = SLOTS_MAX,
	 .standard = "4096"},
	{UINT(hi_per_s, 0, PER_S_MAX), .standard = "0 (an eighth of the budget)"},
	{UINT(lo_per_s, 0, PER_S_MAX), .standard = "0 (half of hi_per_s)"},
	{UINT(max_per_s, 0, PER_S_MAX), .standard = "0 (none)"},
	{UINT(calm_intervals, 1, 10000), .standard = "10"},
};

static void read_segments(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_admit_params *a = at;
	size_t mark;

	(void)k;
	tg_read_object(r, segments_keys, TG_COUNT(segments_keys), v, a);
	mark = tg_path_push_member(r, "lo_per_s");
	if (a->lo_per_s > 0 && a->hi_per_s == 0)
		tg_fault(r,
			 "needs hi_per_s beside it: that one is then derived, and may come to less");
	else if (a->lo_per_s > 0 && a->lo_per_s >= a->hi_per_s)
		tg_fault(r, "%u must be below hi_per_s, which is %u", a->lo_per_s, a->hi_per_s);
	tg_path_pop(r, mark);
}

static const struct tg_config_key rule_keys[] = {
	{.name = "prefix",
	 .read = tg_read_network,
	 TG_FIELD(tg_admit_rule, prefix),
	 .required = true},
	{.name = "segment",
	 .read = tg_read_name,
	 TG_FIELD(tg_admit_rule, segment),
	 .standard = "none (as any other)"},
	{.name = "value",
	 .read = tg_read_choice,
	 TG_FIELD(tg_admit_rule, value),
	 .choice = tg_admit_value_name,
	 .standard = "silver"},
};

static void read_rule(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_admit_params *a = at;

	a->rule[i].value = TG_ADMIT_SILVER;
	a->n_rules = i + 1;
	tg_read_object(r, rule_keys, TG_COUNT(rule_keys), v, &a->rule[i]);
}

static void read_match(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	(void)k;
	tg_read_list(r, v, 1, TG_ADMIT_RULES_MAX, "rules", read_rule, at);
}

static const struct tg_config_key admission_keys[] = {
	{.name = "pool", .read = tg_read_name, AT(pool), .standard = "none (its own)"},
	{UINT(budget_per_s, 0, PER_S_MAX), .standard = "0 (derived)"},
	{.name = "cost",
	 .read = tg_read_choice,
	 AT(cost),
	 .choice = tg_admit_cost_name,
	 .standard = "exchange"},
	{UINT(interval_us, 1000, 1000000), .standard = "10000"},
	{UINT(auxiliary_percent, 0, 100), .standard = "20"},
	{.name = "variant",
	 .read = tg_read_choice,
	 AT(variant),
	 .choice = tg_admit_variant_name,
	 .standard = "strict"},
	{.name = "segments", .read = read_segments, .required = true},
	{.name = "match", .read = read_match},
};

static struct tg_admit_params *defaults(void)
{
	struct tg_admit_params *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->interval_us = 10000;
	a->auxiliary_percent = 20;
	a->ipv4_prefix = 24;
	a->ipv6_prefix = 48;
	a->slots = 4096;
	a->calm_intervals = 10;
	return a;
}

void tg_read_admission(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *service)
{
	struct tg_config_service *s = service;

	(void)k;
	s->admission = defaults();
	if (s->admission == NULL) {
		r->no_memory = true;
		return;
	}
	/* absent segments are ones that leave everything to its defaults */
	if (json_is_object(v) && json_object_get(v, "segments") == NULL &&
	    json_object_set_new(v, "segments", json_object()) < 0)
		r->no_memory = true;
	tg_read_object(r, admission_keys, TG_COUNT(admission_keys), v, s->admission);
}

bool tg_config_has_admission(const struct tg_config *c)
{
	for (unsigned int i = 0; i < c->n_services; i++)
		if (c->services[i].admission != NULL)
			return true;
	return false;
}

struct tg_admit_params *tg_config_copy_admission(const struct tg_config_service *s)
{
	struct tg_admit_params *a = s->admission != NULL ? malloc(sizeof(*a)) : NULL;

	if (a != NULL)
		*a = *s->admission;
	return a;
}
