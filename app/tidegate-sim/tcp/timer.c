/* SPDX-License-Identifier: BSD-3-Clause */
/* An end's timer: retransmission (RFC 6298 5) and the delayed acknowledgement. */
#include <stddef.h>

#include "client_group.h"
#include "end.h"

#define SYN_RETRIES    6 /* Linux tcp_syn_retries, tcp_synack_retries, tcp_retries2 */
#define SYNACK_RETRIES 5
#define RETRIES        15
#define PROBES         2 /* QUIC: before it takes the path for congested (RFC 9002 7.6) */

/* False: the end is gone. */
static bool give_up(struct tg_end *e, uint64_t now)
{
	if (e->at_server) {
		tg_end_remove(e, now);
		return false;
	}
	tg_connection_broken(e->connection, now);
	return true;
}

static bool syn_again(struct tg_end *e, uint64_t now)
{
	if (e->retries > (e->at_server ? SYNACK_RETRIES : SYN_RETRIES))
		return give_up(e, now);
	e->connection->owner->counts.syn_retransmitted++;
	e->rtt_position = 0;
	tg_tcp_syn(e, now);
	return true;
}

/* Everything is taken for lost and sent again as acknowledgements allow. */
static void go_back(struct tg_end *e, uint64_t now)
{
	uint32_t flight = (uint32_t)(e->nxt - e->una);

	if (e->retries == 1)
		e->ssthresh = flight / 2 > 2 * e->mss ? flight / 2 : 2 * e->mss;
	e->cwnd = e->mss;
	e->inflate = e->dupacks = 0;
	e->recovering = e->first_retransmission = false;
	e->recover = e->max;
	e->nxt = e->una;
	tg_tcp_push(e, now);
}

static bool retransmission(struct tg_end *e, uint64_t now)
{
	struct tg_connection *c = e->connection;

	if (e->at_server && c->sim->station[e->server].state == TG_STATION_DOWN)
		return give_up(e, now);
	e->retries++;
	if (e->state == TG_END_SYN_SENT || e->state == TG_END_SYN_RECEIVED)
		return syn_again(e, now);
	if (e->retries > RETRIES)
		return give_up(e, now);
	c->owner->counts.timeouts++;
	if (c->carrier != NULL && !e->at_server)
		tg_tunnel_doubt(c->carrier, now);
	if (e->quic && e->retries <= PROBES)
		tg_tcp_retransmit(e, now);
	else
		go_back(e, now);
	tg_tcp_arm(e, now);
	return true;
}

static void acknowledgement(struct tg_end *e, uint64_t now)
{
	e->pingpong = false; /* nothing was sent that could have carried it */
	tg_tcp_ack(e, now);
}

void tg_tcp_timer(struct tg_event *event, uint64_t now)
{
	struct tg_end *e = (struct tg_end *)((char *)event - offsetof(struct tg_end, timer));
	struct tg_connection *c = e->connection;
	bool there = true;

	tg_connection_ref(c);
	if (e->ack_at != 0 && e->ack_at <= now) {
		e->ack_at = 0;
		acknowledgement(e, now);
	}
	if (e->rto_at != 0 && e->rto_at <= now) {
		e->rto_at = 0;
		there = retransmission(e, now);
	}
	if (there)
		tg_end_schedule(e);
	tg_connection_unref(c);
}
