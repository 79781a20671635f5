/* SPDX-License-Identifier: BSD-3-Clause */
#include "choice/load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TAU_NS      500e6  /* sums of service times fade in this */
#define RECENT_NS   200e6  /* S as it is now */
#define ARRIVAL_NS  2000e6 /* arrivals */
#define TRUST_NS    5000e6 /* predictions against what came, for the next ones */
#define WINDOW_S    5      /* two of these make the window that people see */
#define MAPE_LATELY 50     /* windows: mape_lately fades in so many */
#define MAPE_OVER   200    /* exchanges a window: one exchange's own error has no finite mean */
#define TRUST_OVER  5      /* exchanges, faded: fewer say nothing of how far off predictions are */
#define TRUST_MAX   10     /* and no prediction is mended by more than this */

/* Cumulative, all workers. */
struct sums {
	uint64_t requests;
	uint64_t answers, server_ns; /* with S, else with L */
	uint64_t seen, seen_ns, crowd_256;
	uint64_t measured, unsure, pieces, joined, carried;
};

struct server {
	uint16_t generation;
	bool known; /* generation is that of what is below */
	bool has_s; /* S is known of some exchange */
	bool away;  /* it takes no new flows: down, draining or of no weight */
	struct sums last;
	/* fading */
	double service, shares, answers, shown, shows, recent, recents, arrivals, squares, ticks,
		span;
	/* prediction against what came: fading, as the law has it; and as it was given out, by windows */
	double law_ns, asked, came_ns, came;
	struct tg_vouch vouch;
	double plain,
		promised; /* the last prediction as the law has it, and mended; without delay */
	double predicted, observed, errors;
	uint64_t n_predicted, n_observed;
	struct tg_load_view view;
	/* cumulative histograms then: [1] at the last turn of the window, [0] at the one before */
	struct tg_hist latency[2], server[2];
};

struct tg_load {
	uint64_t last, window_due;
	struct server *server[TG_SERVERS_MAX];
};

int tg_load_create(struct tg_load **out)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? 0 : -ENOMEM;
}

void tg_load_free(struct tg_load *l)
{
	for (unsigned int i = 0; l != NULL && i < TG_SERVERS_MAX; i++)
		free(l->server[i]);
	free(l);
}

struct tg_load_view *tg_load_of(struct tg_load *l, uint16_t server)
{
	return l->server[server] != NULL ? &l->server[server]->view : NULL;
}

static struct sums sum_up(const struct tg_gateway *g, unsigned int server, bool by_s)
{
	struct sums s = {0};

	for (unsigned int w = 0; w < g->n_workers; w++) {
		const struct tg_server_stats *st = tg_snapshot_stats(g->snapshot, server, w);
		const struct tg_hist *h = by_s ? &st->server : &st->latency;

		s.requests += tg_stat_read(&st->requests);
		s.answers += tg_stat_read(&h->count);
		s.server_ns += tg_stat_read(&h->sum_ns);
		s.seen += tg_stat_read(&st->seen);
		s.seen_ns += tg_stat_read(&st->seen_ns);
		s.crowd_256 += tg_stat_read(&st->crowd_256);
		s.measured += tg_stat_read(&st->latency.count) + tg_stat_read(&st->setup);
		s.unsure += tg_stat_read(&st->unsure);
		s.pieces += tg_stat_read(&st->pieces);
		s.joined += tg_stat_read(&st->joined);
		s.carried += tg_stat_read(&st->carried);
	}
	return s;
}

static void levels(const struct tg_gateway *g, unsigned int server, struct tg_load_view *v)
{
	v->waiting = v->fresh = 0;
	for (unsigned int w = 0; w < g->n_workers; w++) {
		const struct tg_server_stats *st = tg_snapshot_stats(g->snapshot, server, w);

		v->waiting += __atomic_load_n(&st->waiting, __ATOMIC_RELAXED);
		v->fresh += __atomic_load_n(&st->fresh, __ATOMIC_RELAXED);
	}
}

void tg_load_ages(const struct tg_gateway *g, uint16_t server, uint32_t *bins)
{
	memset(bins, 0, TG_AGE_BINS * sizeof(*bins));
	for (unsigned int w = 0; w < g->n_workers; w++) {
		uint32_t done = __atomic_load_n(&g->worker[w]->age_round, __ATOMIC_ACQUIRE) - 1;
		const struct tg_ages *a = &tg_snapshot_stats(g->snapshot, server, w)->age[done & 1];

		for (unsigned int k = 0; done != 0 && a->round == done && k < TG_AGE_BINS; k++)
			bins[k] += __atomic_load_n(&a->n[k], __ATOMIC_RELAXED);
	}
}

