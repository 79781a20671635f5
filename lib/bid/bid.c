/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is asked, and who wins. */
#include "private.h"

#define BURST_US    10000
#define BURST_LEAST 8
#define HOPS_LIKELY 32 /* a longer way is none: the server's own TTL is not 64 */

struct tg_bid_config tg_bid_compile(const struct tg_bid_params *p, const struct tg_clock *clock,
				    unsigned int workers)
{
	struct tg_bid_config c = {
		.window = tg_us_to_ticks(clock, p->window_us),
		.give_up = tg_us_to_ticks(clock, TG_BID_GIVE_UP_MS * 1000),
		.fresh = tg_us_to_ticks(clock, TG_BID_FRESH_MS * 1000),
		.probe = tg_s_to_ticks(clock, p->probe_s),
		.token = clock->hz * workers / p->syn_rate,
		.depth = tg_us_to_ticks(clock, BURST_US),
		.auctions = p->auctions,
		.missed = p->missed,
	};

	if (c.depth < BURST_LEAST * c.token)
		c.depth = BURST_LEAST * c.token;
	return c;
}

/* A bucket of `depth` that fills with time: one auction takes a token (the generic cell rate algorithm,
 * ITU-T I.371). */
static bool within_rate(const struct tg_bid_config *c, struct tg_bid_service *s, uint64_t now)
{
	uint64_t full = now > c->depth ? now - c->depth : 0;
	uint64_t from = s->tokens_at > full ? s->tokens_at : full;

	if (from + c->token > now && now >= c->token)
		return false;
	s->tokens_at = from + c->token;
	return true;
}

/* Is it worth asking? One whose time of being skipped is over is asked once. */
static bool is_asked(const struct tg_bid_config *c, struct tg_bid_server *s, uint64_t now)
{
	if (s->skipped_until != 0) {
		if (now < s->skipped_until)
			return false;
		s->skipped_until = now + c->probe;
	}
	s->asked++;
	return true;
}

static void miss(const struct tg_bid_config *c, struct tg_bid_server *s, uint64_t now)
{
	s->misses++;
	if (s->misses >= c->missed)
		s->skipped_until = now + c->probe;
}

static void alive(struct tg_bid_server *s)
{
	s->misses = 0;
	s->skipped_until = 0;
}

struct tg_auction *tg_bid_open(struct tg_bid_table *t, const struct tg_bid_config *c,
			       const struct tg_pkt *syn, uint64_t hash, uint16_t except,
			       uint64_t now)
{
	struct tg_bid_service *s = &t->services[syn->key.service];
	struct tg_auction *a;

	if (s->open >= c->auctions) {
		s->over_auctions++;
		return NULL;
	}
	if (!within_rate(c, s, now)) {
		s->over_rate++;
		return NULL;
	}
	a = tg_auction_new(t, &syn->key, hash);
	if (a == NULL) {
		s->over_auctions++;
		return NULL;
	}
	a->syn = *syn;
	a->opened = now;
	a->winner = TG_BID_NOBODY;
	for (unsigned int i = 0; i < c->n; i++)
		if (c->server[i] != except && is_asked(c, &t->servers[c->server[i]], now))
			a->server[a->n++] = c->server[i];
	a->deadline = now + (c->window > 0 ? c->window : c->give_up);
	tg_auction_move(t, a, c->window > 0 ? TG_AUCTION_OPEN : TG_AUCTION_WAITING);
	s->open++;
	if (a->n == 0) {
		s->nobody_to_ask++;
		tg_bid_forget(t, a);
		return NULL;
	}
	s->auctions++;
	return a;
}

uint32_t tg_bid_score(const struct tg_bid_server *s, uint64_t fresh, uint8_t steps, uint64_t now)
{
	return steps + ((int64_t)(now - s->wins_from) <= (int64_t)fresh ? s->wins : 0);
}

static uint32_t score(const struct tg_bid_table *t, const struct tg_bid_config *c,
		      const struct tg_auction *a, const struct tg_bid_offer *o, uint64_t now)
{
	return o->plain ? UINT32_MAX
			: tg_bid_score(&t->servers[a->server[o->slot]], c->fresh, o->steps, now);
}

/* Room for one more answer, or the worst of them makes it; what goes is returned. Among equals each of
 * those that came has the same chance to be held (J. Vitter's reservoir). */
static void *hold(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a,
		  const struct tg_bid_offer *o)
{
	uint32_t own = score(t, c, a, o, o->at), worst = 0;
	unsigned int k = tg_bid_random(t, TG_BID_HELD), at = 0;
	void *gone;

	if (a->n_held < TG_BID_HELD) {
		a->held[a->n_held++] = *o;
		return NULL;
	}
	for (unsigned int i = 0; i < TG_BID_HELD; i++, k = (k + 1) % TG_BID_HELD) {
		uint32_t s = score(t, c, a, &a->held[k], o->at);

		if (i == 0 || s > worst) {
			worst = s;
			at = k;
		}
	}
	if (own > worst || (own == worst && tg_bid_random(t, (uint32_t)__builtin_popcountll(
								     a->answered)) >= TG_BID_HELD))
		return o->packet;
	gone = a->held[at].packet;
	a->held[at] = *o;
	return gone;
}

/* A bid; false if it is none to be considered. */
static bool note(const struct tg_bid_config *c, struct tg_auction *a, struct tg_bid_server *s,
		 enum tg_bid_kind kind, uint8_t steps, uint64_t now)
{
	if (kind == TG_BID_PLAIN) {
		a->plain++;
		s->plain++;
		if (c->window > 0)
			miss(c, s, now);
		else
			alive(s);
		return true;
	}
	alive(s);
	if (kind == TG_BID_NO) {
		a->refused++;
		s->refused++;
		return false;
	}
	if (s->steps != steps)
		s->wins = 0;
	s->steps = steps;
	return true;
}

