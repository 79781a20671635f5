/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "link.h"
#include "replay_rig.h"
#include "timeline.h"

#define BEGIN_NS UINT64_C(10000000000) /* of virtual time: capture time 0 */

struct passes {
	const char *capture, *config;
	double speed;
	const struct tg_true_servers *servers;
	const volatile bool *stop;
	char *text;
	size_t room;
};

/* What a pass gives. */
struct pass {
	uint64_t received, for_a_service, late, sent, violations, other;
	struct tg_hist on_wire, at_server;
	bool servers;
};

uint32_t tg_replay_rate(const struct tg_config *c)
{
	uint32_t rate = 0;

	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].role != TG_ROLE_CLIENT && c->ports[i].rate_mbps != 0)
			rate = c->ports[i].rate_mbps;
	return rate;
}

unsigned int tg_replay_memory_mb(const struct tg_config *c)
{
	return TG_REPLAY_MEMORY_MB + (unsigned int)((uint64_t)c->flow_table.slots * 140 >> 20);
}

/* A captured frame in a buffer: as long as it was on the wire, so that the link takes its time. What
 * the capture cut off is zeros. */
static bool fill(const struct passes *p, struct rte_mbuf *m, const struct tg_frame *frame)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	struct tg_link_result f;
	uint32_t len;

	if (tg_link_to_ethernet(frame, data, rte_pktmbuf_tailroom(m), &f) != 0)
		return false;
	if (p->servers != NULL)
		tg_true_server(p->servers, data, &f.cap_len, &f.wire_len);
	len = RTE_MIN(f.wire_len, (uint32_t)rte_pktmbuf_tailroom(m));
	if (len > f.cap_len)
		memset(data + f.cap_len, 0, len - f.cap_len);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	return true;
}

static int feed(const struct passes *p, struct tg_replay_rig *r, struct tg_capture *cap)
{
	struct tg_timeline line = {0};
	uint64_t first = 0;
	struct tg_frame frame;

	while (tg_capture_next(cap, &frame) == 1) {
		struct rte_mbuf *m = tg_replay_buffer(r);
		uint64_t at = tg_timeline(&line, frame.time_ns);

		if (p->stop != NULL && *p->stop) {
			rte_pktmbuf_free(m);
			snprintf(p->text, p->room, "interrupted");
			return -EINTR;
		}
		if (first == 0)
			first = at;
		if (m == NULL || !fill(p, m, &frame)) {
			rte_pktmbuf_free(m);
			continue;
		}
		tg_replay_arrive(r, m, BEGIN_NS + (uint64_t)((double)(at - first) / p->speed));
	}
	tg_replay_finish(r);
	return 0;
}

static void collect(const struct tg_replay_rig *r, struct pass *out)
{
	const struct tg_worker_stats *w = &r->worker->stats;

	*out = (struct pass){.received = w->received + r->missed,
			     .late = w->dropped[TG_DROP_LATE],
			     .sent = r->on_wire.count,
			     .violations = r->violations,
			     .on_wire = r->on_wire,
			     .at_server = r->at_server,
			     .other = r->missed + w->dropped[TG_DROP_TX_FULL]};
	for (uint32_t i = 0; i < r->n_servers; i++)
		out->servers |= r->server[i].service_ns > 0;
	out->for_a_service = out->sent + out->late + out->other;
}

/* limit_us 0: no limit. */
static int pass(const struct passes *p, uint32_t limit_us, struct pass *out)
{
	struct tg_replay_rig *r = calloc(1, sizeof(*r));
	struct tg_capture *cap = NULL;
	int rc;

	snprintf(p->text, p->room, "not enough memory for a replay");
	if (r == NULL)
		return -ENOMEM;
	rc = tg_capture_open(p->capture, &cap, p->text, p->room);
	if (rc == 0)
		rc = tg_replay_rig_make(r, p->config, limit_us, BEGIN_NS, p->text, p->room);
	if (rc == 0)
		rc = feed(p, r, cap);
	if (rc == 0)
		collect(r, out);
	tg_replay_rig_free(r);
	tg_capture_close(cap);
	free(r);
	return rc;
}

/* Share of the packets above T. */
static double above(const struct tg_hist *h, uint64_t ns)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++)
		if (tg_hist_mid_ns(i) > ns)
			n += h->bucket[i];
	return h->count > 0 ? (double)n / (double)h->count : 0;
}

/* T where the pass without a limit had so many late; whole us, each once, ascending. */
static unsigned int choose(const struct tg_hist *h, uint32_t *limit)
{
	static const double percent[TG_REPLAY_POINTS] = {1, 10, 25, 50, 75, 90, 95, 99, 99.9};
	unsigned int n = 0;

	for (unsigned int i = 0; i < TG_REPLAY_POINTS; i++) {
		uint64_t us = (tg_hist_percentile_ns(h, percent[i]) + 999) / 1000;

		us = RTE_MAX(us, UINT64_C(1));
		us = RTE_MIN(us, UINT64_C(10000000));
		if (n == 0 || us > limit[n - 1])
			limit[n++] = (uint32_t)us;
	}
	return n;
}

static int points(const struct passes *p, const struct pass *free_run, struct pass *one,
		  struct tg_replay *out)
{
	uint32_t limit[TG_REPLAY_POINTS];
	unsigned int n = choose(&free_run->on_wire, limit);

	for (unsigned int i = 0; i < n; i++) {
		int rc = pass(p, limit[i], one);

		if (rc != 0)
			return rc;
		out->point[out->n_points++] = (struct tg_replay_point){
			.limit_us = limit[i],
			.forecast = above(&free_run->on_wire, limit[i] * UINT64_C(1000)),
			.dropped = one->for_a_service > 0
					   ? (double)one->late / (double)one->for_a_service
					   : 0,
			.sent = one->sent,
			.violations = one->violations,
			.p99_ns = tg_hist_percentile_ns(&one->on_wire, 99),
			.max_ns = one->on_wire.max_ns,
			.server_wait_p99_ns = tg_hist_percentile_ns(&one->at_server, 99),
		};
	}
	return 0;
}

int tg_replay_run(const char *capture, const char *config, double speed,
		  const struct tg_true_servers *servers, const volatile bool *stop,
		  struct tg_replay *out, char *text, size_t room)
{
	const struct passes p = {capture, config, speed, servers, stop, text, room};
	struct pass *runs = calloc(2, sizeof(*runs));
	int rc = -ENOMEM;

	memset(out, 0, sizeof(*out));
	out->speed = speed;
	snprintf(text, room, "not enough memory for a replay");
	if (runs != NULL)
		rc = pass(&p, 0, &runs[0]);
	if (rc == 0) {
		const struct tg_hist *h = &runs[0].on_wire;

		out->packets = runs[0].for_a_service;
		out->other = runs[0].other;
		out->servers = runs[0].servers;
		out->p50_ns = tg_hist_percentile_ns(h, 50);
		out->p99_ns = tg_hist_percentile_ns(h, 99);
		out->max_ns = h->max_ns;
		if (h->count > 0)
			rc = points(&p, &runs[0], &runs[1], out);
	}
	free(runs);
	return rc;
}
