/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/listen.h"

#define FORGET_MAX (1u << 20)
#define ERROR_MAX  4096 /* a reload that failed has many sentences */
#define DEAF_STEPS 20   /* of the caller's time each; then it is tried again */

struct client {
	int fd;     /* -1: place is free */
	bool ended; /* sends no more */
	bool leaving; /* its last reply: what it still sends is read and forgotten, then it is closed */
	size_t forgotten; /* bytes */
	uint64_t active;  /* step of the last sign of life */
	char in[TG_CONTROL_LINE_MAX + 1];
	size_t n_in;
	char *out; /* reply under way */
	size_t n_out, sent;
};

struct tg_control_socket {
	int fd;
	char *path, *group;
	uint32_t mode;
	bool missing; /* it was told that the file cannot be made again */
	struct stat made;
	tg_control_handler handler;
	void *ctx;
	uint64_t step;
	uint64_t deaf_until; /* step: nobody is let in before */
	struct client client[TG_CONTROL_CLIENTS_MAX];
};

static void free_all(struct tg_control_socket *s)
{
	if (s == NULL)
		return;
	free(s->path);
	free(s->group);
	free(s);
}

int tg_control_socket_open(const char *path, uint32_t mode, const char *group,
			   tg_control_handler handler, void *ctx, struct tg_control_socket **out,
			   char *err, size_t err_len)
{
	struct tg_control_socket *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL || (s->path = strdup(path)) == NULL ||
	    (s->group = strdup(group != NULL ? group : "")) == NULL) {
		free_all(s);
		snprintf(err, err_len, "not enough memory for the control socket");
		return -ENOMEM;
	}
	rc = tg_control_listen(path, mode, group, &s->made, err, err_len);
	if (rc < 0) {
		free_all(s);
		return rc;
	}
	s->fd = rc;
	s->mode = mode;
	s->handler = handler;
	s->ctx = ctx;
	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX; i++)
		s->client[i].fd = -1;
	*out = s;
	return 0;
}

static void drop_client(struct client *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	free(c->out);
	*c = (struct client){.fd = -1};
}

void tg_control_socket_close(struct tg_control_socket *s)
{
	if (s == NULL)
		return;
	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX; i++)
		drop_client(&s->client[i]);
	tg_control_unlink(s->path, &s->made);
	close(s->fd);
	free_all(s);
}

bool tg_control_socket_keep(struct tg_control_socket *s, char *err, size_t err_len)
{
	bool told = s->missing;
	struct stat now;
	int fd;

	s->missing = false;
	if (lstat(s->path, &now) == 0 && now.st_dev == s->made.st_dev &&
	    now.st_ino == s->made.st_ino)
		return false;
	fd = tg_control_listen(s->path, s->mode, s->group, &s->made, err, err_len);
	if (fd < 0) {
		s->missing = true;
		return !told;
	}
	close(s->fd);
	s->fd = fd;
	snprintf(err, err_len, "control socket %s was removed: it is made again", s->path);
	return true;
}

static void flush(struct client *c)
{
	ssize_t n = send(c->fd, c->out + c->sent, c->n_out - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		drop_client(c);
		return;
	}
	c->sent += n > 0 ? (size_t)n : 0;
	if (c->sent < c->n_out)
		return;
	free(c->out);
	c->out = NULL;
	/* closed with bytes unread, the client would see a reset in place of the answer */
	if (c->leaving)
		shutdown(c->fd, SHUT_WR);
}

/* What a client sends after its last answer, within bounds. */
static void forget(struct client *c)
{
	ssize_t n = recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->forgotten += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->forgotten > FORGET_MAX)
		drop_client(c);
}

/* Takes reply over. */
static void answer(struct client *c, json_t *reply)
{
	char *text = json_dumps(reply, JSON_COMPACT);
	size_t len;

	json_decref(reply);
	if (text == NULL) {
		drop_client(c);
		return;
	}
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL: the length is known */
	c->out = text;
	c->n_out = len + 1;
	c->sent = 0;
	flush(c);
}

static json_t *refusal(const char *why)
{
	json_t *text = json_string(why);

	/* a sentence that quotes bytes which are no UTF-8 */
	if (text == NULL)
		text = json_string("the request is not understood");
	return json_pack("{s:i, s:b, s:o}", "version", TG_CONTROL_VERSION, "ok", 0, "error", text);
}

/* The arguments as plain texts, which stay the request's; their number, or -1. */
static int take_arguments(const json_t *list, char **args)
{
	size_t n = json_array_size(list);

	if (list != NULL && (!json_is_array(list) || n > TG_CONTROL_ARGUMENTS_MAX))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_string(v))
			return -1;
		args[i] = (char *)(uintptr_t)json_string_value(v);
	}
	return (int)n;
}

