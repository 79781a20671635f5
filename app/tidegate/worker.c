/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "admission/admission.h"
#include "auction/auction.h"
#include "fragments.h"
#include "owner.h"
#include "pipeline.h"
#include "port/rx.h"
#include "port/tx.h"
#include "recording/recording.h"
#include "tg_mem.h"
#include "true_server.h"

#define RELEASE_BURSTS 8 /* a turn */
#define CONTROL_WAIT_MS \
	100 /* a frame of control's for a full port; health checks are tried again after that */

static void look_at(struct tg_select_view *v, struct tg_costs *c)
{
	v->cost_ns = c->cost_ns;
	v->marginal_ns = c->marginal_ns;
	v->median_ns = c->median_ns;
	v->load_256 = c->load_256;
	v->withheld_256 = c->withheld_256;
	v->stale = c->stale;
	v->tick = &c->tick;
}

int tg_worker_create(const struct tg_worker_env *env, unsigned int index, unsigned int n_workers,
		     int socket, struct tg_worker **out)
{
	struct tg_worker *w = tg_mem_zalloc("worker", sizeof(*w), 64, socket);
	int err = -ENOMEM;

	if (w == NULL)
		return err;
	w->index = index;
	w->n_workers = n_workers;
	w->socket = socket;
	w->mode = env->mode;
	w->clock = env->clock;
	w->local = tg_mem_zalloc("select", TG_SERVICES_MAX * sizeof(*w->local), 64, socket);
	w->guard = tg_mem_zalloc("guard", TG_SERVICES_MAX * sizeof(*w->guard), 64, socket);
	w->own = tg_mem_zalloc("own flows", TG_SERVERS_MAX * sizeof(*w->own), 64, socket);
	w->tally = tg_mem_zalloc("picks", TG_SERVERS_MAX * sizeof(*w->tally), 64, socket);
	w->generation = tg_mem_zalloc("generations", TG_SERVERS_MAX * sizeof(*w->generation), 64,
				      socket);
	w->stats.gate.late_service =
		tg_mem_zalloc("late by service",
			      TG_SERVICES_MAX * TG_GATE_PLACES * sizeof(uint64_t), 64, socket);
	w->fragments = tg_fragments_create(socket);
	w->copies = tg_mem_zalloc("first copies", sizeof(*w->copies), 64, socket);
	if (w->local == NULL || w->own == NULL || w->tally == NULL || w->generation == NULL ||
	    w->stats.gate.late_service == NULL || w->copies == NULL || w->fragments == NULL ||
	    w->guard == NULL)
		goto fail;
	tg_copies_init(w->copies, &env->clock);
	err = tg_flow_table_create(env->flow_table, &env->clock, env->flow_secret, socket,
				   &w->flows);
	if (err != 0)
		goto fail;
	for (unsigned int s = 0; s < TG_SERVICES_MAX; s++)
		tg_select_local_init(&w->local[s], index, n_workers,
				     env->seed + (uint64_t)s * TG_WORKERS_MAX + index);
	w->costs = env->costs;
	w->view.others = env->others;
	w->view.own = w->own;
	w->view.tally = w->tally;
	w->view.workers = n_workers;
	if (env->costs != NULL)
		look_at(&w->view, env->costs);
	w->age_round = 1;
	*out = w;
	return 0;
fail:
	tg_worker_free(w);
	return err;
}

void tg_worker_free(struct tg_worker *w)
{
	if (w == NULL)
		return;
	if (w->flows != NULL)
		tg_flow_table_free(w->flows);
	tg_auctions_free(w);
	tg_mem_free(w->copies);
	tg_fragments_free(w->fragments);
	tg_mem_free(w->stats.gate.late_service);
	tg_mem_free(w->generation);
	tg_mem_free(w->tally);
	tg_mem_free(w->guard);
	tg_mem_free(w->own);
	tg_mem_free(w->local);
	tg_mem_free(w);
}

static void set_loop(struct tg_worker *w, const struct tg_config_workers *c)
{
	const struct tg_sched_params background = {
		.in_row = tg_us_to_ticks(&w->clock, c->background_us),
		.share_256 = c->background_share_percent * 256 / 100,
	};

	tg_sched_set(&w->sched, &background);
	tg_idle_set(&w->idle, c);
}

