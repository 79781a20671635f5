/* SPDX-License-Identifier: BSD-3-Clause */
/* What results are made of: the histogram's promise, Student's t, and joining replications. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/unit.h"
#include "results/private.h"

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Every quantile within 0.1 % of the sorted samples', over nine decades. */
START_TEST(quantiles_are_within_a_thousandth)
{
	enum { N = 200000 };
	struct tg_fine_hist *h = calloc(1, sizeof(*h));
	double *v = calloc(N, sizeof(*v)), sum = 0;

	srand48(7);
	for (int i = 0; i < N; i++) {
		uint64_t ns = (uint64_t)pow(10, 9 * drand48() * (_i == 0 ? 1 : 0.3) + _i);

		tg_fine_record(h, ns);
		v[i] = (double)ns;
		sum += v[i];
	}
	qsort(v, N, sizeof(*v), order);
	for (double p = 0.001; p < 1; p += 0.001) {
		double true_value = v[(int)ceil(p * N) - 1];
		double got = tg_fine_quantile_ns(h, p);

		if (fabs(got - true_value) > fmax(0.001 * true_value, 0))
			ck_abort_msg("p %g: %g, should be %g", p, got, true_value);
	}
	ck_assert_double_eq(tg_fine_quantile_ns(h, 0), v[0]);
	ck_assert_double_eq(tg_fine_quantile_ns(h, 1), v[N - 1]);
	ck_assert_double_eq(tg_fine_mean_ns(h), sum / N);
	tg_fine_reset(h);
	ck_assert_double_eq(tg_fine_quantile_ns(h, 0.5), 0);
	for (unsigned int i = 0; i < TG_FINE_BUCKETS; i++)
		if (h->bucket[i] != 0)
			ck_abort_msg("bucket %u is left", i);
	tg_fine_record(h, UINT64_MAX);
	ck_assert_double_eq(tg_fine_quantile_ns(h, 0.5), (double)UINT64_MAX);
	free(h);
	free(v);
}
END_TEST

/* Published quantiles (NIST/SEMATECH, table of Student's t). */
START_TEST(student_t)
{
	ck_assert_double_eq_tol(tg_student_t975(1), 12.706, 5e-4);
	ck_assert_double_eq_tol(tg_student_t975(4), 2.776, 5e-4);
	ck_assert_double_eq_tol(tg_student_t975(30), 2.042, 5e-4);
	ck_assert_double_eq_tol(tg_student_t975(31), 2.0395, 5e-4);
	ck_assert_double_eq_tol(tg_student_t975(60), 2.0003, 5e-4);
	ck_assert_double_eq_tol(tg_student_t975(100), 1.9840, 5e-4);
	ck_assert_double_eq_tol(tg_student_t975(1000), 1.9623, 5e-4);
	ck_assert(isinf(tg_student_t975(0)));
}
END_TEST

/* Mean and interval of 1, 2, 3, 4, 5: 3 +- 2.7764 * sqrt(2.5 / 5). */
START_TEST(replications_join)
{
	char file[] = "x/y.json";
	struct tg_scenario sc = {.file = file, .seed = 9, .replications = 5, .duration_s = 1};
	json_t *runs[5], *j, *n;

	for (int i = 0; i < 5; i++)
		runs[i] = json_pack("{s:[{s:s, s:i, s:[f, f], s:b}], s:n}", "clients", "name", "c",
				    "x", i + 1, "curve", 1.0 * i, 2.0, "ok", i != 3, "nothing");
	json_object_set_new(runs[2], "nothing", json_integer(7));
	j = tg_results_join(&sc, runs, 5);
	ck_assert_str_eq(json_string_value(json_object_get(j, "scenario")), "y.json");
	n = json_object_get(json_array_get(json_object_get(j, "clients"), 0), "x");
	ck_assert_double_eq_tol(json_number_value(json_object_get(n, "mean")), 3, 1e-12);
	ck_assert_double_eq_tol(json_number_value(json_object_get(n, "half_width")),
				2.7764 * sqrt(2.5 / 5), 1e-9);
	ck_assert_uint_eq(json_array_size(json_object_get(n, "values")), 5);
	n = json_array_get(json_object_get(j, "clients"), 0);
	ck_assert_double_eq(json_number_value(json_array_get(json_object_get(n, "curve"), 0)), 2);
	ck_assert(json_is_false(json_object_get(n, "ok")));
	ck_assert_str_eq(json_string_value(json_object_get(n, "name")), "c");
	n = json_object_get(j, "nothing");
	ck_assert_double_eq(json_number_value(json_object_get(n, "mean")), 7);
	ck_assert(json_is_null(json_object_get(n, "half_width")));
	for (int i = 0; i < 5; i++)
		json_decref(runs[i]);
	json_decref(j);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("results");
	TCase *tc = tcase_create("histogram");

	tcase_add_loop_test(tc, quantiles_are_within_a_thousandth, 0, 3);
	suite_add_tcase(s, tc);
	UNIT_CASE(s, "join", student_t, replications_join);
	return s;
}

UNIT_MAIN(suite)
