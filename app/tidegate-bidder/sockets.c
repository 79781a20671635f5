/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 ask;
};

/* What is summed over the sockets. */
struct tally {
	const uint16_t *ports;
	unsigned int n;
	uint32_t sockets;
	double fullest;
};

int tg_sockets_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static bool is_one_of(const struct tally *t, uint16_t port)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (t->ports[i] == port)
			return true;
	return false;
}

static void count(struct tally *t, const struct inet_diag_msg *m)
{
	double queue;

	if (!is_one_of(t, m->id.idiag_sport))
		return;
	t->sockets++;
	/* of a listener: rqueue is how many wait, wqueue how many may */
	queue = m->idiag_wqueue > 0 ? (double)m->idiag_rqueue / m->idiag_wqueue : 0;
	if (queue > t->fullest)
		t->fullest = queue;
}

/* One datagram of an answer: 1 there is more, 0 the end, -1 a fault. */
static int take(struct tally *t, const struct nlmsghdr *h, ssize_t len)
{
	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -1;
		if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			count(t, NLMSG_DATA(h));
	}
	return 1;
}

static int ask(int fd, uint8_t family, uint32_t states, struct tally *t)
{
	struct question q = {
		.head = {.nlmsg_len = sizeof(q),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.ask = {.sdiag_family = family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = states},
	};
	_Alignas(struct nlmsghdr) char answer[32768];
	int more = send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 1 : -1;

	while (more > 0) {
		ssize_t len = recv(fd, answer, sizeof(answer), 0);

		more = len > 0 ? take(t, (const void *)answer, len) : -1;
	}
	return more;
}

static int ask_both(int fd, uint32_t states, struct tally *t)
{
	int r = ask(fd, AF_INET, states, t);

	return r == 0 ? ask(fd, AF_INET6, states, t) : r;
}

double tg_sockets_connections(int fd, const uint16_t *ports, unsigned int n)
{
	struct tally t = {.ports = ports, .n = n};

	return ask_both(fd, 1u << TCP_ESTABLISHED, &t) == 0 ? (double)t.sockets : -1;
}

double tg_sockets_listen_queue(int fd, const uint16_t *ports, unsigned int n)
{
	struct tally t = {.ports = ports, .n = n};

	return ask_both(fd, 1u << TCP_LISTEN, &t) == 0 ? t.fullest : -1;
}
