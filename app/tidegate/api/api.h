/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of the control socket (and of -i): noun before verb, arguments as strings, a JSON
 * value as answer.
 *
 * Thread-safety: control's thread.
 */
#ifndef TG_API_H
#define TG_API_H

#include <jansson.h>

#include "gateway.h"

/* Command i, by words: false when there are no more. arguments is "" for a command without. */
bool tg_api_command(size_t i, const char **name, const char **arguments, const char **help);

/* The answer of one command, or NULL and a sentence that says what is wrong and what there is. */
json_t *tg_api_handle(void *gateway, const char *command, char **args, int n, char *err,
		      size_t err_len);

#endif