/* The middle of an age's bin; its lower edge is two thirds of that. */
static double age_ns(unsigned int bin)
{
	return bin == 0 ? 0.5e6 : 0.75e6 * (double)(UINT64_C(1) << bin);
}

/* Requests that should have been answered long ago: their number, and the sum of their ages. */
static double overdue(const struct tg_gateway *g, uint16_t server, struct tg_load_view *v)
{
	double limit = 4 * v->server_ns + v->path_ns, sum = 0;
	uint32_t bins[TG_AGE_BINS];

	v->overdue = 0;
	if (v->waiting == 0 || v->server_ns <= 0)
		return 0;
	tg_load_ages(g, server, bins);
	for (unsigned int k = 1; k < TG_AGE_BINS; k++) {
		if (age_ns(k) * 2 / 3 < limit)
			continue;
		v->overdue += bins[k];
		sum += bins[k] * age_ns(k);
	}
	return sum;
}

static void fade(double *sum, double kept, double more)
{
	*sum = *sum * kept + more;
}

/* The window's turn, and with it the variability of service. */
static void turn_window(struct server *e, const struct tg_gateway *g, unsigned int server)
{
	struct tg_hist latency = {0}, time = {0}, window;
	double mean, square = 0;

	for (unsigned int w = 0; w < g->n_workers; w++) {
		const struct tg_server_stats *st = tg_snapshot_stats(g->snapshot, server, w);

		tg_hist_add(&latency, &st->latency);
		tg_hist_add(&time, &st->server);
	}
	tg_hist_sub(&time, &e->server[0], &window);
	e->latency[0] = e->latency[1];
	e->server[0] = e->server[1];
	e->latency[1] = latency;
	e->server[1] = time;
	if (window.count < MAPE_OVER)
		return;
	mean = (double)window.sum_ns / (double)window.count;
	for (unsigned int i = 0; i < TG_HIST_BUCKETS; i++)
		if (window.bucket[i] != 0)
			square += (double)window.bucket[i] * (double)tg_hist_mid_ns(i) *
				  (double)tg_hist_mid_ns(i);
	square /= (double)window.count;
	e->view.cs2_seen = mean > 0 && square > mean * mean ? square / (mean * mean) - 1 : 0;
}

/*
 * What predictions by the law were off by lately, as far as that is more than the mean of so many
 * exchanges differs from itself: a law that is right would be made worse by what chance it was off
 * by. The part of a difference that is kept is James and Stein's (W. James, C. Stein, 1961). Where
 * fewer exchanges come in that time than make a window all is kept: what is remembered is then of the
 * same window that the prediction is for, chance and all.
 */
static double trust(const struct server *e)
{
	double ratio, off, chance;

	if (e->asked < TRUST_OVER || e->came < TRUST_OVER || e->law_ns <= 0 || e->came_ns <= 0)
		return 1;
	ratio = e->came_ns / e->came * e->asked / e->law_ns;
	off = fmin(fmax(ratio, 1.0 / TRUST_MAX), TRUST_MAX) - 1;
	chance = e->view.lambda_hz * TRUST_NS / 1e9 < MAPE_OVER ? 0 : e->view.cs2_seen / e->came;
	return off * off > chance ? 1 + off * (1 - chance / (off * off)) : 1;
}

/* Both sides of the prediction, until enough exchanges came to compare their means. */
static void judge(struct server *e, const struct sums *d)
{
	struct tg_load_view *v = &e->view;
	double error;

	e->predicted += e->promised * (double)d->requests;
	e->n_predicted += d->requests;
	e->observed += (double)d->server_ns;
	e->n_observed += d->answers;
	if (e->n_observed < MAPE_OVER || e->n_predicted == 0 || e->observed <= 0)
		return;
	error = fabs(e->predicted / (double)e->n_predicted * (double)e->n_observed / e->observed -
		     1);
	e->errors += error;
	v->mape_windows++;
	v->mape = e->errors / (double)v->mape_windows;
	v->mape_lately += (error - v->mape_lately) / fmin((double)v->mape_windows, MAPE_LATELY);
	e->predicted = e->observed = 0;
	e->n_predicted = e->n_observed = 0;
}

static struct sums difference(const struct sums *now, const struct sums *before)
{
	return (struct sums){
		.requests = now->requests - before->requests,
		.answers = now->answers - before->answers,
		.server_ns = now->server_ns - before->server_ns,
		.seen = now->seen - before->seen,
		.seen_ns = now->seen_ns - before->seen_ns,
		.crowd_256 = now->crowd_256 - before->crowd_256,
		.measured = now->measured - before->measured,
		.unsure = now->unsure - before->unsure,
		.pieces = now->pieces - before->pieces,
		.joined = now->joined - before->joined,
		.carried = now->carried - before->carried,
	};
}

