/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As much of HTTP/1.1 as wrk and tg-client need: requests with or without Content-Length, on lasting connections.
 */
#include "server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 4096

struct conn {
	struct job job; /* the request in service, at most one a connection */
	int fd;
	size_t len;        /* bytes in `in` */
	size_t body_left;  /* of an upload, still to be swallowed */
	size_t reply_left; /* of the answer being sent */
	bool busy, has_head, close_after, broken;
	char in[REQUEST_MAX + 1];
};

static void conn_drop(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	if (!c->busy) /* otherwise its answer's time comes first */
		free(c);
}

static void conn_send(struct conn *c)
{
	while (c->reply_left) {
		ssize_t n = send(c->fd, server.reply + server.reply_len - c->reply_left,
				 c->reply_left, MSG_NOSIGNAL);

		if (n < 0) {
			c->broken = errno != EAGAIN;
			watch(EPOLL_CTL_MOD, c->fd, c, EPOLLIN | EPOLLOUT);
			return;
		}
		c->reply_left -= (size_t)n;
	}
	watch(EPOLL_CTL_MOD, c->fd, c, EPOLLIN);
	c->broken = c->close_after;
}

static void consume(struct conn *c, size_t n)
{
	c->len -= n;
	memmove(c->in, c->in + n, c->len);
	c->in[c->len] = '\0';
}

/* Takes a request's head out of `in`: false while it is not all there. */
static bool take_head(struct conn *c)
{
	char *end = strstr(c->in, "\r\n\r\n"), *length;

	if (!end)
		return false;
	*end = '\0';
	length = strcasestr(c->in, "\r\nContent-Length:");
	c->body_left = length ? strtoul(length + 17, NULL, 10) : 0;
	c->close_after = strcasestr(c->in, "\r\nConnection: close");
	consume(c, (size_t)(end + 4 - c->in));
	return true;
}

/* Starts the next request if it is complete; one is open at a time, so answers keep their order. */
static void conn_advance(struct conn *c)
{
	size_t body;

	if (c->broken || c->busy || c->reply_left)
		return;
	if (!c->has_head) {
		c->has_head = take_head(c);
		c->broken = !c->has_head && c->len == REQUEST_MAX;
	}
	if (!c->has_head)
		return;
	body = c->len < c->body_left ? c->len : c->body_left;
	consume(c, body);
	c->body_left -= body;
	if (c->body_left)
		return;
	c->has_head = false;
	c->busy = true;
	c->job.owner = c;
	jobs_submit(&server.jobs, &c->job, clock_ns());
}

void http_event(struct conn *c, uint32_t events)
{
	if (events & EPOLLOUT)
		conn_send(c);
	while (!c->broken && c->len < REQUEST_MAX) {
		ssize_t n = recv(c->fd, c->in + c->len, REQUEST_MAX - c->len, 0);

		if (n < 0 && errno == EAGAIN)
			break;
		c->broken = n <= 0;
		if (n > 0)
			c->len += (size_t)n;
		c->in[c->len] = '\0';
		conn_advance(c);
	}
	if (c->broken)
		conn_drop(c);
}

void http_accept(int listener)
{
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct conn *c = need(calloc(1, sizeof(*c)));

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		c->fd = fd;
		server.connections++;
		watch(EPOLL_CTL_ADD, fd, c, EPOLLIN);
	}
}

void http_answer(struct conn *c)
{
	server.requests++;
	c->busy = false;
	if (c->fd >= 0) {
		c->reply_left = server.reply_len;
		conn_send(c);
		conn_advance(c);
	}
	if (c->fd < 0 || c->broken)
		conn_drop(c);
}
