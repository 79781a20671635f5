/* SPDX-License-Identifier: BSD-3-Clause */
#include "admission/admission.h"

#include <netinet/in.h>
#include <rte_mbuf.h>

#include "tg_admit_quick.h"
#include "tg_mem.h"

#define PASSED_MAX 64 /* of a queue, at one go */

struct tg_admission *tg_admission_create(int socket)
{
	struct tg_admission *a = tg_mem_zalloc("admission", sizeof(*a), 64, socket);

	if (a != NULL && tg_waiting_init(&a->waiting, socket) != 0) {
		tg_admission_free(a);
		return NULL;
	}
	return a;
}

void tg_admission_free(struct tg_admission *a)
{
	if (a == NULL)
		return;
	tg_waiting_free(&a->waiting);
	tg_mem_free(a);
}

/* ------------------------------------------------------------------ who asks */

static bool opens_connection(const struct tg_pkt *p, const struct tg_flow *f)
{
	if (p->key.protocol != IPPROTO_TCP)
		return f == NULL;
	return (p->tcp_flags & (TG_TCP_SYN | TG_TCP_ACK)) == TG_TCP_SYN &&
	       (f == NULL || f->state == TG_FLOW_SHUT);
}

/* polled: what the estimator goes by. */
static bool opens_exchange(const struct tg_worker *w, const struct tg_pkt *p,
			   const struct tg_flow *f, uint64_t polled)
{
	if (f != NULL)
		return tg_pirate_opens(&w->snapshot->pirate[p->key.service], f->estimator, f->near,
				       f->far, p, polled);
	return p->payload_len > 0 && (p->tcp_flags & TG_TCP_RST) == 0 &&
	       p->key.protocol != IPPROTO_ICMP && p->key.protocol != IPPROTO_ICMPV6;
}

#define PAID(a) (sizeof((a)->paid) / sizeof((a)->paid[0]))

/* Once a flow and burst: what opens an exchange has not left yet when the next packet is looked at. */
static bool has_paid(const struct tg_admission *a, uint64_t hash)
{
	unsigned int i = hash % PAID(a);

	return a->paid[i].flow == (uint32_t)(hash >> 32) && a->paid[i].turn == (uint32_t)a->turn;
}

static void mark_paid(struct tg_admission *a, uint64_t hash)
{
	unsigned int i = hash % PAID(a);

	a->paid[i].flow = (uint32_t)(hash >> 32);
	a->paid[i].turn = (uint32_t)a->turn;
}

/* Most packets of TCP have no payload: their request has been asked for, or is
 * yet to come. */
static inline bool opens_nothing(const struct tg_pkt *p, const struct tg_flow *f)
{
	return p->payload_len == 0 &&
	       (f == NULL || f->estimator == TG_ESTIMATOR_ECHO || f->estimator == TG_ESTIMATOR_ACK);
}

static bool opens_unpaid(struct tg_worker *w, const struct tg_burst *b, unsigned int i,
			 uint8_t cost)
{
	const struct tg_pkt *p = &b->pkt[i];

	if (p->key.flags & TG_KEY_FRAGMENT)
		return false;
	return (cost == TG_ADMIT_CONNECTION ? opens_connection(p, b->flow[i])
					    : opens_exchange(w, p, b->flow[i], b->now)) &&
	       !has_paid(w->admission, b->hash[i]);
}

static inline uint32_t cost_of(struct tg_worker *w, const struct tg_burst *b, unsigned int i,
			       uint8_t cost)
{
	const struct tg_pkt *p = &b->pkt[i];

	if (unlikely(p->flags & TG_PKT_ICMP_ERROR))
		return 0;
	if (cost == TG_ADMIT_PACKET)
		return 1;
	if (cost == TG_ADMIT_BYTE)
		return b->wire_len[i];
	if ((p->flags & TG_PKT_LATER) != 0)
		return 0;
	if (cost == TG_ADMIT_EXCHANGE && opens_nothing(p, b->flow[i]))
		return 0;
	return opens_unpaid(w, b, i, cost);
}

/* ------------------------------------------------------------------ what waits */

static void drop_waiting(struct tg_worker *w, struct tg_waiting_packet *p, uint64_t *count,
			 enum tg_reason why)
{
	w->stats.dropped[why]++;
	if (count != NULL)
		++*count;
	rte_pktmbuf_free(p->mbuf);
}

static struct tg_admission_stats *stats_of(const struct tg_worker *w, uint8_t pool)
{
	const struct tg_admission_pool *p = w->admission->pool[pool];

	return p != NULL ? p->stats[w->index] : NULL;
}

