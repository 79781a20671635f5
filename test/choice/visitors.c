/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Visitors of a web service, as the simulator has them (doc/simulation.md), over real TCP: each wants something, waits for
 * the whole answer, thinks, wants the next thing, and reconnects after some requests (closed loop); or requests come by a
 * Poisson process, a connection each (open loop). Writes a line a request: when it was wanted (ns, CLOCK_MONOTONIC), its
 * latency (ns, from the wish to the whole answer, handshake included), who answered ("-" if nobody did in time), and which
 * request of its connection it was, from 1.
 */
#include "../live/samples.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEVER UINT64_MAX
#define ROOM  1023

enum state { AWAY, CONNECTING, WAITING };

struct visitor {
	int fd; /* -1: no connection */
	enum state state;
	uint64_t wished, due; /* due: the next wish while away, else when it gives up */
	uint64_t left;        /* requests on this connection */
	size_t len;
	char in[ROOM + 1];
};

static struct {
	struct sockaddr_in to;
	uint64_t visitors, think_us, requests, timeout_ms, duration_ms, rate, seed;
} opt = {.visitors = 16, .think_us = 100000, .requests = 10, .timeout_ms = 3000, .seed = 1};

static int epoll;
static uint64_t asked, lost, end_ns, next_arrival = NEVER;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t exponential_ns(double mean_ns)
{
	return (uint64_t)(-log(1 - drand48()) * mean_ns);
}

static void hang_up(struct visitor *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
}

/* What was wanted is over, one way or the other. */
static void note(struct visitor *v, uint64_t now, const char *who)
{
	printf("%" PRIu64 " %" PRIu64 " %s %" PRIu64 "\n", v->wished, now - v->wished,
	       who ? who : "-", opt.requests - v->left + 1);
	lost += who == NULL;
	v->left--;
	if (who == NULL || v->left == 0)
		hang_up(v);
	v->state = AWAY;
	v->due = opt.rate ? NEVER : now + exponential_ns((double)opt.think_us * 1e3);
}

static void expect(struct visitor *v, int op, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = v};

	if (epoll_ctl(epoll, op, v->fd, &ev))
		die("epoll_ctl");
}

