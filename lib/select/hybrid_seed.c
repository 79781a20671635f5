/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least completion time by model and queue, blended by how many workers the queue fills: the
 * published estimator as it is written, kept to compare `latency` with. Control writes the cost,
 * and no marginal: the original has no correction for what was given since.
 */
#include "group.h"

const struct tg_policy_ops tg_policy_hybrid_seed = {
	.name = "hybrid-seed",
	.pick = tg_select_least_cost,
};
