/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>

#include "number.h"

#define ROUNDS_MAX 100
#define CLOSE      1e-13

static double cv2(double x)
{
	return x >= 0 ? at_most(x, TG_CV2_MAX) : 1;
}

double tg_allen_cunneen(uint32_t workers, double rho, double ca2, double cs2)
{
	if (workers == 0 || rho >= 1)
		return INFINITY;
	return tg_mmc_wait(workers, rho) * (cv2(ca2) + cv2(cs2)) / 2;
}

/* -1..1, rising with rho, 0 at the rho sought: the wait itself is too steep near 1 for a
 * method that follows chords. */
static double apart(uint32_t workers, double rho, double mm_wait)
{
	double w = tg_mmc_wait(workers, rho);

	return (w - mm_wait) / (w + mm_wait);
}

/* Regula falsi, "Illinois" (M. Dowell, P. Jarratt, 1971): the end that stays counts half, so that
 * both ends close in. The root is inside [low, high] at all times. */
static double find_rho(uint32_t workers, double mm_wait)
{
	double low = 0, at_low = -1;
	double high = TG_RHO_MAX, at_high = apart(workers, high, mm_wait);
	double rho = high, at;
	int last = 0;

	for (int i = 0; i < ROUNDS_MAX && high - low > CLOSE; i++) {
		/* where many workers bend it to a step, chords creep: halve now and then */
		rho = i % 4 == 3 ? (low + high) / 2
				 : low + (high - low) * at_low / (at_low - at_high);
		at = apart(workers, rho, mm_wait);
		if (fabs(at) < CLOSE)
			break;
		if (at < 0) {
			low = rho;
			at_low = at;
			at_high = last < 0 ? at_high / 2 : at_high;
			last = -1;
		} else {
			high = rho;
			at_high = at;
			at_low = last > 0 ? at_low / 2 : at_low;
			last = 1;
		}
	}
	return rho;
}

double tg_implied_rho(uint32_t workers, double wait, double ca2, double cs2)
{
	double factor = (cv2(ca2) + cv2(cs2)) / 2;

	if (workers == 0 || !(wait > 0))
		return 0;
	if (wait >= tg_mmc_wait(workers, TG_RHO_MAX) * factor)
		return TG_RHO_MAX;
	return find_rho(workers, max_of(wait / factor, DBL_MIN));
}

double tg_marginal_wait(uint32_t workers, double rho, double flow_rho, double ca2, double cs2)
{
	double step = at_most(at_least_0(flow_rho), TG_RHO_MAX);
	double after = at_most(at_least_0(rho) + step, TG_RHO_MAX);

	if (workers == 0)
		return INFINITY;
	/* not below 0 by rounding, for a flow too small to tell */
	return at_least_0(tg_allen_cunneen(workers, after, ca2, cs2) -
			  tg_allen_cunneen(workers, after - step, ca2, cs2));
}