/* How many wait now, for others to see. */
static void show_waiting(struct tg_worker *w, uint8_t pool, enum tg_admit_class class)
{
	struct tg_admission_stats *st = stats_of(w, pool);
	uint32_t n = w->admission->waiting.n_pool[pool][class];

	if (st == NULL)
		return;
	tg_stat_set32(&st->waiting[class], n);
	if (n > st->most[class])
		tg_stat_set32(&st->most[class], n);
}

/* A place for one more, if need be for a less valuable one's. */
static struct tg_waiting_packet *make_room(struct tg_worker *w, uint8_t pool, uint8_t queue,
					   uint64_t hash)
{
	struct tg_waiting *q = &w->admission->waiting;
	enum tg_admit_class class = tg_waiting_class(queue);
	struct tg_waiting_packet *p = tg_waiting_add(q, pool, queue, hash), *shed;
	struct tg_admission_stats *st;

	if (p != NULL)
		return p;
	shed = tg_waiting_shed(q, pool, class, queue % TG_ADMIT_VALUES);
	if (shed == NULL)
		return NULL;
	st = stats_of(w, shed->pool);
	drop_waiting(w, shed, st != NULL ? &st->full[class] : NULL, TG_DROP_ADMISSION_FULL);
	show_waiting(w, shed->pool, class);
	return tg_waiting_add(q, pool, queue, hash);
}

/* Packet i of the burst waits in a queue of a pool. */
static void hold(struct tg_worker *w, struct tg_burst *b, unsigned int i, uint8_t pool,
		 uint8_t queue, const struct tg_admit_segment *segment, uint32_t cost)
{
	const struct tg_admission_rule *rule = &w->snapshot->admission[b->pkt[i].key.service];
	struct tg_admission *a = w->admission;
	enum tg_admit_class class = tg_waiting_class(queue);
	struct tg_admission_stats *st;
	struct tg_waiting_packet *p;

	if (a->waiting.n_pool[pool][TG_ADMIT_CALM] + a->waiting.n_pool[pool][TG_ADMIT_BURST] == 0)
		a->pool[pool] = rule->pool;
	st = rule->pool->stats[w->index];
	if (rule->wait_max == 0) {
		st->expired[class]++;
		tg_drop(b, i, TG_DROP_ADMISSION_WAIT);
		return;
	}
	p = make_room(w, pool, queue, b->hash[i]);
	if (p == NULL) {
		st->full[class]++;
		tg_drop(b, i, TG_DROP_ADMISSION_FULL);
		return;
	}
	p->mbuf = b->mbuf[i];
	p->arrival = b->arrival[i];
	p->polled = b->now;
	p->deadline = b->arrival[i] + rule->wait_max;
	p->segment = *segment;
	tg_waiting_price(&a->waiting, p, cost);
	p->wire_len = b->wire_len[i];
	p->port = b->port;
	p->server = b->server[i];
	p->pkt = b->pkt[i];
	b->verdict[i] = TG_TAKEN;
	st->held[class]++;
	show_waiting(w, pool, class);
}

/* Behind what waits of its flow. Of an exchange or a connection one pays; none may, where all that waits is
 * a copy of what was answered. */
static void hold_behind(struct tg_worker *w, struct tg_burst *b, unsigned int i,
			const struct tg_waiting_flow *f)
{
	const struct tg_admission_rule *rule = &w->snapshot->admission[b->pkt[i].key.service];
	const struct tg_pkt *p = &b->pkt[i];
	struct tg_admit_pool *tokens = rule->pool->tokens;
	uint32_t cost = 0;
	struct tg_admit_segment s = {0};

	if (f->pool == rule->pool->index && (rule->cost >= TG_ADMIT_PACKET || f->paying == 0))
		cost = cost_of(w, b, i, rule->cost);
	if (cost > 0) {
		s = tg_admit_segment(tokens, &p->key.client, p->key.service);
		tg_admit_ask(tokens, w->index, s, &p->key.client, p->key.service, cost);
	}
	hold(w, b, i, f->pool, f->queue, &s, cost);
}

/* ------------------------------------------------------------------ the stage */

/* May it go past those that wait? Burst goes behind all, calm behind calm. */
static inline bool is_free(const struct tg_admission *a, uint8_t pool, enum tg_admit_class class)
{
	const uint32_t *n = a->waiting.n_pool[pool];

	return n[TG_ADMIT_CALM] == 0 && (class == TG_ADMIT_CALM || n[TG_ADMIT_BURST] == 0);
}

