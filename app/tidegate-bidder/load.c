/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TASKS_A_PROCESSOR 4
#define NS_A_S            INT64_C(1000000000)
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

/* What it says; NAN: nothing. A FIFO would wait for a writer, so nothing but a file is one. */
static double parse_file(int fd, struct stat *st)
{
	char text[64], *end;
	ssize_t n;
	double v;

	if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
		return NAN;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return NAN;
	text[n] = '\0';
	if (strncmp(text, "refuse", 6) == 0)
		return LOAD_REFUSE;
	v = strtod(text, &end);
	return end != text && isfinite(v) && v >= 0 ? v : NAN;
}

/* Opened afresh: whoever writes it may put another file in its place. When it was written is when it was said. */
static double from_file(const char *path, int64_t *at_ns)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	double v;

	if (fd < 0)
		return NAN;
	v = parse_file(fd, &st);
	if (!isnan(v))
		*at_ns = (int64_t)st.st_mtim.tv_sec * NS_A_S + st.st_mtim.tv_nsec;
	close(fd);
	return v;
}

/* NAN: it says nothing now. */
static double ask(const struct tg_load_source *s, const uint16_t *ports, unsigned int n_ports,
		  int64_t *at_ns)
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
		return from_file(s->path, at_ns);
	}
	return v >= 0 ? v : NAN;
}

double tg_load_read(struct tg_load_source *s, const uint16_t *ports, unsigned int n_ports,
		    int64_t now_ns)
{
	int64_t at_ns = now_ns;
	double v = ask(s, ports, n_ports, &at_ns);

	if (!isnan(v)) {
		s->last = v;
		s->last_ns = at_ns;
	}
	return now_ns - s->last_ns <= LOAD_LAST_S * NS_A_S ? s->last : LOAD_UNKNOWN;
}

/* 0 or -errno: it has what it is read from. */
static int open_kernels(struct tg_load_source *s)
{
	if (s->kind == LOAD_RUN_QUEUE)
		s->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	else if (s->kind != LOAD_FILE)
		s->fd = tg_sockets_open();
	if (s->kind == LOAD_FILE || s->fd >= 0)
		return 0;
	return s->kind == LOAD_RUN_QUEUE ? -errno : s->fd;
}

int tg_load_open(struct tg_load_source *s, const uint16_t *ports, unsigned int n_ports, char *err,
		 unsigned int err_len)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t at_ns;
	int r = open_kernels(s);

	if (s->full == 0)
		s->full = s->kind == LOAD_RUN_QUEUE
				  ? TASKS_A_PROCESSOR * (double)(processors > 0 ? processors : 1)
				  : CONNECTIONS_FULL;
	if (r == 0 && !isnan(ask(s, ports, n_ports, &at_ns)))
		return 0;
	if (s->kind == LOAD_FILE)
		snprintf(err, err_len,
			 "%s: no load can be read: it has to be a regular file with a number from 0 to "
			 "1, or \"refuse\"; start what writes it first",
			 s->path);
	else
		snprintf(err, err_len, "%s: %s",
			 s->kind == LOAD_RUN_QUEUE
				 ? "cannot read /proc/loadavg"
				 : "the kernel does not answer about sockets (sock_diag)",
			 strerror(r != 0 ? -r : EIO));
	return -EIO;
}
