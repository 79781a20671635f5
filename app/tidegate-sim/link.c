/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stddef.h>

#include "link.h"
#include "sim.h"

static struct tg_sim_packet *packet_of(struct tg_event *e)
{
	return (struct tg_sim_packet *)((char *)e - offsetof(struct tg_sim_packet, event));
}

/* The share lost is enter / (enter + leave), the mean run 1 / leave. At the least run that is
 * enter = loss, leave = 1 - loss. */
static void set_losses(struct tg_link *l)
{
	double loss = l->params->loss;

	if (loss <= 0)
		return;
	if (loss >= 1) {
		l->enter_loss = 1;
		l->losing = true;
		return;
	}
	l->leave_loss = 1 / fmax(l->params->burst_loss, 1 / (1 - loss));
	l->enter_loss = l->leave_loss * loss / (1 - loss);
	l->losing = tg_random_uniform(&l->random) < loss;
}

void tg_link_init(struct tg_link *l, const struct tg_link_params *p, uint64_t seed,
		  uint64_t replication, const char *purpose, uint64_t index)
{
	*l = (struct tg_link){.params = p};
	tg_random_init(&l->random, seed, replication, purpose, index);
	if (p->rate_mbps > 0)
		l->ns_per_byte = 8e3 / p->rate_mbps;
	set_losses(l);
}

/* Packets that have been sent leave the queue. */
static void bring_up_to_date(struct tg_link *l, uint64_t now)
{
	while (l->head != NULL && l->head->leaves <= now) {
		l->head = l->head->next;
		l->queued--;
	}
}

/* The packet is in order of leaving; it stays its list's until it has left. */
static void join_queue(struct tg_link *l, struct tg_sim_packet *p)
{
	p->next = NULL;
	if (l->head == NULL)
		l->head = p;
	else
		l->tail->next = p;
	l->tail = p;
	l->queued++;
}

/* When the last bit of these bytes will have been sent. */
static uint64_t serialized(struct tg_link *l, uint32_t bytes, uint64_t now)
{
	double ns = bytes * l->ns_per_byte + l->fraction;
	uint64_t whole = (uint64_t)ns;

	l->fraction = ns - (double)whole;
	l->free_at = (l->free_at > now ? l->free_at : now) + whole;
	return l->free_at;
}

static bool is_lost(struct tg_link *l)
{
	double u;

	if (l->enter_loss <= 0)
		return false;
	u = tg_random_uniform(&l->random);
	l->losing = l->losing ? u >= l->leave_loss : u < l->enter_loss;
	return l->losing;
}

/* From sent to arrived, and whether the packet may pass others. */
static uint64_t travel_ns(struct tg_link *l, bool *early)
{
	const struct tg_link_params *p = l->params;
	double us = p->delay_us + tg_dist_sample(&p->jitter_us, &l->random, &l->place);

	*early = p->reorder > 0 && tg_random_uniform(&l->random) < p->reorder;
	return tg_ns_from_us(*early ? us - p->reorder_us : us);
}

static uint64_t in_order(struct tg_link *l, uint64_t arrival)
{
	if (arrival < l->last_arrival)
		return l->last_arrival;
	l->last_arrival = arrival;
	return arrival;
}

static void arrived(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);
	struct tg_link *l = p->link;

	bring_up_to_date(l, now); /* p itself has left the queue by now */
	l->delivered++;
	p->next = NULL;
	p->link = NULL;
	p->arrives(e, now);
}

static void vanished(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);

	bring_up_to_date(p->link, now);
	p->link->lost++;
	tg_sim_packet_free(p->connection->sim, p);
}

/* Its turn in the queue; false: no room. */
static bool queues(struct tg_link *l, struct tg_sim_packet *p, uint32_t bytes, uint64_t now)
{
	p->leaves = now;
	if (l->ns_per_byte <= 0)
		return true;
	bring_up_to_date(l, now);
	if (l->queued > l->params->queue_packets)
		return false;
	p->leaves = serialized(l, bytes, now);
	join_queue(l, p);
	return true;
}

void tg_link_send(struct tg_sim *s, struct tg_link *l, struct tg_sim_packet *p, uint32_t wire_bytes,
		  void (*arrives)(struct tg_event *e, uint64_t now))
{
	bool lost = is_lost(l), early;
	uint64_t travel = travel_ns(l, &early), time;

	l->sent++;
	if (!queues(l, p, wire_bytes, tg_events_now(s->events))) {
		l->dropped++;
		tg_sim_packet_free(s, p);
		return;
	}
	l->bytes += wire_bytes;
	p->link = l;
	p->arrives = arrives;
	p->event.fire = lost ? vanished : arrived;
	if (lost)
		time = p->leaves;
	else if (early)
		time = p->leaves + travel;
	else
		time = in_order(l, p->leaves + travel);
	tg_event_at(s->events, &p->event, time);
}
