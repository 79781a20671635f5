/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Closed-loop test client: opens many short connections (TCP: HTTP GET or POST; UDP: datagrams from a port of its own
 * each), sends each request after the answer to the one before, notes which server answered, and prints JSON. A
 * connection whose answers come from two servers counts as moved; one that breaks or waits too long as a failure.
 */
#include "tally.h"

#include <getopt.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_ROOM 2048
#define GIVE_UP     50 /* failures after which no further connection is opened */

enum state { IDLE, CONNECTING, WAITING, THINKING };

struct slot {
	int fd;
	enum state state;
	uint64_t began, asked, due; /* due: when it gives up waiting, or stops thinking */
	uint64_t came;              /* when the kernel had the answer's last byte */
	uint64_t requests, id;      /* id: which connection it is, from 1 */
	int server;                 /* index of the first answer's, −1: none yet */
	size_t sent, len;
	size_t body_left;
	bool has_head;
	char in[ANSWER_ROOM + 1];
};

static struct {
	struct sockaddr_storage to;
	socklen_t to_len;
	int type;
	uint64_t connections, parallel, requests, timeout_ns, think_ns, every_ns, duration_ns,
		upload;
	unsigned int think_share; /* per cent of the answers that are thought about */
	FILE *log, *exchanges;
} opt = {.type = SOCK_STREAM,
	 .connections = 100,
	 .parallel = 8,
	 .requests = 1,
	 .think_share = 100,
	 .timeout_ns = 3000000000u};

static struct tally tally;
static int epoll;
static char *request;
static size_t request_len;
static uint64_t end_ns;
/* SIGTERM came, and when: every connection asks once more, so that none is called sound that did not try after it. */
static volatile sig_atomic_t told;
static uint64_t told_ns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void on_term(int signal)
{
	(void)signal;
	told = 1;
}

static void slot_open(struct slot *s, uint64_t now);

static void slot_close(struct slot *s, uint64_t now, const char *fault)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);

	if (opt.log) {
		getsockname(s->fd, (struct sockaddr *)&at, &len);
		fprintf(opt.log, "%" PRIu64 " %u %s %" PRIu64 " %s\n", s->began,
			ntohs(((struct sockaddr_in *)&at)->sin_port),
			s->server >= 0 ? tally.servers[s->server].name : "-", s->requests,
			fault ? fault : "ok");
	}
	tally.failures += fault != NULL;
	close(s->fd);
	s->fd = -1;
	s->state = IDLE;
	slot_open(s, now);
}

static void slot_ask(struct slot *s, uint64_t now)
{
	s->state = WAITING;
	s->asked = now;
	s->due = now + opt.timeout_ns;
	s->sent = s->len = s->body_left = 0;
	s->has_head = false;
}

/* Sends what the socket takes; -errno if it is broken. */
static int slot_send(struct slot *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};

	while (s->sent < request_len) {
		ssize_t n = send(s->fd, request + s->sent, request_len - s->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			ev.events |= EPOLLOUT;
			break;
		}
		if (n < 0)
			return -errno;
		s->sent += (size_t)n;
	}
	if (epoll_ctl(epoll, EPOLL_CTL_MOD, s->fd, &ev))
		die("epoll_ctl");
	return 0;
}

static void slot_open(struct slot *s, uint64_t now)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT, .data.ptr = s};
	int one = 1;

	if (tally.connections == opt.connections || tally.failures >= GIVE_UP || now >= end_ns ||
	    told_ns)
		return;
	memset(s, 0, offsetof(struct slot, in));
	s->id = ++tally.connections;
	s->server = -1;
	s->began = now;
	s->state = CONNECTING;
	s->due = now + opt.timeout_ns;
	s->fd = socket(opt.to.ss_family, opt.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		die("socket");
	if (opt.type == SOCK_STREAM)
		setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	if (connect(s->fd, (struct sockaddr *)&opt.to, opt.to_len) && errno != EINPROGRESS)
		die("connect");
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &ev))
		die("epoll_ctl");
}

/* When the client asks again. */
static uint64_t pause_ends(const struct slot *s, uint64_t now)
{
	if (opt.every_ns)
		return s->asked + opt.every_ns;
	return random() % 100 < opt.think_share ? now + opt.think_ns : now;
}

