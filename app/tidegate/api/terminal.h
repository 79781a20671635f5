/* SPDX-License-Identifier: BSD-3-Clause */
/* -i: commands of the control socket, typed on the terminal, answers as JSON. */
#ifndef TG_TERMINAL_H
#define TG_TERMINAL_H

#include "gateway.h"

struct tg_terminal {
	char line[1024];
	size_t used;
	bool ended; /* end of input: the gateway runs on */
};

/* Reads what is there without waiting and answers complete lines. */
void tg_terminal_poll(struct tg_terminal *t, struct tg_gateway *g);

#endif
