/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "number.h"

double tg_rho(double lambda_hz, double service_ns, uint32_t workers)
{
	double offered = sane(lambda_hz) * sane(service_ns) / NS_A_SECOND;

	if (workers == 0)
		return offered > 0 ? INFINITY : 0;
	return offered / workers;
}

/*
 * The recursion for 1/B: 1/B(k) = 1 + k/a 1/B(k-1), which costs no division a step. It overflows
 * to infinity where B is below 1e-308, and B is 0 then.
 */
double tg_erlang_b(uint32_t workers, double offered)
{
	double inverse = 1, step;

	if (workers == 0)
		return 1;
	if (!(offered > 0))
		return 0;
	if (workers > TG_ERLANG_WORKERS_MAX) {
		offered *= (double)TG_ERLANG_WORKERS_MAX / workers;
		workers = TG_ERLANG_WORKERS_MAX;
	}
	step = 1 / offered;
	for (uint32_t k = 1; k <= workers && inverse < INFINITY; k++)
		inverse = 1 + k * step * inverse;
	return 1 / inverse;
}

double tg_erlang_c(uint32_t workers, double rho)
{
	double b;

	if (workers == 0 || rho >= 1)
		return 1;
	rho = at_least_0(rho);
	b = tg_erlang_b(workers, workers * rho);
	return b / (1 - rho * (1 - b));
}

double tg_mmc_wait(uint32_t workers, double rho)
{
	if (workers == 0 || rho >= 1)
		return INFINITY;
	return tg_erlang_c(workers, rho) / (workers * (1 - at_least_0(rho)));
}

double tg_mmc_number(uint32_t workers, double rho)
{
	if (workers == 0 || rho >= 1)
		return INFINITY;
	rho = at_least_0(rho);
	return workers * rho + tg_erlang_c(workers, rho) * rho / (1 - rho);
}
