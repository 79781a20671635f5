/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --check: the configuration and this host, every fault named with its remedy, and every default
 * in use. Starts nothing and changes nothing.
 */
#ifndef TG_PREFLIGHT_H
#define TG_PREFLIGHT_H

#include "start/options.h"

/* Prints what was found; 0 when the gateway could start, else 1. */
int tg_check(const struct tg_options *o);

#endif
