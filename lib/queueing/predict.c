/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>

#include "number.h"

#define PENALTY_AT_1 2.0

double tg_wait_by_queue(double waiting, double busy)
{
	return sane(waiting) / max_of(1, sane(busy));
}

double tg_wait_by_system(double in_system, uint32_t workers)
{
	double c = divisor(workers);

	return at_least_0(sane(in_system) - c + 1) / c;
}

double tg_blend_weight(double requests, uint32_t workers)
{
	return workers > 0 ? at_most(sane(requests) / workers, 1) : 1;
}

double tg_blend(double beta, double model, double queue)
{
	double b = at_most(at_least_0(beta), 1);

	return (1 - b) * sane(model) + b * sane(queue);
}

double tg_penalty(double rho)
{
	double over = at_least_0(at_most(at_least_0(rho), 1) - TG_RHO_PENALTY);

	return 1 + over * ((PENALTY_AT_1 - 1) / (1 - TG_RHO_PENALTY));
}

static double ns(double x)
{
	return at_most(x, TG_PREDICTED_NS_MAX);
}

/* Whether there is something to predict; else out is the answer. */
static bool known(const struct tg_queueing_input *in, struct tg_predicted *out)
{
	double all = in->workers > 0 ? 0 : TG_PREDICTED_NS_MAX;

	*out = (struct tg_predicted){all, all, all};
	return in->workers > 0 && in->service_ns > 0;
}

/* wait: in service times */
static struct tg_predicted predicted(const struct tg_queueing_input *in, double wait,
				     double penalty)
{
	double service = sane(in->service_ns), rest = service + sane(in->delay_ns);

	return (struct tg_predicted){
		.wait_ns = ns(wait * service),
		.completion_ns = ns(wait * service + rest),
		.score_ns = ns(wait * service * penalty + rest),
	};
}

static double waiting(const struct tg_queueing_input *in)
{
	return at_least_0(sane(in->in_system) - in->workers);
}

static double queue_wait(const struct tg_queueing_input *in)
{
	return tg_wait_by_queue(waiting(in), at_most(sane(in->in_system), in->workers));
}

static double model_wait(const struct tg_queueing_input *in, double rho)
{
	return tg_allen_cunneen(in->workers, at_most(rho, TG_RHO_MAX), in->ca2, in->cs2);
}

struct tg_predicted tg_predict_model(const struct tg_queueing_input *in)
{
	double rho = tg_rho(in->lambda_hz, in->service_ns, in->workers);
	struct tg_predicted out;

	return known(in, &out) ? predicted(in, model_wait(in, rho), tg_penalty(rho)) : out;
}

struct tg_predicted tg_predict_queue(const struct tg_queueing_input *in)
{
	struct tg_predicted out;

	return known(in, &out) ? predicted(in, queue_wait(in), 1) : out;
}

/* Model and queue, weighed by beta; the two hybrids differ in the queue's part only. */
static struct tg_predicted blended(const struct tg_queueing_input *in, double beta, double queue)
{
	double rho = tg_rho(in->lambda_hz, in->service_ns, in->workers);
	/* Erlang's loop where it counts */
	double model = beta < 1 ? model_wait(in, rho) : 0;

	return predicted(in, tg_blend(beta, model, queue), tg_penalty(rho));
}

struct tg_predicted tg_predict_hybrid_seed(const struct tg_queueing_input *in)
{
	struct tg_predicted out;

	if (!known(in, &out))
		return out;
	return blended(in, tg_blend_weight(waiting(in), in->workers), queue_wait(in));
}

struct tg_predicted tg_predict_hybrid(const struct tg_queueing_input *in)
{
	struct tg_predicted out;

	if (!known(in, &out))
		return out;
	return blended(in, tg_blend_weight(in->in_system, in->workers),
		       tg_wait_by_system(in->in_system, in->workers));
}

struct tg_predicted tg_predict_completion(const struct tg_queueing_input *in)
{
	double service = sane(in->service_ns), delay = sane(in->delay_ns), z;
	struct tg_predicted out;

	if (!known(in, &out))
		return out;
	out = predicted(in, tg_sharing(in->in_system, in->workers) - 1, 1);
	z = sane(in->in_system) / in->workers;
	out.score_ns = ns(service * (1 + z / 2 + at_least_0(z - 1)) + delay);
	return out;
}

static double rounded(double x, double most)
{
	if (!(x > 0))
		return 0;
	return at_most(max_of(nearbyint(x), 1), most);
}

uint32_t tg_predicted_ns32(double x)
{
	return (uint32_t)rounded(x, UINT32_MAX);
}

uint64_t tg_predicted_ns64(double x)
{
	return (uint64_t)rounded(x, TG_PREDICTED_NS_MAX);
}
