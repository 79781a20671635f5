/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands between the transmit side and lib/gate, and between the pipeline and lib/encap (the linker's
 * --wrap): sees what the gate decided, and reads the clock for itself; makes stages slow and packets
 * wait. The code under test is not changed.
 */
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "soak.h"
#include "tg_encap.h"

#define HELD_MAX 64

struct soak_batch soak_batch[SOAK_BATCHES];
struct soak_seen soak_seen;

static struct {
	const struct soak_kind *kind;
	struct tg_clock clock;
	uint64_t limit;
	uint32_t bursts;
	struct soak_batch
		came[TG_BURST_MAX]; /* of the burst at the gate: buffers may be gone after tx */
	struct tg_burst held[HELD_MAX];
	unsigned int next;
} now;

void soak_witness_begin(const struct soak_kind *k, const struct tg_clock *clock)
{
	memset(&now, 0, sizeof(now));
	memset(&soak_seen, 0, sizeof(soak_seen));
	now.kind = k;
	now.clock = *clock;
	now.limit = tg_us_to_ticks(clock, k->limit_us);
}

uint16_t __real_tg_gate_check_burst(const struct tg_gate_limit *limits,
				    const struct tg_gate_limit *strictest,
				    struct tg_gate_stats *stats, const struct tg_gate_wire *wire,
				    const struct tg_gate_item *items, uint16_t n, uint64_t at,
				    uint16_t *pass, uint16_t *late, struct tg_gate_span *span);
uint16_t __wrap_tg_gate_check_burst(const struct tg_gate_limit *limits,
				    const struct tg_gate_limit *strictest,
				    struct tg_gate_stats *stats, const struct tg_gate_wire *wire,
				    const struct tg_gate_item *items, uint16_t n, uint64_t at,
				    uint16_t *pass, uint16_t *late, struct tg_gate_span *span);
void __real_tg_gate_sent_burst(const struct tg_gate_limit *limits,
			       const struct tg_gate_limit *strictest, struct tg_gate_stats *stats,
			       const struct tg_clock *clock, const struct tg_gate_item *items,
			       const uint16_t *pass, uint16_t n_sent, uint64_t gate, uint64_t after,
			       const struct tg_gate_span *span);
void __wrap_tg_gate_sent_burst(const struct tg_gate_limit *limits,
			       const struct tg_gate_limit *strictest, struct tg_gate_stats *stats,
			       const struct tg_clock *clock, const struct tg_gate_item *items,
			       const uint16_t *pass, uint16_t n_sent, uint64_t gate, uint64_t after,
			       const struct tg_gate_span *span);
unsigned int __real_tg_encap_burst(const struct tg_route *routes, struct tg_burst *b,
				   uint16_t *outer_id);
unsigned int __wrap_tg_encap_burst(const struct tg_route *routes, struct tg_burst *b,
				   uint16_t *outer_id);

uint16_t __wrap_tg_gate_check_burst(const struct tg_gate_limit *limits,
				    const struct tg_gate_limit *strictest,
				    struct tg_gate_stats *stats, const struct tg_gate_wire *wire,
				    const struct tg_gate_item *items, uint16_t n, uint64_t at,
				    uint16_t *pass, uint16_t *late, struct tg_gate_span *span)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct rte_mbuf *m = items[i].mbuf;
		struct soak_tag tag;
		const struct soak_batch *b;

		memcpy(&tag, rte_pktmbuf_mtod_offset(m, const uint8_t *, m->data_len - sizeof(tag)),
		       sizeof(tag));
		b = &soak_batch[tag.batch % SOAK_BATCHES];
		now.came[i].before = b->before;
		now.came[i].after = __atomic_load_n(&b->after, __ATOMIC_ACQUIRE);
	}
	return __real_tg_gate_check_burst(limits, strictest, stats, wire, items, n, at, pass, late,
					  span);
}

/* One packet that the driver took: at the gate's read, at the gateway's read after tx, at our own. */
static void judge(const struct soak_batch *came, uint64_t arrival, uint64_t gate, uint64_t after,
		  uint64_t own)
{
	uint64_t sojourn;

	if (came->before == 0) {
		soak_seen.made++;
		return;
	}
	/* the feeder was interrupted before it could note the time */
	if (came->after == 0) {
		soak_seen.unknown += own - came->before > now.limit;
		return;
	}
	sojourn = tg_gate_sojourn(came->after, gate);
	soak_seen.oldest = RTE_MAX(soak_seen.oldest, sojourn);
	if (came->after > arrival)
		soak_seen.early = RTE_MAX(soak_seen.early, came->after - arrival);
	if (sojourn > now.limit)
		soak_seen.late++;
	else if (tg_gate_sojourn(came->after, after) > now.limit)
		soak_seen.late_after++;
	else if (tg_gate_sojourn(came->after, own) > now.limit)
		soak_seen.late_since++;
}

void __wrap_tg_gate_sent_burst(const struct tg_gate_limit *limits,
			       const struct tg_gate_limit *strictest, struct tg_gate_stats *stats,
			       const struct tg_clock *clock, const struct tg_gate_item *items,
			       const uint16_t *pass, uint16_t n_sent, uint64_t gate, uint64_t after,
			       const struct tg_gate_span *span)
{
	uint64_t own = rte_rdtsc();

	__real_tg_gate_sent_burst(limits, strictest, stats, clock, items, pass, n_sent, gate, after,
				  span);
	for (unsigned int k = 0; k < n_sent; k++)
		judge(&now.came[pass[k]], items[pass[k]].arrival, gate, after, own);
	soak_seen.sent += n_sent;
}

/* A stage that takes long now and then; the core works on. */
static void work(void)
{
	uint64_t end = rte_rdtsc() + tg_us_to_ticks(&now.clock, now.kind->work_us);

	if (now.kind->work_every == 0 || ++now.bursts % now.kind->work_every != 0)
		return;
	soak_seen.work++;
	while (rte_rdtsc() < end)
		rte_pause();
}

/* What waits for tokens or for bids leaves later than what came after it: bursts change places. */
static void wait_for_others(struct tg_burst *b)
{
	static struct tg_burst old;
	unsigned int at;

	if (now.kind->held == 0)
		return;
	/* not in turn: some wait for a moment, some for long */
	at = (now.next * 7u + (now.bursts++ & 3u)) % now.kind->held;
	now.next++;
	old = now.held[at];
	now.held[at] = *b;
	*b = old;
	soak_seen.waits++;
}

unsigned int __wrap_tg_encap_burst(const struct tg_route *routes, struct tg_burst *b,
				   uint16_t *outer_id)
{
	unsigned int n = __real_tg_encap_burst(routes, b, outer_id);

	work();
	wait_for_others(b);
	return n;
}
