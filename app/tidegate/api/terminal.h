/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * -i and --cmdline-file: commands of the control socket, a line each, answers as JSON on stdout. What
 * testpmd's users type is understood: start, stop, quit, show port stats all, show service all. A word in
 * double quotes may have blanks; # begins a comment.
 *
 * On a terminal -i is a prompt with history and completion, by DPDK's cmdline library; from a pipe it reads
 * lines and prints answers, no more. At the end of input the gateway runs on.
 *
 * Thread-safety: control's thread.
 */
#ifndef TG_TERMINAL_H
#define TG_TERMINAL_H

#include "gateway.h"

struct tg_prompt;

struct tg_terminal {
	char line[1024];
	size_t used;
	bool ended;               /* end of input */
	struct tg_prompt *prompt; /* NULL: no terminal */
};

/* One line. 0; -EINVAL and a sentence: it was refused. line is used in place. */
int tg_terminal_line(struct tg_gateway *g, char *line, char *err, size_t err_len);

/* The lines of a file, up to the first one that is refused: -EINVAL, "FILE:LINE: sentence". -errno: the file
 * cannot be read. */
int tg_terminal_file(struct tg_gateway *g, const char *path, char *err, size_t err_len);

/* Before the first poll. Without memory for a prompt lines are read as from a pipe. */
void tg_terminal_open(struct tg_terminal *t, struct tg_gateway *g);
/* Reads what is there without waiting and answers complete lines. */
void tg_terminal_poll(struct tg_terminal *t, struct tg_gateway *g);
/* The terminal is as it was found. */
void tg_terminal_close(struct tg_terminal *t);

#endif
