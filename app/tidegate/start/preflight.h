/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --check: the configuration and this host. Every finding, `fault:` or `note:`, is followed by a line `run:` with the
 * command that mends it, findings about the file by one for all of them; every default in use is told. Starts nothing
 * and changes nothing.
 */
#ifndef TG_PREFLIGHT_H
#define TG_PREFLIGHT_H

#include "start/options.h"

/* Prints what was found; 0 when the gateway could start, else 1. */
int tg_check(const struct tg_options *o);

#endif
