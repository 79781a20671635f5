/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The envelope rule on the packet path: what a packet is, the samples it closes, their buckets.
 */
#include <netinet/in.h>

#include "bucket.h"
#include "gap_size.h"
#include "log2.h"

#define JOIN       269         /* log2(1.2) in 2^-10: a sample this near a centre joins it */
#define HALVE_AT   (256 * ONE) /* samples whose weight is then halved */
#define LEARN_ALL  64          /* packets whose sizes are all counted; then about one in sixteen */
#define FEW        (12 * ONE)  /* samples to give up when the limit moves */
#define UDP_SPREAD 8    /* bytes by which acknowledgements over UDP vary (QUIC: number, ranges) */
#define HANDSHAKE  4    /* packets of one size; more are no handshake */
#define INITIAL    1200 /* RFC 9000 section 14.1: at least so much has QUIC's first datagram */
#define FULL_SIZE  1000 /* the flow's largest packets, if this large, are parts of more */

static void learn(struct tg_envelope_near *n, struct tg_envelope_far *f, const struct tg_pkt *p,
		  uint64_t arrival)
{
	bool tcp = p->key.protocol == IPPROTO_TCP;
	uint16_t limit;

	/* over UDP no size may come twice: in steps */
	count_size(f, tcp ? p->ip_len : p->ip_len | (UDP_SPREAD - 1));
	n->learn = f->packets < LEARN_ALL ? 0 : (uint8_t)(9 + (dither_of(arrival) & 15));
	limit = find_limit(f, tcp ? 0 : UDP_SPREAD);
	if (limit == n->limit)
		return;
	n->limit = limit;
	/* Few so far, and mixed. More than a few are worth more than they are wrong. */
	if (f->total >= FEW)
		return;
	clear_buckets(&n->used, &f->gaps);
	f->total = 0;
	n->since = 0;
	if (n->state != TG_ENVELOPE_NEW)
		n->state = TG_ENVELOPE_IDLE;
}

/* ------------------------------------------------------------------ buckets */

/* What two buckets lose when they become one: little when they are near or one of them is light. Of
 * different kinds: more than any two of a kind. */
static inline uint32_t loss(const struct tg_gap_far *g, unsigned int i)
{
	uint32_t lighter = g->count[i] < g->count[i + 1] ? g->count[i] : g->count[i + 1];
	uint32_t apart = (uint32_t)(g->centre[i + 1] - g->centre[i]);

	return apart * lighter | (uint32_t)((g->centre[i] ^ g->centre[i + 1]) & TG_ENVELOPE_KIND_G)
					 << 12;
}

/* A bucket's centre, the log of an arithmetic mean, when count sixteenths at a distance join its own: with w
 * their share that is w x + (w - w^2) x^2 ln 2 / 2 octaves, to the second order. */
static inline uint16_t common_centre(const struct tg_gap_far *g, unsigned int i, int32_t apart,
				     uint32_t count)
{
	uint32_t own = g->count[i], share;
	int64_t bow = (int64_t)apart * apart * 355 >> 20; /* ln 2 / 2 / 1024 */

	for (; own + count > MEAN_OF; own /= 2)
		count = (count + 1) / 2;
	share = count * weight[own + count];
	bow = bow * (int64_t)(share * (uint64_t)(65536 - share) >> 16);
	bow = (apart * (int64_t)share + bow) >> 16;
	if (apart > 0 ? bow > apart : bow > 0) /* octaves apart the second order says too much */
		bow = apart > 0 ? apart : 0;
	return (uint16_t)(g->centre[i] + bow);
}

/* There are as many buckets as there may be, and log fits none: of all neighbours of a kind, it and the
 * nearest one among them, those become one that lose least by it. */
static void squeeze(struct tg_envelope_near *n, struct tg_gap_far *g, uint16_t log,
		    unsigned int near)
{
	int32_t apart = log - g->centre[near];
	uint32_t least = UINT32_MAX;
	unsigned int i;

	for (unsigned int k = 0; k + 1 < TG_GAP_BUCKETS; k++) {
		uint32_t l = loss(g, k) << 4 | k;

		least = l < least ? l : least;
	}
	if (((log ^ g->centre[near]) & TG_ENVELOPE_KIND_G) == 0 &&
	    (uint32_t)abs(apart) * ONE <= least >> 4) {
		g->centre[near] = common_centre(g, near, apart, ONE);
		g->count[near] += ONE;
		return;
	}
	i = least & 15;
	g->centre[i] = common_centre(g, i, g->centre[i + 1] - g->centre[i], g->count[i + 1]);
	g->count[i] = (uint16_t)(g->count[i] + g->count[i + 1]);
	remove_bucket(&n->used, g, i + 1);
	open_bucket(&n->used, g, log);
}

static void halve(struct tg_envelope_near *n, struct tg_envelope_far *f)
{
	fade(&n->used, &f->gaps);
	f->total = 0;
	for (unsigned int i = 0; i < n->used; i++)
		f->total = (uint16_t)(f->total + f->gaps.count[i]);
}

static void record(const struct tg_pirate_config *c, struct tg_envelope_near *n,
		   struct tg_envelope_far *f, uint16_t kind, uint64_t gap, uint64_t arrival)
{
	uint16_t log = (uint16_t)(kind | (tg_log2_of(gap, c->gap_shift) >> 1));
	struct tg_gap_far *g = &f->gaps;
	unsigned int near = nearest(g, log);

