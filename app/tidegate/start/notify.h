/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a service manager is told: started, reloading, alive, stopping. The protocol of sd_notify(3):
 * datagrams of NAME=VALUE lines to the Unix socket that $NOTIFY_SOCKET names; without that variable
 * nothing is sent. With $WATCHDOG_USEC set (WatchdogSec= of the unit) "alive" goes out at a third of
 * that time, and only while every worker moves: one that stands still for too long has the
 * manager start the gateway anew.
 *
 * Thread-safety: control's thread.
 */
#ifndef TG_NOTIFY_H
#define TG_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_clock.h"

struct tg_notify {
	int fd;         /* -1: nobody wants to know */
	uint64_t every; /* ticks between signs of life; 0: none are wanted */
	uint64_t due;
};

/* Before privileges are dropped: the socket may be root's. A socket that cannot be had is said on
 * standard error, and nothing is sent. */
void tg_notify_open(struct tg_notify *n, const struct tg_clock *clock);
void tg_notify_close(struct tg_notify *n);

/* "READY=1" and the like; several lines in one text are told together. */
void tg_notify_say(const struct tg_notify *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* CLOCK_MONOTONIC in microseconds, which RELOADING=1 has to name. */
uint64_t tg_notify_clock_us(void);

/* Each of control's ticks. alive: nothing stands still that must move. */
void tg_notify_tick(struct tg_notify *n, bool alive, uint64_t now);

#endif
