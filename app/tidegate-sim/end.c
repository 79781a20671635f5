/* SPDX-License-Identifier: BSD-3-Clause */
/* An end: its making, its clock, its timer, its going. */
#include "end.h"
#include "client_group.h"

#define NS_PER_MS        1e6
#define MAX_ACK_DELAY    UINT64_C(25000000) /* QUIC, RFC 9000 18.2 */
#define QUIC_GRANULE     UINT64_C(1000000)  /* RFC 9002 6.1.2 */
#define WINDOW_SCALE_MAX 14

enum { SALT_ISN = 1, SALT_OFFSET, SALT_SERVER, SALT_CLIENT, SALT_PHASE = 16 };

/* splitmix64's finaliser: numbers that only this place needs, without a stream for each end */
static uint64_t mixed(const struct tg_sim *s, uint64_t salt, uint64_t index)
{
	uint64_t z = s->seed * UINT64_C(0x9e3779b97f4a7c15) + s->replication;

	z ^= salt * UINT64_C(0xd1342543de82ef95) + index * UINT64_C(0xda942042e4dd58b5);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static double share(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

/* A host has one clock: its drift and phase are those of all its connections. */
static void set_clock(struct tg_end *e, const struct tg_tcp_params *p)
{
	const struct tg_connection *c = e->connection;
	uint64_t salt = e->at_server ? SALT_SERVER : SALT_CLIENT;
	uint64_t host = e->at_server ? e->server : (uint64_t)c->group << 32 | c->client_index;
	double drift = p->drift_ppm * (2 * share(mixed(c->sim, salt, host)) - 1);

	e->ticks_per_ns = (1 + drift * 1e-6) / (p->tick_us * 1e3);
	e->phase = share(mixed(c->sim, SALT_PHASE + salt, host));
	if (p->offset)
		e->ts_offset = (uint32_t)mixed(c->sim, SALT_OFFSET, c->owner->ends_made);
}

static uint8_t window_scale(uint32_t window)
{
	uint8_t scale = 0;

	while (scale < WINDOW_SCALE_MAX && window >> scale > UINT16_MAX)
		scale++;
	return scale;
}

static void set_sender(struct tg_end *e, const struct tg_tcp_params *own,
		       const struct tg_tcp_params *peer)
{
	enum tg_traffic t = e->connection->traffic;
	uint32_t theirs = tg_wire_mss(t, peer);

	e->mss = tg_wire_mss(t, own);
	if (theirs < e->mss)
		e->mss = theirs;
	e->initial = own->initial_window * e->mss;
	e->cwnd = e->initial;
	e->ssthresh = UINT32_MAX;
	e->window = e->quic ? UINT32_MAX : e->mss;
	e->peer_scale = window_scale(peer->receive_window);
	e->own_scale = window_scale(own->receive_window);
	e->dup_threshold = 3;
	e->rto = (uint64_t)(own->syn_rto_ms * NS_PER_MS);
	e->rto_min = e->quic ? QUIC_GRANULE : (uint64_t)(own->rto_min_ms * NS_PER_MS);
	e->written = 1;
}

struct tg_end *tg_end_new(struct tg_connection *c, bool at_server, uint16_t server)
{
	const struct tg_group_params *g = c->owner->params;
	const struct tg_tcp_params *own = at_server ? &g->server_tcp : &g->tcp;
	struct tg_end *e = tg_pool_take(&c->owner->ends);

	e->connection = c;
	e->at_server = at_server;
	e->server = server;
	e->quic = c->traffic == TG_TRAFFIC_QUIC;
	e->timestamps = g->tcp.timestamps && g->server_tcp.timestamps && !e->quic;
	e->timer.fire = tg_tcp_timer;
	c->owner->ends_made++;
	set_clock(e, own);
	set_sender(e, own, at_server ? &g->tcp : &g->server_tcp);
	e->isn = (uint32_t)mixed(c->sim, SALT_ISN, c->owner->ends_made);
	e->receive_window = own->receive_window;
	e->fin_at = UINT64_MAX;
	e->delay = e->quic ? MAX_ACK_DELAY : (uint64_t)(own->delayed_ack_ms * NS_PER_MS);
	e->quick_max = own->quick_acks;
	e->rcv_mss = 536; /* RFC 9293 3.7.1: until more is seen */
	return e;
}

void tg_end_free(struct tg_end *e)
{
	struct tg_connection *c = e->connection;

	tg_event_cancel(c->sim->events, &e->timer);
	if (e->ranges != NULL)
		tg_pool_give(&c->owner->ranges, e->ranges);
	tg_pool_give(&c->owner->ends, e);
}

void tg_end_remove(struct tg_end *e, uint64_t now)
{
	struct tg_end **at = &e->connection->server_ends;

	tg_answer_forget(e, now);
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	tg_end_free(e);
}

uint32_t tg_end_tsval(const struct tg_end *e, uint64_t now)
{
	return e->ts_offset + (uint32_t)(uint64_t)((double)now * e->ticks_per_ns + e->phase);
}

void tg_end_schedule(struct tg_end *e)
{
	uint64_t at = e->rto_at;

	if (e->ack_at != 0 && (at == 0 || e->ack_at < at))
		at = e->ack_at;
	if (at == 0 || (tg_event_waiting(&e->timer) && e->timer_at <= at))
		return;
	e->timer_at = at;
	tg_event_at(e->connection->sim->events, &e->timer, at);
}
