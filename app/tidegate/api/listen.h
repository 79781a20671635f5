/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the control socket: the file in the file system.
 *
 * Thread-safety: one thread, at start and end.
 */
#ifndef TG_CONTROL_LISTEN_H
#define TG_CONTROL_LISTEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A listening socket that does not block, or -errno and a sentence; *made is the file. */
int tg_control_listen(const char *path, uint32_t mode, const char *group, struct stat *made,
		      char *err, size_t err_len);

/* Removes the file at path if it is the one that was made. */
void tg_control_unlink(const char *path, const struct stat *made);

#endif
