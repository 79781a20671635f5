/* SPDX-License-Identifier: BSD-3-Clause */
/* tidegatectl: one command to a running tidegate. Exit 0, 1 (failed), 2 (wrong usage). */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "print.h"
#include "top.h"

#define EXIT_USAGE        2
#define SOCKET_DEFAULT    "/run/tidegate/control.sock"
#define TIMEOUT_DEFAULT_S 5
#define TIMEOUT_MAX_S     86400

struct command {
	const char *name; /* noun and verb, as on the wire */
	const char *arguments;
	int min, max;
	const char *help;
};

static const struct command commands[] = {
	{"service list", "", 0, 0, "services, and how they choose"},
	{"server list", "[SERVICE]", 0, 1, "servers, their state and latency"},
	{"server drain", "SERVICE SERVER", 2, 2, "no new flows; established ones stay"},
	{"server enable", "SERVICE SERVER", 2, 2, "new flows again"},
	{"server disable", "SERVICE SERVER", 2, 2, "no packets; its flows move to other servers"},
	{"config show", "", 0, 0, "which configuration is in force"},
	{"config reload", "", 0, 0, "read the file again, apply what differs"},
	{"forwarding stop", "", 0, 0,
	 "emergency stop: drops what is for services, and nothing else"},
	{"forwarding start", "", 0, 0, "forwards again"},
	{"flow explain", "PROTOCOL,SRC,SPORT,DST,DPORT", 1, 1,
	 "which server and why, or which drop"},
	{"packet explain", "HEX [PORT]", 1, 2, "the same of a whole frame, as hexadecimal digits"},
	{"neighbour list", "", 0, 0, "next hops and their link addresses"},
	{"port list", "", 0, 0, "ports and their counters"},
	{"bid list", "", 0, 0, "auctions of services that take bids, and who won them"},
	{"stage list", "", 0, 0, "calls, packets a call and cycles a packet of each stage"},
	{"admission list", "", 0, 0, "pools of tokens: budget, debt, what waits"},
	{"segment top", "[POOL]", 0, 1, "who asked for most in the last second; is it a burst"},
	{"stats show", "", 0, 0, "the report: packets, latency, drops, gate"},
	{"access list", "[SERVICE]", 0, 1, "which clients may send, by prefix"},
	{"limit list", "", 0, 0, "limits of rates, and how often each was reached"},
	{"capture start", "NAME [FILTER [OPTIONS]]", 1, 3, "packets into a pcapng file"},
	{"capture stop", "", 0, 0, "ends the capture"},
	{"capture list", "", 0, 0, "the capture that is under way"},
	{"drop list", "", 0, 0, "dropped packets by reason"},
	{"drop explain", "REASON", 1, 1, "what a reason means, and what to do"},
	{"worker list", "", 0, 0, "workers and their counters"},
	{"task list", "", 0, 0, "background tasks: how late, what is left to do"},
	{"alarm list", "", 0, 0, "what was late or lost, and whether it still is"},
	{"top", "", 0, 0, "the report again every second, until q; --once: one view"},
	{"help", "", 0, 0, "this text"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

struct options {
	struct tg_ctl_target target;
	bool json;
	bool once;
};

static void usage(FILE *out)
{
	fprintf(out, "usage: tidegatectl [OPTIONS] COMMAND [ARGUMENTS]\n\ncommands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++) {
		char call[64];

		snprintf(call, sizeof(call), "%s %s", commands[i].name, commands[i].arguments);
		fprintf(out, "  %-42s %s\n", call, commands[i].help);
	}
	fprintf(out,
		"\noptions:\n"
		"  --socket PATH   of the running tidegate (default " SOCKET_DEFAULT ")\n"
		"  --json          the answer as JSON, on one line\n"
		"  --timeout S     seconds to wait for it (default %d)\n"
		"  --once          with `top`: services, servers and workers as they are, then end\n"
		"  -h, --help      this text\n"
		"  --version       version of this program\n"
		"\nExit status: 0 done, 1 failed, 2 wrong usage.\n",
		TIMEOUT_DEFAULT_S);
}

static int parse_timeout(const char *text, int *timeout_ms)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end != '\0' || !(s >= 0.001 && s <= TIMEOUT_MAX_S)) {
		fprintf(stderr, "tidegatectl: --timeout %s: must be seconds, 0.001..%d\n", text,
			TIMEOUT_MAX_S);
		return -1;
	}
	*timeout_ms = (int)(s * 1000 + 0.5);
	return 0;
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_SOCKET = 256, OPT_JSON, OPT_TIMEOUT, OPT_ONCE, OPT_VERSION };
	static const struct option options[] = {
		{"socket", required_argument, NULL, OPT_SOCKET},
		{"json", no_argument, NULL, OPT_JSON},
		{"timeout", required_argument, NULL, OPT_TIMEOUT},
		{"once", no_argument, NULL, OPT_ONCE},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case OPT_SOCKET:
			o->target.socket = optarg;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case OPT_ONCE:
			o->once = true;
			break;
		case OPT_TIMEOUT:
			if (parse_timeout(optarg, &o->target.timeout_ms) < 0)
				return EXIT_USAGE;
			break;
		case 'h':
			usage(stdout);
			return EXIT_SUCCESS;
		case OPT_VERSION:
			printf("tidegatectl " TG_VERSION "\n");
			return EXIT_SUCCESS;
		default:
			fprintf(stderr, "tidegatectl: `tidegatectl --help` shows the options\n");
			return EXIT_USAGE;
		}
	}
	return -1;
}

