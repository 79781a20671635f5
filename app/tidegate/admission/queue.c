/* SPDX-License-Identifier: BSD-3-Clause */
#include "admission/queue.h"

#include <errno.h>
#include <string.h>

#include "tg_mem.h"

#define PACKETS (TG_ADMIT_CLASSES * TG_WAITING_MAX)

int tg_waiting_init(struct tg_waiting *w, int socket)
{
	w->packet = tg_mem_zalloc("waiting", PACKETS * sizeof(*w->packet), 64, socket);
	w->flow = tg_mem_zalloc("waiting flows", PACKETS * sizeof(*w->flow), 64, socket);
	w->chain = tg_mem_zalloc("waiting flows", TG_WAITING_FLOWS * sizeof(*w->chain), 64, socket);
	if (w->packet == NULL || w->flow == NULL || w->chain == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < PACKETS; i++) {
		w->packet[i].next = (uint16_t)(i + 1 < PACKETS ? i + 1 : TG_WAITING_NONE);
		w->flow[i].next = w->packet[i].next;
	}
	memset(w->chain, 0xff, TG_WAITING_FLOWS * sizeof(*w->chain));
	for (unsigned int p = 0; p < TG_ADMISSION_POOLS_MAX; p++)
		for (unsigned int q = 0; q < TG_WAITING_QUEUES; q++)
			w->queue[p][q] = (struct tg_waiting_queue){TG_WAITING_NONE, TG_WAITING_NONE,
								   TG_WAITING_NONE, 1};
	return 0;
}

void tg_waiting_free(struct tg_waiting *w)
{
	tg_mem_free(w->packet);
	tg_mem_free(w->flow);
	tg_mem_free(w->chain);
}

_Static_assert(TG_WAITING_NONE == 0xffff, "what the chains are filled with");

/* One more packet of the flow. */
static uint16_t join_flow(struct tg_waiting *w, uint8_t pool, uint8_t queue, uint64_t hash)
{
	struct tg_waiting_flow *f = tg_waiting_flow_of(w, hash);
	uint16_t *head = &w->chain[hash & (TG_WAITING_FLOWS - 1)], i;

	if (f != NULL) {
		f->n++;
		return (uint16_t)(f - w->flow);
	}
	i = w->free_flow;
	f = &w->flow[i];
	w->free_flow = f->next;
	*f = (struct tg_waiting_flow){
		.hash = hash, .n = 1, .next = *head, .pool = pool, .queue = queue};
	*head = i;
	return i;
}

static void leave_flow(struct tg_waiting *w, uint16_t i)
{
	struct tg_waiting_flow *f = &w->flow[i];
	uint16_t *at = &w->chain[f->hash & (TG_WAITING_FLOWS - 1)];

	if (--f->n > 0)
		return;
	while (*at != i)
		at = &w->flow[*at].next;
	*at = f->next;
	f->next = w->free_flow;
	w->free_flow = i;
}

struct tg_waiting_packet *tg_waiting_add(struct tg_waiting *w, uint8_t pool, uint8_t queue,
					 uint64_t hash)
{
	enum tg_admit_class class = tg_waiting_class(queue);
	struct tg_waiting_queue *q = &w->queue[pool][queue];
	struct tg_waiting_packet *p;
	uint16_t i = w->free;

	if (w->n_class[class] == TG_WAITING_MAX)
		return NULL;
	p = &w->packet[i];
	w->free = p->next;
	p->next = TG_WAITING_NONE;
	p->prev = q->last;
	p->hash = hash;
	p->pool = pool;
	p->queue = queue;
	if (q->last == TG_WAITING_NONE)
		q->first = i;
	else
		w->packet[q->last].next = i;
	q->last = i;
	p->flow = join_flow(w, pool, queue, hash);
	w->n++;
	p->cost = 0;
	w->n_class[class]++;
	w->n_pool[pool][class]++;
	w->pools |= UINT64_C(1) << pool;
	return p;
}

struct tg_waiting_packet *tg_waiting_first(const struct tg_waiting *w, uint8_t pool, uint8_t queue)
{
	uint16_t i = w->queue[pool][queue].first;

	return i == TG_WAITING_NONE ? NULL : &w->packet[i];
}

/* Takes packet i off its queue, wherever in it it stands. */
static void take_off(struct tg_waiting *w, uint16_t i)
{
	struct tg_waiting_packet *p = &w->packet[i];
	struct tg_waiting_queue *q = &w->queue[p->pool][p->queue];
	enum tg_admit_class class = tg_waiting_class(p->queue);

	if (p->prev == TG_WAITING_NONE)
		q->first = p->next;
	else
		w->packet[p->prev].next = p->next;
	if (p->next == TG_WAITING_NONE)
		q->last = p->prev;
	else
		w->packet[p->next].prev = p->prev;
	if (q->at == i)
		q->at = p->next;
	p->next = w->free;
	w->free = i;
	w->flow[p->flow].paying -= p->cost > 0;
	leave_flow(w, p->flow);
	w->n--;
	w->n_class[class]--;
	w->n_pool[p->pool][class]--;
	if (w->n_pool[p->pool][TG_ADMIT_CALM] + w->n_pool[p->pool][TG_ADMIT_BURST] == 0)
		w->pools &= ~(UINT64_C(1) << p->pool);
}

void tg_waiting_remove(struct tg_waiting *w, struct tg_waiting_packet *p)
{
	take_off(w, (uint16_t)(p - w->packet));
}

struct tg_waiting_packet *tg_waiting_resume(struct tg_waiting *w, uint8_t pool, uint8_t queue)
{
	struct tg_waiting_queue *q = &w->queue[pool][queue];

	if (q->at == TG_WAITING_NONE || q->at == q->first) {
		q->at = q->first;
		q->pass = q->pass == UINT16_MAX ? 1 : (uint16_t)(q->pass + 1);
	}
	return q->at == TG_WAITING_NONE ? NULL : &w->packet[q->at];
}

struct tg_waiting_packet *tg_waiting_behind(const struct tg_waiting *w,
					    const struct tg_waiting_packet *p)
{
	return p->next == TG_WAITING_NONE ? NULL : &w->packet[p->next];
}

void tg_waiting_pass_over(struct tg_waiting *w, const struct tg_waiting_packet *p)
{
	struct tg_waiting_queue *q = &w->queue[p->pool][p->queue];

	w->flow[p->flow].pass = q->pass;
	q->at = p->next;
}

/* Whose share of the class's places is the largest: `pool` where no other has more. */
static uint8_t longest(const struct tg_waiting *w, uint8_t pool, enum tg_admit_class class)
{
	uint8_t most = pool;

	for (uint64_t left = w->pools; left != 0; left &= left - 1) {
		uint8_t i = (uint8_t)__builtin_ctzll(left);

		if (w->n_pool[i][class] > w->n_pool[most][class])
			most = i;
	}
	return most;
}

struct tg_waiting_packet *tg_waiting_shed(struct tg_waiting *w, uint8_t pool,
					  enum tg_admit_class class, uint8_t value)
{
	uint8_t victim = longest(w, pool, class);
	int least = victim == pool ? value : -1;

	for (int v = TG_ADMIT_VALUES; --v > least;) {
		uint16_t last = w->queue[victim][class * TG_ADMIT_VALUES + v].last;

		if (last == TG_WAITING_NONE)
			continue;
		take_off(w, last);
		return &w->packet[last];
	}
	return NULL;
}
