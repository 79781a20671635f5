/* SPDX-License-Identifier: BSD-3-Clause */
/* Which segment a client belongs to, and where it is counted. */
#include "private.h"

#include <string.h>

#define OTHERS 0xff /* clients without a rule, where only rules make segments */

struct words {
	uint64_t w[2];
};

static struct words words_of(const struct tg_addr *a)
{
	struct words x;

	memcpy(&x, a->b, sizeof(x));
	return x;
}

/* The mask of a prefix in the 128-bit form, in the order of memory. */
static void mask_of(unsigned int len, uint64_t out[2])
{
	struct tg_addr a = {{0}};
	struct words x;

	for (unsigned int i = 0; i < len; i++)
		a.b[i / 8] |= (uint8_t)(0x80 >> i % 8);
	x = words_of(&a);
	out[0] = x.w[0];
	out[1] = x.w[1];
}

static void add_rule(struct tg_admit_pool *p, unsigned int to, unsigned int rule)
{
	const struct tg_prefix *prefix = &p->params.rule[rule].prefix;
	struct words x = words_of(&prefix->addr);
	uint64_t mask[2];

	mask_of(prefix->len, mask);
	p->rules[to][0] = x.w[0] & mask[0];
	p->rules[to][1] = x.w[1] & mask[1];
	p->rules[to][2] = mask[0];
	p->rules[to][3] = mask[1];
	p->rule_number[to] = (uint8_t)rule;
}

static uint8_t first_of_name(const struct tg_admit_params *c, unsigned int rule)
{
	unsigned int i = 0;

	if (c->rule[rule].segment[0] == '\0')
		return 0;
	while (strcmp(c->rule[i].segment, c->rule[rule].segment) != 0)
		i++;
	return (uint8_t)(i + 1);
}

void tg_admit_compile_keys(struct tg_admit_pool *p, const uint8_t *secret)
{
	const struct tg_admit_params *c = &p->params;
	unsigned int n = 0;

	memcpy(p->key, secret, sizeof(p->key));
	mask_of(96 + c->ipv4_prefix, p->mask[0]);
	mask_of(c->ipv6_prefix, p->mask[1]);
	for (unsigned int len = 129; len-- > 0;)
		for (unsigned int i = 0; i < c->n_rules; i++)
			if (c->rule[i].prefix.len == len)
				add_rule(p, n++, i);
	for (unsigned int i = 0; i < c->n_rules; i++)
		p->named_by[i] = first_of_name(c, i);
}

/* The rule with the longest prefix; NULL: none. */
static const struct tg_admit_rule *rule_of(const struct tg_admit_pool *p, const struct words *a,
					   uint8_t *name)
{
	for (unsigned int i = 0; i < p->params.n_rules; i++) {
		const uint64_t *r = p->rules[i];

		if ((((a->w[0] & r[2]) ^ r[0]) | ((a->w[1] & r[3]) ^ r[1])) != 0)
			continue;
		*name = p->named_by[p->rule_number[i]];
		return &p->params.rule[p->rule_number[i]];
	}
	return NULL;
}

struct tg_admit_segment tg_admit_segment(const struct tg_admit_pool *p,
					 const struct tg_addr *client, uint16_t service)
{
	struct tg_admit_segment s = {.value = TG_ADMIT_SILVER};
	struct words a = words_of(client);

	if (p->params.n_rules > 0) {
		const struct tg_admit_rule *r = rule_of(p, &a, &s.rule);

		if (r != NULL)
			s.value = (uint8_t)r->value;
	}
	if (s.rule != 0) {
		a = (struct words){{s.rule, 0}};
		service = UINT16_MAX;
	} else if (p->params.by == TG_ADMIT_BY_PREFIX) {
		const uint64_t *mask = p->mask[!tg_addr_is_v4(client)];

		a.w[0] &= mask[0];
		a.w[1] &= mask[1];
	} else {
		a = (struct words){{OTHERS, 0}};
		if (p->params.by == TG_ADMIT_BY_MATCH)
			service = UINT16_MAX;
	}
	tg_admit_place(p, a.w[0], a.w[1], service, &s);
	return s;
}
