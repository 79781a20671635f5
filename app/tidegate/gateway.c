/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway.h"

#include <errno.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <stdio.h>
#include <sys/random.h>

#include "admission/admission.h"
#include "api/watch.h"
#include "auction/auction.h"
#include "choice/load.h"
#include "control.h"
#include "health/health.h"
#include "kernel/exception.h"
#include "owner.h"
#include "pipeline.h"
#include "port/rx.h"
#include "port/tx.h"
#include "restart/restart.h"
#include "start/privilege.h"
#include "tg_mem.h"
#include "tsc.h"

#define AGE_PERIOD_MS    1 /* a sweep step round; the whole table in about a second */
#define AGE_STEP_BUCKETS 16

/* Which lcores work: all but the main one, or the main one when it is alone. */
static void find_workers(struct tg_gateway_env *env)
{
	unsigned int id;

	RTE_LCORE_FOREACH_WORKER(id) {
		if (env->n_workers < TG_WORKERS_MAX)
			env->lcore[env->n_workers++] = id;
	}
	if (env->n_workers == 0)
		env->lcore[env->n_workers++] = rte_get_main_lcore();
}

/* On each node that is used. */
static int make_pools(struct tg_gateway *g, const struct tg_config *c, char *err, size_t err_len)
{
	unsigned int n = tg_buffers_wanted(c, g->n_workers);
	struct rte_mempool *any = NULL;

	g->auctions = tg_config_auctions(c);
	g->n_pools = RTE_MIN(rte_socket_count(), TG_NODES_MAX);
	for (unsigned int i = 0; i < g->n_pools; i++) {
		char name[32];
		int node = rte_socket_id_by_idx(i);

		snprintf(name, sizeof(name), "%spackets_%d", g->name, node);
		g->pool[i] = rte_pktmbuf_pool_create(name, n, TG_BUFFER_CACHE, 0, tg_buffer_size(c),
						     node);
		if (g->pool[i] != NULL && any == NULL)
			any = g->pool[i];
	}
	/* a node without memory of its own borrows */
	for (unsigned int i = 0; i < g->n_pools; i++)
		if (g->pool[i] == NULL)
			g->pool[i] = any;
	if (any != NULL)
		return 0;
	snprintf(
		err, err_len,
		"not enough memory for %u packet buffers (%u MiB): give more huge pages "
		"(drivers-conf/hugepages.sh), a larger -m with --no-huge, or smaller ports[].rx_descriptors",
		n, tg_buffers_mib(c, n));
	return -ENOMEM;
}

static void free_pools(struct tg_gateway *g)
{
	for (unsigned int i = 0; i < g->n_pools; i++) {
		bool borrowed = false;

		for (unsigned int k = 0; k < i; k++)
			borrowed = borrowed || g->pool[k] == g->pool[i];
		if (!borrowed)
			rte_mempool_free(g->pool[i]);
	}
}

static int start_ports(struct tg_gateway *g, const struct tg_config *c, char *err, size_t err_len)
{
	for (unsigned int p = 0; p < c->n_ports; p++) {
		int r = tg_port_start(&g->ports[p], &c->ports[p], g->n_workers, &g->clock,
				      g->mode == TG_MODE_SHADOW, g->pool, g->n_pools, err, err_len);

		if (r != 0)
			return r;
		g->n_ports++;
	}
	for (unsigned int p = 0; p < g->n_ports; p++) {
		int r = tg_port_check(&g->ports[p], err, err_len);

		if (r != 0)
			return r;
	}
	tg_port_agree(g->ports, g->n_ports);
	return 0;
}

static int make_rings(struct tg_gateway *g, char *err, size_t err_len)
{
	char name[32];

	snprintf(err, err_len, "not enough memory for the rings between workers");
	for (unsigned int i = 0; i < g->n_workers; i++) {
		snprintf(name, sizeof(name), "%sinbox_%u", g->name, i);
		g->inbox[i] = rte_ring_create(name, TG_INBOX_SIZE, rte_socket_id(), RING_F_SC_DEQ);
		if (g->inbox[i] == NULL)
			return -ENOMEM;
	}
	snprintf(name, sizeof(name), "%scontrol_out", g->name);
	g->control_out = rte_ring_create(name, TG_CONTROL_OUT_SIZE, rte_socket_id(), RING_F_SC_DEQ);
	snprintf(name, sizeof(name), "%sanswers", g->name);
	g->answers = rte_ring_create(name, TG_HEALTH_ANSWERS, rte_socket_id(), RING_F_SC_DEQ);
	return g->control_out != NULL && g->answers != NULL ? 0 : -ENOMEM;
}

