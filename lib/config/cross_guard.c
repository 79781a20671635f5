/* SPDX-License-Identifier: BSD-3-Clause */
/* services[].limits and services[].access: values that contradict one another. */
#include "reader.h"

static void note_level(struct tg_reader *r, const char *first, uint32_t limit, const char *second,
		       uint32_t drop)
{
	if (limit > 0 && drop > 0 && limit >= drop)
		tg_note(r, "%s, %u, is not below %s, which is %u: the first never acts", first,
			limit, second, drop);
}

/* What could not be read looks like ::/0, but has its fault. */
static bool is_read(const struct tg_reader *r, const struct tg_prefix *p)
{
	return tg_is_set(&p->addr) || r->report->n_faults == 0;
}

/* Of rules for one network none is the longest: allowed and denied at once has no meaning. */
static void check_rule(struct tg_reader *r, const struct tg_guard_params *p, unsigned int i)
{
	const struct tg_guard_rule *a = &p->rules[i];

	for (unsigned int j = 0; j < i; j++) {
		const struct tg_guard_rule *b = &p->rules[j];

		if (!is_read(r, &a->prefix) || !is_read(r, &b->prefix) ||
		    a->prefix.len != b->prefix.len ||
		    !tg_prefix_contains(&b->prefix, &a->prefix.addr))
			continue;
		if (a->deny == b->deny)
			tg_note(r, "says what access[%u] says already", j);
		else
			tg_fault(r, "%s the network that access[%u] %s: leave one of them out",
				 a->deny ? "denies" : "allows", j, b->deny ? "denies" : "allows");
		return;
	}
}

void tg_cross_check_guard(struct tg_reader *r, const struct tg_guard_params *p)
{
	size_t mark = tg_path_push(r, ".limits");

	note_level(r, "new_per_s", p->new_per_s, "new_drop_per_s", p->new_drop_per_s);
	note_level(r, "packets_per_s", p->packets_per_s, "packets_drop_per_s",
		   p->packets_drop_per_s);
	tg_path_pop(r, mark);
	for (unsigned int i = 0; i < p->n_rules; i++) {
		mark = tg_path_push(r, ".access[%u]", i);
		check_rule(r, p, i);
		tg_path_pop(r, mark);
	}
}
