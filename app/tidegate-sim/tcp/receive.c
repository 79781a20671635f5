/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that arrives: put in order, and when it is acknowledged. */
#include <string.h>

#include "client_group.h"
#include "end.h"

/* Adds [from, to) to what lies above a hole. False: there are too many holes, the data is lost. */
static bool keep(struct tg_end *e, uint64_t from, uint64_t to)
{
	struct tg_ranges *s = e->ranges;
	uint32_t i, last;

	if (s == NULL)
		s = e->ranges = tg_pool_take(&e->connection->owner->ranges);
	for (i = s->n; i > 0 && s->r[i - 1].to >= from; i--)
		;
	/* r[i] is the first that ends at or after `from`; those up to `last` touch the new one */
	for (last = i; last < s->n && s->r[last].from <= to; last++)
		;
	if (last == i && s->n == TG_RANGES)
		return false;
	if (last > i) {
		from = s->r[i].from < from ? s->r[i].from : from;
		to = s->r[last - 1].to > to ? s->r[last - 1].to : to;
	}
	if (last != i + 1)
		memmove(&s->r[i + 1], &s->r[last], (s->n - last) * sizeof(s->r[0]));
	s->r[i].from = from;
	s->r[i].to = to;
	s->n = s->n - (last - i) + 1;
	return true;
}

/* The hole below the first range is filled, perhaps. */
static void join(struct tg_end *e)
{
	struct tg_ranges *s = e->ranges;
	uint32_t n = 0;

	if (s == NULL)
		return;
	for (; n < s->n && s->r[n].from <= e->rcv_nxt; n++)
		if (s->r[n].to > e->rcv_nxt)
			e->rcv_nxt = s->r[n].to;
	s->n -= n;
	if (n > 0)
		memmove(&s->r[0], &s->r[n], s->n * sizeof(s->r[0]));
	if (s->n == 0) {
		tg_pool_give(&e->connection->owner->ranges, s);
		e->ranges = NULL;
	}
}

static void later(struct tg_end *e, uint64_t now)
{
	if (e->ack_at != 0)
		return;
	e->ack_at = now + e->delay;
	tg_end_schedule(e);
}

/* RFC 9000 13.2.2: every second one; the handshake's at once. */
static void acknowledge_quic(struct tg_end *e, uint64_t from, uint64_t now)
{
	e->eliciting++;
	if (e->eliciting >= 2 || from < tg_wire_handshake(TG_TRAFFIC_QUIC, !e->at_server))
		e->ack_now = true;
	else
		later(e, now);
}

/*
 * Linux, __tcp_ack_snd_check and tcp_cleanup_rbuf, of an application that reads at once: at the
 * start each segment; then where more than a full segment waits; and where a short one was read,
 * unless this end takes turns and is about to answer. Two short ones are too many even then.
 */
static void acknowledge(struct tg_end *e, const struct tg_sim_packet *p, uint32_t data,
			uint64_t now)
{
	if (e->last_received == 0 || now - e->last_received > e->rto)
		e->quick = e->quick_max;
	if (data < e->rcv_mss || (p->tcp_flags & TG_TCP_PSH))
		e->pushed++;
	if (data > e->rcv_mss)
		e->rcv_mss = data;
	e->last_received = now;
	if (e->delay == 0 || e->rcv_nxt - e->acked > e->rcv_mss || e->pushed >= 2)
		e->ack_now = true;
	else if (!e->pingpong && (e->quick > 0 || e->pushed > 0))
		e->ack_now = true;
	else
		later(e, now);
}

/* Something is amiss on the way: the sender needs to hear at once (RFC 5681 4.2). */
static void acknowledge_quickly(struct tg_end *e)
{
	e->ack_now = true;
	e->pingpong = false;
	e->quick = e->quick_max;
}

static void in_order(struct tg_end *e, const struct tg_sim_packet *p, uint64_t from, uint64_t to,
		     uint64_t now)
{
	bool had_hole = e->ranges != NULL;
	uint32_t data = (uint32_t)(to - from);

	e->rcv_nxt = to;
	join(e);
	if (e->quic)
		acknowledge_quic(e, from, now);
	else
		acknowledge(e, p, data, now);
	if (had_hole)
		e->ack_now = true;
}

void tg_tcp_receive(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	uint32_t data = tg_wire_data(p);
	int32_t ahead = (int32_t)(p->seq - (e->irs + (uint32_t)e->rcv_nxt));
	uint64_t from = e->rcv_nxt + (uint64_t)(int64_t)ahead, to = from + data;
	bool fin = p->tcp_flags & TG_TCP_FIN;

	if ((data == 0 && !fin) || to > e->rcv_nxt + e->receive_window)
		return; /* nothing, or not of this stream */
	if (fin)
		e->fin_at = to;
	e->ack_scheduled = true;
	if (to + fin <= e->rcv_nxt)
		acknowledge_quickly(e); /* seen before */
	else if (ahead <= 0 && data > 0 && to > e->rcv_nxt)
		in_order(e, p, from, to, now);
	else if (ahead > 0) {
		if (data > 0)
			keep(e, from, to);
		e->ack_now = true;
	}
	if (e->rcv_nxt == e->fin_at) {
		e->rcv_nxt++;
		e->pingpong = true; /* Linux tcp_fin: the answer to a FIN is most often a FIN */
		if (e->fin)
			e->ack_now = true;
		else if (!e->ack_now)
			later(e, now);
	}
}
