/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket: a Unix stream socket, one JSON object a line, both ways.
 *
 *	request  {"version":1,"command":"server drain","arguments":["web","a"]}
 *	reply    {"version":1,"ok":true,"result":...}
 *	         {"version":1,"ok":false,"error":"a sentence"}
 *
 * Nothing a client does makes a step wait: a slow or silent one keeps its place (at most 16; a
 * new one takes the place of the one that has been quiet longest), a request is at most 4096 bytes,
 * and a client whose reply is not read gets no further one. One request a client and step.
 *
 * Thread-safety: one thread (control's); the handler runs on it.
 */
#ifndef TG_CONTROL_SOCKET_H
#define TG_CONTROL_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_CONTROL_VERSION       1
#define TG_CONTROL_CLIENTS_MAX   16
#define TG_CONTROL_LINE_MAX      4096 /* of a request, without its newline */
#define TG_CONTROL_ARGUMENTS_MAX 8

struct tg_control_socket;

/* The result of a command, which the caller frees; or NULL and a sentence in err. args hold n
 * texts. */
typedef json_t *(*tg_control_handler)(void *ctx, const char *command, char **args, int n, char *err,
				      size_t err_len);

/*
 * Listens at path with permissions mode (07 for each of user, group, others) and, unless group is
 * NULL or "", that group. A socket that nobody listens at any more is replaced; the folder is made
 * if only it is missing. 0, or -errno (-EADDRINUSE: another tidegate listens there) and a sentence
 * with the remedy in err.
 */
int tg_control_socket_open(const char *path, uint32_t mode, const char *group,
			   tg_control_handler handler, void *ctx, struct tg_control_socket **out,
			   char *err, size_t err_len);

/* Waits at most timeout_ms (0: not at all) for something to do, then does what can be done at once. */
void tg_control_socket_poll(struct tg_control_socket *s, int timeout_ms);

/* Looks whether the file is still there, and makes it again if somebody removed it. True when there is something to
 * say: the sentence is in err; that it cannot be made is said once. */
bool tg_control_socket_keep(struct tg_control_socket *s, char *err, size_t err_len);

/* Ends all connections and removes the socket, if it is still the one that was opened. NULL is fine. */
void tg_control_socket_close(struct tg_control_socket *s);

#endif
