/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS_A_PROCESSOR 4
#define CONNECTIONS_FULL  126 /* the steps of a bid */

bool tg_load_parse(const char *text, struct tg_load_source *out)
{
	static const char *const names[] = {"run-queue", "listen-queue", "connections"};

	*out = (struct tg_load_source){.fd = -1};
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			out->kind = (enum tg_load_kind)i;
			return true;
		}
	if (strncmp(text, "file:", 5) != 0 || text[5] == '\0')
		return false;
	out->kind = LOAD_FILE;
	out->path = text + 5;
	return true;
}

int tg_load_open(struct tg_load_source *s, char *err, unsigned int err_len)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (s->kind == LOAD_RUN_QUEUE)
		s->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	else if (s->kind != LOAD_FILE)
		s->fd = tg_sockets_open();
	if (s->full == 0)
		s->full = s->kind == LOAD_RUN_QUEUE
				  ? TASKS_A_PROCESSOR * (double)(processors > 0 ? processors : 1)
				  : CONNECTIONS_FULL;
	if (s->kind == LOAD_FILE || s->fd >= 0)
		return 0;
	snprintf(err, err_len, "%s: %s",
		 s->kind == LOAD_RUN_QUEUE ? "cannot read /proc/loadavg"
					   : "the kernel does not answer about sockets (sock_diag)",
		 strerror(s->kind == LOAD_RUN_QUEUE ? errno : -s->fd));
	return -EIO;
}

/* "0.20 0.18 0.12 2/345 6789": of the fourth field the part in front; this program runs itself. */
static double run_queue(int fd)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	unsigned int running;

	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (sscanf(text, "%*s %*s %*s %u/", &running) != 1)
		return -1;
	return running > 0 ? running - 1 : 0;
}

/* Opened afresh: whoever writes it may put another file in its place. */
static double from_file(const char *path, double last)
{
	char text[64], *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	double v;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return last;
	text[n] = '\0';
	if (strncmp(text, "refuse", 6) == 0)
		return LOAD_REFUSE;
	v = strtod(text, &end);
	return end != text && isfinite(v) && v >= 0 ? v : last;
}

double tg_load_read(struct tg_load_source *s, const uint16_t *ports, unsigned int n_ports)
{
	double v;

	switch (s->kind) {
	case LOAD_RUN_QUEUE:
		v = run_queue(s->fd) / s->full;
		break;
	case LOAD_LISTEN_QUEUE:
		v = tg_sockets_listen_queue(s->fd, ports, n_ports);
		break;
	case LOAD_CONNECTIONS:
		v = tg_sockets_connections(s->fd, ports, n_ports) / s->full;
		break;
	default:
		s->last = from_file(s->path, s->last);
		return s->last;
	}
	if (v >= 0)
		s->last = v;
	return s->last;
}
