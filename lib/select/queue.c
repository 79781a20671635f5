/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least completion time by the queue alone: control writes W + 1/mu + D with the wait of the
 * requests that the server is estimated to have.
 */
#include "group.h"

const struct tg_policy_ops tg_policy_queue = {.name = "queue", .pick = tg_select_least_cost};
