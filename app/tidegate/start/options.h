/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line: [EAL options] -- [our options], or our options alone. */
#ifndef TG_OPTIONS_H
#define TG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct tg_options {
	const char *config;  /* --config FILE */
	const char *capture; /* --capture FILE: offline */
	const char *report;  /* --report FILE */
	const char *picture; /* --picture FILE: of a replay */
	const char *cmdline; /* --cmdline-file FILE: commands to begin with */
	double replay;       /* --replay[=SPEED]: 0 as fast as possible */
	unsigned int stats_period_s;
	bool shadow, check, interactive, help, version;
	int eal_argc; /* the program's name and the EAL options */
	char **eal_argv;
};

/* 0, or -EINVAL and a sentence. argv is used in place. */
int tg_options_parse(int argc, char **argv, struct tg_options *out, char *err, size_t err_len);

void tg_options_help(const char *program);

#endif