static int make_qsbr(struct tg_gateway *g)
{
	size_t size = rte_rcu_qsbr_get_memsize(TG_WORKERS_MAX);

	g->qsbr = tg_mem_zalloc("qsbr", size, RTE_CACHE_LINE_SIZE, -1);
	return g->qsbr != NULL ? rte_rcu_qsbr_init(g->qsbr, TG_WORKERS_MAX) : -ENOMEM;
}

/* One round of ageing: a thousandth of the table, in steps of a few buckets. */
static bool age_step(void *ctx, uint64_t now)
{
	struct tg_worker *w = ctx;
	struct tg_task *t = &w->ageing;
	uint32_t left = t->left > 0 ? t->left : t->size;

	tg_pipeline_age(w, now, AGE_STEP_BUCKETS);
	left = left > AGE_STEP_BUCKETS ? left - AGE_STEP_BUCKETS : 0;
	__atomic_store_n(&t->left, left, __ATOMIC_RELAXED);
	return left > 0;
}

static int equip_worker(struct tg_gateway *g, struct tg_worker *w, const struct tg_gateway_env *env)
{
	const struct tg_sched_params none = {0}; /* comes with the first snapshot */

	w->lcore = env->lcore[w->index];
	w->virtual_time = env->virtual_time[w->index];
	w->neigh = g->neigh;
	w->ports = g->ports;
	w->n_ports = g->n_ports;
	w->inbox = g->inbox;
	w->control_out = w->index == 0 ? g->control_out : NULL;
	w->answers = g->answers;
	w->checked = tg_health_checked(g->health);
	w->exception = g->exception;
	w->qsbr = g->qsbr;
	w->published = &g->snapshot;
	w->stop = &g->stop;
	w->rx = tg_mem_zalloc("rx", g->n_ports * sizeof(*w->rx), 64, w->socket);
	w->tx = tg_mem_zalloc("tx", g->n_ports * sizeof(*w->tx), 64, w->socket);
	if (w->rx == NULL || w->tx == NULL)
		return -ENOMEM;
	for (unsigned int p = 0; p < g->n_ports; p++) {
		tg_rx_init(&w->rx[p], &g->ports[p], (uint16_t)p, w->index, &g->clock);
		tg_tx_init(&w->tx[p], &g->ports[p], w->index, &g->clock);
	}
	tg_sched_init(&w->sched, &none);
	w->ageing = (struct tg_task){
		.name = "ageing",
		.step = age_step,
		.ctx = w,
		.period = tg_us_to_ticks(&g->clock, AGE_PERIOD_MS * 1000),
		.size = tg_flow_buckets(w->flows) / 1000 + 1,
	};
	return tg_sched_add(&w->sched, &w->ageing, env->now);
}

static int make_admission(struct tg_gateway *g, struct tg_worker *w)
{
	g->admission.n_workers = g->n_workers;
	g->admission.socket[w->index] = w->socket;
	w->admission = tg_admission_create(w->socket);
	return w->admission != NULL ? 0 : -ENOMEM;
}

static int make_workers(struct tg_gateway *g, const struct tg_config *c,
			const struct tg_gateway_env *gateway, char *err, size_t err_len)
{
	struct tg_worker_env env = {
		.mode = g->mode,
		.clock = g->clock,
		.flow_table = &c->flow_table,
		.flow_secret = g->flow_secret,
		.costs = g->costs,
		.seed = gateway->seed | 1,
	};

	for (unsigned int i = 0; i < g->n_workers; i++) {
		int socket = (int)rte_lcore_to_socket_id(gateway->lcore[i]), r;

		g->others[i] = tg_mem_zalloc("others", TG_SERVERS_MAX * sizeof(uint32_t), 64,
					     socket);
		env.others = g->others[i];
		r = g->others[i] == NULL
			    ? -ENOMEM
			    : tg_worker_create(&env, i, g->n_workers, socket, &g->worker[i]);
		if (r == 0)
			r = equip_worker(g, g->worker[i], gateway);
		if (r == 0 && tg_config_has_admission(c))
			r = make_admission(g, g->worker[i]);
		if (r == 0)
			continue;
		snprintf(
			err, err_len,
			"not enough memory for worker %u on NUMA node %d: its flow table of %u slots takes %u MiB; "
			"give more huge pages (drivers-conf/hugepages.sh), a larger -m with --no-huge, or fewer "
			"flow_table.slots_per_worker",
			i, socket, c->flow_table.slots,
			(unsigned int)((uint64_t)c->flow_table.slots * 130 >> 20));
		return r;
	}
	return 0;
}

