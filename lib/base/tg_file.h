/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Questions about files that a program is about to write.
 *
 * Thread-safety: any thread. No errors: what cannot be looked at is no answer.
 */
#ifndef TG_FILE_H
#define TG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/** Would writing one file destroy the other? NULL is no file; pipes and devices are never the same. */
static inline bool tg_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return a != NULL && b != NULL && stat(a, &x) == 0 && stat(b, &y) == 0 &&
	       S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

#endif
