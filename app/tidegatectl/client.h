/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request to a running tidegate: connects, asks, waits, disconnects.
 *
 * Thread-safety: one thread.
 */
#ifndef TG_CTL_CLIENT_H
#define TG_CTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#define TG_CTL_VERSION 1 /* of the control protocol */

struct tg_ctl_target {
	const char *socket; /* path */
	int timeout_ms;     /* for the whole exchange */
};

/* The result, which the caller frees; or NULL and what is wrong, with the remedy, in err (a failed
 * reload has several lines). */
json_t *tg_ctl_ask(const struct tg_ctl_target *t, const char *command, char *const *args, int n,
		   char *err, size_t err_len);

#endif