static int make_shared(struct tg_gateway *g, const unsigned int *lcore, char *err, size_t err_len)
{
	int node[TG_WORKERS_MAX];

	snprintf(err, err_len, "not enough memory");
	for (unsigned int i = 0; i < g->n_workers; i++)
		node[i] = (int)rte_lcore_to_socket_id(lcore[i]);
	g->costs = tg_mem_zalloc("costs", sizeof(*g->costs), 64, -1);
	g->file_state = tg_mem_zalloc("file states", TG_SERVERS_MAX, 64, -1);
	if (g->costs == NULL || g->file_state == NULL || tg_load_create(&g->load) != 0 ||
	    tg_watch_create(&g->watch) != 0 || make_qsbr(g) != 0 ||
	    tg_registry_create(g->n_workers, node, &g->registry) != 0)
		return -ENOMEM;
	if (g->mode != TG_MODE_INLINE)
		return 0;
	return tg_health_create(&g->health) != 0 ? -ENOMEM
						 : tg_neigh_table_create(&g->clock, -1, &g->neigh);
}

/* A configuration whose ports fit the mode. */
static int check_ports(const struct tg_gateway *g, const struct tg_config *c, char *err,
		       size_t err_len)
{
	if (c->n_ports == 0) {
		snprintf(
			err, err_len,
			"%s: ports: is empty; name at least one DPDK port to receive from (doc/configuration.md)",
			g->options->config);
		return -EINVAL;
	}
	return 0;
}

static int launch(struct tg_gateway *g)
{
	for (unsigned int i = 0; i < g->n_workers; i++) {
		unsigned int lcore = g->worker[i]->lcore;

		if (lcore == rte_get_main_lcore())
			continue; /* main runs it itself: tg_run */
		if (rte_eal_remote_launch(tg_privilege_drop_and_run, g->worker[i], lcore) != 0)
			return -EBUSY;
	}
	return 0;
}

int tg_gateway_make(struct tg_gateway *g, const struct tg_options *options,
		    const struct tg_gateway_env *env, struct tg_config *config, char *err,
		    size_t err_len)
{
	int r;

	memset(g, 0, sizeof(*g));
	g->options = options;
	g->name = env->name;
	g->mode = options->shadow ? TG_MODE_SHADOW : TG_MODE_INLINE;
	g->clock = env->clock;
	g->started = env->now;
	g->n_workers = env->n_workers;
	memcpy(g->flow_secret, env->flow_secret, sizeof(g->flow_secret));
	memcpy(g->admission.secret, g->flow_secret, sizeof(g->admission.secret));
	pthread_mutex_init(&g->mutex, NULL);
	r = check_ports(g, config, err, err_len);
	if (r == 0)
		r = tg_owner_init();
	if (r == 0)
		r = make_shared(g, env->lcore, err, err_len);
	if (r == 0)
		r = make_pools(g, config, err, err_len);
	if (r == 0)
		r = start_ports(g, config, err, err_len);
	if (r == 0)
		r = make_rings(g, err, err_len);
	if (r == 0)
		r = tg_exception_create(g, config, &g->exception, err, err_len);
	if (r == 0)
		r = make_workers(g, config, env, err, err_len);
	if (r == 0)
		r = tg_control_load(g, config, err, err_len);
	else
		tg_config_free(config);
	if (r != 0) {
		tg_gateway_stop(g);
		tg_gateway_free(g);
	}
	return r;
}

