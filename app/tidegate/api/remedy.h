/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an operator does about each reason for which packets are dropped.
 *
 * Thread-safety: constants.
 */
#ifndef TG_REMEDY_H
#define TG_REMEDY_H

#include "tg_burst.h"

/* A sentence with the command to run, for every reason; NULL outside the enum. */
const char *tg_remedy(enum tg_reason why);

/* The reason of this name; TG_DROP_REASON_COUNT: there is none. */
enum tg_reason tg_reason_by_name(const char *name);

#endif
