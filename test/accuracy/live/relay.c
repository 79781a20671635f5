/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wire between two interfaces that delays, jitters, loses and reorders Ethernet frames, for kernels without netem. It
 * looks into no frame. Interfaces on both sides must hand over whole frames: ethtool -K … tx off tso off gso off.
 * SIGTERM ends it, with a JSON line of what it did.
 */
#include "link.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINKS_MAX 16
#define BUFFER    (16 << 20)
#define BURST     64 /* frames of one link before the others have their turn */

static struct link links[LINKS_MAX];
static int in[LINKS_MAX], out[LINKS_MAX]; /* sockets */
static unsigned int count;
static volatile sig_atomic_t ended;

static void die(const char *what, const char *name)
{
	fprintf(stderr, "relay: %s %s: %s\n", what, name, strerror(errno));
	exit(1);
}

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* protocol 0: for sending alone */
static int interface_socket(const char *name, uint16_t protocol)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol)};
	struct packet_mreq all = {.mr_type = PACKET_MR_PROMISC};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1,
	    room = BUFFER;

	at.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || !at.sll_ifindex ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) ||
	    setsockopt(fd, SOL_SOCKET, protocol ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &room,
		       sizeof(room)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		die("cannot open interface", name);
	return fd;
}

static void receive(unsigned int i)
{
	static uint8_t frame[65536];

	for (int n = 0; n < BURST; n++) {
		ssize_t len = recv(in[i], frame, sizeof(frame), 0);

		if (len < 0)
			return;
		if (link_put(&links[i], now_ns(), frame, (size_t)len))
			die("no memory for a frame of", links[i].from);
	}
}

static void send_due(unsigned int i)
{
	struct link_frame *frame;

	while ((frame = link_take(&links[i], now_ns()))) {
		if (send(out[i], frame->data, frame->len, 0) < 0)
			links[i].refused++;
		free(frame);
	}
}

static void run(void)
{
	struct pollfd fds[LINKS_MAX];

	for (unsigned int i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = in[i], .events = POLLIN};
	while (!ended) {
		uint64_t due = UINT64_MAX, now = now_ns();
		struct timespec wait;

		for (unsigned int i = 0; i < count; i++)
			due = link_due(&links[i]) < due ? link_due(&links[i]) : due;
		due = due < now ? 0 : due - now;
		wait.tv_sec = due > 1000000000u ? 1 : 0;
		wait.tv_nsec = wait.tv_sec ? 0 : (long)due;
		if (ppoll(fds, count, &wait, NULL) < 0 && errno != EINTR)
			die("cannot wait for", "frames");
		for (unsigned int i = 0; i < count; i++) {
			if (fds[i].revents)
				receive(i);
			send_due(i);
		}
	}
}

static void report(void)
{
	printf("{\"links\":[");
	for (unsigned int i = 0; i < count; i++) {
		const struct link *l = &links[i];
		uint64_t kept = l->seen - l->lost;

		printf("%s{\"from\":\"%s\",\"to\":\"%s\",\"seen\":%" PRIu64 ",\"lost\":%" PRIu64
		       ",\"overtook\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"mean_ns\":%" PRIu64 "}",
		       i ? "," : "", l->from, l->to, l->seen, l->lost, l->overtook, l->refused,
		       kept ? l->sum_ns / kept : 0);
	}
	printf("]}\n");
}

static void usage(void)
{
	fputs("relay SEED LINK...\n"
	      "LINK: FROM,TO[,delay_us=N][,jitter_us=N (mean)][,loss=PERCENT][,reorder=PERCENT][,early_us=N]\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct sigaction end = {.sa_handler = on_signal};
	const char *why;
	char *rest;
	unsigned long seed;

	if (argc < 3 || argc - 2 > LINKS_MAX)
		usage();
	seed = strtoul(argv[1], &rest, 10);
	if (*rest || rest == argv[1])
		usage();
	for (int i = 2; i < argc; i++, count++) {
		if (link_parse(&links[count], argv[i], &why)) {
			fprintf(stderr, "relay: '%s' is wrong\n", why);
			usage();
		}
		link_seed(&links[count], (uint32_t)seed + count);
		in[count] = interface_socket(links[count].from, ETH_P_ALL);
		out[count] = interface_socket(links[count].to, 0);
	}
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
	puts("ready");
	fflush(stdout);
	run();
	report();
	return 0;
}
