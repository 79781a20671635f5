/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Service times of the test server, written as one word:
 *   const:US            always US microseconds
 *   exp:US              exponential with mean US
 *   pareto:US:SHAPE     Pareto with mean US, SHAPE > 1 (the variance is finite from 2 on)
 *   set:US,US,…         one of at most 16 values, each as likely as the next
 */
#ifndef TG_LIVE_DELAY_H
#define TG_LIVE_DELAY_H

#include <stdint.h>

#define DELAY_SET_MAX 16

enum delay_kind { DELAY_CONST, DELAY_EXP, DELAY_PARETO, DELAY_SET };

struct delay {
	enum delay_kind kind;
	double mean_us;
	double shape;
	unsigned int count;
	double set_us[DELAY_SET_MAX];
};

/* 0, or -EINVAL with *delay untouched. */
int delay_parse(struct delay *delay, const char *text);

/* The next service time in ns, at most a minute. */
uint64_t delay_draw(const struct delay *delay);

#endif
