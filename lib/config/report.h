/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to lib/config: how sentences get into a tg_config_report. Every sentence is one line of
 * printable text of bounded length, whatever the file holds.
 *
 * Thread-safety: one thread a report.
 */
#ifndef TG_CONFIG_REPORT_H
#define TG_CONFIG_REPORT_H

#include "tg_config.h"

enum tg_sentence { TG_FAULT = 0, TG_NOTE, TG_DEFAULT };

/* 0 or -ENOMEM. */
int tg_report_add(struct tg_config_report *r, enum tg_sentence kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