/* Is c what the words say, and how many of them are its name? 0: it is not. */
static int match(const struct command *c, int n, char *const *words)
{
	const char *space = strchr(c->name, ' ');
	size_t noun = space == NULL ? strlen(c->name) : (size_t)(space - c->name);

	if (n < 1 || strncmp(words[0], c->name, noun) != 0 || words[0][noun] != '\0')
		return 0;
	if (space == NULL)
		return 1;
	return n >= 2 && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

static int no_such_command(int n, char *const *words)
{
	bool known_noun = false;

	if (n == 0) {
		usage(stderr);
		return EXIT_USAGE;
	}
	fprintf(stderr, "tidegatectl: there is no command \"%s%s%s\"", words[0], n > 1 ? " " : "",
		n > 1 ? words[1] : "");
	for (size_t i = 0; i < N_COMMANDS; i++) {
		size_t noun = strlen(words[0]);

		if (strncmp(commands[i].name, words[0], noun) != 0 || commands[i].name[noun] != ' ')
			continue;
		fprintf(stderr, "%s%s", known_noun ? ", " : "; there is: ", commands[i].name);
		known_noun = true;
	}
	fprintf(stderr, "%s\n", known_noun ? "" : "; `tidegatectl help` lists them");
	return EXIT_USAGE;
}

/* What the gateway says may quote what somebody sent it. */
static int fail(char *err)
{
	tg_ctl_plain(err, true);
	fprintf(stderr, "tidegatectl: %s\n", err);
	return EXIT_FAILURE;
}

static int run(const struct options *o, const struct command *c, int n, char *const *args)
{
	char err[8192] = "";
	json_t *answer;

	if (o->once && strcmp(c->name, "top") != 0) {
		fprintf(stderr,
			"tidegatectl: --once is an option of `top`; every other command ends by itself\n");
		return EXIT_USAGE;
	}
	if (!o->once && strcmp(c->name, "top") == 0) {
		if (tg_ctl_top(&o->target, err, sizeof(err)) == 0)
			return EXIT_SUCCESS;
		return fail(err);
	}
	answer = o->once ? tg_ctl_view(&o->target, err, sizeof(err))
			 : tg_ctl_ask(&o->target, c->name, args, n, err, sizeof(err));
	if (answer == NULL) {
		return fail(err);
	}
	if (o->json) {
		json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
		putchar('\n');
	} else {
		tg_ctl_print(stdout, answer);
	}
	json_decref(answer);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	perror("tidegatectl: standard output");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o = {
		.target = {.socket = SOCKET_DEFAULT, .timeout_ms = TIMEOUT_DEFAULT_S * 1000},
	};
	int rc = parse_options(argc, argv, &o), n = argc - optind;
	char *const *words = argv + optind;

	if (rc >= 0)
		return rc;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		const struct command *c = &commands[i];
		int used = match(c, n, words);

		if (used == 0)
			continue;
		if (n - used < c->min || n - used > c->max) {
			fprintf(stderr, "usage: tidegatectl %s %s\n", c->name, c->arguments);
			return EXIT_USAGE;
		}
		if (strcmp(c->name, "help") == 0) {
			usage(stdout);
			return EXIT_SUCCESS;
		}
		return run(&o, c, n - used, words + used);
	}
	return no_such_command(n, words);
}
