/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX 512

static int connect_to(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int fd;

	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(a.sun_path))
		return -EINVAL;
	memcpy(a.sun_path, path, len);
	if (path[0] == '@') /* an abstract name begins with NUL */
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&a,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* The watchdog's time in µs; 0: none, or it is another process's. */
static uint64_t watchdog_us(void)
{
	const char *pid = getenv("WATCHDOG_PID"), *us = getenv("WATCHDOG_USEC");

	if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(us, NULL, 10);
}

void tg_notify_open(struct tg_notify *n, const struct tg_clock *clock)
{
	const char *path = getenv("NOTIFY_SOCKET");

	*n = (struct tg_notify){.fd = -1};
	if (path == NULL || path[0] == '\0')
		return;
	n->fd = connect_to(path);
	if (n->fd < 0) {
		fprintf(stderr, "tidegate: NOTIFY_SOCKET %s: %s: the service manager is not told\n",
			path, strerror(-n->fd));
		n->fd = -1;
		return;
	}
	n->every = tg_us_to_ticks(clock, watchdog_us() / 3);
}

void tg_notify_close(struct tg_notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void tg_notify_say(const struct tg_notify *n, const char *format, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;
	int len;

	if (n->fd < 0)
		return;
	va_start(ap, format);
	len = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (len > 0 && len < MESSAGE_MAX) /* a manager that does not read loses it */
		(void)!send(n->fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

uint64_t tg_notify_clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void tg_notify_tick(struct tg_notify *n, bool alive, uint64_t now)
{
	if (n->every == 0 || !alive || now < n->due)
		return;
	n->due = now + n->every;
	tg_notify_say(n, "WATCHDOG=1");
}
