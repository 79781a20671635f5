/* SPDX-License-Identifier: BSD-3-Clause */
/* `top`: the report again every second, with packets a second, until q or Ctrl-C. */
#ifndef TGCTL_TOP_H
#define TGCTL_TOP_H

#include "client.h"

/* 0, or -1 and a sentence. */
int tgctl_top(const struct tgctl_target *t, char *err, size_t err_len);

#endif
