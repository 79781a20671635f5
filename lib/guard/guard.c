/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_guard.h"

#include <string.h>

bool tg_guard_wanted(const struct tg_guard_params *p)
{
	return p->n_rules > 0 || p->new_per_s > 0 || p->new_drop_per_s > 0 ||
	       p->packets_per_s > 0 || p->packets_drop_per_s > 0;
}

static int compare(const struct tg_addr *a, const struct tg_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

/* The first address of a prefix. */
static struct tg_addr low(const struct tg_prefix *p)
{
	struct tg_addr a = p->addr;

	for (unsigned int bit = p->len; bit < 128; bit++)
		a.b[bit / 8] = (uint8_t)(a.b[bit / 8] & ~(0x80 >> (bit % 8)));
	return a;
}

/* The address behind its last one; false: there is none. */
static bool behind(const struct tg_prefix *p, struct tg_addr *out)
{
	*out = low(p);
	for (unsigned int bit = p->len; bit-- > 0;) {
		uint8_t mask = (uint8_t)(0x80 >> (bit % 8));

		out->b[bit / 8] ^= mask;
		if (out->b[bit / 8] & mask) /* no carry */
			return true;
	}
	return false;
}

/* What the longest rule says of an address; no rule: it may. */
static bool denied(const struct tg_guard_params *p, const struct tg_addr *a)
{
	const struct tg_guard_rule *best = NULL;

	for (unsigned int i = 0; i < p->n_rules; i++)
		if (tg_prefix_contains(&p->rules[i].prefix, a) &&
		    (best == NULL || p->rules[i].prefix.len > best->prefix.len))
			best = &p->rules[i];
	return best != NULL && best->deny;
}

/* Puts an edge in its place; one that is there already is not doubled. */
static void add_edge(struct tg_guard *g, const struct tg_addr *a)
{
	unsigned int i = g->n;

	while (i > 0 && compare(&g->first[i - 1], a) > 0)
		i--;
	if (i > 0 && compare(&g->first[i - 1], a) == 0)
		return;
	memmove(&g->first[i + 1], &g->first[i], (g->n - i) * sizeof(g->first[0]));
	g->first[i] = *a;
	g->n++;
}

static void compile_rules(const struct tg_guard_params *p, struct tg_guard *g)
{
	static const struct tg_addr zero;

	if (p->n_rules == 0)
		return;
	add_edge(g, &zero);
	for (unsigned int i = 0; i < p->n_rules; i++) {
		struct tg_addr a = low(&p->rules[i].prefix);

		add_edge(g, &a);
		if (behind(&p->rules[i].prefix, &a))
			add_edge(g, &a);
	}
	/* between two edges all addresses are alike */
	for (unsigned int i = 0; i < g->n; i++)
		g->deny[i] = denied(p, &g->first[i]);
}

void tg_guard_compile(const struct tg_guard_params *p, const struct tg_clock *clock,
		      unsigned int n_workers, struct tg_guard *out)
{
	const uint32_t rate[TG_GUARD_LIMITS] = {p->new_per_s, p->new_drop_per_s, p->packets_per_s,
						p->packets_drop_per_s};

	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < TG_GUARD_LIMITS; i++) {
		if (rate[i] == 0)
			continue;
		out->every[i] = clock->hz * n_workers / rate[i];
		if (out->every[i] == 0)
			out->every[i] = 1;
		out->burst[i] = clock->hz / 10;
	}
	compile_rules(p, out);
}

bool tg_guard_allows(const struct tg_guard *g, const struct tg_addr *client)
{
	unsigned int from = 0, to = g->n;

	if (to == 0)
		return true;
	while (to - from > 1) {
		unsigned int mid = (from + to) / 2;

		if (compare(&g->first[mid], client) <= 0)
			from = mid;
		else
			to = mid;
	}
	return !g->deny[from];
}
