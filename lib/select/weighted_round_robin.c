/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deficit round robin (M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round
 * Robin", IEEE/ACM ToN 4(3), 1996) with flows as the packets: a server that has its turn earns its
 * weight, and takes a flow when it has earned what one costs. A flow costs the greatest weight, so
 * that a server takes one flow a turn at most and heavy ones are spread over the round. Shares are
 * exact for any weights; a search passes each server once at most. Every worker has its own round.
 */
#include "group.h"

/* A server of this weight has its turn. */
static int32_t earn(struct tg_select_tally *t, uint64_t weight, int32_t price)
{
	t->credit += (int32_t)weight;
	if (t->credit > 2 * price) /* earned before a reload that made flows cheaper */
		t->credit = 2 * price;
	return t->credit;
}

static uint16_t pick(const struct tg_select_group *g, struct tg_select_local *l,
		     const struct tg_select_view *v, uint64_t hash)
{
	int32_t price = (int32_t)g->max_weight * 256, most = -1;
	uint16_t best = TG_NO_SERVER;

	if (v->tally == NULL) /* nothing can be remembered */
		return tg_policy_random.pick(g, l, v, hash);
	tg_select_keep_cursor(g, l);
	for (uint32_t left = g->n; left > 0; left--) {
		const struct tg_select_server *s = &g->server[l->cursor];
		int32_t credit = earn(&v->tally[s->id], tg_select_weight(v, s), price);

		l->cursor = l->cursor + 1 < g->n ? l->cursor + 1 : 0;
		if (credit >= price) {
			v->tally[s->id].credit -= price;
			return s->id;
		}
		if (credit > most) {
			most = credit;
			best = s->id;
		}
	}
	/* the heaviest are in slow start: the one that is nearest takes it, and starts anew */
	v->tally[best].credit = 0;
	return best;
}

const struct tg_policy_ops tg_policy_weighted_round_robin = {
	.name = "weighted-round-robin",
	.pick = pick,
};
