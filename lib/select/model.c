/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least completion time by the queueing model alone: control writes W + 1/mu + D with the
 * Allen-Cunneen wait of the observed arrival rate.
 */
#include "group.h"

const struct tg_policy_ops tg_policy_model = {.name = "model", .pick = tg_select_least_cost};
