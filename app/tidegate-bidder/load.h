/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a server's load is read from. A source gives a share of full load, 0..1 and above, or REFUSE. One that says
 * nothing for LOAD_LAST_S, or whose file nobody has written for so long, is UNKNOWN: an old load is none.
 *
 * Thread-safety: one thread. Errors: a source that cannot be read now gives its last value for LOAD_LAST_S; one that
 * cannot be read at the start is told by tg_load_open.
 */
#ifndef TG_BIDDER_LOAD_H
#define TG_BIDDER_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#define PORTS_MAX   16
#define SOURCES_MAX 4

#define LOAD_REFUSE  (-1.0)
#define LOAD_UNKNOWN (-2.0)
#define LOAD_LAST_S  5 /* seconds that a value counts, by CLOCK_REALTIME: a file's time is by that */

enum tg_load_kind {
	LOAD_RUN_QUEUE, /* tasks that run or want to, /proc/loadavg; full: --full, else 4 a processor */
	LOAD_LISTEN_QUEUE, /* connections that wait to be accepted; full: the listener's backlog */
	LOAD_CONNECTIONS, /* established connections to the ports; full: --full, else 126: a step each */
	LOAD_FILE,        /* a number 0..1, or "refuse", that some program writes */
};

struct tg_load_source {
	enum tg_load_kind kind;
	const char *path; /* LOAD_FILE */
	double full;      /* 0: the kind's own */
	double last;
	int64_t last_ns; /* when last was said */
	int fd;
};

/* kind[:path]; false: there is no such source. */
bool tg_load_parse(const char *text, struct tg_load_source *out);

/* Opened, and read once. 0 or -errno and a sentence. ports: network order, of the service. */
int tg_load_open(struct tg_load_source *s, const uint16_t *ports, unsigned int n_ports, char *err,
		 unsigned int err_len);

/* The load at now_ns (CLOCK_REALTIME). */
double tg_load_read(struct tg_load_source *s, const uint16_t *ports, unsigned int n_ports,
		    int64_t now_ns);

/* sockets.c: over both families, by the kernel's socket diagnosis (sock_diag(7)). */
int tg_sockets_open(void);
/* Established connections to the ports; -1: not known. */
double tg_sockets_connections(int fd, const uint16_t *ports, unsigned int n);
/* The fullest accept queue of their listeners, as a share of its backlog; -1: not known. */
double tg_sockets_listen_queue(int fd, const uint16_t *ports, unsigned int n);

#endif
