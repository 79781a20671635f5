/* SPDX-License-Identifier: BSD-3-Clause */
#include "feed.h"

#include <errno.h>
#include <rte_mbuf.h>

#include "pipeline.h"
#include "tg_parse.h"

#define CAPTURE_HZ UINT64_C(1000000000)

/* Once a second of capture time the whole table, so that one capture always gives one report: what
 * ages does not depend on where the keyed hash put it. */
static void age(struct tg_feed *feed, uint64_t now)
{
	if (feed->aged_to != 0 && now - feed->aged_to < CAPTURE_HZ)
		return;
	feed->aged_to = now;
	tg_pipeline_age(feed->worker, now, tg_flow_buckets(feed->worker->flows));
}

/* Flows that this burst made, for the report. */
static void note_flows(struct tg_feed *feed, const struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_FORWARD && b->flow[i] != NULL)
			tg_flow_results_placed(feed->results, &b->pkt[i].key, b->server[i],
					       !feed->shown[i]);
}

/* What would have left: the gate at the moment of arrival, then gone. */
static void depart(struct tg_feed *feed, struct tg_burst *b)
{
	struct tg_worker *w = feed->worker;

	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_pkt *p = &b->pkt[i];
		const struct tg_gate_item item = {.mbuf = b->mbuf[i],
						  .arrival = b->arrival[i],
						  .polled = b->arrival[i],
						  .service = p->key.service};
		uint16_t pass = 0, late = 0;

		if (b->verdict[i] != TG_FORWARD)
			continue;
		tg_gate_check(w->snapshot->limit, &w->stats.gate, &item, 1, item.arrival, &pass,
			      &late);
		tg_gate_sent(w->snapshot->limit, &w->stats.gate, &w->clock, &item, &pass, 1,
			     item.arrival, item.arrival);
		w->stats.forwarded++;
		w->stats.forwarded_bytes += b->wire_len[i];
		tg_pipeline_departed(w, b->flow[i], p, b->server[i], b->wire_len[i], item.arrival,
				     item.arrival);
		rte_pktmbuf_free(b->mbuf[i]);
		b->verdict[i] = TG_TAKEN;
	}
}

static void run(struct tg_feed *feed)
{
	struct tg_worker *w = feed->worker;
	struct tg_burst *b = &w->burst;
	const struct tg_flow_stats *flows = tg_flow_table_stats(w->flows);
	uint64_t before = flows->inserted;

	if (b->n == 0)
		return;
	age(feed, b->arrival[0]);
	b->now = b->arrival[b->n - 1];
	b->port = 0;
	tg_pipeline_run(w, b);
	if (flows->inserted != before)
		note_flows(feed, b);
	depart(feed, b);
	tg_pipeline_finish(w, b);
	b->n = 0;
}

static void count_received(struct tg_worker *w, uint32_t bytes)
{
	w->stats.received++;
	w->stats.received_bytes += bytes;
}

/* What a server sent never reaches a gateway of direct server return. */
static bool from_server(const struct tg_feed *feed, const uint8_t *data,
			const struct tg_link_result *frame)
{
	struct tg_pkt p;

	return feed->conversations != NULL &&
	       tg_parse(data, frame->cap_len, frame->wire_len, &p) == TG_DROP_NONE &&
	       tg_conversations_from_server(feed->conversations, &p);
}

static void append(struct tg_feed *feed, struct rte_mbuf *m, struct tg_link_result *frame,
		   uint64_t arrival)
{
	struct tg_burst *b = &feed->worker->burst;
	unsigned int i = b->n++;

	b->server[i] = TG_NO_SERVER;
	if (feed->true_servers != NULL)
		b->server[i] = tg_true_server(feed->true_servers, rte_pktmbuf_mtod(m, uint8_t *),
					      &frame->cap_len, &frame->wire_len);
	feed->shown[i] = feed->true_servers == NULL || b->server[i] != TG_NO_SERVER;
	m->data_len = (uint16_t)frame->cap_len;
	m->pkt_len = frame->cap_len;
	b->mbuf[i] = m;
	b->arrival[i] = arrival;
	b->wire_len[i] = frame->wire_len;
	b->verdict[i] = TG_FORWARD;
}

static void note_time(struct tg_feed *feed, uint64_t ns)
{
	if (feed->first_ns == 0 || ns < feed->first_ns)
		feed->first_ns = ns;
	if (ns > feed->last_ns)
		feed->last_ns = ns;
}

int tg_feed_frame(struct tg_feed *feed, const struct tg_frame *raw)
{
	struct tg_burst *b = &feed->worker->burst;
	struct tg_link_result frame;
	struct rte_mbuf *m;
	uint64_t arrival;
	int rc;

	arrival = tg_timeline(&feed->line, raw->time_ns);
	if (b->n == TG_BURST_MAX || (b->n > 0 && arrival - b->arrival[0] > TG_FEED_BURST_NS))
		run(feed);
	m = rte_pktmbuf_alloc(feed->pool);
	if (m == NULL)
		return -ENOMEM;
	rc = tg_link_to_ethernet(raw, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m),
				 &frame);
	tg_link_count(&feed->link, raw, rc);
	if (rc != 0) {
		rte_pktmbuf_free(m);
		return 0;
	}
	note_time(feed, raw->time_ns);
	count_received(feed->worker, frame.wire_len);
	if (from_server(feed, rte_pktmbuf_mtod(m, const uint8_t *), &frame)) {
		feed->worker->stats.dropped[TG_DROP_NOT_OURS]++;
		rte_pktmbuf_free(m);
		return 0;
	}
	append(feed, m, &frame, arrival);
	return 0;
}

void tg_feed_end(struct tg_feed *feed)
{
	run(feed);
	tg_pipeline_end(feed->worker);
}
