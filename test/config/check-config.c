/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration checker alone: for every file named, one line "ok FILE" or "bad FILE", and
 * below it, each after a tab and its kind, what the checker has to say.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tg_config.h"

static void tell(const char *kind, char *const *sentences, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		printf("\t%s\t%s\n", kind, sentences[i]);
}

static void check(const char *path)
{
	struct tg_config_report report = {0};
	struct tg_config *config = NULL;
	int rc = tg_config_load(path, &config, &report);

	printf("%s %s\n", rc == 0 ? "ok" : "bad", path);
	tell("fault", report.faults, report.n_faults);
	tell("note", report.notes, report.n_notes);
	tell("default", report.defaults, report.n_defaults);
	tg_config_free(config);
	tg_config_report_free(&report);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		check(argv[i]);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