/* What a tick of dt_ns brought goes into the fading sums. */
static void take(struct server *e, const struct sums *d, double dt_ns)
{
	double slow = tg_fade(dt_ns, TAU_NS), fast = tg_fade(dt_ns, RECENT_NS);
	double n = (double)d->requests, kept = tg_fade(dt_ns, ARRIVAL_NS);
	double trusted = tg_fade(dt_ns, TRUST_NS);
	struct tg_vouch_more more = {d->seen,   d->measured, d->unsure,
				     d->pieces, d->joined,   d->carried};

	tg_vouch_take(&e->vouch, &more, dt_ns);
	fade(&e->service, slow, (double)d->server_ns);
	fade(&e->shares, slow,
	     d->seen > 0 ? (double)d->crowd_256 / 256 * (double)d->answers / (double)d->seen
			 : (double)d->answers);
	fade(&e->recent, fast, (double)d->server_ns);
	fade(&e->recents, fast, (double)d->answers);
	fade(&e->answers, slow, (double)d->answers);
	fade(&e->shown, slow, (double)d->seen_ns);
	fade(&e->shows, slow, (double)d->seen);
	fade(&e->law_ns, trusted, e->plain * n);
	fade(&e->asked, trusted, n);
	fade(&e->came_ns, trusted, (double)d->server_ns);
	fade(&e->came, trusted, (double)d->answers);
	fade(&e->arrivals, kept, n);
	fade(&e->squares, kept, n * n);
	fade(&e->ticks, kept, 1);
	fade(&e->span, kept, dt_ns);
}

static double per(double sum, double n, double otherwise)
{
	return n > 1e-9 ? sum / n : otherwise;
}

/* How much longer than S an answer takes to show: of sums, as an exchange may show in another tick
 * than its S does, and what is cut at 0 tick by tick comes out too long. */
static double path_ns(const struct server *e)
{
	if (e->shows <= 1e-9 || e->answers <= 1e-9)
		return e->view.path_ns;
	return fmax(0, e->shown / e->shows - e->service / e->answers);
}

/* Variability of arrivals, by the index of dispersion of the counts a tick: it is Ca2 of a renewal
 * process over intervals that are long against its gaps, and 1 for Poisson over any. */
static double dispersion(const struct server *e)
{
	double mean = per(e->arrivals, e->ticks, 0);

	return mean > 0 ? (per(e->squares, e->ticks, 0) - mean * mean) / mean : 1;
}

/* The laws that others wrote are shown as they are written; all else goes by the repaired hybrid. */
static bool is_repaired(enum tg_policy policy)
{
	return policy != TG_POLICY_MODEL && policy != TG_POLICY_QUEUE &&
	       policy != TG_POLICY_HYBRID_SEED && policy != TG_POLICY_COMPLETION;
}

/*
 * The rate that the model is given: no more than explains how long requests have waited. What
 * arrives times tau is too much as soon as others load the server too (their share is in tau), or
 * with a single worker, whose q is seldom right to the last request: the model would then answer
 * with the wait at the edge of overload, a hundred services.
 */
static double explained_hz(const struct server *e, uint32_t workers)
{
	const struct tg_load_view *v = &e->view;
	double wait, rho;

	if (v->service_ns <= 0)
		return 0;
	wait = e->came < TRUST_OVER ? 0 : fmax(0, e->came_ns / e->came / v->service_ns - 1);
	rho = tg_implied_rho(workers, wait, v->ca2, v->cs2);
	return fmin(v->lambda_hz, rho * workers / v->service_ns * 1e9);
}

/* By the law of the policy; those that go by no prediction are judged by the repaired hybrid. */
static struct tg_predicted predict(enum tg_policy policy, const struct tg_queueing_input *in)
{
	switch (policy) {
	case TG_POLICY_MODEL:
		return tg_predict_model(in);
	case TG_POLICY_QUEUE:
		return tg_predict_queue(in);
	case TG_POLICY_HYBRID_SEED:
		return tg_predict_hybrid_seed(in);
	case TG_POLICY_COMPLETION:
		return tg_predict_completion(in);
	default:
		return tg_predict_hybrid(in);
	}
}

