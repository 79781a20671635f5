/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tidegate-bidder: runs on a server and says its load in the TTL of its SYN-ACKs, or by when they leave
 * (lib/bid/tg_bid_wire.h). It looks every millisecond; a new value is on the wire a system call later.
 */
#include <arpa/inet.h>
#include <cap-ng.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "delay.h"
#include "load.h"
#include "mark.h"
#include "tg_bid_wire.h"

#define PERIOD_NS    1000000
#define NS_A_MS      1000000
#define NS_A_S       1000000000
#define DELAY_MAX_US 1000000
#define SHARE        8 /* of the time, looking takes one part in so many at most */

struct options {
	uint16_t ports[PORTS_MAX];
	unsigned int n_ports, n_sources;
	struct tg_load_source source[SOURCES_MAX];
	double full, refuse;
	double delay_us; /* with full load; 0: the load stands in the TTL */
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void usage(FILE *out)
{
	fputs("usage: tidegate-bidder --port PORT[,PORT...] --source SOURCE [OPTIONS]\n\n"
	      "Says this server's load in the TTL of its SYN-ACKs, for a gateway with policy \"bid\".\n\n"
	      "sources (several: the highest counts):\n"
	      "  run-queue     tasks that run or want to; full: 4 a processor\n"
	      "  listen-queue  connections that wait to be accepted; full: the listener's backlog\n"
	      "  connections   established connections to the ports; full: 126, a step each\n"
	      "  file:PATH     a number 0..1, or \"refuse\", that some program writes at least every\n"
	      "                5 s, the same one too: an older one is no bid\n\n"
	      "options:\n"
	      "  --full N      what is full load, for run-queue and connections\n"
	      "  --refuse LOAD from this load on the bid is \"no connection, please\" (never, by default)\n"
	      "  --delay US    SYN-ACKs also leave later, with full load by so much, 126..1000000, for a\n"
	      "                gateway with \"window_us\": 0 (2520 is usual; more where servers'\n"
	      "                answers differ by more than 20 us anyway)\n"
	      "  -h, --help    this text\n"
	      "  --version     version of this program\n\n"
	      "Needs CAP_NET_ADMIN, and CAP_SYS_NICE so that a busy server's bids are not late. Its\n"
	      "table of nftables, tidegate_bid_PORT, goes with it.\n"
	      "Exit status: 0 ended by a signal, 1 failed, 2 wrong usage.\n",
	      out);
}

static bool read_ports(const char *text, struct options *o)
{
	char *end;

	do {
		unsigned long v = strtoul(text, &end, 10);

		if (end == text || v < 1 || v > UINT16_MAX || o->n_ports == PORTS_MAX)
			return false;
		o->ports[o->n_ports++] = htons((uint16_t)v);
		text = end + 1;
	} while (*end == ',');
	return *end == '\0';
}

static bool read_number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out > 0;
}

static bool read_delay(const char *text, double *out)
{
	return read_number(text, out) && *out >= TG_BID_STEPS && *out <= DELAY_MAX_US;
}

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "tidegate-bidder: %s %s is not allowed; --help shows what is\n", what,
		value);
	return 2;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},  {"source", required_argument, NULL, 's'},
		{"full", required_argument, NULL, 'f'},  {"refuse", required_argument, NULL, 'r'},
		{"delay", required_argument, NULL, 'd'}, {"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return 0;
		} else if (c == 'v') {
			puts("tidegate-bidder " TG_VERSION);
			return 0;
		} else if (c == 'p' && !read_ports(optarg, o)) {
			return wrong("--port", optarg);
		} else if (c == 's' && (o->n_sources == SOURCES_MAX ||
					!tg_load_parse(optarg, &o->source[o->n_sources++]))) {
			return wrong("--source", optarg);
		} else if (c == 'f' && !read_number(optarg, &o->full)) {
			return wrong("--full", optarg);
		} else if (c == 'r' && !read_number(optarg, &o->refuse)) {
			return wrong("--refuse", optarg);
		} else if (c == 'd' && !read_delay(optarg, &o->delay_us)) {
			return wrong("--delay", optarg);
		} else if (c == '?') {
			return 2;
		}
	}
	if (o->n_ports > 0 && o->n_sources > 0 && optind == argc)
		return -1;
	fprintf(stderr,
		"tidegate-bidder: --port and --source are needed, and nothing else is taken; "
		"--help shows how\n");
	return 2;
}

/* 0: no bid, since a source says nothing any more. */
static uint8_t bid_now(struct options *o)
{
	double most = 0;
	struct timespec t;
	bool unknown = false;

	clock_gettime(CLOCK_REALTIME, &t);

	for (unsigned int i = 0; i < o->n_sources; i++) {
		double v = tg_load_read(&o->source[i], o->ports, o->n_ports,
					(int64_t)t.tv_sec * NS_A_S + t.tv_nsec);

		if (v == LOAD_REFUSE)
			return TG_BID_REFUSE;
		unknown = unknown || v == LOAD_UNKNOWN;
		most = v > most ? v : most;
	}
	if (o->refuse > 0 && most >= o->refuse)
		return TG_BID_REFUSE;
	return unknown ? 0 : tg_bid_encode(most);
}

