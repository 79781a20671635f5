/* SPDX-License-Identifier: BSD-3-Clause */
/* services[].access and services[].limits */
#include <string.h>

#include "reader.h"

#define PER_S_MAX UINT32_C(100000000)

#define RATE(field) TG_UINT(tg_guard_params, field, 0, PER_S_MAX), .standard = "0 (off)"

static const struct tg_config_key limits_keys[] = {
	{RATE(new_per_s)},
	{RATE(new_drop_per_s)},
	{RATE(packets_per_s)},
	{RATE(packets_drop_per_s)},
};

void tg_read_limits(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *guard)
{
	(void)k;
	tg_read_object(r, limits_keys, TG_COUNT(limits_keys), v, guard);
}

static const char *action_name(unsigned int i)
{
	static const char *const names[] = {"allow", "deny"};

	return i < TG_COUNT(names) ? names[i] : NULL;
}

static const struct tg_config_key rule_keys[] = {
	{TG_KEY(tg_guard_rule, prefix, tg_read_network), .required = true},
	{.name = "action",
	 .read = tg_read_choice,
	 TG_FIELD(tg_guard_rule, deny),
	 .choice = action_name,
	 .required = true},
};

static void read_rule(struct tg_reader *r, json_t *v, unsigned int i, void *at)
{
	struct tg_guard_params *p = at;

	p->n_rules = i + 1;
	tg_read_object(r, rule_keys, TG_COUNT(rule_keys), v, &p->rules[i]);
}

void tg_read_access(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *guard)
{
	(void)k;
	tg_read_list(r, v, 0, TG_GUARD_RULES_MAX, "rules", read_rule, guard);
}
