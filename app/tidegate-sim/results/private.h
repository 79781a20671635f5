/* SPDX-License-Identifier: BSD-3-Clause */
/* What results*.c share: one replication's counts.
 *
 * Thread-safety: one simulation, one thread. */
#ifndef TG_RESULTS_PRIVATE_H
#define TG_RESULTS_PRIVATE_H

#include "results/hist.h"
#include "results/results.h"
#include "sim.h"

/* What the clients of a group saw. */
struct tg_group_result {
	uint64_t failed;
	struct tg_fine_hist latency;  /* wanted -> whole answer: what a person waits */
	struct tg_fine_hist response; /* last byte sent -> whole answer: the gateway's L */
	double wait_ns, service_ns;   /* sums, at the stations */
};

/* What one server did for one service: the truth beside what a gateway measured of it. */
struct tg_truth {
	struct tg_fine_hist latency; /* L */
	struct tg_fine_hist server;  /* S: arrived whole -> answer begins */
	struct tg_fine_hist wait;
};

/* Windows of time, closed one after another. */
struct tg_series {
	uint64_t width, ends; /* of the open window */
	uint32_t n, room;
	struct tg_fine_hist *open; /* by group */
	uint64_t *open_answers;    /* by server */
	double *mean, *p95;        /* n * groups */
	uint64_t *count;           /* n * groups */
	uint64_t *answers;         /* n * servers */
};

struct tg_results {
	struct tg_sim *sim;
	uint64_t begin;
	struct tg_group_result *group;
	struct tg_truth **truth; /* service * servers + server; NULL: none yet */
	uint64_t *answers;       /* by server */
	struct tg_series series;
};

/* results_series.c */
int tg_series_init(struct tg_series *s, const struct tg_sim *sim);
void tg_series_free(struct tg_series *s);
void tg_series_begin(struct tg_series *s, const struct tg_sim *sim, uint64_t now);
void tg_series_answered(struct tg_series *s, const struct tg_sim *sim, uint32_t group,
			uint32_t server, uint64_t latency_ns, uint64_t now);
/* NULL where there is none. */
json_t *tg_series_json(struct tg_series *s, const struct tg_sim *sim, uint64_t now);

/* results_conservation.c: where every packet and request went. */
json_t *tg_conservation_json(const struct tg_sim *s);

/* results_join.c: half-width of the 95 % interval of a mean: t(0.975, n - 1) standard errors. */
double tg_student_t975(unsigned int degrees);

#endif