	if (abs(log - g->centre[near]) <= JOIN) {
		join(g, near, log, 1, dither_of(arrival));
	} else if (n->used == TG_GAP_BUCKETS) {
		squeeze(n, g, log, near);
	} else {
		open_bucket(&n->used, g, log);
	}
	f->total += ONE;
	n->since++;
	if (f->total >= HALVE_AT)
		halve(n, f);
}

/* ------------------------------------------------------------------ packets */

/*
 * The handshake is over with the first packet of another size than the first. Of several of the first
 * size the last one counts: what was sent again was answered once. Up to there nothing is a sample.
 */
static void handshake(const struct tg_pirate_config *c, struct tg_envelope_near *n,
		      struct tg_envelope_far *f, const struct tg_pkt *p, uint64_t arrival)
{
	uint64_t gap = arrival - n->request;

	if (n->handshake == 0) {
		clear_buckets(&n->used, &f->gaps);
		n->due = TG_ENVELOPE_FIRST_EPOCH;
		n->largest = p->ip_len;
		n->shakes = p->key.protocol == IPPROTO_TCP || p->ip_len >= INITIAL;
	} else if (p->ip_len != n->largest && gap >> c->gap_shift != 0 && gap < c->clock.hz) {
		f->floor = tg_log2_of(gap, c->gap_shift);
	}
	n->request = arrival;
	if (++n->handshake > HANDSHAKE || p->ip_len != n->largest)
		n->state = TG_ENVELOPE_IDLE;
}

/* The second acknowledgement may take 1.5 times the first one's time, a later one 2.2 times that of
 * the one before: more is a pause. */
static inline void acknowledge(struct tg_envelope_near *n, struct tg_envelope_far *f, uint32_t gap)
{
	if (n->state == TG_ENVELOPE_REQUEST || n->state == TG_ENVELOPE_PART) {
		n->waited = gap;
		n->state = TG_ENVELOPE_FIRST;
	} else if (n->state == TG_ENVELOPE_FIRST || n->state == TG_ENVELOPE_LATER) {
		bool pause = n->state == TG_ENVELOPE_FIRST ? gap * 2ull > n->waited * 3ull
							   : gap * 5ull > n->waited * 11ull;

		if (pause) {
			n->state = TG_ENVELOPE_ENDED;
			return;
		}
		f->step = gap - n->waited;
		n->state = TG_ENVELOPE_LATER;
		n->waited = gap;
	}
}

/* The time of the answer that a request ends. A request that comes in the rhythm of the acknowledgements
 * carries the last one itself. */
static inline uint64_t answered(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
				const struct tg_envelope_far *f, uint64_t gap)
{
	uint64_t waited = (uint64_t)n->waited << c->gap_shift;
	uint64_t step = (uint64_t)f->step << c->gap_shift;

	return n->state == TG_ENVELOPE_LATER && (gap - waited) * 2 <= step * 3 ? gap : waited;
}

static inline void request(const struct tg_pirate_config *c, struct tg_envelope_near *n,
			   struct tg_envelope_far *f, uint16_t size, uint64_t arrival)
{
	uint64_t gap = arrival - n->request;
	uint16_t kind = TG_ENVELOPE_KIND_G;

	if (n->state >= TG_ENVELOPE_FIRST) {
		gap = answered(c, n, f, gap);
		kind = 0;
	}
	if (n->state >= TG_ENVELOPE_REQUEST && gap >> c->gap_shift != 0)
		record(c, n, f, kind, gap, arrival);
	n->request = arrival;
	n->answered = 0;
	n->state = TG_ENVELOPE_REQUEST;
	if (size >= n->largest) {
		n->largest = size;
		if (size >= FULL_SIZE)
			n->state = TG_ENVELOPE_PART;
	}
}

void tg_envelope_depart(const struct tg_pirate_config *c, struct tg_envelope_near *n,
			struct tg_envelope_far *f, const struct tg_pkt *p, uint64_t arrival)
{
	uint64_t gap = arrival - n->request;

	if (n->learn-- == 0)
		learn(n, f, p, arrival);
	if (n->state == TG_ENVELOPE_NEW) {
		handshake(c, n, f, p, arrival);
		return;
	}
	if (gap > c->longest) {
		if (n->request - arrival <= c->longest)
			return; /* overtaken */
		n->state = TG_ENVELOPE_IDLE;
	}
	if (p->ip_len > n->limit)
		request(c, n, f, p->ip_len, arrival);
	else
		acknowledge(n, f, (uint32_t)(gap >> c->gap_shift));
}

/* Not more of a request: what follows a full-size packet within a millisecond, or anything sooner than the
 * handshake took. */
bool tg_envelope_opens(const struct tg_pirate_config *c, const struct tg_envelope_near *n,
		       const struct tg_envelope_far *f, uint16_t size, uint64_t arrival)
{
	uint64_t gap = arrival - n->request;

	if (size <= n->limit)
		return false;
	if (n->handshake == 0 || gap > c->longest)
		return true;
	if (gap >> c->gap_shift == 0 || (n->state == TG_ENVELOPE_PART && gap < c->clock.hz >> 10))
		return false;
	return tg_log2_of(gap, c->gap_shift) >= f->floor;
}