/* Does it get its tokens, or would it have waited but for the mode? */
static bool ask(struct tg_worker *w, struct tg_burst *b, unsigned int i,
		const struct tg_admission_rule *rule, uint32_t cost)
{
	const struct tg_pkt *p = &b->pkt[i];
	struct tg_admission_pool *pool = rule->pool;
	struct tg_admit_segment s = tg_admit_segment(pool->tokens, &p->key.client, p->key.service);
	enum tg_admit_class class = tg_admit_ask(pool->tokens, w->index, s, &p->key.client,
						 p->key.service, cost);

	if (is_free(w->admission, pool->index, class) &&
	    tg_admit_take(pool->tokens, w->index, s, class, cost, b->now))
		return true;
	if (w->mode == TG_MODE_INLINE) {
		hold(w, b, i, pool->index, (uint8_t)(class * TG_ADMIT_VALUES + s.value), &s, cost);
		return false;
	}
	pool->stats[w->index]->would_wait[class]++;
	return true;
}

static __rte_noinline void look_closer(struct tg_worker *w, struct tg_burst *b, unsigned int i,
				       const struct tg_admission_rule *rule)
{
	struct tg_waiting *q = &w->admission->waiting;
	const struct tg_waiting_flow *f = q->n > 0 ? tg_waiting_flow_of(q, b->hash[i]) : NULL;
	uint32_t cost;

	if (f != NULL) {
		hold_behind(w, b, i, f);
		return;
	}
	cost = cost_of(w, b, i, rule->cost);
	if (cost > 0 && ask(w, b, i, rule, cost) && rule->cost <= TG_ADMIT_CONNECTION)
		mark_paid(w->admission, b->hash[i]);
}

/* The way of most: nothing waits, and a token is at hand, or none is asked for. */
static inline bool is_quick(struct tg_worker *w, const struct tg_burst *b, unsigned int i,
			    const struct tg_admission_rule *rule, struct tg_admit_quick *q)
{
	const struct tg_waiting *waiting = &w->admission->waiting;
	const struct tg_key *key = &b->pkt[i].key;
	uint32_t cost;

	if (waiting->n > 0 && tg_waiting_flow_of(waiting, b->hash[i]) != NULL)
		return false;
	if (rule->cost == TG_ADMIT_EXCHANGE && opens_nothing(&b->pkt[i], b->flow[i]))
		return true;
	cost = cost_of(w, b, i, rule->cost);
	if (cost == 0)
		return true;
	if (!tg_admit_quick_take(q, &key->client, key->service, cost))
		return false;
	if (rule->cost <= TG_ADMIT_CONNECTION)
		mark_paid(w->admission, b->hash[i]);
	return true;
}

/* Nobody goes past calm packets that wait. */
static inline void begin(struct tg_worker *w, const struct tg_admission_rule *rule,
			 struct tg_admit_quick *q)
{
	tg_admit_quick_begin(q, rule->pool->tokens, w->index);
	if (w->admission->waiting.n_pool[rule->pool->index][TG_ADMIT_CALM] > 0)
		q->left = 0;
}

void tg_admission_burst(struct tg_worker *w, struct tg_burst *b)
{
	const struct tg_admission_rule *rules = w->snapshot->admission, *open = NULL;
	struct tg_admit_quick q = {.spent = 0};

	w->admission->turn++;
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_admission_rule *rule;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		rule = &rules[b->pkt[i].key.service];
		if (rule->pool == NULL)
			continue;
		if (rule != open) {
			tg_admit_quick_end(&q);
			begin(w, rule, &q);
			open = rule;
		}
		if (likely(is_quick(w, b, i, rule, &q)))
			continue;
		tg_admit_quick_end(&q);
		look_closer(w, b, i, rule);
		begin(w, rule, &q);
	}
	tg_admit_quick_end(&q);
}

/* ------------------------------------------------------------------ what goes on */

static bool is_due(const struct tg_waiting_packet *p, uint64_t now)
{
	return (int64_t)(now - p->deadline) > 0;
}

/* The first of a queue has waited too long. */
static void give_up(struct tg_worker *w, struct tg_waiting_packet *p)
{
	struct tg_admission_stats *st = stats_of(w, p->pool);
	enum tg_admit_class class = tg_waiting_class(p->queue);

	tg_waiting_remove(&w->admission->waiting, p);
	drop_waiting(w, p, st != NULL ? &st->expired[class] : NULL, TG_DROP_ADMISSION_WAIT);
	show_waiting(w, p->pool, class);
}

static void expire(struct tg_worker *w, uint8_t pool, uint8_t queue, uint64_t now)
{
	struct tg_waiting_packet *p;

	while ((p = tg_waiting_first(&w->admission->waiting, pool, queue)) != NULL &&
	       is_due(p, now))
		give_up(w, p);
}

void tg_admission_use(struct tg_worker *w)
{
	struct tg_admission *a = w->admission;

	for (unsigned int i = 0; a != NULL && i < TG_ADMISSION_POOLS_MAX; i++)
		if (a->pool[i] != w->snapshot->pool[i])
			a->pool[i] = NULL;
}

