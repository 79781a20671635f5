/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow table against DPDK's rte_hash on the same keys, places and entries. Measured is
 * a burst's look-up with everything it takes to use it: the keys are written (32 random flows),
 * found, and every entry's last_seen and state are set; both prefetch both lines of the entry.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_prefetch.h>

#include "bench.h"
#include "stream.h"
#include "tg_flow.h"
#include "tg_mem.h"

#define FLOWS                                                    \
	{                                                        \
		{1000, false}, {64000, false}, {1000000, false}, \
		{                                                \
			10000000, true                           \
		}                                                \
	}

#define LOAD_SLOTS (1u << 20)

struct hash_state {
	struct stream stream;
	struct tg_burst burst;
	struct tg_flow_table *own;
	struct rte_hash *rte;
	struct tg_flow *entries; /* of rte: by position */
	uint64_t now;
};

/* At most 80 % full. */
static uint32_t slots_for(uint64_t flows)
{
	return rte_align32pow2((uint32_t)RTE_MAX(flows + flows / 4, 1024u));
}

static uint64_t memory_own(const struct bench_family *f, uint64_t flows)
{
	(void)f;
	return (uint64_t)slots_for(flows) * (sizeof(struct tg_flow) + 2);
}

/* A key with its data 32, its share of a bucket 8, the ring of free places 4. */
static uint64_t memory_rte(const struct bench_family *f, uint64_t flows)
{
	(void)f;
	return (uint64_t)slots_for(flows) * (sizeof(struct tg_flow) + 44);
}

static void hash_free(void *state)
{
	struct hash_state *s = state;

	tg_flow_table_free(s->own);
	rte_hash_free(s->rte);
	tg_mem_free(s->entries);
	tg_mem_free(s);
}

static struct hash_state *hash_new(uint64_t flows)
{
	struct hash_state *s = tg_mem_zalloc("bench", sizeof(*s), 64, -1);

	if (s == NULL)
		return NULL;
	s->stream = (struct stream){.random = 1, .flows = flows};
	s->burst.n = BENCH_BURST;
	for (unsigned int i = 0; i < BENCH_BURST; i++) {
		s->burst.pkt[i].key = stream_key();
		s->burst.pkt[i].tcp_flags = TG_TCP_ACK;
	}
	return s;
}

static int own_fill(struct hash_state *s, uint64_t flows, uint32_t slots)
{
	struct tg_flow_params params = {.slots = slots,
					.tcp_idle_s = 300,
					.udp_idle_s = 30,
					.closed_s = 5};
	struct tg_clock clock = tg_clock_init(1000000000);
	uint8_t secret[TG_FLOW_SECRET_SIZE];
	struct tg_key key = stream_key();
	int rc;

	for (unsigned int i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)(i * 151 + 7);
	rc = tg_flow_table_create(&params, &clock, secret, -1, &s->own);
	if (rc < 0)
		return rc;
	for (uint64_t flow = 0; flow < flows; flow++) {
		stream_fill_key(&key, flow);
		tg_flow_insert(s->own, &key, tg_flow_hash(s->own, &key), 0);
	}
	return 0;
}

static int own_setup(const struct bench_family *f, uint64_t flows, void **state)
{
	struct hash_state *s = hash_new(flows);
	int rc = s != NULL ? own_fill(s, flows, slots_for(flows)) : -ENOMEM;

	(void)f;
	if (rc == 0 && tg_flow_table_stats(s->own)->full > 0)
		rc = -ENOSPC;
	if (rc < 0 && s != NULL)
		hash_free(s);
	*state = s;
	return rc;
}

/* A table of LOAD_SLOTS, of which so many percent are asked for. */
static int load_setup(const struct bench_family *f, uint64_t percent, void **state)
{
	uint64_t flows = LOAD_SLOTS / 100 * percent;
	struct hash_state *s = hash_new(flows);
	int rc = s != NULL ? own_fill(s, flows, LOAD_SLOTS) : -ENOMEM;

	(void)f;
	if (rc < 0 && s != NULL)
		hash_free(s);
	else if (rc == 0)
		fprintf(stderr, "hash/load/%" PRIu64 ": %.1f %% of the flows found no place\n",
			percent, 100.0 * (double)tg_flow_table_stats(s->own)->full / (double)flows);
	*state = s;
	return rc;
}

