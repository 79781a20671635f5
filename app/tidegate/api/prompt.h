/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line with editing, history and completion on a terminal, by DPDK's cmdline library. While it is open
 * the terminal sends no signals: ^C clears the line, ^D ends the input.
 *
 * Thread-safety: control's thread; one at a time.
 */
#ifndef TG_PROMPT_H
#define TG_PROMPT_H

#include "gateway.h"

struct tg_prompt;

/* On stdin, which is a terminal. NULL: not enough memory. */
struct tg_prompt *tg_prompt_open(struct tg_gateway *g);
/* Takes the keys that were pressed. false: the end of input. */
bool tg_prompt_poll(struct tg_prompt *p);
void tg_prompt_close(struct tg_prompt *p);

#endif
