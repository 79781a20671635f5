/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request to a running tidegate: connects, asks, waits, disconnects.
 *
 * Thread-safety: one thread.
 */
#ifndef TGCTL_CLIENT_H
#define TGCTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#define TGCTL_VERSION 1 /* of the control protocol */

struct tgctl_target {
	const char *socket; /* path */
	int timeout_ms;     /* for the whole exchange */
};

/* The result, which the caller frees; or NULL and what is wrong, with the remedy, in err (a failed
 * reload has several lines). */
json_t *tgctl_ask(const struct tgctl_target *t, const char *command, char *const *args, int n,
		  char *err, size_t err_len);

#endif