/* Where there are many sockets, looking at them takes long: then it is done less often. */
static uint64_t pause_after(uint64_t spent)
{
	return spent * SHARE > PERIOD_NS ? spent * SHARE : PERIOD_NS;
}

static void rest(uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / NS_A_S), .tv_nsec = (long)(ns % NS_A_S)};

	nanosleep(&t, NULL);
}

/* The busier the server, the more its bids matter: in front of what it is busy with, if that is permitted. */
static void go_first(void)
{
	const struct sched_param p = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &p) != 0)
		fprintf(stderr,
			"tidegate-bidder: no CAP_SYS_NICE: bids of a busy server come late\n");
}

/* What it needs from here on is nftables' and the queue's; files have to be readable without more too. */
static int drop_privileges(void)
{
	bool has = capng_get_caps_process() == 0 &&
		   capng_have_capability(CAPNG_PERMITTED, CAP_NET_ADMIN) == 1;

	capng_clear(CAPNG_SELECT_BOTH);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    (!has ||
	     capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_ADMIN) == 0) &&
	    capng_apply(CAPNG_SELECT_CAPS) == 0)
		return 0;
	fputs("tidegate-bidder: cannot drop the capabilities that it does not need: is it run by "
	      "something that forbids capset(2)?\n",
	      stderr);
	return -EPERM;
}

/* Time passes until it is looked again. delay NULL: there is nothing to do in it. */
static int pass(const struct options *o, struct tg_delay *delay, uint8_t bid, uint64_t ns)
{
	const uint32_t full_us = (uint32_t)o->delay_us;
	bool refuses = bid == TG_BID_REFUSE; /* which is said at once */
	int r;

	if (delay == NULL) {
		rest(ns);
		return 0;
	}
	if (bid == 0)
		bid = TG_BID_MOST; /* who does not know is last */
	r = tg_delay_run(delay, tg_now_ns() + ns, refuses ? 0 : tg_bid_delay_ns(bid, full_us),
			 refuses ? 0 : tg_bid_delay_ns(TG_BID_LEAST + 1, full_us));
	return r == -EINTR ? 0 : r;
}

static int loop(struct options *o, struct tg_mark *mark, struct tg_delay *delay)
{
	uint8_t said = 0; /* no bid */
	uint64_t renewed = 0;
	int r = 0;

	while (!stop && r == 0) {
		uint64_t now = tg_now_ns();
		uint8_t bid = bid_now(o);

		/* no bid: the map's entry ends by its lease */
		if (bid == 0 && said != 0)
			fputs("tidegate-bidder: a source has said nothing for 5 s: no bid until it does\n",
			      stderr);
		if (bid == 0)
			said = 0;
		else if (bid != said || now - renewed >= MARK_RENEW_MS * (uint64_t)NS_A_MS) {
			r = tg_mark_set(mark, bid);
			said = bid;
			renewed = now;
		}
		if (r == 0)
			r = pass(o, delay, bid, pause_after(tg_now_ns() - now));
	}
	if (r != 0)
		fprintf(stderr, "tidegate-bidder: the kernel refuses a bid: %s\n", strerror(-r));
	return r != 0;
}

/* The queue's number is the first port's. */
static int start(struct options *o, struct tg_mark *mark, struct tg_delay *delay, char *err,
		 unsigned int err_len)
{
	const bool wait = o->delay_us > 0;
	int r = 0;

	if (wait)
		r = tg_delay_start(delay, ntohs(o->ports[0]), err, err_len);
	if (r != 0)
		return r;
	r = tg_mark_start(mark, o->ports, o->n_ports, wait, err, err_len);
	if (r != 0)
		tg_delay_end(delay);
	return r;
}

int main(int argc, char **argv)
{
	const struct sigaction on_end = {.sa_handler = on_signal};
	static struct tg_delay delay;
	struct tg_mark mark;
	struct options o = {0};
	char err[256] = "";
	int r = parse(argc, argv, &o);

	if (r >= 0)
		return r;
	go_first();
	if (drop_privileges() != 0)
		return 1;
	for (unsigned int i = 0; i < o.n_sources; i++) {
		o.source[i].full = o.full;
		if (tg_load_open(&o.source[i], o.ports, o.n_ports, err, sizeof(err)) != 0) {
			fprintf(stderr, "tidegate-bidder: %s\n", err);
			return 1;
		}
	}
	sigaction(SIGTERM, &on_end, NULL);
	sigaction(SIGINT, &on_end, NULL);
	if (start(&o, &mark, &delay, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate-bidder: %s\n", err);
		return 1;
	}
	r = loop(&o, &mark, o.delay_us > 0 ? &delay : NULL);
	/* when the rules are gone nothing comes any more, and the last are let go */
	tg_mark_end(&mark);
	tg_delay_end(&delay);
	return r;
}