void tg_admission_turn(struct tg_worker *w, uint64_t now)
{
	const struct tg_snapshot *s = w->snapshot;

	for (uint64_t left = s->pools; left != 0; left &= left - 1)
		tg_admit_tick(s->pool[__builtin_ctzll(left)]->tokens, w->index, now);
	if (!tg_admission_waits(w))
		return;
	for (uint64_t left = w->admission->waiting.pools; left != 0; left &= left - 1)
		for (uint8_t q = 0; q < TG_WAITING_QUEUES; q++)
			expire(w, (uint8_t)__builtin_ctzll(left), q, now);
}

/* Moves p from its queue into the burst. */
static void go_on(struct tg_worker *w, struct tg_burst *b, struct tg_waiting_packet *p,
		  uint64_t now)
{
	enum tg_admit_class class = tg_waiting_class(p->queue);
	struct tg_admission_stats *st = stats_of(w, p->pool);
	unsigned int i = b->n++;

	b->port = p->port;
	b->now = p->polled;
	b->mbuf[i] = p->mbuf;
	b->arrival[i] = p->arrival;
	b->wire_len[i] = p->wire_len;
	b->server[i] = p->server;
	b->verdict[i] = TG_FORWARD;
	b->pkt[i] = p->pkt;
	tg_waiting_remove(&w->admission->waiting, p);
	tg_stage_waited(w, TG_STAGE_ADMIT, p->arrival, now);
	if (st == NULL)
		return;
	st->released[class]++;
	tg_hist_record(&st->wait[class], tg_ticks_to_ns(&w->clock, now - p->arrival), 1);
	show_waiting(w, p->pool, class);
}

/* Is it only the cap of its own segment that holds it? Then it holds nobody else. */
static bool is_capped(const struct tg_worker *w, const struct tg_waiting_packet *p, uint64_t now)
{
	const struct tg_admission_pool *pool = w->admission->pool[p->pool];

	return pool != NULL && tg_admit_is_capped(pool->tokens, w->index, p->segment, now);
}

static bool may_go(const struct tg_worker *w, const struct tg_waiting_packet *p, uint64_t now)
{
	const struct tg_admission_pool *pool = w->admission->pool[p->pool];

	return pool == NULL || p->cost == 0 ||
	       tg_admit_take(pool->tokens, w->index, p->segment, tg_waiting_class(p->queue),
			     p->cost, now);
}

/* From one queue, until it must wait (true) or the burst takes no more of it (false). What a cap holds is
 * passed over, with the rest of its flow; so much of it that a call's work stays bounded. */
static bool empty_queue(struct tg_worker *w, struct tg_burst *b, uint8_t pool, uint8_t queue,
			uint64_t now)
{
	struct tg_waiting *q = &w->admission->waiting;
	struct tg_waiting_packet *p = tg_waiting_resume(q, pool, queue), *behind;

	for (unsigned int passed = 0; p != NULL && passed < PASSED_MAX; p = behind) {
		behind = tg_waiting_behind(q, p);
		if (is_due(p, now)) { /* behind one that may wait longer */
			give_up(w, p);
			continue;
		}
		if (b->n == TG_BURST_MAX ||
		    (b->n > 0 && (b->now != p->polled || b->port != p->port)))
			return false;
		if (!tg_waiting_is_passed(q, p)) {
			if (may_go(w, p, now)) {
				go_on(w, b, p, now);
				continue;
			}
			if (!is_capped(w, p, now))
				return true;
		}
		tg_waiting_pass_over(q, p);
		passed++;
	}
	return true;
}

unsigned int tg_admission_next(struct tg_worker *w, struct tg_burst *b)
{
	uint64_t now = tg_worker_now(w);

	b->n = 0;
	for (uint64_t left = w->admission->waiting.pools; left != 0; left &= left - 1)
		for (uint8_t q = 0; q < TG_WAITING_QUEUES; q++)
			if (!empty_queue(w, b, (uint8_t)__builtin_ctzll(left), q, now))
				return b->n;
	return b->n;
}

void tg_admission_discard(struct tg_worker *w)
{
	struct tg_waiting *q;

	if (!tg_admission_waits(w))
		return;
	q = &w->admission->waiting;
	for (uint8_t pool = 0; pool < TG_ADMISSION_POOLS_MAX; pool++)
		for (uint8_t queue = 0; queue < TG_WAITING_QUEUES; queue++)
			for (struct tg_waiting_packet *p;
			     (p = tg_waiting_first(q, pool, queue)) != NULL;) {
				tg_waiting_remove(q, p);
				drop_waiting(w, p, NULL, TG_DROP_ADMISSION_WAIT);
			}
}
