/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "tg_flow.h"
#include "tg_mem.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SLOTS_MIN (1u << 10)
#define SLOTS_MAX (1u << 28)
#define ALL_SLOTS ((1u << TG_FLOW_BUCKET) - 1)

struct tg_flow_table {
	uint16_t *tags; /* TG_FLOW_BUCKET a bucket; 0: the slot is free */
	struct tg_flow *entries;
	uint64_t mask;       /* of a bucket's number */
	uint64_t next;       /* bucket where the next sweep starts */
	uint64_t idle[2][4]; /* ticks, by [is TCP][state] */
	struct tg_clock clock;
	_Alignas(64) uint8_t secret[TG_FLOW_SECRET_SIZE];
	_Alignas(64) struct tg_flow_stats stats; /* others read them: a line of their own */
};

/*
 * The hash serves three purposes with bits of their own: 0..23 the first bucket, 24..47 the second
 * (2^28 slots are 2^24 buckets), 48..63 the tag.
 */
static inline uint64_t first_bucket(const struct tg_flow_table *t, uint64_t hash)
{
	return hash & t->mask;
}

/* Never the first one: small tables would lose half of some keys' places. */
static inline uint64_t second_bucket(const struct tg_flow_table *t, uint64_t hash)
{
	uint64_t b = (hash >> 24) & t->mask;

	return b ^ (b == first_bucket(t, hash));
}

static inline uint16_t tag_of(uint64_t hash)
{
	uint16_t tag = (uint16_t)(hash >> 48);

	return tag | (tag == 0);
}

static inline uint16_t *bucket_tags(const struct tg_flow_table *t, uint64_t bucket)
{
	return &t->tags[bucket * TG_FLOW_BUCKET];
}

/* Bit i: slot i of the bucket has this tag. */
static inline uint32_t match(const uint16_t tags[TG_FLOW_BUCKET], uint16_t tag)
{
#if defined(__SSE2__)
	__m128i want = _mm_set1_epi16((short)tag);
	__m128i low = _mm_load_si128((const __m128i *)tags);
	__m128i high = _mm_load_si128((const __m128i *)tags + 1);

	return (uint32_t)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_cmpeq_epi16(low, want), _mm_cmpeq_epi16(high, want)));
#else
	uint32_t m = 0;

	for (unsigned int i = 0; i < TG_FLOW_BUCKET; i++)
		m |= (uint32_t)(tags[i] == tag) << i;
	return m;
#endif
}

/* The 32 places of a key: bits 0..15 the first bucket's, 16..31 the second's. */
static inline uint32_t candidates(const struct tg_flow_table *t, uint64_t hash)
{
	uint16_t tag = tag_of(hash);

	return match(bucket_tags(t, first_bucket(t, hash)), tag) |
	       match(bucket_tags(t, second_bucket(t, hash)), tag) << TG_FLOW_BUCKET;
}

static inline struct tg_flow *place(const struct tg_flow_table *t, uint64_t hash, unsigned int i)
{
	uint64_t bucket = i < TG_FLOW_BUCKET ? first_bucket(t, hash) : second_bucket(t, hash);

	return &t->entries[bucket * TG_FLOW_BUCKET + i % TG_FLOW_BUCKET];
}

static inline void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

int tg_flow_table_create(const struct tg_flow_params *params, const struct tg_clock *clock,
			 const uint8_t secret[TG_FLOW_SECRET_SIZE], int socket,
			 struct tg_flow_table **out)
{
	struct tg_flow_table *t;
	uint64_t slots;

	if (params->slots < SLOTS_MIN || params->slots > SLOTS_MAX)
		return -EINVAL;
	slots = rte_align32pow2(params->slots);
	t = tg_mem_zalloc("flow table", sizeof(*t), _Alignof(struct tg_flow_table), socket);
	if (t == NULL)
		return -ENOMEM;
	t->tags = tg_mem_zalloc("flow tags", slots * sizeof(*t->tags), 64, socket);
	t->entries = tg_mem_zalloc("flow entries", slots * sizeof(*t->entries), sizeof(*t->entries),
				   socket);
	if (t->tags == NULL || t->entries == NULL) {
		tg_flow_table_free(t);
		return -ENOMEM;
	}
	t->mask = slots / TG_FLOW_BUCKET - 1;
	t->clock = *clock;
	memcpy(t->secret, secret, sizeof(t->secret));
	tg_flow_table_set_idle(t, params);
	*out = t;
	return 0;
}