static void ask(struct visitor *v)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";

	v->state = WAITING;
	v->len = 0;
	expect(v, EPOLL_CTL_MOD, EPOLLIN);
	/* a request of 30 bytes fits the buffer of a connection that waits for nothing else */
	if (send(v->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
		note(v, clock_ns(), NULL);
}

static void wish(struct visitor *v, uint64_t when)
{
	int one = 1;

	asked++;
	v->wished = when;
	v->due = when + opt.timeout_ms * 1000000;
	if (v->fd >= 0) {
		ask(v);
		return;
	}
	v->left = opt.requests;
	v->state = CONNECTING;
	v->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (v->fd < 0)
		die("socket");
	setsockopt(v->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(v->fd, (struct sockaddr *)&opt.to, sizeof(opt.to)) && errno != EINPROGRESS)
		die("connect");
	expect(v, EPOLL_CTL_ADD, EPOLLOUT);
}

/* Who answered, when the answer is whole: the first line of its body. NULL: not yet. */
static const char *answered(struct visitor *v)
{
	char *body = strstr(v->in, "\r\n\r\n"), *length = strcasestr(v->in, "\r\nContent-Length:");

	if (!body || !length ||
	    v->len < (size_t)(body + 4 - v->in) + strtoul(length + 17, NULL, 10))
		return NULL;
	body[4 + strcspn(body + 4, "\r\n")] = '\0';
	return body + 4;
}

static void hear(struct visitor *v, uint64_t now)
{
	ssize_t n = recv(v->fd, v->in + v->len, ROOM - v->len, 0);
	const char *who;

	if (n < 0 && errno == EAGAIN)
		return;
	if (v->state != WAITING) { /* an idle connection was closed: the next wish opens another */
		hang_up(v);
		return;
	}
	if (n <= 0) {
		note(v, now, NULL);
		return;
	}
	v->len += (size_t)n;
	v->in[v->len] = '\0';
	who = answered(v);
	if (who != NULL)
		note(v, now, who);
	else if (v->len == ROOM)
		note(v, now, NULL);
}

static void event(struct visitor *v, uint64_t now)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (v->state != CONNECTING) {
		hear(v, now);
		return;
	}
	getsockopt(v->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		note(v, now, NULL);
	else
		ask(v);
}

static void arrive(struct visitor *all, uint64_t now)
{
	for (uint64_t i = 0; next_arrival <= now;
	     next_arrival += exponential_ns(1e9 / (double)opt.rate)) {
		while (i < opt.visitors && all[i].state != AWAY)
			i++;
		if (i < opt.visitors) {
			wish(&all[i], next_arrival);
			continue;
		}
		asked++;
		lost++; /* more at a time than there is room for: --visitors */
	}
}

/* Wishes and time-outs that are due; when the next one is, NEVER if all have left. */
static uint64_t look_round(struct visitor *all, uint64_t now)
{
	uint64_t next = NEVER;

	if (now >= end_ns)
		next_arrival = NEVER;
	arrive(all, now);
	for (uint64_t i = 0; i < opt.visitors; i++) {
		struct visitor *v = &all[i];

		if (v->state == AWAY && now >= end_ns)
			v->due = NEVER;
		if (v->due <= now && v->state == AWAY)
			wish(v, v->due);
		else if (v->due <= now)
			note(v, now, NULL);
		next = v->due < next ? v->due : next;
	}
	return next_arrival < next ? next_arrival : next;
}

static void run(struct visitor *all)
{
	struct epoll_event ev[64];
	uint64_t now = clock_ns(), next;

	end_ns = now + opt.duration_ms * 1000000;
	for (uint64_t i = 0; i < opt.visitors; i++) {
		all[i].fd = -1;
		all[i].due = opt.rate ? NEVER
				      : now + (uint64_t)(drand48() * (double)opt.think_us * 1e3);
	}
	if (opt.rate)
		next_arrival = now;
	while ((next = look_round(all, now)) != NEVER || now < end_ns) {
		uint64_t until = next < end_ns || now >= end_ns ? next : end_ns;
		uint64_t ns = until > now ? until - now : 0;
		struct timespec wait = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
		int n = epoll_pwait2(epoll, ev, 64, &wait, NULL);

		now = clock_ns();
		for (int i = 0; i < n; i++)
			event(ev[i].data.ptr, now);
	}
}

static void usage(FILE *out)
{
	fputs("visitors [--visitors N] [--think-us N (mean, exponential)] [--requests N (each connection)] [--rate N (a second: open loop)]\n"
	      "         [--duration-ms N] [--timeout-ms N] [--seed N] ADDRESS PORT\n",
	      out);
}

static void arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{"visitors", 1, NULL, 0}, {"think-us", 1, NULL, 1},    {"requests", 1, NULL, 2},
		{"rate", 1, NULL, 3},     {"duration-ms", 1, NULL, 4}, {"timeout-ms", 1, NULL, 5},
		{"seed", 1, NULL, 6},     {"help", 0, NULL, 'h'},      {0},
	};
	uint64_t *const value[] = {&opt.visitors,    &opt.think_us,   &opt.requests, &opt.rate,
				   &opt.duration_ms, &opt.timeout_ms, &opt.seed};
	static const uint64_t most[] = {4096,   60000000, UINT32_MAX, 1000000,
					600000, 600000,   UINT32_MAX};
	int o;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o < 0 || o > 6) {
			usage(o == 'h' ? stdout : stderr);
			exit(o == 'h' ? 0 : 2);
		}
		*value[o] = number_argument(argv[optind - 1], optarg, most[o]);
	}
	opt.to.sin_family = AF_INET;
	if (argc - optind != 2 || inet_pton(AF_INET, argv[optind], &opt.to.sin_addr) != 1) {
		usage(stderr);
		exit(2);
	}
	opt.to.sin_port = htons((uint16_t)number_argument("the port", argv[optind + 1], 65535));
	if (opt.requests == 0)
		opt.requests = 1;
	if (opt.rate)
		opt.requests = 1;
}

int main(int argc, char **argv)
{
	struct visitor *all;

	arguments(argc, argv);
	srand48((long)opt.seed);
	all = calloc(opt.visitors, sizeof(*all));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!all || epoll < 0)
		die("cannot start");
	run(all);
	free(all);
	fprintf(stderr, "{\"requests\":%" PRIu64 ",\"lost\":%" PRIu64 "}\n", asked, lost);
	return 0;
}
