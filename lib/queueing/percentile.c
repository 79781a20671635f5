/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "number.h"

/* -ln(1 - p): the exponential's percentile in means */
static double in_means(double p)
{
	return p >= 1 ? INFINITY : -log1p(-at_least_0(p));
}

/* a / b for both in 0..INFINITY, `none` for 0/0 and for infinity over infinity */
static double ratio_of(double a, double b, double none)
{
	if ((a <= 0 && b <= 0) || (isinf(a) && isinf(b)))
		return none;
	return b > 0 ? a / b : INFINITY;
}

double tg_mm1_percentile_ns(double p, double headroom_hz)
{
	return ratio_of(in_means(p), sane(headroom_hz) / NS_A_SECOND, 0);
}

double tg_mm1_share(double t_ns, double headroom_hz)
{
	return -expm1(-sane(t_ns) * sane(headroom_hz) / NS_A_SECOND);
}

double tg_headroom_of_percentile_hz(double p, double t_p_ns)
{
	if (!(t_p_ns > 0))
		return 0;
	return ratio_of(in_means(p) * NS_A_SECOND, t_p_ns, 0);
}

double tg_headroom_hz(uint32_t workers, double service_ns, double rho)
{
	if (!(service_ns > 0) || !(rho < 1))
		return 0;
	return at_most(workers / service_ns * NS_A_SECOND, HUGE_VALUE) * (1 - at_least_0(rho));
}

double tg_mm1_percentile_ratio(double p, double q)
{
	return ratio_of(in_means(p), in_means(q), 1);
}
