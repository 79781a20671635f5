/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define REPLY_MAX (64u << 20)

struct exchange {
	const struct tg_ctl_target *target;
	int fd;
	int64_t deadline_ms;
	char *err;
	size_t err_len;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void say_no_connection(struct exchange *x, int why)
{
	const char *path = x->target->socket;
	const struct group *g = NULL;
	struct stat st;

	if (why == ENOENT || why == ECONNREFUSED) {
		snprintf(x->err, x->err_len,
			 "%s %s; is tidegate running, and with another control.socket? start it, "
			 "or name that with --socket PATH",
			 why == ENOENT ? "there is no socket" : "nobody listens at", path);
	} else if (why == EACCES || why == EPERM) {
		if (stat(path, &st) == 0)
			g = getgrgid(st.st_gid);
		snprintf(x->err, x->err_len,
			 "no permission to use %s: run as root%s%s (control.group and control.mode "
			 "say who may)",
			 path, g != NULL ? " or as a member of group " : "",
			 g != NULL ? g->gr_name : "");
	} else {
		snprintf(x->err, x->err_len, "%s: %s", path, strerror(why));
	}
}

static void say_late(struct exchange *x)
{
	snprintf(x->err, x->err_len,
		 "no answer within %g s: tidegate is stopped or very busy; --timeout S waits longer",
		 x->target->timeout_ms / 1000.0);
}

static int connect_to(struct exchange *x)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *path = x->target->socket;

	if (strlen(path) >= sizeof(a.sun_path)) {
		snprintf(x->err, x->err_len, "%s: a socket's path has at most %zu bytes", path,
			 sizeof(a.sun_path) - 1);
		return -1;
	}
	strcpy(a.sun_path, path);
	x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	while (x->fd < 0 || connect(x->fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		/* EAGAIN: its queue of clients is full */
		if (x->fd < 0 || errno != EAGAIN) {
			say_no_connection(x, errno);
			return -1;
		}
		if (now_ms() >= x->deadline_ms) {
			say_late(x);
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return 0;
}

/* Until the socket is ready, or the time is up. */
static int wait_for(struct exchange *x, short events)
{
	struct pollfd p = {.fd = x->fd, .events = events};
	int64_t left = x->deadline_ms - now_ms();
	int ready = left > 0 ? poll(&p, 1, (int)left) : 0;

	if (ready > 0)
		return 0;
	if (ready < 0)
		snprintf(x->err, x->err_len, "waiting for the answer: %s", strerror(errno));
	else
		say_late(x);
	return -1;
}

static int send_all(struct exchange *x, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n;

		if (wait_for(x, POLLOUT) < 0)
			return -1;
		n = send(x->fd, text, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			snprintf(x->err, x->err_len, "tidegate closed the connection: %s",
				 strerror(errno));
			return -1;
		}
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* One more piece of the reply, behind its first len bytes; 0 at its newline. */
static ssize_t receive_some(struct exchange *x, char *text, size_t len, size_t room)
{
	ssize_t n;

	if (wait_for(x, POLLIN) < 0)
		return -1;
	n = recv(x->fd, text + len, room - len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		snprintf(x->err, x->err_len,
			 "tidegate closed the connection without a whole answer");
	return n <= 0 ? -1 : n;
}

/* One line, without its newline; NULL on failure. */
static char *receive_line(struct exchange *x, size_t *out_len)
{
	size_t len = 0, room = 4096;
	char *text = malloc(room), *grown;

	while (text != NULL) {
		ssize_t n = receive_some(x, text, len, room);

		if (n < 0)
			break;
		len += (size_t)n;
		if (len > 0 && text[len - 1] == '\n') {
			*out_len = len - 1;
			return text;
		}
		if (len < room)
			continue;
		grown = room < REPLY_MAX ? realloc(text, room * 2) : NULL;
		if (grown == NULL) {
			snprintf(x->err, x->err_len, "the answer is too long");
			break;
		}
		text = grown;
		room *= 2;
	}
	free(text);
	return NULL;
}

static char *make_request(const char *command, char *const *args, int n, size_t *len)
{
	json_t *list = json_array(), *request;
	char *text;

	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_string(args[i]));
	request = json_pack("{s:i, s:s, s:o}", "version", TG_CTL_VERSION, "command", command,
			    "arguments", list);
	text = json_array_size(list) == (size_t)n ? json_dumps(request, JSON_COMPACT) : NULL;
	json_decref(request);
	if (text == NULL)
		return NULL;
	*len = strlen(text);
	text[(*len)++] = '\n'; /* in place of the NUL: the length is known */
	return text;
}

static json_t *take_result(struct exchange *x, const json_t *reply)
{
	const json_t *version = json_object_get(reply, "version");
	json_t *result = json_object_get(reply, "result");
	const char *error = json_string_value(json_object_get(reply, "error"));

	if (!json_is_integer(version) || json_integer_value(version) != TG_CTL_VERSION) {
		snprintf(x->err, x->err_len,
			 "%s does not answer in version %d of the control protocol, which this "
			 "tidegatectl (%s) speaks: use the tidegatectl of the running release",
			 x->target->socket, TG_CTL_VERSION, TG_VERSION);
		return NULL;
	}
	if (json_is_true(json_object_get(reply, "ok")) && result != NULL)
		return json_incref(result);
	snprintf(x->err, x->err_len, "%s", error != NULL ? error : "the command failed");
	return NULL;
}

static json_t *exchange(struct exchange *x, const char *text, size_t len)
{
	json_t *reply, *result = NULL;
	char *line;

	if (connect_to(x) < 0 || send_all(x, text, len) < 0)
		return NULL;
	line = receive_line(x, &len);
	if (line == NULL)
		return NULL;
	reply = json_loadb(line, len, 0, NULL);
	result = take_result(x, reply);
	json_decref(reply);
	free(line);
	return result;
}

json_t *tg_ctl_ask(const struct tg_ctl_target *t, const char *command, char *const *args, int n,
		   char *err, size_t err_len)
{
	struct exchange x = {
		.target = t,
		.fd = -1,
		.deadline_ms = now_ms() + t->timeout_ms,
		.err = err,
		.err_len = err_len,
	};
	json_t *result = NULL;
	size_t len;
	char *request = make_request(command, args, n, &len);

	if (request == NULL)
		snprintf(err, err_len, "arguments must be UTF-8");
	else
		result = exchange(&x, request, len);
	free(request);
	if (x.fd >= 0)
		close(x.fd);
	return result;
}
