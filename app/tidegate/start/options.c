/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tg_file.h"

enum {
	OPT_CONFIG = 256,
	OPT_CAPTURE,
	OPT_REPORT,
	OPT_REPLAY,
	OPT_PICTURE,
	OPT_STATS,
	OPT_CMDLINE,
	OPT_SHADOW,
	OPT_CHECK,
	OPT_VERSION
};

static const struct option longs[] = {
	{"config", required_argument, NULL, OPT_CONFIG},
	{"capture", required_argument, NULL, OPT_CAPTURE},
	{"report", required_argument, NULL, OPT_REPORT},
	{"replay", optional_argument, NULL, OPT_REPLAY},
	{"picture", required_argument, NULL, OPT_PICTURE},
	{"stats-period", required_argument, NULL, OPT_STATS},
	{"cmdline-file", required_argument, NULL, OPT_CMDLINE},
	{"shadow", no_argument, NULL, OPT_SHADOW},
	{"check", no_argument, NULL, OPT_CHECK},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

void tg_options_help(const char *program)
{
	printf("tidegate " TG_VERSION
	       ": a layer-4 gateway that measures response latency from one direction\n"
	       "\n"
	       "  %s --capture FILE [--config FILE] [--report FILE] [--replay[=SPEED] [--picture FILE]]\n"
	       "      reads a capture (pcap, pcapng) and prints what it tells; needs no root\n"
	       "  %s [EAL options] -- --config FILE [options]\n"
	       "      forwards, or watches with --shadow; EAL options as in DPDK (-l, --vdev, -a, ...)\n"
	       "  %s --config FILE --check\n"
	       "      checks a configuration and this host, names every fault\n"
	       "\n"
	       "  --config FILE      the configuration, JSON (doc/configuration.md)\n"
	       "  --capture FILE     read a capture instead of ports\n"
	       "  --report FILE      write the report as JSON too (with --capture, or at the end of a run)\n"
	       "  --replay[=SPEED]   the capture at its own times through the gateway and a link of\n"
	       "                     ports[].rate_mbps: what each sojourn_max_us would drop (doc/shadow.md);\n"
	       "                     without such a rate: only paced (default speed 1)\n"
	       "  --picture FILE     what a replay finds as SVG\n"
	       "  --shadow           decide and count, send nothing\n"
	       "  --check            validate configuration and host, exit 0 or 1\n"
	       "  --stats-period S   print totals every S seconds\n"
	       "  -i                 read commands of tidegatectl from the terminal, and testpmd's start,\n"
	       "                     stop, quit, show port stats all\n"
	       "  --cmdline-file FILE  such commands to begin with, a line each\n"
	       "  -h, --help         this text\n"
	       "  --version          version\n",
	       program, program, program);
}

/* Where our options start: after the first "--"; without one, everything is ours. */
static int split(int argc, char **argv, struct tg_options *o)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		argv[i] = argv[0]; /* getopt wants a program name there */
		o->eal_argc = i;
		o->eal_argv = argv;
		return i;
	}
	o->eal_argc = 1;
	o->eal_argv = argv;
	return 0;
}

static int number(const char *text, double low, double high, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return errno == 0 && end != text && *end == '\0' && *out >= low && *out <= high ? 0
											: -EINVAL;
}

/* A file that is named twice: which of the two is meant? */
static int take_file(const char **file, const char *option, char *err, size_t err_len)
{
	if (*file == NULL) {
		*file = optarg;
		return 0;
	}
	snprintf(err, err_len, "%s is given twice, %s and %s: give it once", option, *file, optarg);
	return -EINVAL;
}

/* getopt's verdict on one option. */
static int take(int c, char **argv, struct tg_options *o, char *err, size_t err_len)
{
	double value;

	switch (c) {
	case OPT_CONFIG:
		return take_file(&o->config, "--config", err, err_len);
	case OPT_CAPTURE:
		return take_file(&o->capture, "--capture", err, err_len);
	case OPT_REPORT:
		return take_file(&o->report, "--report", err, err_len);
	case OPT_REPLAY:
		if (optarg == NULL) {
			o->replay = 1;
			return 0;
		}
		if (number(optarg, 0.001, 1e6, &o->replay) == 0)
			return 0;
		snprintf(err, err_len, "--replay=%s: a speed from 0.001 to 1000000 is wanted",
			 optarg);
		return -EINVAL;
	case OPT_PICTURE:
		return take_file(&o->picture, "--picture", err, err_len);
	case OPT_STATS:
		if (number(optarg, 1, 86400, &value) == 0) {
			o->stats_period_s = (unsigned int)value;
			return 0;
		}
		snprintf(err, err_len, "--stats-period %s: seconds from 1 to 86400 are wanted",
			 optarg);
		return -EINVAL;
	case OPT_CMDLINE:
		return take_file(&o->cmdline, "--cmdline-file", err, err_len);
	case OPT_SHADOW:
		o->shadow = true;
		return 0;
	case OPT_CHECK:
		o->check = true;
		return 0;
	case 'i':
		o->interactive = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case OPT_VERSION:
		o->version = true;
		return 0;
	default:
		snprintf(err, err_len, "%s: %s; see --help", argv[optind - 1],
			 c == ':' ? "needs a value"
				  : "no such option (EAL options stand before --)");
		return -EINVAL;
	}
}

static int consistent(const struct tg_options *o, char *err, size_t err_len)
{
	const char *wrong = NULL;

	if (o->cmdline != NULL && access(o->cmdline, R_OK) != 0) {
		snprintf(err, err_len, "--cmdline-file %s: %s: name a file that can be read",
			 o->cmdline, strerror(errno));
		return -EINVAL;
	}
	if (o->capture != NULL &&
	    (o->shadow || o->interactive || o->cmdline != NULL || o->stats_period_s > 0))
		wrong = "--capture reads a file: --shadow, -i, --cmdline-file and --stats-period do not "
			"go with it";
	else if (o->picture != NULL && (o->replay == 0 || o->config == NULL))
		wrong = "--picture draws what a replay finds: it goes with --capture, --config and --replay";
	else if (o->capture == NULL && o->replay > 0)
		wrong = "--replay paces a capture: name one with --capture";
	else if (o->capture == NULL && o->config == NULL)
		wrong = "nothing to do: name a capture (--capture FILE) or a configuration (--config FILE); "
			"see --help";
	else if (tg_same_file(o->report, o->capture) || tg_same_file(o->report, o->config) ||
		 tg_same_file(o->picture, o->capture) || tg_same_file(o->picture, o->config))
		wrong = "--report or --picture names a file that is read: it would be overwritten; name "
			"another";
	if (wrong == NULL)
		return 0;
	snprintf(err, err_len, "%s", wrong);
	return -EINVAL;
}

int tg_options_parse(int argc, char **argv, struct tg_options *out, char *err, size_t err_len)
{
	int start, c, r;

	memset(out, 0, sizeof(*out));
	start = split(argc, argv, out);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc - start, argv + start, ":hi", longs, NULL)) != -1) {
		r = take(c, argv + start, out, err, err_len);
		if (r != 0)
			return r;
	}
	if (out->help || out->version)
		return 0;
	if (start + optind < argc) {
		snprintf(err, err_len, "%s: no such argument; see --help", argv[start + optind]);
		return -EINVAL;
	}
	return consistent(out, err, err_len);
}