/* One whole answer, whose body begins at `body`. */
static void slot_answer(struct slot *s, uint64_t now, const char *body, size_t len)
{
	int server = tally_answer(&tally, body, len, s->server, now - s->asked, s->came - s->asked);
	uint64_t due = pause_ends(s, now);

	s->requests++;
	if (opt.exchanges)
		fprintf(opt.exchanges, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->id, s->asked,
			now);
	if (server < 0) {
		slot_close(s, now, "nameless");
		return;
	}
	s->server = server;
	if (s->requests >= opt.requests || now >= end_ns || (told_ns && s->asked >= told_ns)) {
		slot_close(s, now, NULL);
	} else if (due > now) {
		s->state = THINKING;
		s->due = due;
	} else {
		slot_ask(s, now);
		if (slot_send(s))
			slot_close(s, now, "broken");
	}
}

/* Looks at what came so far of an HTTP answer; the body's first bytes stay in `in`. */
static const char *http_progress(struct slot *s)
{
	char *end = s->has_head ? NULL : strstr(s->in, "\r\n\r\n"), *length;

	if (end) {
		*end = '\0';
		length = strcasestr(s->in, "\r\nContent-Length:");
		if (strncmp(s->in, "HTTP/1.1 200", 12) || !length)
			return "status";
		s->has_head = true;
		s->body_left = strtoul(length + 17, NULL, 10);
		s->len -= (size_t)(end + 4 - s->in);
		memmove(s->in, end + 4, s->len);
		s->body_left -= s->len < s->body_left ? s->len : s->body_left;
	}
	return !s->has_head && s->len == ANSWER_ROOM ? "head" : NULL;
}

/*
 * recv(), and when the kernel had what it gives: a client that waits for the processor reads later than it was answered.
 * The kernel stamps by the clock of the day: what is counted is how long ago that was.
 */
static ssize_t slot_recv(struct slot *s, void *to, size_t room)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct timespec))];
	} note;
	struct iovec part = {.iov_base = to, .iov_len = room};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = &note,
			   .msg_controllen = sizeof(note)};
	ssize_t n = recvmsg(s->fd, &m, 0);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	struct timespec stamp, day;
	int64_t ago = 0;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
		memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
		clock_gettime(CLOCK_REALTIME, &day);
		ago = (day.tv_sec - stamp.tv_sec) * 1000000000 + day.tv_nsec - stamp.tv_nsec;
	}
	if (n > 0)
		s->came = clock_ns() - (uint64_t)(ago > 0 ? ago : 0);
	return n;
}

static void slot_receive(struct slot *s, uint64_t now)
{
	for (;;) {
		char rest[16384];
		/* of a long body only the beginning is kept */
		bool keep = !s->has_head || s->len < TALLY_NAME_MAX;
		char *to = keep ? s->in + s->len : rest;
		ssize_t n = slot_recv(s, to, keep ? ANSWER_ROOM - s->len : sizeof(rest));
		const char *fault;

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			slot_close(s, now, n ? "broken" : "closed");
			return;
		}
		if (opt.type == SOCK_DGRAM) {
			slot_answer(s, now, s->in, (size_t)n);
			return;
		}
		if (s->has_head)
			s->body_left -= (size_t)n < s->body_left ? (size_t)n : s->body_left;
		s->len += keep ? (size_t)n : 0;
		s->in[s->len] = '\0';
		fault = http_progress(s);
		if (fault) {
			slot_close(s, now, fault);
			return;
		}
		if (s->has_head && !s->body_left) {
			slot_answer(s, now, s->in, s->len);
			return;
		}
	}
}

static void slot_event(struct slot *s, uint32_t events)
{
	uint64_t now = clock_ns();
	int error = 0;
	socklen_t len = sizeof(error);

	if (s->state == CONNECTING && (events & (EPOLLOUT | EPOLLERR))) {
		getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error) {
			slot_close(s, now, "refused");
			return;
		}
		slot_ask(s, now);
		events |= EPOLLOUT;
	}
	if (s->state == WAITING && (events & EPOLLOUT) && slot_send(s))
		slot_close(s, now, "broken");
	else if (s->state != CONNECTING && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
		slot_receive(s, now);
}

/* Slots whose time has come; the number of those still at work. */
static uint64_t look_round(struct slot *slots)
{
	uint64_t now = clock_ns(), busy = 0;

	if (told && !told_ns)
		told_ns = now;
	for (uint64_t i = 0; i < opt.parallel; i++) {
		struct slot *s = &slots[i];

		if (s->state != IDLE && s->due <= now) {
			if (s->state == THINKING) {
				slot_ask(s, now);
				if (slot_send(s))
					slot_close(s, now, "broken");
			} else {
				slot_close(s, now, "timeout");
			}
		}
		busy += s->state != IDLE;
	}
	return busy;
}

