/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of tokens, each of one service or of several that name it. A pool outlives the snapshots that
 * use it: a reload that changes nothing in it but its budget keeps its state. Its place in the table
 * (its index) stays with its name.
 *
 * Budget 0 is derived: a part of what the servers that are up can do, workers / E[S], from the queueing
 * model's view of them. As long as nothing is known of them everything is admitted. The extra tokens of a
 * burst's first interval are what the model says is free now: workers / E[S] (1 - rho). Both are believed
 * only where the model fits: its prediction has been right to a third, over at least ten windows a server.
 * Where it does not fit there are no extra tokens; a configured budget stays, a derived one for five
 * seconds: then everything is admitted until the model fits again.
 *
 * Thread-safety: control's, under the gateway's mutex; workers reach tokens and their own statistics
 * through a snapshot.
 */
#ifndef TG_ADMISSION_POOLS_H
#define TG_ADMISSION_POOLS_H

#include "admission/ability.h"
#include "registry.h"
#include "tg_admit.h"

#define TG_ADMISSION_POOLS_MAX TG_ADMIT_POOLS_MAX

struct tg_gateway;
struct tg_snapshot;
struct tg_snapshot_env;

/* One worker's, cumulative, packets. By class as it was on arrival. */
struct tg_admission_stats {
	uint64_t held[TG_ADMIT_CLASSES];
	uint64_t released[TG_ADMIT_CLASSES];
	uint64_t expired[TG_ADMIT_CLASSES]; /* dropped: waited too long */
	uint64_t full[TG_ADMIT_CLASSES];    /* dropped: no room, or shed for a more valuable one */
	uint64_t would_wait[TG_ADMIT_CLASSES]; /* where nothing is held: shadow mode */
	uint32_t waiting[TG_ADMIT_CLASSES];    /* now */
	uint32_t most[TG_ADMIT_CLASSES];       /* .. at most so far */
	struct tg_hist wait[TG_ADMIT_CLASSES]; /* of those released */
};

struct tg_admission_pool {
	char name[TG_NAME_MAX];
	uint8_t index;
	unsigned int users; /* snapshots, and the table */
	unsigned int n_workers;
	struct tg_admit_pool *tokens;
	struct tg_admission_stats *stats[TG_WORKERS_MAX];
	/* what control knows */
	double capacity_per_s, rho, error; /* of the servers together; 0: not known */
	struct tg_ability ability;         /* the first of them over the last seconds */
	bool fits;
	uint64_t fitted; /* ticks: when it last did */
	/* rates of segments: totals at the last look, and what came since, a second */
	uint64_t looked;
	uint64_t *total;
	uint32_t *per_s;
};

/* What the packets of a service have to do. */
struct tg_admission_rule {
	struct tg_admission_pool *pool; /* NULL: nothing */
	uint64_t wait_max;              /* ticks */
	uint8_t cost;                   /* enum tg_admit_cost */
};

struct tg_admission_pools {
	unsigned int n_workers;
	int socket[TG_WORKERS_MAX];
	uint8_t secret[TG_ADMIT_SECRET_SIZE];
	struct tg_admission_pool *pool[TG_ADMISSION_POOLS_MAX];
};

/* Fills rule[service id] for a configuration's services; pools that are new are made, those used are
 * held until tg_admission_drop. -ENOMEM. */
int tg_admission_compile(struct tg_snapshot *s, const struct tg_snapshot_env *env,
			 const uint16_t *service_id, char *err, size_t err_len);
/* A snapshot is no longer used. */
void tg_admission_drop(struct tg_snapshot *s);
/* The table's own hold ends. */
void tg_admission_pools_free(struct tg_admission_pools *t);

/* Every tick, after the load was updated: budgets and headroom, and each second segments' rates. */
void tg_admission_update(struct tg_gateway *g, uint64_t now);

#endif