static void next_keys(struct hash_state *s)
{
	s->now += 1000;
	for (unsigned int i = 0; i < BENCH_BURST; i++) {
		stream_fill_key(&s->burst.pkt[i].key, stream_next(&s->stream));
		s->burst.arrival[i] = s->now;
	}
}

static uint64_t own_run(void *state, unsigned int bursts)
{
	struct hash_state *s = state;
	uint64_t found = 0;

	while (bursts-- > 0) {
		next_keys(s);
		tg_flow_lookup(s->own, &s->burst);
		for (unsigned int i = 0; i < BENCH_BURST; i++)
			found += s->burst.flow[i] != NULL;
	}
	return found;
}

/* Found or not: in a table that is asked for all its slots some are not. */
static uint64_t load_run(void *state, unsigned int bursts)
{
	own_run(state, bursts);
	return (uint64_t)bursts * BENCH_BURST;
}

static uint64_t load_memory(const struct bench_family *f, uint64_t percent)
{
	(void)f;
	(void)percent;
	return (uint64_t)LOAD_SLOTS * (sizeof(struct tg_flow) + 2);
}

static int rte_fill(struct hash_state *s, uint64_t flows)
{
	struct rte_hash_parameters params = {
		.name = "bench",
		.entries = slots_for(flows),
		.key_len = sizeof(struct tg_key),
		.hash_func = rte_hash_crc,
		.socket_id = SOCKET_ID_ANY,
	};
	struct tg_key key = stream_key();

	s->rte = rte_hash_create(&params);
	s->entries = tg_mem_zalloc("bench entries", (size_t)params.entries * sizeof(*s->entries),
				   64, -1);
	if (s->rte == NULL || s->entries == NULL)
		return -ENOMEM;
	for (uint64_t flow = 0; flow < flows; flow++) {
		int32_t at;

		stream_fill_key(&key, flow);
		at = rte_hash_add_key(s->rte, &key);
		if (at < 0)
			return at;
		s->entries[at].key = key;
	}
	return 0;
}

static int rte_setup(const struct bench_family *f, uint64_t flows, void **state)
{
	struct hash_state *s = hash_new(flows);
	int rc = s != NULL ? rte_fill(s, flows) : -ENOMEM;

	(void)f;
	if (rc < 0 && s != NULL)
		hash_free(s);
	*state = s;
	return rc;
}

static uint64_t rte_run(void *state, unsigned int bursts)
{
	struct hash_state *s = state;
	struct tg_burst *b = &s->burst;
	const void *keys[BENCH_BURST];
	int32_t at[BENCH_BURST];
	uint64_t found = 0;

	for (unsigned int i = 0; i < BENCH_BURST; i++)
		keys[i] = &b->pkt[i].key;
	while (bursts-- > 0) {
		next_keys(s);
		rte_hash_lookup_bulk(s->rte, keys, BENCH_BURST, at);
		for (unsigned int i = 0; i < BENCH_BURST; i++) {
			struct tg_flow *f = at[i] >= 0 ? &s->entries[at[i]] : NULL;

			b->flow[i] = f;
			if (f != NULL) {
				rte_prefetch0(f);
				rte_prefetch0(f->far);
			}
		}
		for (unsigned int i = 0; i < BENCH_BURST; i++) {
			if (b->flow[i] == NULL)
				continue;
			b->flow[i]->last_seen = b->arrival[i];
			b->flow[i]->state = TG_FLOW_OPEN;
			found++;
		}
	}
	return found;
}

const struct bench_family bench_hash_own = {
	.name = "hash/own",
	.what = "look-up of known flows in the gateway's table",
	.flows = FLOWS,
	.memory = memory_own,
	.setup = own_setup,
	.run = own_run,
	.free = hash_free,
};

const struct bench_family bench_hash_load = {
	.name = "hash/load",
	.what = "hash/own with 2^20 slots, of which so many percent are asked for",
	.flows = {{50, true}, {80, true}, {100, true}},
	.memory = load_memory,
	.setup = load_setup,
	.run = load_run,
	.free = hash_free,
};

const struct bench_family bench_hash_rte = {
	.name = "hash/rte",
	.what = "the same with DPDK's rte_hash and an array of the same entries",
	.flows = FLOWS,
	.memory = memory_rte,
	.setup = rte_setup,
	.run = rte_run,
	.free = hash_free,
};
