/* SPDX-License-Identifier: BSD-3-Clause */
#include "hold.h"

#define MASK (HOLD_MAX - 1)

bool tg_hold_put(struct tg_hold *h, uint32_t id, uint64_t due)
{
	uint32_t i = h->n;

	if (h->n == HOLD_MAX)
		return false;
	for (; i > 0 && h->at[(h->first + i - 1) & MASK].due > due; i--)
		h->at[(h->first + i) & MASK] = h->at[(h->first + i - 1) & MASK];
	h->at[(h->first + i) & MASK] = (struct tg_held){.due = due, .id = id};
	h->n++;
	return true;
}

bool tg_hold_take(struct tg_hold *h, uint64_t now, uint32_t *id)
{
	if (tg_hold_next(h) > now || h->n == 0)
		return false;
	*id = h->at[h->first].id;
	h->first = (h->first + 1) & MASK;
	h->n--;
	return true;
}

uint64_t tg_hold_next(const struct tg_hold *h)
{
	return h->n > 0 ? h->at[h->first].due : UINT64_MAX;
}