int tg_gateway_start(struct tg_gateway *g, const struct tg_options *options,
		     struct tg_config *config, char *err, size_t err_len)
{
	struct tg_gateway_env env = {
		.name = "",
		.clock = tg_clock_init(tg_tsc_hz()),
		.now = rte_rdtsc(),
		.seed = rte_rdtsc(),
	};
	int r;

	find_workers(&env);
	if (getrandom(env.flow_secret, sizeof(env.flow_secret), 0) != sizeof(env.flow_secret)) {
		r = -errno;
		snprintf(err, err_len, "no random numbers from the kernel: %s", strerror(errno));
		tg_config_free(config);
		return r;
	}
	r = tg_gateway_make(g, options, &env, config, err, err_len);
	if (r != 0)
		return r;
	r = tg_restart_attach(g);
	if (r != 0)
		snprintf(err, err_len, "not enough memory for flow_table.snapshot");
	if (r == 0 && g->restart != NULL)
		r = tg_restart_lock(g->restart, err, err_len);
	if (r == 0 && g->restart != NULL)
		tg_restart_restore(g->restart);
	if (r == 0) {
		r = launch(g);
		if (r != 0)
			snprintf(err, err_len, "a worker's lcore is busy");
	}
	if (r == 0 && g->restart != NULL) {
		r = tg_restart_start(g->restart);
		if (r != 0)
			snprintf(err, err_len, "cannot start the thread of flow_table.snapshot");
	}
	if (r == 0 && g->exception != NULL) {
		r = tg_exception_start(g->exception);
		if (r != 0)
			snprintf(err, err_len, "cannot start the thread of ports[].kernel");
	}
	if (r != 0) {
		tg_gateway_stop(g);
		if (g->restart != NULL) /* its thread reads what is freed next */
			tg_restart_end(g->restart, false);
		tg_gateway_free(g);
	}
	return r;
}

void tg_gateway_stamps(const struct tg_gateway *g, unsigned int port, struct tg_stamp_stats *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned int i = 0; i < g->n_workers; i++) {
		const struct tg_stamp_stats *s = &g->worker[i]->rx[port].stamp;

		sum->used += tg_stat_read(&s->used);
		sum->missing += tg_stat_read(&s->missing);
		sum->future += tg_stat_read(&s->future);
		sum->stale += tg_stat_read(&s->stale);
	}
}

void tg_gateway_stop(struct tg_gateway *g)
{
	__atomic_store_n(&g->stop, true, __ATOMIC_RELAXED);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < g->n_workers; i++)
		if (g->worker[i] != NULL && g->inbox[i] != NULL)
			tg_owner_discard(g->worker[i]);
	for (unsigned int i = 0; i < g->n_workers; i++) {
		if (g->worker[i] == NULL)
			continue;
		tg_admission_discard(g->worker[i]);
		tg_auctions_discard(g->worker[i]);
	}
	tg_health_discard(g);
	tg_exception_stop(g->exception);
	for (unsigned int p = 0; p < g->n_ports; p++)
		tg_port_stop(&g->ports[p]);
}

void tg_gateway_free(struct tg_gateway *g)
{
	tg_restart_free(g->restart);
	tg_snapshot_free(g->retired);
	tg_snapshot_free((struct tg_snapshot *)(uintptr_t)g->snapshot);
	tg_admission_pools_free(&g->admission);
	for (unsigned int i = 0; i < g->n_workers; i++) {
		if (g->worker[i] != NULL) {
			tg_admission_free(g->worker[i]->admission);
			tg_mem_free(g->worker[i]->rx);
			tg_mem_free(g->worker[i]->tx);
		}
		tg_worker_free(g->worker[i]);
		tg_mem_free(g->others[i]);
		rte_ring_free(g->inbox[i]);
	}
	tg_exception_free(g->exception);
	rte_ring_free(g->control_out);
	rte_ring_free(g->answers);
	tg_registry_free(g->registry);
	if (g->neigh != NULL)
		tg_neigh_table_free(g->neigh);
	free_pools(g);
	tg_mem_free(g->qsbr);
	tg_mem_free(g->file_state);
	tg_load_free(g->load);
	tg_watch_free(g->watch);
	tg_health_free(g->health);
	tg_mem_free(g->costs);
	pthread_mutex_destroy(&g->mutex);
}