/* A server went away, or came back: what its flows counted for there ended with the old generation. */
static void forget_server(struct tg_worker *w, const struct tg_snapshot *s, uint16_t server)
{
	struct tg_server_stats *st = tg_snapshot_stats(s, server, w->index);

	w->own[server] = 0;
	if (st != NULL) {
		tg_stat_set32(&st->waiting, 0);
		tg_stat_set32(&st->fresh, 0);
	}
	tg_auctions_forget_server(w, server);
}

/* Out of the way of the turns that have nothing new. */
static __rte_noinline void take(struct tg_worker *w, const struct tg_snapshot *s)
{
	for (unsigned int i = 0; i < s->n_servers; i++) {
		if (w->generation[i] == s->generation[i])
			continue;
		w->generation[i] = s->generation[i];
		forget_server(w, s, (uint16_t)i);
	}
	tg_flow_table_set_idle(w->flows, &s->config->flow_table);
	set_loop(w, &s->config->workers);
	w->snapshot = s;
	w->version = s->version;
	tg_admission_use(w);
}

void tg_worker_use(struct tg_worker *w, const struct tg_snapshot *s)
{
	if (unlikely(s != w->snapshot || s->version != w->version))
		take(w, s);
}

enum source { RECEIVED, HANDED, RELEASED };

/* Received, answered by nobody else: through the stages and out. */
static void run(struct tg_worker *w, enum source from)
{
	struct tg_recording_burst copies;
	struct tg_burst *b = &w->burst;

	copies.of = NULL; /* the rest is filled when something is recorded */
	if (from == HANDED) {
		tg_pipeline_run_handed(w, b);
	} else if (from == RELEASED) {
		tg_pipeline_run_released(w, b);
	} else {
		if (unlikely(w->snapshot->seen != NULL))
			tg_true_servers_burst(w->snapshot->seen, b);
		if (unlikely(__atomic_load_n(&w->recording, __ATOMIC_RELAXED) != NULL))
			tg_recording_take(w, b, &copies);
		tg_pipeline_run(w, b);
	}
	if (unlikely(w->virtual_time != NULL))
		w->virtual_time->spend(w->virtual_time, b->n);
	tg_tx_burst(w, b);
	tg_lap(w, TG_STAGE_TX, b->n);
	tg_pipeline_finish(w, b);
	if (unlikely(copies.of != NULL)) /* reads verdicts, no longer packets */
		tg_recording_hand(b, &copies);
	tg_lap(w, TG_STAGE_FINISH, b->n);
	w->lap = 0;
}

/* One poll of everything that packets come from; the number of packets. */
static unsigned int poll_all(struct tg_worker *w)
{
	unsigned int got = 0;

	for (unsigned int p = 0; p < w->n_ports; p++) {
		if (!w->rx[p].active)
			continue;
		if (unlikely(++w->polls % TG_LAP_EVERY == 0))
			w->lap = tg_worker_now(w) | 1;
		if (tg_rx_poll(w, &w->rx[p], &w->burst) == 0) {
			w->lap = 0;
			continue;
		}
		if (unlikely(w->lap != 0))
			tg_stage_waited(w, TG_STAGE_RX, w->burst.arrival[0], w->burst.now);
		tg_lap(w, TG_STAGE_RX, w->burst.n);
		got += w->burst.n;
		run(w, RECEIVED);
	}
	if (w->n_workers > 1 && tg_owner_take(w, &w->burst, tg_worker_now(w)) > 0) {
		got += w->burst.n;
		run(w, HANDED);
	}
	return got;
}

/* What has its tokens now goes on: some bursts, then the ports again. */
static unsigned int release(struct tg_worker *w)
{
	for (unsigned int i = 0; i < RELEASE_BURSTS && tg_admission_next(w, &w->burst) > 0; i++)
		run(w, RELEASED);
	return w->admission->waiting.n;
}

uint16_t tg_worker_came_by(const struct tg_worker *w, const struct rte_mbuf *m)
{
	for (uint16_t p = 0; p < w->n_ports; p++)
		if (w->ports[p].ethdev == m->port)
			return p;
	return 0; /* offline: there is one */
}

