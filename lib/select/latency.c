/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hybrid estimator with what it needs to hold in a gateway: control writes the blended wait
 * with rates and queues as observed under load. Of the flow's candidates the cheapest.
 */
#include "group.h"

const struct tg_policy_ops tg_policy_latency = {
	.name = "latency",
	.pick = tg_select_best_candidate,
};
