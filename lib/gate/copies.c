/* SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>

#include "tg_copies.h"

void tg_copies_init(struct tg_copies *c, const struct tg_clock *clock)
{
	c->longest = tg_s_to_ticks(clock, TG_COPIES_S);
}

/* Only what TCP sends again: data, a SYN or a FIN. A bare acknowledgement shares its sequence
 * number with the data that follows. */
static inline bool comes_again(const struct tg_pkt *p)
{
	return p->key.protocol == IPPROTO_TCP && !(p->flags & TG_PKT_FRAGMENT) &&
	       (p->payload_len > 0 || (p->tcp_flags & (TG_TCP_SYN | TG_TCP_FIN)) != 0);
}

/* Flow and sequence number in one word, never 0. Not keyed: who makes two collide sees an age that is
 * wrong in a histogram, and nothing else. */
static inline uint64_t id_of(const struct tg_pkt *p)
{
	uint64_t word[sizeof(p->key) / sizeof(uint64_t)], h = p->seq;

	_Static_assert(sizeof(p->key) % sizeof(uint64_t) == 0, "whole words");
	memcpy(word, &p->key, sizeof(p->key));
	for (unsigned int i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		h = (h ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h | 1;
}

static inline unsigned int place_of(uint64_t id)
{
	return (unsigned int)(id >> 40) % TG_COPIES;
}

void tg_copies_dropped(struct tg_copies *c, const struct tg_pkt *p, uint64_t arrival)
{
	uint64_t id;
	struct tg_copy *copy;

	if (!comes_again(p))
		return;
	id = id_of(p);
	copy = &c->copy[place_of(id)];
	if (copy->id == id && arrival - copy->first <= c->longest)
		return; /* the second copy was late as well: the first one counts */
	*copy = (struct tg_copy){id, arrival};
	c->until = arrival + c->longest;
}

void tg_copies_look(const struct tg_copies *c, const struct tg_clock *clock,
		    const struct tg_burst *b, struct tg_hist *age)
{
	if (b->n == 0 || c->until == 0 || b->arrival[0] > c->until)
		return;
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_copy *copy;
		uint64_t id;

		if (b->verdict[i] != TG_FORWARD || !comes_again(&b->pkt[i]))
			continue;
		id = id_of(&b->pkt[i]);
		copy = &c->copy[place_of(id)];
		if (copy->id == id && b->arrival[i] > copy->first &&
		    b->arrival[i] - copy->first <= c->longest)
			tg_hist_record(age, tg_ticks_to_ns(clock, b->arrival[i] - copy->first), 1);
	}
}
