/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the test server share: its name and answer, its queue, its epoll set. Single threaded.
 */
#ifndef TG_LIVE_SERVER_H
#define TG_LIVE_SERVER_H

#include "jobs.h"

#include <stdbool.h>

struct server {
	const char *name;
	char *reply; /* a whole HTTP answer */
	size_t reply_len;
	struct jobs jobs;
	int epoll;
	uint64_t connections, requests, datagrams;
};

struct conn;

extern struct server server;

/* They end the program with a sentence. */
void die(const char *what) __attribute__((noreturn));
void *need(void *memory);

void watch(int op, int fd, void *tag, uint32_t events);

/* TCP, server-http.c. A job whose owner is set belongs to a connection, the others are datagrams. */
void http_accept(int listener);
void http_event(struct conn *conn, uint32_t events);
void http_answer(struct conn *conn);

/* UDP, server-udp.c: an echo behind the server's name. */
void udp_receive(int fd);
void udp_answer(int fd, struct job *job);

#endif
