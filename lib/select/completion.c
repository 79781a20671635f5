/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plain law: control writes tau * (1 + z/2 + max(0, z - 1)), tau being the server's time for a
 * request, z its requests for each of its workers. Of the flow's candidates the cheapest.
 */
#include "group.h"

const struct tg_policy_ops tg_policy_completion = {
	.name = "completion",
	.pick = tg_select_best_candidate,
};
