/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queueing formulas: from what was observed of a server to how soon it will answer. A server is a
 * queue with `workers` (c) parallel workers; a request takes one of them for service_ns (1/mu) on
 * average, lambda_hz requests arrive a second, rho = lambda / (c mu) is the utilization.
 *
 * Units: a wait without a unit in its name is in service times (W mu), so that the formulas have
 * no dimension; _ns and _hz are nanoseconds and per second. ca2 and cs2 are squared coefficients
 * of variation (variance / mean^2) of the times between arrivals and of service.
 *
 * Domain: every function takes every value and returns a number, never NaN. Unless said
 * otherwise, what is below its range (a negative rate) counts as the range's end, and NaN as not
 * known: 0 for rates, times, counts and rho. Unknown (negative or NaN) ca2 and cs2 count as 1,
 * the exponential's; above TG_CV2_MAX they count as that. Infinite results are named.
 *
 * Thread-safety: pure functions: no state, no clock, no errors. For control, every 1-10 ms and
 * server; not for the packet path. Whatever needs Erlang's formula costs a loop over the workers.
 *
 * Sources: A. K. Erlang (1917); A. O. Allen, "Probability, Statistics, and Queueing Theory", 1990
 * (Allen-Cunneen); "Queue-aware task offloading in the computing continuum" (the hybrid; its
 * parameters and its penalty are not public: ours are a reconstruction, and so marked).
 */
#ifndef TG_QUEUEING_H
#define TG_QUEUEING_H

#include <stdint.h>

#define TG_CV2_MAX 100.0 /* more than this is no mean to predict by */
/* Erlang's loop goes no further. More workers count as so many at the same rho: an upper bound. */
#define TG_ERLANG_WORKERS_MAX 4096u
#define TG_RHO_MAX            0.99 /* the laws' and tg_implied_rho's stand-in for rho >= 1 */
#define TG_RHO_PENALTY        0.9  /* the penalty starts here (the hybrid's source) */
#define TG_PREDICTED_NS_MAX   1e18 /* 31 years: no prediction is above */

/* erlang.c: M/M/c */

/* lambda / (c mu); may be above 1. No workers: INFINITY if anything arrives, else 0. */
double tg_rho(double lambda_hz, double service_ns, uint32_t workers);

/* Erlang B: share of requests that find all workers busy where none may wait, 0..1, for an
 * offered load of a = lambda / mu (Erlang). By the recursion B(0) = 1,
 * B(k) = a B(k-1) / (k + a B(k-1)). No workers: 1. */
double tg_erlang_b(uint32_t workers, double offered);

/* Erlang C: share of requests that must wait, 0..1: B / (1 - rho (1 - B)). rho >= 1: 1. */
double tg_erlang_c(uint32_t workers, double rho);

/* Mean wait of M/M/c: C / (c (1 - rho)). rho >= 1: INFINITY. */
double tg_mmc_wait(uint32_t workers, double rho);

/* Mean number of requests of M/M/c, waiting and in service: c rho + C rho / (1 - rho).
 * rho >= 1: INFINITY. */
double tg_mmc_number(uint32_t workers, double rho);

/* wait.c: G/G/c */

/* Allen-Cunneen: M/M/c's wait times (ca2 + cs2) / 2. Exact for M/M/c and for M/G/1
 * (Pollaczek-Khinchine); reads 2-24 % high in simulated Pareto cases. rho >= 1: INFINITY. */
double tg_allen_cunneen(uint32_t workers, double rho, double ca2, double cs2);

/*
 * The rho at which tg_allen_cunneen is `wait`, the measured mean wait in service times: the load
 * at a server that others load unseen. 0 for no wait or no workers; never above TG_RHO_MAX, which
 * is also the answer for ca2 + cs2 = 0, where only an overloaded server makes wait. Where
 * many workers make the wait vanish, the rho it returns is poorly determined but reproduces `wait`.
 */
double tg_implied_rho(uint32_t workers, double wait, double ca2, double cs2);

/*
 * How much the mean wait grows by one more flow that adds flow_rho (its tg_rho) to rho. Never
 * falls as rho rises: above TG_RHO_MAX it stays what it was for the flow that reached it, so that a
 * saturated server is not free.
 */
double tg_marginal_wait(uint32_t workers, double rho, double flow_rho, double ca2, double cs2);

/* pareto.c: cs2 of heavy tails */

/* Pareto of shape alpha: 1 / (alpha (alpha - 2)), which is 1 at alpha = 1 + sqrt 2.
 * alpha <= 2: INFINITY (no variance). NaN: 1. */
double tg_pareto_cs2(double alpha);

/* Pareto cut to [1, ratio]: mean, in units of its lower end, and cs2. Finite for every shape
 * above 0. ratio <= 1 or NaN: a constant (1 and 0); above 1e12: as 1e12. alpha is limited to
 * 1e-3..1e6, NaN is 1. */
double tg_bounded_pareto_mean(double alpha, double ratio);
double tg_bounded_pareto_cs2(double alpha, double ratio);

/* percentile.c: M/M/1 sojourns and headroom. 0 <= p < 1; p >= 1 means INFINITY. */

/* M/M/1: the time that a share p of requests does not exceed, -ln(1 - p) / (mu - lambda).
 * headroom_hz is mu - lambda; none: INFINITY (p = 0: 0). */
double tg_mm1_percentile_ns(double p, double headroom_hz);