void *tg_bid_answer(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a,
		    uint8_t slot, uint8_t ttl, uint8_t hops, void *packet, uint64_t at)
{
	struct tg_bid_offer o = {.packet = packet, .at = at, .slot = slot};
	struct tg_bid_server *s = &t->servers[a->server[slot]];
	enum tg_bid_kind kind = packet == NULL ? TG_BID_NO : tg_bid_read(ttl, hops, &o.steps);
	uint64_t bit = UINT64_C(1) << slot;

	if ((a->answered & bit) != 0)
		return packet;
	a->answered |= bit;
	if (kind == TG_BID_PLAIN)
		tg_bid_learn_hops(s, ttl);
	if (!note(c, a, s, kind, o.steps, at))
		return packet;
	o.plain = kind == TG_BID_PLAIN;
	return hold(t, c, a, &o);
}

static bool all_in(const struct tg_auction *a)
{
	return (unsigned int)__builtin_popcountll(a->answered) == a->n;
}

bool tg_bid_ripe(const struct tg_bid_config *c, const struct tg_auction *a, uint64_t now)
{
	return all_in(a) || (a->n_held > 0 && now - a->opened >= c->window);
}

bool tg_bid_given_up(const struct tg_bid_config *c, const struct tg_auction *a, uint64_t now)
{
	return now - a->opened >= c->give_up;
}

void tg_bid_wait_on(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a)
{
	a->deadline = a->opened + c->give_up;
	tg_auction_move(t, a, TG_AUCTION_WAITING);
}

void tg_bid_late(struct tg_bid_table *t, const struct tg_bid_config *c, uint16_t server)
{
	t->servers[server].late++;
	if (c->window == 0)
		alive(&t->servers[server]);
}

/* Two of those that bid nothing, at random; the one with fewer flows. */
static unsigned int two_choices(struct tg_bid_table *t, const struct tg_auction *a,
				const uint32_t *open_flows)
{
	unsigned int x = tg_bid_random(t, a->n_held), y;

	if (a->n_held < 2 || open_flows == NULL)
		return x;
	y = (x + 1 + tg_bid_random(t, a->n_held - 1u)) % a->n_held;
	return open_flows[a->server[a->held[y].slot]] < open_flows[a->server[a->held[x].slot]] ? y
											       : x;
}

/* Index of the held answer that wins. */
static unsigned int choose(struct tg_bid_table *t, const struct tg_bid_config *c,
			   const struct tg_auction *a, const uint32_t *open_flows, uint64_t now)
{
	uint32_t best = UINT32_MAX, ties = 0;
	unsigned int at = 0;

	for (unsigned int k = 0; k < a->n_held; k++) {
		uint32_t s = score(t, c, a, &a->held[k], now);

		if (s > best || s == UINT32_MAX)
			continue;
		ties = s < best ? 1 : ties + 1;
		if (tg_bid_random(t, ties) == 0)
			at = k;
		best = s;
	}
	return best != UINT32_MAX ? at : two_choices(t, a, open_flows);
}

/* How it ended, and who was not there: when all are late the window is too short, nobody is at fault. */
static void judge(struct tg_bid_table *t, const struct tg_bid_config *c, const struct tg_auction *a,
		  uint64_t now)
{
	struct tg_bid_service *s = &t->services[a->syn.key.service];
	bool after = a->state == TG_AUCTION_WAITING && c->window > 0 && a->answered != 0;

	s->decided++;
	if (all_in(a))
		s->all_in++;
	else if (a->answered == 0)
		s->nobody++;
	else if (after)
		s->after_window++;
	else
		s->at_window++;
	for (uint8_t i = 0; !after && i < a->n; i++) {
		if ((a->answered >> i & 1) != 0)
			continue;
		t->servers[a->server[i]].missed++;
		miss(c, &t->servers[a->server[i]], now);
	}
}

static void count_win(const struct tg_bid_config *c, struct tg_bid_server *s, uint64_t now)
{
	if ((int64_t)(now - s->wins_from) > (int64_t)c->fresh || s->wins == 0) {
		s->wins = 0;
		s->wins_from = now;
	}
	s->wins++;
	s->won++;
}

bool tg_bid_close(struct tg_bid_table *t, const struct tg_bid_config *c, struct tg_auction *a,
		  const uint32_t *open_flows, uint64_t now, struct tg_bid_offer *won,
		  void *let_go[TG_BID_HELD], unsigned int *n_let_go)
{
	unsigned int best;

	*n_let_go = 0;
	judge(t, c, a, now);
	t->services[a->syn.key.service].open--;
	tg_auction_move(t, a, TG_AUCTION_CLOSED);
	if (a->n_held == 0) {
		t->services[a->syn.key.service].refused += a->refused > 0;
		return false;
	}
	best = choose(t, c, a, open_flows, now);
	for (unsigned int k = 0; k < a->n_held; k++)
		if (k != best)
			let_go[(*n_let_go)++] = a->held[k].packet;
	*won = a->held[best];
	a->winner = won->slot;
	a->n_held = 0;
	count_win(c, &t->servers[a->server[won->slot]], now);
	return true;
}

void tg_bid_learn_hops(struct tg_bid_server *s, uint8_t ttl)
{
	if (ttl <= TG_BID_TTL && ttl >= TG_BID_TTL - HOPS_LIKELY)
		s->hops = (uint8_t)(TG_BID_TTL - ttl);
}
