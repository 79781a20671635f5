/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The running gateway, inline or shadow: what main starts and unwinds, and what control,
 * telemetry and the control socket look at.
 *
 * Thread-safety: control's thread owns everything but the workers; telemetry callbacks hold
 * `mutex`, which control holds whenever it changes something they read.
 */
#ifndef TG_GATEWAY_H
#define TG_GATEWAY_H

#include <pthread.h>

#include "buffers.h"
#include "choice/costs.h"
#include "snapshot.h"
#include "start/options.h"
#include "worker.h"

struct rte_mempool;
struct rte_rcu_qsbr;
struct tg_control_socket;
struct tg_load;
struct tg_watch;
struct tg_health;
struct tg_restart;
struct tg_metrics_http;
struct tg_recording_file;
struct tg_exception;

struct tg_gateway {
	const struct tg_options *options;
	const char *name;
	enum tg_mode mode;
	struct tg_clock clock;
	uint64_t started; /* ticks */
	uint8_t flow_secret[TG_FLOW_SECRET_SIZE];
	unsigned int n_pools;
	unsigned int auctions; /* that the pools have buffers for, open at once a worker */
	struct rte_mempool *pool[TG_NODES_MAX]; /* in EAL's order of nodes; some may be borrowed */
	unsigned int n_ports;
	struct tg_port ports[TG_PORTS_MAX];
	struct tg_neigh_table *neigh;
	struct tg_registry *registry;
	struct tg_admission_pools admission;
	unsigned int n_workers;
	struct tg_worker *worker[TG_WORKERS_MAX];
	struct rte_ring *inbox[TG_WORKERS_MAX];
	struct rte_ring *control_out;
	struct rte_ring *answers; /* to health checks */
	struct rte_rcu_qsbr *qsbr;
	const struct tg_snapshot *snapshot; /* what workers read */
	struct tg_costs *costs;             /* what workers choose by */
	uint32_t *others[TG_WORKERS_MAX];   /* by server id */
	bool stop;                          /* workers' */
	/* control */
	pthread_mutex_t mutex;
	struct tg_control_socket *socket;
	struct tg_recording_file *recording; /* NULL: nothing is recorded */
	struct tg_metrics_http *metrics;     /* NULL: not wanted */
	bool leaving;                        /* something waits for workers to leave it: */
	struct tg_snapshot *retired;         /* this, if any, and next hops that are not wanted */
	uint64_t retired_token;
	struct tg_load *load;     /* what is known of the servers */
	struct tg_watch *watch;   /* what is late */
	struct tg_health *health; /* which servers are alive; NULL in shadow mode */
	uint64_t costs_due, neigh_due, stats_due;
	uint64_t reloads, reloads_failed;
	bool stopped;                   /* `forwarding stop` */
	struct tg_restart *restart;     /* flows in a file; NULL: not wanted */
	struct tg_exception *exception; /* the way to the kernel; NULL: not wanted */
	uint8_t *file_state;            /* by server id: its state in the file last read */
};

/* What a gateway is made for: a process's lcores, or one of several in a simulation. */
struct tg_gateway_env {
	const char *name; /* begins the names of its rings and pools; "" but in a simulation */
	unsigned int n_workers;
	unsigned int lcore[TG_WORKERS_MAX];
	struct tg_clock clock;
	struct tg_virtual_time *virtual_time[TG_WORKERS_MAX]; /* NULL: the TSC */
	uint64_t now, seed;
	uint8_t flow_secret[TG_FLOW_SECRET_SIZE];
};

/* Everything but running: ports are started, workers wait for their first turn. options: mode and
 * configuration file. On failure what was made is unwound and err is a sentence. Takes the
 * configuration. */
int tg_gateway_make(struct tg_gateway *g, const struct tg_options *options,
		    const struct tg_gateway_env *env, struct tg_config *config, char *err,
		    size_t err_len);

/* The same on this process's lcores, and the workers run; a worker on the main lcore is started by run.h. On failure what was started is unwound and err is a sentence. */
int tg_gateway_start(struct tg_gateway *g, const struct tg_options *options,
		     struct tg_config *config, char *err, size_t err_len);

/* What the workers did with a port's time stamps. */
void tg_gateway_stamps(const struct tg_gateway *g, unsigned int port, struct tg_stamp_stats *sum);

/* Stops workers and ports, in that order; totals can still be read. */
void tg_gateway_stop(struct tg_gateway *g);
void tg_gateway_free(struct tg_gateway *g);

#endif