/* ... its inverses. The share of requests that take no longer than t_ns: 0..1, 0 without headroom. */
double tg_mm1_share(double t_ns, double headroom_hz);

/* Headroom, requests a second, from a measured percentile: h = -ln(1 - p) / t_p. The source
 * prints it with the wrong sign; right for one worker only. t_p not known (<= 0, NaN): 0. */
double tg_headroom_of_percentile_hz(double p, double t_p_ns);

/* Headroom, requests a second: h = c / E[S] (1 - rho). 0 for rho >= 1, no workers, and where rho (NaN)
 * or E[S] (<= 0, NaN) is not known: nothing extra is admitted on no evidence. */
double tg_headroom_hz(uint32_t workers, double service_ns, double rho);

/* M/M/1: percentile p over percentile q, ln(1 - p) / ln(1 - q): 3.843 for .99999 and .95.
 * q = 0: INFINITY (p = 0: 1). */
double tg_mm1_percentile_ratio(double p, double q);

/* observed.c: what control makes of its sums */

/* q-hat: requests at the server among `open` exchanges, the others being on their way:
 * open S / (S + P), S mean service and P mean path. Neither known: open. */
double tg_in_system(double open, double service_ns, double path_ns);

/* F: how many requests shared a worker when one was sent: max(1, (q + 1) / c), q in the system
 * before it. No workers: as one. */
double tg_sharing(double in_system, uint32_t workers);

/* tau-hat: 1/mu from sums over exchanges of S and of the F at their requests, each faded by
 * tg_fade: sum S / sum F. 0, not known, for sum F = 0. */
double tg_service_ns(double sum_server_ns, double sum_sharing);

/* What is left of a sum after so long: exp(-elapsed / constant), 0..1. constant <= 0: nothing. */
double tg_fade(double elapsed_ns, double constant_ns);

/* predict.c: a server's answer */

/* Wait seen from the queue, the seed's form: waiting / n, n workers busy (less than one counts
 * as one). */
double tg_wait_by_queue(double waiting, double busy);

/* ... and exact for M/M/c, given q requests in the system: max(0, q - c + 1) / c. With q - c
 * waiting this is (waiting + 1) / c. No workers: as one. */
double tg_wait_by_system(double in_system, uint32_t workers);

/* beta: min(1, requests / c), how far the queue is trusted over the model. The seed's form takes
 * the waiting requests, the repaired one those in the system. No workers: 1. */
double tg_blend_weight(double requests, uint32_t workers);

/* (1 - beta) model + beta queue */
double tg_blend(double beta, double model, double queue);

/* Factor on the wait of a nearly saturated server: 1 up to TG_RHO_PENALTY, continuous there, then
 * rising linearly to 2 at rho = 1 and no further (the seed gives no form: ours). */
double tg_penalty(double rho);

struct tg_queueing_input {
	double lambda_hz;  /* requests sent to it, over a sliding window */
	double ca2;        /* of the times between them */
	double cs2;        /* of its service times */
	double service_ns; /* tau-hat or configured; 0: not known */
	double in_system;  /* q: requests at the server, with flows picked and not yet seen */
	double delay_ns;   /* network, both ways */
	uint32_t workers;  /* 0: it is down */
};

struct tg_predicted {
	double wait_ns;       /* W, without penalty */
	double completion_ns; /* what a request sent now will take: compare with what it took */
	double score_ns;      /* the smallest one is picked: with penalties */
};

/*
 * The laws, one a policy. All results are in 0..TG_PREDICTED_NS_MAX; all are 0 when service_ns is
 * not known, and TG_PREDICTED_NS_MAX when there are no workers (so also when all servers are down).
 * rho is lambda / (c mu) held to at most TG_RHO_MAX; the penalty sees it up to 1.
 * completion = W + service + delay, score = W penalty + service + delay, unless said otherwise.
 * More load, variability, service time or delay never lowers a completion or a score.
 *
 * More requests in the system never lower `queue` and `completion`. They do lower the hybrids where
 * the model's wait is above the queue's: beta then moves away from the larger one, `hybrid` up
 * to q = c, `hybrid_seed` up to q = 2c. Above, these do not fall either.
 */

/* `model`: W is Allen-Cunneen. */
struct tg_predicted tg_predict_model(const struct tg_queueing_input *in);

/* `queue`: W is the seed's queue form alone, of max(0, q - c) waiting and min(q, c) busy. No
 * penalty. */
struct tg_predicted tg_predict_queue(const struct tg_queueing_input *in);

/* `hybrid-seed`: as the source writes it: the waiting requests weigh model and queue form. */
struct tg_predicted tg_predict_hybrid_seed(const struct tg_queueing_input *in);

/* `latency`: repaired: those in the system weigh model and tg_wait_by_system. */
struct tg_predicted tg_predict_hybrid(const struct tg_queueing_input *in);

/* `completion`: no model. completion = service F + delay, W = completion - service - delay;
 * score = service (1 + z/2 + max(0, z - 1)) + delay, z = q / c. */
struct tg_predicted tg_predict_completion(const struct tg_queueing_input *in);

/* A time as an integer, rounded: 0, not known, stays 0; else 1 .. the type's largest
 * (TG_PREDICTED_NS_MAX for 64 bits). */
uint32_t tg_predicted_ns32(double ns);
uint64_t tg_predicted_ns64(double ns);

#endif
