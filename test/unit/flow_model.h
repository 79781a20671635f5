/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the flow table share, and a model of it: an array of all keys that may be in
 * it, in which everything is plain. It is written apart from the code under test, from what
 * tg_flow.h says, and both are driven through the same random operations.
 */
#ifndef TG_UNIT_FLOW_MODEL_H
#define TG_UNIT_FLOW_MODEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tg_flow.h"
#include "unit.h"

#define HZ   UINT64_C(1000000000)
#define YEAR (UINT64_C(365) * 86400 * HZ)

static const struct tg_flow_params usual = {.slots = 1024,
					    .tcp_idle_s = 300,
					    .udp_idle_s = 30,
					    .closed_s = 7};

static inline uint64_t rnd(void)
{
	static uint64_t random_state = 1;
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline struct tg_flow_table *table_with(const struct tg_flow_params *params, uint8_t seed)
{
	uint8_t secret[TG_FLOW_SECRET_SIZE];
	struct tg_clock clock = tg_clock_init(HZ);
	struct tg_flow_table *t = NULL;

	for (unsigned int i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)((i + 1) * 197 + seed * 31);
	ck_assert_int_eq(tg_flow_table_create(params, &clock, secret, -1, &t), 0);
	return t;
}

static inline struct tg_flow_table *table(uint32_t slots)
{
	struct tg_flow_params p = usual;

	p.slots = slots;
	return table_with(&p, 0);
}

/* Flow i of a protocol: different clients of one service. */
static inline struct tg_key key_of(uint32_t i, uint8_t protocol)
{
	struct tg_key k = {
		.client = tg_addr_from_v4(htonl(0x0a000000 + i / 4)),
		.client_port = (uint16_t)(1000 + i % 4),
		.service_port = 80,
		.protocol = protocol,
		.service = 3,
	};

	return k;
}

static inline struct tg_flow *insert(struct tg_flow_table *t, const struct tg_key *k, uint64_t now)
{
	return tg_flow_insert(t, k, tg_flow_hash(t, k), now);
}

static inline struct tg_flow *find(struct tg_flow_table *t, const struct tg_key *k)
{
	return tg_flow_find(t, k, tg_flow_hash(t, k));
}

static inline uint64_t live(const struct tg_flow_table *t)
{
	const struct tg_flow_stats *s = tg_flow_table_stats(t);

	return s->inserted - s->expired - s->removed;
}

static inline uint64_t walk(struct tg_flow_table *t)
{
	uint64_t cursor = 0, n = 0;

	while (tg_flow_next(t, &cursor) != NULL)
		n++;
	return n;
}

static inline unsigned int sweep_all(struct tg_flow_table *t, uint64_t now)
{
	return tg_flow_sweep(t, now, tg_flow_buckets(t), NULL, NULL, NULL);
}

#define MODEL_KEYS 1500u /* more than the table holds: inserts fail too */
#define MODEL_OPS  2000000u

struct model {
	struct tg_flow_table *t;
	uint64_t now;
	unsigned int present, expired;
	struct {
		struct tg_key key;
		uint64_t hash;
		struct tg_flow *flow; /* NULL: not in the table */
		uint64_t last_seen;
		uint8_t state;
	} flow[MODEL_KEYS];
};

/* Written apart from the code under test: what the header says of states. */
static inline uint8_t model_state(uint8_t state, const struct tg_pkt *p)
{
	bool fin = p->tcp_flags & TG_TCP_FIN, rst = p->tcp_flags & TG_TCP_RST;
	bool syn = p->tcp_flags & TG_TCP_SYN, data = p->payload_len > 0;

	if (p->key.protocol != IPPROTO_TCP)
		return TG_FLOW_OPEN;
	if (fin || rst)
		return TG_FLOW_SHUT;
	if (!syn && (state != TG_FLOW_SHUT || data))
		return TG_FLOW_OPEN;
	return state;
}

static inline bool model_idle(const struct model *m, unsigned int i)
{
	bool tcp = m->flow[i].key.protocol == IPPROTO_TCP;
	uint64_t limit = !tcp                               ? usual.udp_idle_s
			 : m->flow[i].state == TG_FLOW_OPEN ? usual.tcp_idle_s
							    : usual.closed_s;

	return m->now >= m->flow[i].last_seen + limit * HZ;
}

static inline void model_insert(struct model *m, unsigned int i)
{
	uint64_t full = tg_flow_table_stats(m->t)->full;
	struct tg_flow *f;

	if (m->flow[i].flow != NULL)
		return;
	f = tg_flow_insert(m->t, &m->flow[i].key, m->flow[i].hash, m->now);
	ck_assert_uint_eq(tg_flow_table_stats(m->t)->full, full + (f == NULL));
	if (f == NULL) {
		ck_assert_uint_gt(m->present, 800);
		return;
	}
	m->flow[i].flow = f;
	m->flow[i].last_seen = m->now;
	m->flow[i].state = TG_FLOW_NEW;
	memcpy(f->far, &i, sizeof(i));
	m->present++;
}

static inline void model_find(struct model *m, unsigned int i)
{
	if (tg_flow_find(m->t, &m->flow[i].key, m->flow[i].hash) != m->flow[i].flow)
		ck_abort_msg("flow %u is not where it was put", i);
}

static inline void model_remove(struct model *m, unsigned int i)
{
	if (m->flow[i].flow == NULL)
		return;
	tg_flow_remove(m->t, m->flow[i].flow);
	m->flow[i].flow = NULL;
	m->present--;
}

static inline void model_burst(struct model *m)
{
	unsigned int which[TG_BURST_MAX];
	struct tg_burst b = {.n = (uint16_t)(rnd() % (TG_BURST_MAX + 1))};

	for (unsigned int k = 0; k < b.n; k++) {
		which[k] = (unsigned int)(rnd() % MODEL_KEYS);
		b.pkt[k].key = m->flow[which[k]].key;
		b.pkt[k].tcp_flags = (uint8_t)(rnd() & rnd() & 0x17) | TG_TCP_ACK;
		b.pkt[k].payload_len = (uint16_t)(rnd() % 2);
		b.arrival[k] = m->now - rnd() % 3;
		b.verdict[k] = rnd() % 8 == 0 ? TG_DROP : TG_FORWARD;
	}
	tg_flow_lookup(m->t, &b);
	for (unsigned int k = 0; k < b.n; k++) {
		unsigned int i = which[k];

		if (b.verdict[k] != TG_FORWARD)
			continue;
		if (b.flow[k] != m->flow[i].flow || b.hash[k] != m->flow[i].hash)
			ck_abort_msg("packet %u of a burst, flow %u: wrong entry", k, i);
		if (m->flow[i].flow == NULL)
			continue;
		m->flow[i].last_seen = b.arrival[k];
		m->flow[i].state = model_state(m->flow[i].state, &b.pkt[k]);
	}
}

static inline void model_gone(void *ctx, struct tg_flow *f)
{
	struct model *m = ctx;
	unsigned int i;

	memcpy(&i, f->far, sizeof(i));
	ck_assert_uint_lt(i, MODEL_KEYS);
	ck_assert_ptr_eq(m->flow[i].flow, f);
	ck_assert(model_idle(m, i));
	m->flow[i].flow = NULL;
	m->present--;
	m->expired++;
}

static inline void model_sweep(struct model *m)
{
	tg_flow_sweep(m->t, m->now, tg_flow_buckets(m->t), model_gone, NULL, m);
	for (unsigned int i = 0; i < MODEL_KEYS; i++) {
		if (m->flow[i].flow == NULL)
			continue;
		ck_assert(!model_idle(m, i));
		ck_assert_uint_eq(m->flow[i].flow->last_seen, m->flow[i].last_seen);
		ck_assert_uint_eq(m->flow[i].flow->state, m->flow[i].state);
	}
	ck_assert_uint_eq(m->present, live(m->t));
	ck_assert_uint_eq(m->present, walk(m->t));
	ck_assert_uint_eq(m->expired, tg_flow_table_stats(m->t)->expired);
}

#endif
