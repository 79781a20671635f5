/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributions: a number, or an object whose keys depend on its kind. */
#include <stdio.h>
#include <string.h>

#include "scenario/scenario_reader.h"

static const char *const kind_names[] = {
	[TG_DIST_CONSTANT] = "constant",
	[TG_DIST_EXPONENTIAL] = "exponential",
	[TG_DIST_UNIFORM] = "uniform",
	[TG_DIST_NORMAL] = "normal",
	[TG_DIST_LOGNORMAL] = "lognormal",
	[TG_DIST_PARETO] = "pareto",
	[TG_DIST_BOUNDED_PARETO] = "bounded-pareto",
	[TG_DIST_TRACE] = "trace",
	NULL,
};

static const char *kind_name(unsigned int i)
{
	return kind_names[i];
}

struct raw {
	uint16_t kind;
	struct tg_dist d;
};

static void read_kind(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	tg_read_choice(r, k, v, at);
}

static void read_shape(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	double alpha = json_number_value(v);
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_number(v) || !(alpha > 1 && alpha <= 1000))
		tg_fault(r, "%s is out of range (above 1, where the mean is finite, up to 1000)",
			 tg_show(v, shown));
	else
		*(double *)at = alpha;
}

static void read_values(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_dist *d = at;

	tg_read_numbers(r, v, (double)k->max, &d->trace, &d->n_trace);
}

/* The keys of each kind; the bounds are those of where the distribution stands. */
#define N_KEYS 4
static unsigned int keys_of(unsigned int kind, const struct tg_config_key *place,
			    struct tg_config_key keys[N_KEYS])
{
	const struct tg_config_key word = {TG_KEY(raw, kind, read_kind), .choice = kind_name,
					   .required = true},
				   mean = {.name = "mean",
					   .read = tg_read_real,
					   .offset = offsetof(struct raw, d.mean),
					   .min = place->min,
					   .max = place->max,
					   .required = true},
				   sd = {.name = "sd",
					 .read = tg_read_real,
					 .offset = offsetof(struct raw, d.sd),
					 .max = place->max,
					 .required = true},
				   alpha = {.name = "alpha",
					    .read = read_shape,
					    .offset = offsetof(struct raw, d.alpha),
					    .required = true},
				   low = {.name = "low",
					  .read = tg_read_real,
					  .offset = offsetof(struct raw, d.low),
					  .min = place->min,
					  .max = place->max,
					  .required = true},
				   high = {.name = "high",
					   .read = tg_read_real,
					   .offset = offsetof(struct raw, d.high),
					   .min = place->min,
					   .max = place->max,
					   .required = true},
				   values = {.name = "values",
					     .read = read_values,
					     .offset = offsetof(struct raw, d),
					     .max = place->max,
					     .required = true};
	const struct tg_config_key *const of_kind[][N_KEYS] = {
		[TG_DIST_CONSTANT] = {&word, &mean},
		[TG_DIST_EXPONENTIAL] = {&word, &mean},
		[TG_DIST_UNIFORM] = {&word, &low, &high},
		[TG_DIST_NORMAL] = {&word, &mean, &sd},
		[TG_DIST_LOGNORMAL] = {&word, &mean, &sd},
		[TG_DIST_PARETO] = {&word, &mean, &alpha},
		[TG_DIST_BOUNDED_PARETO] = {&word, &alpha, &low, &high},
		[TG_DIST_TRACE] = {&word, &values},
	};
	unsigned int n = 0;

	for (; n < N_KEYS && of_kind[kind][n] != NULL; n++)
		keys[n] = *of_kind[kind][n];
	return n;
}

static unsigned int kind_of(const json_t *v)
{
	const char *name = json_string_value(json_object_get(v, "kind"));

	for (unsigned int i = 0; name != NULL && kind_names[i] != NULL; i++)
		if (strcmp(kind_names[i], name) == 0)
			return i;
	return TG_DIST_CONSTANT;
}

/* What the values do not show one by one. */
static void settle(struct tg_reader *r, struct tg_dist *d)
{
	bool bounded = d->kind == TG_DIST_BOUNDED_PARETO;

	if ((bounded || d->kind == TG_DIST_UNIFORM) && d->high < d->low)
		TG_MEMBER_FAULT(r, "high", "%g is below low, %g", d->high, d->low);
	else if (bounded && !(d->low > 0 && d->high > d->low))
		TG_MEMBER_FAULT(r, "low", "%g must be above 0 and below high, %g", d->low, d->high);
	if (d->kind == TG_DIST_LOGNORMAL && d->mean <= 0 && d->sd > 0)
		TG_MEMBER_FAULT(r, "mean", "must be above 0");
	if (d->kind == TG_DIST_PARETO && d->mean <= 0)
		TG_MEMBER_FAULT(r, "mean", "must be above 0");
}

static void read_object(struct tg_reader *r, const struct tg_config_key *k, json_t *v,
			struct tg_dist *d)
{
	struct tg_config_key keys[N_KEYS];
	unsigned int kind = kind_of(v), faults = r->report->n_faults + r->unsaid;
	struct raw raw = {.d.kind = (enum tg_dist_kind)kind};

	tg_read_object(r, keys, keys_of(kind, k, keys), v, &raw);
	if (faults == r->report->n_faults + r->unsaid && !r->no_memory)
		settle(r, &raw.d);
	if (faults != r->report->n_faults + r->unsaid || r->no_memory)
		return;
	*d = raw.d;
	d->mean = tg_dist_mean(&raw.d);
}

void tg_read_dist(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	struct tg_dist *d = at;
	struct tg_dist constant = {.kind = TG_DIST_CONSTANT, .mean = -1};

	if (json_is_object(v)) {
		read_object(r, k, v, d);
		return;
	}
	tg_read_real(r, k, v, &constant.mean);
	if (constant.mean >= 0)
		*d = constant;
}