void tg_flow_table_free(struct tg_flow_table *t)
{
	if (t == NULL)
		return;
	tg_mem_free(t->entries);
	tg_mem_free(t->tags);
	tg_mem_free(t);
}

void tg_flow_table_set_idle(struct tg_flow_table *t, const struct tg_flow_params *params)
{
	uint32_t handshake = RTE_MIN(params->tcp_idle_s,
				     RTE_MAX(params->closed_s, TG_FLOW_HANDSHAKE_S));
	uint64_t *tcp = t->idle[1], *other = t->idle[0];

	tcp[TG_FLOW_NEW] = tg_s_to_ticks(&t->clock, handshake);
	tcp[TG_FLOW_OPEN] = tg_s_to_ticks(&t->clock, params->tcp_idle_s);
	tcp[TG_FLOW_SHUT] = tg_s_to_ticks(&t->clock, params->closed_s);
	other[TG_FLOW_NEW] = tg_s_to_ticks(&t->clock, params->udp_idle_s);
	other[TG_FLOW_OPEN] = other[TG_FLOW_NEW];
}

static inline uint64_t hash_key(const struct tg_flow_table *t, const struct tg_key *key)
{
	return XXH3_64bits_withSecret(key, sizeof(*key), t->secret, sizeof(t->secret));
}

uint64_t tg_flow_hash(const struct tg_flow_table *t, const struct tg_key *key)
{
	return hash_key(t, key);
}

struct tg_flow *tg_flow_find(struct tg_flow_table *t, const struct tg_key *key, uint64_t hash)
{
	for (uint32_t c = candidates(t, hash); c != 0; c &= c - 1) {
		struct tg_flow *f = place(t, hash, (unsigned int)__builtin_ctz(c));

		if (tg_key_eq(&f->key, key))
			return f;
	}
	return NULL;
}

/* See "States" in the header. */
static inline uint8_t next_state(uint8_t state, const struct tg_pkt *p)
{
	if (p->key.protocol != IPPROTO_TCP)
		return TG_FLOW_OPEN;
	if (p->tcp_flags & (TG_TCP_FIN | TG_TCP_RST))
		return TG_FLOW_SHUT;
	if (p->tcp_flags & TG_TCP_SYN)
		return state;
	return state == TG_FLOW_SHUT && p->payload_len == 0 ? TG_FLOW_SHUT : TG_FLOW_OPEN;
}

/*
 * The slot that a new entry would get; NULL when both buckets are full. The first bucket while
 * half of it is free, else the emptier one. Always the emptier one would fill less than 1 % more
 * of the table before an insert fails, but send a third of all look-ups on to their second bucket:
 * here 8 % in a table half full.
 */
static inline struct tg_flow *free_slot(const struct tg_flow_table *t, uint64_t hash)
{
	uint64_t bucket = first_bucket(t, hash), second = second_bucket(t, hash);
	uint32_t avail = match(bucket_tags(t, bucket), 0);
	uint32_t other = match(bucket_tags(t, second), 0);
	int n_avail = __builtin_popcount(avail);

	if (n_avail < TG_FLOW_BUCKET / 2 && __builtin_popcount(other) > n_avail) {
		bucket = second;
		avail = other;
	}
	if (avail == 0)
		return NULL;
	return &t->entries[bucket * TG_FLOW_BUCKET + (unsigned int)__builtin_ctz(avail)];
}

/* Not rte_prefetch0_write: gcc takes a function that does no more than __builtin_prefetch for one
 * without effect and drops the call. */
static inline void prefetch_entry(const struct tg_flow *f)
{
	rte_prefetch0(f);
	rte_prefetch0(f->far);
}

