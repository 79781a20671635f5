/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of tidegate-sim.
 *
 * Thread-safety: main thread. */
#ifndef TG_SIM_OPTIONS_H
#define TG_SIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/scenario.h"

#define TG_SETTINGS_MAX 64

struct tg_sim_options {
	const char *scenario, *results; /* results: NULL: none */
	bool check, quiet, help, version;
	unsigned int n_set;
	struct tg_scenario_setting set[TG_SETTINGS_MAX];
};

/* 0, or -EINVAL and a sentence. Changes argv (--set is cut at its '='). */
int tg_sim_options_parse(int argc, char **argv, struct tg_sim_options *out, char *err,
			 size_t err_len);
void tg_sim_options_help(const char *program);

#endif
