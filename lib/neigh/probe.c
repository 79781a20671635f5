/* SPDX-License-Identifier: BSD-3-Clause */
/* Control asks: for what is not known, and whether what is known still holds. */
#include "private.h"

#define ASK_EVERY_S    1
#define REFRESH_S      30
#define WATCHED_S      1
#define UNANSWERED_MAX 3

/* Is a frame due, and to whom: NULL for everyone, mac for the known address alone. */
static bool due(const struct tg_neigh_table *t, struct neigh_entry *e, uint64_t now, uint8_t *mac,
		const uint8_t **unicast)
{
	uint64_t heard, fresh_until, word = __atomic_load_n(&e->word, __ATOMIC_ACQUIRE);

	if (word & NEIGH_FIXED)
		return false;
	*unicast = NULL;
	if (!(word & TG_MAC_VALID))
		return true;
	heard = __atomic_load_n(&e->news, __ATOMIC_RELAXED);
	if (heard + tg_s_to_ticks(&t->clock, ASK_EVERY_S) >= e->ask_at)
		e->unanswered = 0; /* heard of since it was last asked */
	fresh_until = heard + tg_s_to_ticks(&t->clock, e->watched ? WATCHED_S : REFRESH_S);
	if (now < fresh_until) {
		e->ask_at = fresh_until;
		e->unanswered = 0;
		return false;
	}
	if (e->unanswered < UNANSWERED_MAX) {
		e->unanswered++;
		neigh_mac_of(word, mac);
		*unicast = mac;
		return true;
	}
	e->unanswered = 0;
	/* A worker that learns another address just now wins. */
	__atomic_compare_exchange_n(&e->word, &word, word & ~TG_MAC_VALID, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return true;
}

unsigned int tg_neigh_tick(
	struct tg_neigh_table *t, const struct tg_neigh_port *ports, uint64_t now, unsigned int max,
	void (*send)(void *ctx, uint16_t port, const uint8_t *frame, uint16_t len), void *ctx)
{
	unsigned int sent = 0;

	for (unsigned int n = 0; n < TG_NEIGH_MAX && sent < max; n++) {
		struct neigh_entry *e = &t->entry[t->cursor];
		uint8_t frame[NEIGH_FRAME_MAX] = {0}, mac[6];
		const uint8_t *unicast;
		uint16_t len;

		t->cursor = (t->cursor + 1) % TG_NEIGH_MAX;
		if (e->state != NEIGH_LIVE || now < e->ask_at || !due(t, e, now, mac, &unicast))
			continue;
		if (tg_addr_is_v4(&e->address))
			len = neigh_arp_request(e, &ports[e->port], unicast, frame);
		else
			len = neigh_nd_request(e, &ports[e->port], unicast, frame);
		e->ask_at = now + tg_s_to_ticks(&t->clock, ASK_EVERY_S);
		send(ctx, e->port, frame, len);
		sent++;
	}
	return sent;
}
