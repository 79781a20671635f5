/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replications into one: wherever they have a number there stands its mean and the half-width of
 * its 95 % interval over replications (Student t, which is what independent replications allow). A
 * list of numbers (a curve, a series) becomes the list of means; truths are true when all are.
 */
#include <math.h>
#include <string.h>

#include "results/private.h"

double tg_student_t975(unsigned int degrees)
{
	static const double table[] = {
		12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
		2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
		2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
	};
	const double z = 1.959963985, n = degrees;

	if (degrees == 0)
		return INFINITY;
	if (degrees <= sizeof(table) / sizeof(table[0]))
		return table[degrees - 1];
	/* Abramowitz and Stegun 26.7.5: below 1e-4 off from 31 degrees on */
	return z + (pow(z, 3) + z) / (4 * n) +
	       (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n);
}

struct moments {
	unsigned int n;
	double mean, half_width; /* INFINITY: one value alone */
};

static struct moments moments_of(json_t *const *v, unsigned int n)
{
	struct moments m = {0};
	double sum2 = 0;

	for (unsigned int i = 0; i < n; i++) {
		double x = json_number_value(v[i]), d = x - m.mean;

		if (!json_is_number(v[i]))
			continue;
		m.n++;
		m.mean += d / m.n;
		sum2 += d * (x - m.mean);
	}
	m.half_width = m.n > 1 ? tg_student_t975(m.n - 1) * sqrt(sum2 / (m.n - 1) / m.n) : INFINITY;
	return m;
}

static json_t *number(json_t *const *v, unsigned int n)
{
	struct moments m = moments_of(v, n);
	json_t *j;

	if (m.n == 0)
		return json_null();
	j = json_pack("{s:f, s:o}", "mean", m.mean, "half_width",
		      isfinite(m.half_width) ? json_real(m.half_width) : json_null());
	if (n == 1)
		return j;
	/* one by one: runs of the same seed are compared in pairs */
	json_object_set_new(j, "values", json_array());
	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(json_object_get(j, "values"),
				      json_is_number(v[i]) ? json_incref(v[i]) : json_null());
	return j;
}

static json_t *join(json_t *const *v, unsigned int n, unsigned int depth);

/* The first that is not null decides what there is to join. */
static const json_t *model(json_t *const *v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (v[i] != NULL && !json_is_null(v[i]))
			return v[i];
	return NULL;
}

static json_t *join_objects(json_t *const *v, unsigned int n, unsigned int depth)
{
	json_t *out = json_object();
	json_t *part[TG_REPLICATIONS_MAX];

	/* a key that only some of them have is joined over these */
	for (unsigned int k = 0; k < n; k++) {
		const char *key;
		json_t *member;

		json_object_foreach(v[k], key, member) {
			if (json_object_get(out, key) != NULL)
				continue;
			for (unsigned int i = 0; i < n; i++)
				part[i] = json_object_get(v[i], key);
			json_object_set_new(out, key, join(part, n, depth + 1));
		}
	}
	return out;
}

static json_t *join_lists(json_t *const *v, unsigned int n, unsigned int depth)
{
	json_t *out = json_array();
	json_t *part[TG_REPLICATIONS_MAX];
	size_t size = 0;

	for (unsigned int i = 0; i < n; i++)
		size = json_array_size(v[i]) > size ? json_array_size(v[i]) : size;
	for (size_t k = 0; k < size; k++) {
		for (unsigned int i = 0; i < n; i++)
			part[i] = json_array_get(v[i], k);
		if (json_is_number(model(part, n)))
			json_array_append_new(out, json_real(moments_of(part, n).mean));
		else
			json_array_append_new(out, join(part, n, depth + 1));
	}
	return out;
}

static json_t *join(json_t *const *v, unsigned int n, unsigned int depth)
{
	const json_t *first = model(v, n);
	bool all = true;

	if (first == NULL || depth > 32)
		return json_null();
	if (json_is_object(first))
		return join_objects(v, n, depth);
	if (json_is_array(first))
		return join_lists(v, n, depth);
	if (json_is_number(first))
		return number(v, n);
	if (!json_is_boolean(first))
		return json_deep_copy(first);
	for (unsigned int i = 0; i < n; i++)
		all = all && !json_is_false(v[i]);
	return json_boolean(all);
}

json_t *tg_results_join(const struct tg_scenario *sc, json_t *const *runs, unsigned int n)
{
	const char *slash = strrchr(sc->file, '/');
	json_t *head = json_pack("{s:i, s:s, s:I, s:i, s:f, s:f}", "version", 1, "scenario",
				 slash == NULL ? sc->file : slash + 1, "seed", (json_int_t)sc->seed,
				 "replications", (int)n, "warmup_s", sc->warmup_s, "duration_s",
				 sc->duration_s);
	json_t *joined = join(runs, n, 0), *policies = json_array(), *service;
	size_t i;

	json_array_foreach(json_object_get(sc->config, "services"), i, service)
		json_array_append_new(policies,
				      json_pack("{s:O, s:O*, s:f}", "name",
						json_object_get(service, "name"), "policy",
						json_object_get(service, "policy"),
						"predicted_load", sc->service[i].load));
	if (head == NULL || joined == NULL) {
		json_decref(head);
		json_decref(joined);
		json_decref(policies);
		return NULL;
	}
	json_object_set_new(head, "services", policies);
	json_object_update(head, joined);
	json_decref(joined);
	return head;
}