static void drop_control_frames(struct tg_worker *w)
{
	rte_pktmbuf_free_bulk(w->control_frame, w->n_control_frames);
	w->stats.control_lost += w->n_control_frames;
	w->n_control_frames = 0;
}

/* Neighbours are asked and health is checked by these frames: where a port is so full that it takes nothing they
 * wait, before all others, but no longer than is of use. */
static void send_control_frames(struct tg_worker *w, uint64_t now)
{
	if (w->n_control_frames == 0) {
		w->n_control_frames = (uint16_t)rte_ring_sc_dequeue_burst(w->control_out,
									  (void **)w->control_frame,
									  TG_BURST_MAX, NULL);
		w->control_since = now;
	}
	if (w->n_control_frames == 0)
		return;
	w->n_control_frames = tg_tx_own(w, w->control_frame, w->n_control_frames);
	if (w->n_control_frames > 0 &&
	    now - w->control_since > w->clock.hz / 1000 * CONTROL_WAIT_MS)
		drop_control_frames(w);
}

static void answer_query(struct tg_worker *w)
{
	struct tg_flow_query *q = __atomic_exchange_n(&w->query, NULL, __ATOMIC_ACQ_REL);
	struct tg_flow *f;

	if (q == NULL)
		return;
	f = tg_flow_find(w->flows, &q->key, tg_flow_hash(w->flows, &q->key));
	q->found = f != NULL;
	if (f != NULL)
		q->flow = *f;
	__atomic_store_n(&q->done, true, __ATOMIC_RELEASE);
}

static void background(struct tg_worker *w, uint64_t packet_ticks, uint64_t now)
{
	struct tg_task *t;

	tg_sched_turn(&w->sched, packet_ticks, now);
	while ((t = tg_sched_next(&w->sched, now)) != NULL) {
		bool more = t->step(t->ctx, now);

		now = tg_worker_now(w);
		tg_sched_done(&w->sched, t, more, now);
	}
}

unsigned int tg_worker_turn(struct tg_worker *w)
{
	uint64_t start = tg_worker_now(w), now;
	unsigned int got, waiting = 0;

	tg_worker_use(w, __atomic_load_n(w->published, __ATOMIC_ACQUIRE));
	if (unlikely(w->snapshot->pools != 0))
		tg_admission_turn(w, start);
	if (w->control_out != NULL)
		send_control_frames(w, start);
	got = poll_all(w);
	if (unlikely(tg_admission_waits(w)))
		waiting = release(w);
	tg_tx_retry(w);
	if (unlikely(__atomic_load_n(&w->query, __ATOMIC_RELAXED) != NULL))
		answer_query(w);
	w->stats.turns++;
	w->stats.busy_turns += got > 0;
	now = tg_worker_now(w);
	/* an open window is work that is due soon: no sleep */
	if (unlikely(__atomic_load_n(&w->auctions, __ATOMIC_ACQUIRE) != NULL) &&
	    tg_auction_turn(w, now) && got == 0)
		got = 1;
	background(w, got > 0 ? now - start : 0, now);
	return got + waiting;
}

int tg_worker_main(void *worker)
{
	struct tg_worker *w = worker;

	rte_rcu_qsbr_thread_register(w->qsbr, w->index);
	rte_rcu_qsbr_thread_online(w->qsbr, w->index);
	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED)) {
		unsigned int got = tg_worker_turn(w);

		/* last of all that reads the snapshot: ageing does too */
		rte_rcu_qsbr_quiescent(w->qsbr, w->index);
		if (got > 0)
			tg_idle_end(&w->idle);
		else
			tg_idle_turn(w);
	}
	tg_worker_use(w, __atomic_load_n(w->published, __ATOMIC_ACQUIRE));
	/* what was handed over or waits for the driver still leaves, for a bounded time */
	for (unsigned int turn = 0; turn < 1000; turn++) {
		if (w->n_workers > 1 && tg_owner_take(w, &w->burst, tg_worker_now(w)) > 0)
			run(w, HANDED);
		tg_tx_retry(w);
	}
	drop_control_frames(w);
	tg_admission_discard(w);
	tg_auctions_discard(w);
	tg_tx_discard(w);
	rte_rcu_qsbr_thread_offline(w->qsbr, w->index);
	rte_rcu_qsbr_thread_unregister(w->qsbr, w->index);
	return 0;
}