static void run(void)
{
	struct slot *slots = calloc(opt.parallel, sizeof(*slots));
	struct epoll_event ev[64];
	uint64_t now = clock_ns();

	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!slots || epoll < 0)
		die("cannot start");
	end_ns = opt.duration_ns ? now + opt.duration_ns : UINT64_MAX;
	for (uint64_t i = 0; i < opt.parallel; i++)
		slot_open(&slots[i], now);
	while (look_round(slots)) {
		int n = epoll_wait(epoll, ev, 64, opt.think_ns || opt.every_ns ? 1 : 100);

		for (int i = 0; i < n; i++)
			slot_event(ev[i].data.ptr, ev[i].events);
	}
	free(slots);
}

static void make_request(void)
{
	request = malloc(256 + opt.upload);
	if (!request)
		die("no memory for the request");
	if (opt.type == SOCK_DGRAM)
		request_len = (size_t)sprintf(request, "who answers?");
	else if (!opt.upload)
		request_len = (size_t)sprintf(request, "GET / HTTP/1.1\r\nHost: test\r\n\r\n");
	else
		request_len =
			(size_t)sprintf(request,
					"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %" PRIu64
					"\r\n\r\n",
					opt.upload);
	memset(request + request_len, 'u', opt.upload);
	request_len += opt.upload;
}

static void resolve(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found;
	int fault = getaddrinfo(host, port, &hints, &found);

	if (fault) {
		fprintf(stderr, "%s port %s: %s\n", host, port, gai_strerror(fault));
		exit(2);
	}
	memcpy(&opt.to, found->ai_addr, found->ai_addrlen);
	opt.to_len = found->ai_addrlen;
	freeaddrinfo(found);
}

static void usage(FILE *out)
{
	fputs("tg-client [--udp] [--connections N] [--parallel N] [--requests N (each connection)] [--duration-ms N]\n"
	      "          [--timeout-ms N] [--think-ms N [--think-share PERCENT] | --every-ms N] [--upload BYTES]\n"
	      "          [--log FILE] [--exchanges FILE] ADDRESS PORT\n"
	      "Told to end by SIGTERM, each connection asks once more and then closes.\n"
	      "The log has a line a connection: its start (ns, CLOCK_MONOTONIC), client port, server, requests, end.\n"
	      "Exchanges has a line an answer: number of the connection, when it was asked, when it was complete (ns).\n",
	      out);
}

static void arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{"udp", 0, NULL, 'u'},         {"connections", 1, NULL, 'c'},
		{"parallel", 1, NULL, 'p'},    {"requests", 1, NULL, 'r'},
		{"duration-ms", 1, NULL, 'd'}, {"timeout-ms", 1, NULL, 't'},
		{"think-ms", 1, NULL, 'k'},    {"think-share", 1, NULL, 's'},
		{"every-ms", 1, NULL, 'e'},    {"exchanges", 1, NULL, 'x'},
		{"upload", 1, NULL, 'b'},      {"log", 1, NULL, 'l'},
		{"help", 0, NULL, 'h'},        {0},
	};
	int o;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o == 'u')
			opt.type = SOCK_DGRAM;
		else if (o == 'c')
			opt.connections = number_argument("--connections", optarg, UINT32_MAX);
		else if (o == 'p')
			opt.parallel = number_argument("--parallel", optarg, 4096);
		else if (o == 'r')
			opt.requests = number_argument("--requests", optarg, UINT32_MAX);
		else if (o == 'd')
			opt.duration_ns = number_argument("--duration-ms", optarg, 600000) *
					  1000000u;
		else if (o == 't')
			opt.timeout_ns = number_argument("--timeout-ms", optarg, 600000) * 1000000u;
		else if (o == 'k')
			opt.think_ns = number_argument("--think-ms", optarg, 600000) * 1000000u;
		else if (o == 's')
			opt.think_share = (unsigned int)number_argument("--think-share", optarg,
									100);
		else if (o == 'e')
			opt.every_ns = number_argument("--every-ms", optarg, 600000) * 1000000u;
		else if (o == 'x' && (opt.exchanges = fopen(optarg, "we")))
			continue;
		else if (o == 'b')
			opt.upload = number_argument("--upload", optarg, 1u << 30);
		else if (o == 'l' && (opt.log = fopen(optarg, "we")))
			continue;
		else {
			usage(o == 'h' ? stdout : stderr);
			exit(o == 'h' ? 0 : 2);
		}
	}
	if (argc - optind != 2) {
		usage(stderr);
		exit(2);
	}
	resolve(argv[optind], argv[optind + 1]);
}

int main(int argc, char **argv)
{
	struct sigaction end = {.sa_handler = on_term};

	arguments(argc, argv);
	make_request();
	sigaction(SIGTERM, &end, NULL);
	run();
	tally_print(stdout, &tally);
	return 0;
}
