/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
	OPT_CHECK = 256,
	OPT_SEED,
	OPT_REPLICATIONS,
	OPT_WARMUP,
	OPT_DURATION,
	OPT_POLICY,
	OPT_SET,
	OPT_RESULTS,
	OPT_QUIET,
	OPT_VERSION
};

static const struct option longs[] = {
	{"check", no_argument, NULL, OPT_CHECK},
	{"seed", required_argument, NULL, OPT_SEED},
	{"replications", required_argument, NULL, OPT_REPLICATIONS},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"policy", required_argument, NULL, OPT_POLICY},
	{"set", required_argument, NULL, OPT_SET},
	{"results", required_argument, NULL, OPT_RESULTS},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

void tg_sim_options_help(const char *program)
{
	printf("tidegate-sim " TG_VERSION
	       ": the gateway's own pipeline in a simulated network, in virtual time\n"
	       "\n"
	       "  %s SCENARIO.json [options]\n"
	       "      runs it and prints what clients, servers and gateways saw (doc/simulation.md)\n"
	       "  %s SCENARIO.json --check\n"
	       "      names every fault, or the load that each service will have; runs nothing\n"
	       "\n"
	       "  --results FILE     write the results as JSON; the same seed gives the same bytes\n"
	       "  --seed N           instead of the scenario's, as the next three\n"
	       "  --replications N   independent runs; intervals come from them\n"
	       "  --warmup S         virtual seconds before anything is counted\n"
	       "  --duration S       virtual seconds that are counted\n"
	       "  --policy NAME      how every service chooses its servers\n"
	       "  --set PATH=VALUE   any value of the scenario: --set clients[0].rate=500,\n"
	       "                     --set 'config.services[*].sojourn_max_us=2000'\n"
	       "  --quiet            no table and no progress\n"
	       "  -h, --help         this text\n"
	       "  --version          version\n"
	       "\n"
	       "Exit code: 0 done, 1 a fault of the scenario or of the run, 2 a fault of the command.\n",
	       program, program);
}

static int add(struct tg_sim_options *o, const char *path, const char *value, char *err,
	       size_t err_len)
{
	if (o->n_set == TG_SETTINGS_MAX) {
		snprintf(err, err_len, "more than %d values are set: put them into the scenario",
			 TG_SETTINGS_MAX);
		return -EINVAL;
	}
	o->set[o->n_set++] = (struct tg_scenario_setting){path, value};
	return 0;
}

static int add_setting(struct tg_sim_options *o, char *text, char *err, size_t err_len)
{
	char *equals = strchr(text, '=');

	if (equals == NULL || equals == text) {
		snprintf(err, err_len, "--set %.100s: PATH=VALUE is wanted", text);
		return -EINVAL;
	}
	*equals = '\0';
	return add(o, text, equals + 1, err, err_len);
}

static int take(int c, char **argv, struct tg_sim_options *o, char *err, size_t err_len)
{
	switch (c) {
	case OPT_CHECK:
		o->check = true;
		return 0;
	case OPT_SEED:
		return add(o, "seed", optarg, err, err_len);
	case OPT_REPLICATIONS:
		return add(o, "replications", optarg, err, err_len);
	case OPT_WARMUP:
		return add(o, "warmup_s", optarg, err, err_len);
	case OPT_DURATION:
		return add(o, "duration_s", optarg, err, err_len);
	case OPT_POLICY:
		return add(o, "config.services[*].policy", optarg, err, err_len);
	case OPT_SET:
		return add_setting(o, optarg, err, err_len);
	case OPT_RESULTS:
		o->results = optarg;
		return 0;
	case OPT_QUIET:
		o->quiet = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case OPT_VERSION:
		o->version = true;
		return 0;
	default:
		snprintf(err, err_len, "%s: %s; see --help", argv[optind - 1],
			 c == ':' ? "needs a value" : "no such option");
		return -EINVAL;
	}
}

int tg_sim_options_parse(int argc, char **argv, struct tg_sim_options *out, char *err,
			 size_t err_len)
{
	int c, r;

	memset(out, 0, sizeof(*out));
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		r = take(c, argv, out, err, err_len);
		if (r != 0)
			return r;
	}
	if (out->help || out->version)
		return 0;
	if (argc - optind != 1) {
		snprintf(err, err_len,
			 optind == argc ? "which scenario? see --help"
					: "one scenario is wanted; see --help");
		return -EINVAL;
	}
	out->scenario = argv[optind];
	return 0;
}