/* Is there an entry in this bucket that has the hash's tag? *f: it, on its way to the cache. */
static inline bool find_tag(const struct tg_flow_table *t, uint64_t bucket, uint64_t hash,
			    struct tg_flow **f)
{
	uint32_t c = match(bucket_tags(t, bucket), tag_of(hash));

	if (c == 0)
		return false;
	*f = &t->entries[bucket * TG_FLOW_BUCKET + (unsigned int)__builtin_ctz(c)];
	prefetch_entry(*f);
	return true;
}

/* An ICMP error about the flow is no sign of life of its client. */
static inline void touch(struct tg_flow *f, const struct tg_pkt *p, uint64_t arrival)
{
	if (unlikely((p->flags & TG_PKT_ICMP_ERROR) != 0))
		return;
	f->last_seen = arrival;
	if (unlikely(f->state != TG_FLOW_OPEN ||
		     (p->tcp_flags & (TG_TCP_FIN | TG_TCP_RST | TG_TCP_SYN)) != 0))
		f->state = next_state(f->state, p);
}

void tg_flow_touch(struct tg_flow *f, const struct tg_pkt *p, uint64_t arrival)
{
	touch(f, p, arrival);
}

/* A miss is likely to be inserted soon; without this a new flow took more than twice as long. */
static inline void prefetch_new(const struct tg_flow_table *t, uint64_t hash)
{
	const struct tg_flow *f = free_slot(t, hash);

	if (f != NULL)
		prefetch_entry(f);
}

/* The packet's entry from the one whose tag fits. */
static inline void check_key(struct tg_flow_table *t, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	struct tg_flow *f = b->flow[i];

	if (f == NULL)
		return;
	if (unlikely(!tg_key_eq(&f->key, &p->key))) { /* another key with its tag */
		f = tg_flow_find(t, &p->key, b->hash[i]);
		b->flow[i] = f;
		if (f == NULL)
			return;
	}
	touch(f, p, b->arrival[i]);
}

/*
 * Waves over the burst: what one wave asks of memory, the next one finds. (A rolling loop over the
 * packets, each some places behind in its steps, was slower at every number of flows.)
 */
void tg_flow_lookup(struct tg_flow_table *t, struct tg_burst *b)
{
	uint8_t here[TG_BURST_MAX], second[TG_BURST_MAX];
	unsigned int n = 0, n_second = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		uint64_t hash;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		hash = hash_key(t, &b->pkt[i].key);
		rte_prefetch0(bucket_tags(t, first_bucket(t, hash)));
		b->hash[i] = hash;
		here[n++] = (uint8_t)i;
	}
	for (unsigned int k = 0; k < n; k++) {
		unsigned int i = here[k];
		uint64_t hash = b->hash[i];

		if (likely(find_tag(t, first_bucket(t, hash), hash, &b->flow[i])))
			continue;
		rte_prefetch0(bucket_tags(t, second_bucket(t, hash)));
		second[n_second++] = (uint8_t)i;
	}
	for (unsigned int k = 0; k < n_second; k++) {
		unsigned int i = second[k];
		uint64_t hash = b->hash[i];

		if (find_tag(t, second_bucket(t, hash), hash, &b->flow[i]))
			continue;
		b->flow[i] = NULL;
		prefetch_new(t, hash);
	}
	for (unsigned int k = 0; k < n; k++)
		check_key(t, b, here[k]);
}

/* By lines: for 128 bytes at once gcc uses a string instruction, and an insert takes 27 ns instead
 * of 12. */
static inline void clear(struct tg_flow *f)
{
	memset(f, 0, sizeof(*f) / 2);
	memset((uint8_t *)f + sizeof(*f) / 2, 0, sizeof(*f) / 2);
}

struct tg_flow *tg_flow_insert(struct tg_flow_table *t, const struct tg_key *key, uint64_t hash,
			       uint64_t now)
{
	struct tg_flow *f = free_slot(t, hash);

	if (f == NULL) {
		count(&t->stats.full, 1);
		return NULL;
	}
	t->tags[f - t->entries] = tag_of(hash);
	clear(f);
	f->key = *key;
	f->last_seen = now;
	f->state = TG_FLOW_NEW;
	count(&t->stats.inserted, 1);
	return f;
}

