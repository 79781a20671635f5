/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The UDP echo. An answer leaves with the address its request came to, which may be a virtual one.
 */
#include "server.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define DATAGRAM_MAX 1400

struct datagram {
	struct job job;
	struct sockaddr_in6 peer;
	struct in6_pktinfo to;
	size_t len;
	char data[DATAGRAM_MAX];
};

static ssize_t datagram_io(int fd, struct datagram *d, struct iovec *iov, size_t parts, bool out)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(d->to))] = {0};
	struct msghdr msg = {.msg_name = &d->peer,
			     .msg_namelen = sizeof(d->peer),
			     .msg_iov = iov,
			     .msg_iovlen = parts,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	if (out) {
		d->to.ipi6_ifindex = 0;
		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(d->to));
		memcpy(CMSG_DATA(c), &d->to, sizeof(d->to));
		return sendmsg(fd, &msg, 0);
	}
	n = recvmsg(fd, &msg, 0);
	c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
		memcpy(&d->to, CMSG_DATA(c), sizeof(d->to));
	return n;
}

void udp_receive(int fd)
{
	for (;;) {
		struct datagram *d = need(calloc(1, sizeof(*d)));
		struct iovec iov = {.iov_base = d->data, .iov_len = sizeof(d->data)};
		ssize_t n = datagram_io(fd, d, &iov, 1, false);

		if (n < 0) {
			free(d);
			return;
		}
		d->len = (size_t)n;
		jobs_submit(&server.jobs, &d->job, clock_ns());
	}
}

void udp_answer(int fd, struct job *job)
{
	struct datagram *d = (struct datagram *)job;
	char text[64];
	int head = snprintf(text, sizeof(text), "%s ", server.name);
	struct iovec iov[] = {{.iov_base = text, .iov_len = (size_t)head},
			      {.iov_base = d->data, .iov_len = d->len}};

	server.datagrams++;
	datagram_io(fd, d, iov, 2, true);
	free(d);
}
