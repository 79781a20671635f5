/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test server: HTTP/1.1 over TCP and an echo over UDP on one port, IPv4 and IPv6, that takes a chosen time for each
 * request and prints the true times as JSON when it ends (SIGTERM). Every answer's body begins with the server's name.
 * SIGHUP reads a new service time from --delay-file (delay.h has the form), so it can be changed in a running test.
 */
#include "server.h"

#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct server server = {.name = "server"};

static const char *delay_file;
static int tcp, udp, timer, signals;

void die(const char *what)
{
	perror(what);
	exit(1);
}

void *need(void *memory)
{
	if (!memory)
		die("no memory");
	return memory;
}

void watch(int op, int fd, void *tag, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = tag};

	if (epoll_ctl(server.epoll, op, fd, &ev))
		die("epoll_ctl");
}

static void arm_timer(void)
{
	struct itimerspec at = {0};
	uint64_t due = jobs_due(&server.jobs);

	if (due != UINT64_MAX) {
		at.it_value.tv_sec = (time_t)(due / 1000000000u);
		at.it_value.tv_nsec = (long)(due % 1000000000u);
	}
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL))
		die("timerfd_settime");
}

static void answer_due(void)
{
	struct job *job;

	while ((job = jobs_take(&server.jobs, clock_ns()))) {
		if (job->owner)
			http_answer(job->owner);
		else
			udp_answer(udp, job);
	}
	arm_timer();
}

/* False when the server is to end. */
static bool signal_event(void)
{
	struct signalfd_siginfo info;
	char line[256] = "";
	FILE *f;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo != SIGHUP)
		return false;
	f = delay_file ? fopen(delay_file, "re") : NULL;
	if (!f || !fgets(line, sizeof(line), f) || delay_parse(&server.jobs.delay, line))
		fprintf(stderr, "no service time in --delay-file; the old one stays\n");
	if (f)
		fclose(f);
	return true;
}

static int listener(int type, uint16_t port)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1, zero = 0;

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    (type == SOCK_STREAM && listen(fd, 1024)))
		die("cannot listen");
	return fd;
}

static void make_reply(size_t body)
{
	size_t shortest = strlen(server.name) + 1;
	int head;

	body = body > shortest ? body : shortest;
	server.reply = need(malloc(body + 256));
	head = snprintf(server.reply, 256, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s\n",
			body, server.name);
	server.reply_len = (size_t)head + body - shortest;
	memset(server.reply + head, 'x', body - shortest);
}

static void start(uint16_t port)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (server.epoll < 0 || timer < 0 || signals < 0)
		die("cannot start");
	tcp = listener(SOCK_STREAM, port);
	udp = listener(SOCK_DGRAM, port);
	watch(EPOLL_CTL_ADD, tcp, &tcp, EPOLLIN);
	watch(EPOLL_CTL_ADD, udp, &udp, EPOLLIN);
	watch(EPOLL_CTL_ADD, timer, &timer, EPOLLIN);
	watch(EPOLL_CTL_ADD, signals, &signals, EPOLLIN);
	srand48(getpid());
}

static void serve(void)
{
	struct epoll_event ev[64];

	for (;;) {
		int n = epoll_wait(server.epoll, ev, 64, -1);

		for (int i = 0; i < n; i++) {
			void *tag = ev[i].data.ptr;

			if (tag == &signals) {
				if (!signal_event())
					return;
			} else if (tag == &tcp) {
				http_accept(tcp);
			} else if (tag == &udp) {
				udp_receive(udp);
			} else if (tag != &timer) {
				http_event(tag, ev[i].events);
			}
		}
		answer_due();
	}
}

static void usage(FILE *out)
{
	fputs("tg-server [--name TEXT] [--port N] [--delay TIME] [--delay-file FILE] [--workers N] [--size BYTES]\n"
	      "          [--log FILE]\n"
	      "TIME: const:US exp:US pareto:US:SHAPE set:US,US,... (microseconds); SIGHUP reads it from FILE again\n"
	      "The log has a line an answer: its time (ns, CLOCK_MONOTONIC) and what it took (ns).\n",
	      out);
}

static void arguments(int argc, char **argv, uint16_t *port, size_t *size)
{
	static const struct option options[] = {
		{"name", 1, NULL, 'n'}, {"port", 1, NULL, 'p'},    {"delay", 1, NULL, 'd'},
		{"size", 1, NULL, 's'}, {"workers", 1, NULL, 'w'}, {"delay-file", 1, NULL, 'f'},
		{"log", 1, NULL, 'l'},  {"help", 0, NULL, 'h'},    {0},
	};
	int o;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o == 'n') {
			server.name = optarg;
		} else if (o == 'p') {
			*port = (uint16_t)number_argument("--port", optarg, 65535);
		} else if (o == 's') {
			*size = number_argument("--size", optarg, 1u << 30);
		} else if (o == 'w') {
			server.jobs.workers = number_argument("--workers", optarg, 1u << 20);
		} else if (o == 'f') {
			delay_file = optarg;
		} else if (o == 'l' && (server.jobs.log = fopen(optarg, "we"))) {
			continue;
		} else if (o == 'd' && !delay_parse(&server.jobs.delay, optarg)) {
			continue;
		} else {
			usage(o == 'h' ? stdout : stderr);
			exit(o == 'h' ? 0 : 2);
		}
	}
}

int main(int argc, char **argv)
{
	uint16_t port = 8080;
	size_t size = 0;

	arguments(argc, argv, &port, &size);
	make_reply(size);
	start(port);
	serve();
	printf("{\"name\":\"%s\",\"connections\":%" PRIu64 ",\"requests\":%" PRIu64
	       ",\"datagrams\":%" PRIu64 ",\"open_max\":%zu,\"service_ns\":",
	       server.name, server.connections, server.requests, server.datagrams,
	       server.jobs.open_max);
	samples_print(stdout, &server.jobs.service);
	printf(",\"sojourn_ns\":");
	samples_print(stdout, &server.jobs.sojourn);
	printf("}\n");
	return 0;
}
