/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "number.h"

double tg_in_system(double open, double service_ns, double path_ns)
{
	double s = sane(service_ns), p = sane(path_ns);

	return s + p > 0 ? sane(open) * (s / (s + p)) : sane(open);
}

double tg_sharing(double in_system, uint32_t workers)
{
	return max_of(1, (sane(in_system) + 1) / divisor(workers));
}

double tg_service_ns(double sum_server_ns, double sum_sharing)
{
	return sum_sharing > 0 ? at_most(at_least_0(sum_server_ns) / sum_sharing, HUGE_VALUE) : 0;
}

double tg_fade(double elapsed_ns, double constant_ns)
{
	return constant_ns > 0 ? exp(-sane(elapsed_ns) / constant_ns) : 0;
}
