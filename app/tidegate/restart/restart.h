/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that outlive the gateway: the flow tables in a file (flow_table.snapshot), read before the
 * workers run, written again and again while they do and once more when they have ended.
 *
 * Workers are the only ones who touch entries, so they copy them: a background task of each fills chunks, a few
 * buckets a step; a thread of its own (a disk may take its time) empties them into a file beside the final one,
 * which that takes the place of when it is whole and on the disk. So no entry is ever half old, no worker
 * waits for a disk, and a crash leaves the file of the time before.
 *
 * A written snapshot is no picture of one moment: each flow is as it was when its bucket was copied.
 *
 * Thread-safety: attach, restore, end and free: the main thread, while no worker runs. start: before or while they
 * do. Statistics: one writer each, any thread reads single words.
 */
#ifndef TG_RESTART_H
#define TG_RESTART_H

#include <pthread.h>

#include "registry.h"
#include "tg_flow_snapshot.h"
#include "tg_sched.h"

#define TG_RESTART_CHUNKS 4 /* a worker; what it fills in a round, at most */

struct tg_gateway;
struct tg_worker;

struct tg_restart_chunk {
	bool full; /* true: the writer's, else the worker's (release, acquire) */
	bool last; /* the worker's table ends with it */
	unsigned int n;
	struct tg_flow_saved flow[TG_FLOW_SNAPSHOT_BLOCK]; /* with ids, not indices */
	uint16_t generation[TG_FLOW_SNAPSHOT_BLOCK];       /* of the flow's server id */
};

/* What flows from one worker to the writer. */
struct tg_restart_feed {
	struct tg_worker *worker;
	struct tg_task task;
	uint32_t wanted; /* copies of the table that the writer asked for. Written by the writer */
	/* the worker's */
	uint32_t given;
	uint64_t bucket;
	uint64_t now; /* of the step that runs */
	unsigned int fill, stepped;
	/* the writer's */
	unsigned int drain;
	bool ended; /* its last chunk of this copy is written */
	struct tg_restart_chunk chunk[TG_RESTART_CHUNKS];
};

struct tg_restart_stats {
	/* restored at the start */
	uint64_t restored;
	uint64_t expired;         /* silent for too long in the meantime */
	uint64_t strangers;       /* of services or servers that are not there any more, or down */
	uint64_t no_room;         /* found the flow table full */
	uint64_t restore_ns;      /* the time that it took */
	uint64_t restored_age_ns; /* how old the file was */
	/* written */
	uint64_t writes, failures;
	uint64_t saved;    /* flows in the newest file */
	uint64_t saved_at; /* ticks: when that was complete; 0: not yet */
	uint64_t write_ns; /* how long it took */
};

struct tg_restart {
	struct tg_gateway *g;
	char path[TG_PATH_MAX];
	char temporary[TG_PATH_MAX + 8];
	int lock; /* beside the file, held as long as the process; -1: none */
	bool stop, running;
	pthread_t thread;
	struct tg_restart_feed *feed[TG_WORKERS_MAX];
	struct tg_restart_stats stats;
};

/* For a configuration with flow_table.snapshot: makes the feeds and gives every worker its task; else leaves
 * g->restart NULL. -ENOMEM. */
int tg_restart_attach(struct tg_gateway *g);

/* No two gateways with one file: each would write over the other's flows. 0, or -EBUSY and a sentence. Where the
 * lock cannot be made, the file cannot be either: the thread that writes says so. */
int tg_restart_lock(struct tg_restart *r, char *err, size_t err_len);

/* Reads the file into the workers' tables and says what came of it: whatever is wrong with it, the gateway
 * starts, with the flows that could be restored or none. */
void tg_restart_restore(struct tg_restart *r);

/* Starts the thread that writes. -errno. */
int tg_restart_start(struct tg_restart *r);

/* Stops the thread and, the workers having ended, writes the last file. */
void tg_restart_end(struct tg_restart *r, bool save_flows);

void tg_restart_free(struct tg_restart *r);

/* May a snapshot take this path? Only where nothing is, an empty file, or an older snapshot: nobody's file
 * is lost to a path that was mistyped. 0, -EEXIST: something else is there, else -errno: it cannot be read. */
int tg_restart_may_replace(const char *path);

/* The wall clock, ns since 1970; where time is virtual, that. */
uint64_t tg_restart_wall_ns(const struct tg_gateway *g);

/* worker.sched's task. */
bool tg_restart_copy_step(void *feed, uint64_t now);

#endif
