/* SPDX-License-Identifier: BSD-3-Clause */
/* `top`: the report again every second, with packets a second, until q or Ctrl-C; or one view, once. */
#ifndef TG_CTL_TOP_H
#define TG_CTL_TOP_H

#include "client.h"

/* One view: packets, and the listings of services, servers and workers, asked one after the other. The caller
 * frees it; NULL and a sentence. */
json_t *tg_ctl_view(const struct tg_ctl_target *t, char *err, size_t err_len);

/* 0, or -1 and a sentence. */
int tg_ctl_top(const struct tg_ctl_target *t, char *err, size_t err_len);

#endif