static json_t *run(struct tg_control_socket *s, const json_t *request)
{
	const char *command = json_string_value(json_object_get(request, "command"));
	const json_t *version = json_object_get(request, "version");
	char *args[TG_CONTROL_ARGUMENTS_MAX + 1] = {NULL}, err[ERROR_MAX] = "";
	int n = take_arguments(json_object_get(request, "arguments"), args);
	json_t *result;

	if (!json_is_integer(version) || json_integer_value(version) != TG_CONTROL_VERSION) {
		snprintf(err, sizeof(err),
			 "this tidegate (" TG_VERSION
			 ") speaks version %d of the control protocol, "
			 "the request does not: use the tidegatectl of the same release",
			 TG_CONTROL_VERSION);
		return refusal(err);
	}
	if (command == NULL || n < 0) {
		snprintf(err, sizeof(err),
			 "a request has \"command\", a text, and \"arguments\", a "
			 "list of at most %d texts",
			 TG_CONTROL_ARGUMENTS_MAX);
		return refusal(err);
	}
	result = s->handler(s->ctx, command, args, n, err, sizeof(err));
	if (result == NULL)
		return refusal(err[0] != '\0' ? err : "the command failed");
	return json_pack("{s:i, s:b, s:o}", "version", TG_CONTROL_VERSION, "ok", 1, "result",
			 result);
}

static void handle(struct tg_control_socket *s, struct client *c, size_t len)
{
	json_t *request = json_loadb(c->in, len, JSON_REJECT_DUPLICATES, NULL);

	answer(c, json_is_object(request) ? run(s, request)
					  : refusal("a request is one JSON object on a line"));
	json_decref(request);
}

/* The first line in the buffer, its length; -1 when there is no whole one. What a client leaves
 * unfinished when it ends is its last line. */
static ssize_t first_line(const struct client *c)
{
	const char *newline = memchr(c->in, '\n', c->n_in);

	if (newline != NULL)
		return newline - c->in;
	return c->ended && c->n_in > 0 ? (ssize_t)c->n_in : -1;
}

static void serve_line(struct tg_control_socket *s, struct client *c)
{
	ssize_t len = first_line(c);
	size_t used;

	if (len >= 0) {
		handle(s, c, (size_t)len);
		if (c->fd < 0)
			return;
		used = (size_t)len < c->n_in ? (size_t)len + 1 : c->n_in;
		c->n_in -= used;
		memmove(c->in, c->in + used, c->n_in);
	} else if (c->n_in > TG_CONTROL_LINE_MAX) {
		c->leaving = true;
		c->n_in = 0;
		answer(c, refusal("a request is at most 4096 bytes long"));
	} else if (c->ended) {
		drop_client(c);
	}
}

static void serve(struct tg_control_socket *s, struct client *c, short events)
{
	if (events != 0)
		c->active = s->step;
	if (c->out != NULL) {
		if (events != 0)
			flush(c);
		return;
	}
	if (c->leaving) {
		forget(c);
		return;
	}
	if (events != 0 && c->n_in < sizeof(c->in) && !c->ended) {
		ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			drop_client(c);
			return;
		}
		c->ended = n == 0;
		c->n_in += n > 0 ? (size_t)n : 0;
	}
	serve_line(s, c);
}

static struct client *place(struct tg_control_socket *s)
{
	struct client *quiet = &s->client[0];

	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX; i++) {
		struct client *c = &s->client[i];

		if (c->fd < 0)
			return c;
		if (c->active < quiet->active)
			quiet = c;
	}
	drop_client(quiet);
	return quiet;
}

static void admit(struct tg_control_socket *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd < 0) {
		/* without a free descriptor whoever waits goes on waiting: poll would return at once, always */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			s->deaf_until = s->step + DEAF_STEPS;
		return;
	}
	c = place(s);
	c->fd = fd;
	c->active = s->step;
}

/* What to wait for; true when a whole request lies in the buffer already. */
static bool watch(const struct client *c, struct pollfd *p)
{
	p->fd = c->fd;
	p->events = c->out != NULL ? POLLOUT : c->ended ? 0 : POLLIN;
	return c->fd >= 0 && c->out == NULL && (c->ended || first_line(c) >= 0);
}

void tg_control_socket_poll(struct tg_control_socket *s, int timeout_ms)
{
	struct pollfd p[TG_CONTROL_CLIENTS_MAX + 1] = {{.fd = s->fd, .events = POLLIN}};
	bool ready[TG_CONTROL_CLIENTS_MAX], any = false;

	s->step++;
	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX; i++) {
		ready[i] = watch(&s->client[i], &p[i + 1]);
		any |= ready[i];
	}
	if (s->step < s->deaf_until)
		p[0].fd = -1;
	if (poll(p, TG_CONTROL_CLIENTS_MAX + 1, any ? 0 : timeout_ms) < 0)
		return;
	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX; i++) {
		if (p[i + 1].fd >= 0 && (p[i + 1].revents != 0 || ready[i]))
			serve(s, &s->client[i], p[i + 1].revents);
	}
	if (p[0].revents != 0)
		admit(s);
}
