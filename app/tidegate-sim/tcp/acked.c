/* SPDX-License-Identifier: BSD-3-Clause */
/* A received acknowledgement: round-trip time, congestion window, fast retransmission. */
#include "client_group.h"
#include "end.h"

#define CWND_MAX      (UINT32_C(1) << 30)
#define THRESHOLD_MAX 96u

/* RFC 6298 2, with Linux's floor: RTO = SRTT + max(4 * RTTVAR, rto_min). */
void tg_tcp_rtt(struct tg_end *e, uint64_t sample)
{
	uint64_t variation;

	if (e->srtt == 0) {
		e->srtt = sample > 0 ? sample : 1;
		e->rttvar = sample / 2;
	} else {
		uint64_t d = e->srtt > sample ? e->srtt - sample : sample - e->srtt;

		e->rttvar = e->rttvar - e->rttvar / 4 + d / 4;
		e->srtt = e->srtt - e->srtt / 8 + sample / 8;
	}
	variation = 4 * e->rttvar;
	e->rto = e->srtt + (variation > e->rto_min ? variation : e->rto_min);
	if (e->quic)
		e->rto += e->delay; /* RFC 9002 6.2.1 */
}

/* Slow start and congestion avoidance, only where the window was what held the sender back. */
static void grow(struct tg_end *e, uint64_t acked, uint64_t flight)
{
	if (e->cwnd >= CWND_MAX)
		return;
	if (e->cwnd < e->ssthresh) {
		if (2 * flight >= e->cwnd)
			e->cwnd += (uint32_t)acked;
		return;
	}
	if (flight + e->mss <= e->cwnd)
		return;
	e->grown += (uint32_t)acked;
	if (e->grown >= e->cwnd) {
		e->grown -= e->cwnd;
		e->cwnd += e->mss;
	}
}

static uint32_t half_of(const struct tg_end *e, uint64_t flight)
{
	return flight / 2 > 2 * e->mss ? (uint32_t)(flight / 2) : 2 * e->mss;
}

static void fast_retransmit(struct tg_end *e, uint64_t now)
{
	e->prior_cwnd = e->cwnd;
	e->prior_ssthresh = e->ssthresh;
	e->ssthresh = half_of(e, e->nxt - e->una);
	e->cwnd = e->ssthresh;
	e->inflate = e->dupacks * e->mss;
	e->recover = e->max;
	e->recovering = e->first_retransmission = true;
	e->retransmit_ts = tg_end_tsval(e, now);
	tg_tcp_retransmit(e, now);
}

/* The first two let new data out (RFC 3042), the third repeats the oldest (RFC 5681 3.2). */
static void duplicate(struct tg_end *e, uint64_t now)
{
	e->dupacks++;
	e->inflate += e->mss;
	if (!e->recovering && e->dupacks >= e->dup_threshold && e->una > e->recover)
		fast_retransmit(e, now);
}

static void recovered(struct tg_end *e)
{
	e->recovering = e->first_retransmission = false;
	e->recover = 0;
	e->inflate = 0;
	e->dupacks = 0;
}

/* The echo is older than the retransmission: the original had arrived, it was only overtaken. */
static bool spurious(const struct tg_end *e, const struct tg_sim_packet *p)
{
	return e->first_retransmission && e->timestamps &&
	       (int32_t)(p->tsecr - e->retransmit_ts) < 0;
}

static void recovery(struct tg_end *e, const struct tg_sim_packet *p, uint64_t acked, uint64_t now)
{
	if (spurious(e, p)) {
		e->cwnd = e->prior_cwnd;
		e->ssthresh = e->prior_ssthresh;
		if (e->dup_threshold < THRESHOLD_MAX)
			e->dup_threshold *= 2;
		recovered(e);
		return;
	}
	e->first_retransmission = false;
	if (e->una >= e->recover) {
		e->cwnd = e->ssthresh;
		recovered(e);
		return;
	}
	e->inflate = (e->inflate > acked ? e->inflate - (uint32_t)acked : 0) + e->mss;
	tg_tcp_retransmit(e, now); /* a partial acknowledgement shows the next hole */
}

static void advance(struct tg_end *e, const struct tg_sim_packet *p, uint64_t to, uint64_t now)
{
	uint64_t flight = e->nxt - e->una, acked = to - e->una;

	e->una = to;
	if (e->nxt < to)
		e->nxt = to;
	if (e->rtt_position != 0 && to >= e->rtt_position) {
		tg_tcp_rtt(e, now - e->rtt_sent);
		e->rtt_position = 0;
	}
	e->retries = 0;
	e->rto_at = 0;
	if (e->una < e->max)
		tg_tcp_arm(e, now);
	if (e->recovering) {
		recovery(e, p, acked, now);
		return;
	}
	e->dupacks = 0;
	e->inflate = 0;
	grow(e, acked, flight);
}

void tg_tcp_acked(struct tg_end *e, const struct tg_sim_packet *p, uint64_t now)
{
	int32_t ahead = (int32_t)(p->ack - (e->isn + (uint32_t)e->una));
	uint64_t to = e->una + (uint64_t)(int64_t)ahead;

	if (ahead < 0 || to > e->max)
		return;
	if (!e->quic)
		e->window = (uint32_t)p->window << e->peer_scale;
	if (ahead > 0)
		advance(e, p, to, now);
	else if (e->una < e->max && tg_wire_data(p) == 0 && !(p->tcp_flags & TG_TCP_FIN))
		duplicate(e, now);
}