static void estimate(struct server *e, const struct tg_gateway *g, uint16_t server)
{
	const struct tg_config_server *c = g->snapshot->server[server];
	enum tg_policy policy = g->snapshot->service[g->snapshot->service_of[server]]->policy;
	struct tg_load_view *v = &e->view;
	struct tg_queueing_input in;
	double late;

	levels(g, server, v);
	v->server_ns = per(e->recent, e->recents, v->server_ns);
	v->path_ns = path_ns(e);
	late = overdue(g, server, v);
	v->service_ns = tg_service_ns(e->service + late, e->shares + v->overdue);
	if (c->service_time_us != 0)
		v->service_ns = c->service_time_us * 1e3;
	v->cs2 = c->alpha > 0 ? tg_pareto_cs2(c->alpha) : v->cs2_seen;
	v->lambda_hz = per(e->arrivals, e->span, 0) * 1e9;
	v->ca2 = dispersion(e);
	v->in_system_bound = tg_in_system(v->waiting, v->server_ns, v->path_ns);
	v->each = tg_vouch_each(&e->vouch);
	v->in_system = v->in_system_bound * v->each;
	v->in_system_kind = v->server_ns > 0 ? tg_vouch_kind(&e->vouch)
					     : TG_REQUESTS_UNKNOWN; /* no exchange yet */
	in = (struct tg_queueing_input){
		.lambda_hz = is_repaired(policy) ? explained_hz(e, c->workers) : v->lambda_hz,
		.ca2 = v->ca2,
		.cs2 = v->cs2,
		.service_ns = v->service_ns,
		.in_system = v->in_system + v->fresh,
		.delay_ns = c->delay_us * 1e3,
		.workers = c->workers,
	};
	v->predicted = predict(policy, &in);
	e->plain = v->predicted.completion_ns - in.delay_ns; /* as S has no delay in it */
	e->promised = is_repaired(policy) ? e->plain * trust(e) : e->plain;
	v->predicted.completion_ns = e->promised + in.delay_ns;
	in.in_system++;
	v->one_more = predict(policy, &in);
}

static struct server *entry(struct tg_load *l, const struct tg_gateway *g, unsigned int i,
			    uint64_t now)
{
	struct server *e = l->server[i];

	if (e == NULL)
		e = l->server[i] = calloc(1, sizeof(*e));
	if (e == NULL || (e->known && e->generation == g->snapshot->generation[i]))
		return e;
	/* another server, or the same one back from being down: nothing is known of it */
	memset(e, 0, sizeof(*e));
	e->generation = g->snapshot->generation[i];
	e->known = true;
	e->view.cs2_seen = 1;
	e->view.since = l->last == 0 ? 0
				     : now; /* those there at the start share the load at once */
	turn_window(e, g, i);
	turn_window(e, g, i);
	e->last = sum_up(g, i, false);
	return e;
}

/* Slow start begins when the server takes flows again, however long it took none. */
static void note_return(struct server *e, const struct tg_config_server *c, uint64_t now)
{
	bool away = c->state != TG_SERVER_UP || c->weight == 0;

	if (e->away && !away)
		e->view.since = now;
	e->away = away;
}

static void update_one(struct tg_load *l, struct tg_gateway *g, uint16_t i, uint64_t now,
		       double dt_ns, bool turn)
{
	struct server *e = entry(l, g, i, now);
	struct sums s, d;

	if (e == NULL) /* no memory: it is placed as one that nothing is known of */
		return;
	note_return(e, g->snapshot->server[i], now);
	if (!e->has_s && sum_up(g, i, true).answers > e->server[1].count) {
		e->has_s = true;
		e->last = sum_up(g, i, true);
		return;
	}
	s = sum_up(g, i, e->has_s);
	d = difference(&s, &e->last);
	e->last = s;
	if (d.answers > 0)
		e->view.newest = now;
	judge(e, &d);
	take(e, &d, dt_ns);
	if (turn)
		turn_window(e, g, i);
	estimate(e, g, i);
}

void tg_load_update(struct tg_load *l, struct tg_gateway *g, uint64_t now)
{
	double dt_ns = l->last == 0 ? 0 : (double)tg_ticks_to_ns(&g->clock, now - l->last);
	bool turn = now >= l->window_due;

	if (turn)
		l->window_due = now + tg_s_to_ticks(&g->clock, WINDOW_S);
	for (unsigned int i = 0; i < g->snapshot->n_servers; i++)
		if (g->snapshot->server[i] != NULL)
			update_one(l, g, (uint16_t)i, now, dt_ns, turn);
	l->last = now | 1;
}

void tg_load_window(const struct tg_load *l, uint16_t server, const struct tg_hist *latency_now,
		    const struct tg_hist *server_now, struct tg_hist *latency,
		    struct tg_hist *server_time)
{
	const struct server *e = l->server[server];
	static const struct tg_hist none;

	tg_hist_sub(latency_now, e != NULL ? &e->latency[0] : &none, latency);
	tg_hist_sub(server_now, e != NULL ? &e->server[0] : &none, server_time);
}