static void release(struct tg_flow_table *t, struct tg_flow *f)
{
	t->tags[f - t->entries] = 0;
	f->state = TG_FLOW_FREE;
}

void tg_flow_remove(struct tg_flow_table *t, struct tg_flow *f)
{
	release(t, f);
	count(&t->stats.removed, 1);
}

static inline uint32_t used(const struct tg_flow_table *t, uint64_t bucket)
{
	return ~match(bucket_tags(t, bucket), 0) & ALL_SLOTS;
}

static inline bool is_idle(const struct tg_flow_table *t, const struct tg_flow *f, uint64_t now)
{
	return now > f->last_seen &&
	       now - f->last_seen >= t->idle[f->key.protocol == IPPROTO_TCP][f->state];
}

static void prefetch_bucket(const struct tg_flow_table *t, uint64_t bucket)
{
	for (uint32_t u = used(t, bucket); u != 0; u &= u - 1)
		rte_prefetch0(
			&t->entries[bucket * TG_FLOW_BUCKET + (unsigned int)__builtin_ctz(u)]);
}

unsigned int tg_flow_sweep(struct tg_flow_table *t, uint64_t now, unsigned int buckets,
			   void (*gone)(void *ctx, struct tg_flow *f),
			   void (*stays)(void *ctx, struct tg_flow *f), void *ctx)
{
	unsigned int removed = 0;

	for (unsigned int i = 0; i < buckets; i++) {
		uint64_t bucket = t->next;

		t->next = (bucket + 1) & t->mask;
		prefetch_bucket(t, t->next);
		for (uint32_t u = used(t, bucket); u != 0; u &= u - 1) {
			struct tg_flow *f = &t->entries[bucket * TG_FLOW_BUCKET +
							(unsigned int)__builtin_ctz(u)];

			if (!is_idle(t, f, now)) {
				if (stays != NULL)
					stays(ctx, f);
				continue;
			}
			if (gone != NULL)
				gone(ctx, f);
			release(t, f);
			removed++;
		}
	}
	count(&t->stats.expired, removed);
	return removed;
}

struct tg_flow *tg_flow_next(struct tg_flow_table *t, uint64_t *cursor)
{
	while (*cursor / TG_FLOW_BUCKET <= t->mask) {
		uint64_t bucket = *cursor / TG_FLOW_BUCKET;
		uint32_t u = used(t, bucket) >> (*cursor % TG_FLOW_BUCKET);

		if (u != 0) {
			uint64_t slot = *cursor + (unsigned int)__builtin_ctz(u);

			*cursor = slot + 1;
			return &t->entries[slot];
		}
		*cursor = (bucket + 1) * TG_FLOW_BUCKET;
	}
	return NULL;
}

bool tg_flow_visit(const struct tg_flow_table *t, uint64_t *bucket, unsigned int buckets,
		   void (*seen)(void *ctx, const struct tg_flow *f), void *ctx)
{
	for (unsigned int i = 0; i < buckets && *bucket <= t->mask; i++, ++*bucket) {
		const struct tg_flow *first = &t->entries[*bucket * TG_FLOW_BUCKET];

		prefetch_bucket(t, (*bucket + 1) & t->mask);
		for (uint32_t u = used(t, *bucket); u != 0; u &= u - 1)
			seen(ctx, first + __builtin_ctz(u));
	}
	return *bucket <= t->mask;
}

unsigned int tg_flow_buckets(const struct tg_flow_table *t)
{
	return (unsigned int)(t->mask + 1);
}

uint64_t tg_flow_slots(const struct tg_flow_table *t)
{
	return (t->mask + 1) * TG_FLOW_BUCKET;
}

const struct tg_flow_stats *tg_flow_table_stats(const struct tg_flow_table *t)
{
	return &t->stats;
}
